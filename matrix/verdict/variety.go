package verdict

import (
	"slices"
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

// AnswerKeys are the keys of answers that were read, by their texts: an answer is compared with the others of its case in every round.
type AnswerKeys map[string]string

// unnumbered is the Answer of a trial that was just read.
const unnumbered = -1

// number gives the answers their numbers, in the order of the trials, those that have one from fewer trials included. It is a number and no
// digest, since a short answer could be guessed from that.
func (x *extractor) number(trials []TrialFeatures) {
	numbers, keys := map[string]int{}, map[int]string{} // of an earlier number
	for i := range trials {
		was := trials[i].Answer
		if was == 0 {
			continue
		}
		key, ok := keys[was]
		if answer := x.o.Trials[i].Answer.Value; !ok {
			if key, ok = x.keys[answer]; !ok {
				key = answerKey(answer)
				x.keys[answer] = key
			}
		}
		if was != unnumbered {
			keys[was] = key
		}
		if trials[i].Answer = 0; key == "" {
			continue
		}
		if numbers[key] == 0 {
			numbers[key] = len(numbers) + 1
		}
		trials[i].Answer = numbers[key]
	}
}

// vary says how much the answers of a cell differ, where there are several that might.
func (c *cellFacts) vary(deterministic bool) {
	if deterministic || len(c.features) < 2 {
		return
	}
	said := make([]int, len(c.features))
	for i, f := range c.features {
		said[i] = f.Answer
	}
	slices.Sort(said)
	counts := make([]int, 0, len(said))
	for i := range said {
		if i == 0 || said[i] != said[i-1] {
			counts = append(counts, 0)
		}
		counts[len(counts)-1]++
	}
	c.result.Distinct, c.result.Agreement = len(counts), measure.PairsAgree(counts).Decimal()
}
