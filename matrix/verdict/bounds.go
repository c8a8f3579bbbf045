package verdict

import (
	"unicode"
	"unicode/utf8"

	"github.com/culprit-rag/culprit/matrix"
)

// "less than 60 crowns", "up to 60 crowns" and "60 crowns per hour" hold the words of "60 crowns" and state another quantity.
// They count as a near miss, unless the case itself speaks of such a bound or rate: authors write "24 euros" of what "is covered
// up to 24 euros", and an answer that says so is right. What a claim must never state is found with every bound and rate.

// side is where a bound leaves the quantity, beside its number.
type side uint8

const (
	unbounded side = iota
	below
	above
)

// comparatives before "than" exclude the number itself. Under a negation they include it: "not more than 60 crowns" states 60.
var comparatives = map[string]side{
	"less": below, "fewer": below, "lower": below, "shorter": below, "smaller": below, "earlier": below,
	"more": above, "greater": above, "higher": above, "longer": above, "larger": above, "bigger": above, "later": above,
}

// boundWords in a case show that its author thinks of a bound, however it is worded.
var boundWords = map[side]map[string]bool{
	below: set("less", "fewer", "lower", "shorter", "smaller", "earlier", "under", "below", "before", "until", "till", "within", "most",
		"maximum", "maximal", "max", "limit", "limits", "limited", "cap", "caps", "capped", "ceiling", "exceed", "exceeds", "exceeding"),
	above: set("more", "greater", "higher", "longer", "larger", "bigger", "later", "over", "above", "beyond", "after", "least",
		"minimum", "minimal", "min", "exceed", "exceeds", "exceeding", "exceeded"),
}

// sums before "up to" make a total of it: "the fees add up to 60 crowns".
var sums = set("add", "adds", "added", "adding", "sum", "sums", "summed", "come", "comes", "came", "amount", "amounts")

// known is what a case says of its quantities: in its question, its evidence and the wording of a claim.
type known struct {
	said    []*prose
	context func() []read // what was packed: the evidence in it speaks for the case
}

// miss says how the quantity at [from,to) is another than the one that p names, or "".
func (k *known) miss(p *pattern, in *prose, from, to int) string {
	if s := boundBefore(in, from); s != unbounded && !k.says(p, func(t []token, i int) bool { return tellsBound(t, i, s) }) {
		return NearBounded
	}
	if r := in.intervalAround(from, to); r != nil && !p.ranged() && !k.ranges(r) {
		return NearRange
	}
	if unit := rateBehind(in, from, to); unit != "" && !k.says(p, func(t []token, i int) bool { return rates[t[i].text] == unit }) {
		return NearRate
	}
	return ""
}

// says reports whether a token of what the case says is one that tells. In packed evidence, which is long, it must stand in a
// sentence with the quantity.
func (k *known) says(p *pattern, tells func([]token, int) bool) bool {
	holds := func(tokens []token) bool {
		for i := range tokens {
			if tells(tokens, i) {
				return true
			}
		}
		return false
	}
	for _, text := range k.said {
		if holds(text.tokens) {
			return true
		}
	}
	for _, item := range k.context() {
		if !item.gold {
			continue
		}
		text := item.prose
		for i := range text.tokens {
			for _, byValue := range [...]bool{false, true} {
				if end, _, ok := p.matchAt(text, i, byValue); ok && holds(sentence(text.tokens, i, end)) {
					return true
				}
			}
		}
	}
	return false
}

// sentence returns the tokens of the sentence around [from,to).
func sentence(tokens []token, from, to int) []token {
	ends := func(t token) bool { return t.kind == tokenMark && (t.text == "." || t.text == "!" || t.text == "?") }
	for from > 0 && !ends(tokens[from-1]) {
		from--
	}
	for to < len(tokens) && !ends(tokens[to]) {
		to++
	}
	return tokens[from:to]
}

// boundBefore returns the side of "less than", "more than" and the like, and of "up to", right before a number or a date at from.
func boundBefore(in *prose, from int) side {
	tokens := in.tokens
	if currency(tokens[from]) && from+1 < len(tokens) && tokens[from+1].kind == tokenNumber {
		from++
	}
	if in.quantities[from] != nil && tokens[from].kind == tokenWord {
		// sixty crowns
	} else if _, dated := in.dates[from]; !dated && tokens[from].kind != tokenNumber && tokens[from].kind != tokenCode {
		return unbounded
	}
	i := from - 1
	if i > 0 && currency(tokens[i]) {
		i--
	}
	switch {
	case i < 1:
	case tokens[i].text == "than" && !turned(tokens, i-1):
		return comparatives[tokens[i-1].text]
	case tokens[i].text == "to" && tokens[i-1].text == "up" && (i < 2 || !sums[tokens[i-2].text]):
		return below
	}
	return unbounded
}

// turned reports whether a negation stands before the comparative at that token in its clause: "no more than", "never costs more than".
func turned(tokens []token, at int) bool {
	for i := at - 1; i >= 0 && at-i <= reach && !tokens[i].end && !openers[tokens[i].text]; i-- {
		if negators[tokens[i].text] {
			return true
		}
	}
	return false
}

// tellsBound reports whether the token at i speaks of a bound on that side. A negation turns the other side round: "must not be
// longer than 30 days".
func tellsBound(tokens []token, i int, s side) bool {
	if tokens[i].text == "up" && isWord(tokens, i+1, "to") {
		return s == below
	}
	return boundWords[s][tokens[i].text] || boundWords[below+above-s][tokens[i].text] && turned(tokens, i)
}

func currency(t token) bool {
	r, _ := utf8.DecodeRuneInString(t.text)
	return t.kind == tokenMark && unicode.Is(unicode.Sc, r)
}

// readCase returns what is asked, what the case says outside of its claims, and the sources of its evidence.
func readCase(c *matrix.Case) (asked, said []*prose, sources []string) {
	questions := []string{c.Query}
	for _, m := range c.Messages {
		questions = append(questions, m.Text)
	}
	asked = readAll(questions)
	var texts []string
	for _, requirement := range c.Evidence.Required {
		for _, gold := range requirement.AnyOf {
			texts = append(texts, gold.Span, gold.Text)
			sources = append(sources, gold.Source)
		}
	}
	return asked, append(asked[:len(asked):len(asked)], readAll(texts)...), sources
}

func readAll(texts []string) []*prose {
	var out []*prose
	for _, text := range texts {
		if text != "" {
			out = append(out, readProse(text))
		}
	}
	return out
}
