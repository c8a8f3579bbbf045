package verdict

import (
	"strings"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/measure"
)

// answerKey names an answer by what it says: compatibility forms, case, white space, marks at its ends and ways to write a number make no
// other answer of it. It holds no text, and is "" for an answer of no words.
func answerKey(answer string) string {
	tokens := tokenise(tokenText(answer))
	for len(tokens) > 0 && bareMark(&tokens[0]) {
		tokens = tokens[1:]
	}
	for len(tokens) > 0 && bareMark(&tokens[len(tokens)-1]) {
		tokens = tokens[:len(tokens)-1]
	}
	if len(tokens) == 0 {
		return ""
	}
	var b strings.Builder
	for i := range tokens {
		text := tokens[i].text
		if tokens[i].kind == tokenNumber {
			text = orElse(parseNumber(text).certain, text)
		}
		b.WriteString(text)
		b.WriteByte(' ')
	}
	return matrix.NewText(b.String()).Ref
}

// vary says how much the answers of a cell differ, where there are several that might.
func (c *cellFacts) vary(deterministic bool) {
	if deterministic || len(c.features) < 2 {
		return
	}
	times := map[string]int{}
	var keys []string
	for _, f := range c.features {
		if times[f.Answer]++; times[f.Answer] == 1 {
			keys = append(keys, f.Answer)
		}
	}
	counts := make([]int, len(keys))
	for i, key := range keys {
		counts[i] = times[key]
	}
	c.result.Distinct, c.result.Agreement = len(counts), measure.PairsAgree(counts).Decimal()
}
