package verdict

import (
	"slices"
	"strings"
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

// boundPhrases stand right before a quantity. A negation before one turns it round, and "no more than 60 crowns" does not state 60 either.
var boundPhrases = phrases(map[side]string{
	below: `less than, fewer than, lower than, shorter than, smaller than, earlier than, up to, under, below, beneath, as much as, as many as,
		at most, at the most, at maximum, maximum, maximum of, max, max ., max of, nearly, almost, short of, shy of, <, < =, = <, ≤, ⩽,
		weniger als, bis zu, höchstens, maximal, unter, jusqu à, moins de, au plus, au maximum, maximum de, menos de, hasta, como máximo, máximo,
		máximo de, meno di, fino a, al massimo, massimo, até, no máximo, minder dan, hoogstens, maximaal, ten hoogste, tot, mniej niż,
		co najwyżej, maksymalnie, dépasse pas, excède pas, mindre än, högst, upp till, mindre end, højst, до, менее, меньше, максимум, 最 多, 至 多, 少 于, 不 到, 不 足`,
	above: `from, ab, desde, a partir de, à partir de, a partire da, vanaf, od, från, от, beginning at, begins at, more than, greater than, higher than, longer than, larger than, bigger than, later than, over, above, beyond, exceed, exceeds,
		exceeding, exceeded, in excess of, at least, at the least, at minimum, minimum, minimum of, min, min ., min of, upwards of,
		as little as, as few as, starting at, starting from, start at, start from, starts at, starts from, >, > =, ≥, ⩾,
		mehr als, länger als, später als, mindestens, über, plus de, au moins, au minimum, dépasse, más de, al menos, por lo menos, como mínimo, mínimo, mínimo de, più di,
		almeno, oltre, mais de, pelo menos, no mínimo, meer dan, minstens, ten minste, minimaal, więcej niż, dłużej niż, później niż, co najmniej, ponad, mer än, minst,
		mere end, mindst, более, больше, дольше, позднее, позже, свыше, минимум, превышает, 至 少, 超 过, 超 過, 多 于, 高 于`,
})

// boundTails stand right behind a quantity.
var boundTails = phrases(map[side]string{
	below: `cheaper, billiger, günstiger, moins cher, más barato, meno caro, goedkoper, or less, or fewer, or lower, or shorter, or under, or below, and below, and under, at most, at the most, at maximum, maximum, max, as a maximum,
		tops, oder weniger, ou moins, au plus, au maximum, o menos, como máximo, al massimo, ou menos, no máximo, nicht überschreiten, of minder, 以 下`,
	above: `dearer, more expensive, teurer, plus cher, más caro, più caro, duurder, aufwärts, und mehr, et plus, y más, e più, en meer, or more, or longer, or higher, or greater, or above, or over, or beyond, or older, or later, or newer, and above, and over, and up, and more, upwards, at least, at the least,
		at minimum, minimum, as a minimum, +, oder mehr, ou plus, au moins, au minimum, o más, como mínimo, al menos, o più, almeno, ou mais, pelo menos,
		of meer, 以 上`,
})

// phrase is a row of words that is a bound.
type phrase struct {
	words []string
	side  side
}

func phrases(bySide map[side]string) []phrase {
	var out []phrase
	for _, s := range [...]side{below, above} {
		for _, p := range rows(bySide[s]) {
			out = append(out, phrase{p.words, s})
		}
	}
	return out
}

// rows reads phrases between commas.
func rows(written string) []phrase {
	var out []phrase
	for row := range strings.SplitSeq(written, ",") {
		out = append(out, phrase{words: strings.Fields(row)})
	}
	return out
}

// at reports whether the phrase stands at [from, from+len(words)).
func (p phrase) at(tokens []token, from int) bool {
	if from < 0 || from+len(p.words) > len(tokens) {
		return false
	}
	for i, word := range p.words {
		if tokens[from+i].text != word || i > 0 && tokens[from+i].block {
			return false
		}
	}
	return true
}

// spread before "over" is no bound: paid over 30 days.
var spread = set("spread", "paid", "payable", "divided", "distributed", "amortised", "accrued", "accrues", "averaged", "measured", "instalments")

// boundWords in a case show that its author thinks of a bound, however it is worded.
var boundWords = map[side]map[string]bool{
	below: set("less", "fewer", "lower", "shorter", "smaller", "earlier", "under", "below", "before", "until", "till", "within", "most",
		"maximum", "maximal", "max", "limit", "limits", "limited", "cap", "caps", "capped", "ceiling", "exceed", "exceeds", "exceeding",
		"nearly", "almost", "tops", "<", "≤", "weniger", "höchstens", "unter", "bis", "jusqu", "moins", "hasta", "menos", "máximo", "meno", "fino", "massimo",
		"até", "minder", "hoogstens", "maximaal", "tot", "mniej", "mindre", "högst", "менее", "меньше", "максимум", "до", "最", "内"),
	above: set("more", "greater", "higher", "longer", "larger", "bigger", "later", "over", "above", "beyond", "after", "least",
		"newer", "minimum", "minimal", "min", "exceed", "exceeds", "exceeding", "exceeded", "excess", "upwards", "starting", ">", "≥",
		"mehr", "mindestens", "über", "plus", "minst", "más", "mínimo", "più", "almeno", "oltre", "mais", "meer", "minstens", "więcej", "ponad", "более",
		"больше", "свыше", "минимум", "至", "超"),
}

// sums before "up to" make a total of it: "the fees add up to 60 crowns".
var sums = set("add", "adds", "added", "adding", "sum", "sums", "summed", "come", "comes", "came", "amount", "amounts")

// known is what a case says of its quantities: in its question, its evidence and the wording of a claim.
type known struct {
	said    []*prose
	context func() []read // what was packed: the evidence in it speaks for the case
	told    map[topic]bool
}

// topic is what a case may speak of: a bound, a rate or a change beside what a pattern wants; or a quantity or a range.
type topic struct {
	pattern *pattern
	what    string
}

// miss says how the quantity at [from,to) is another than the one that p names, or "".
func (k *known) miss(p *pattern, in *prose, from, to int) string {
	says := func(what string, tells func([]token, int) bool) bool {
		return k.once(topic{p, what}, func() bool { return k.says(p, tells) })
	}
	for _, s := range [...]side{boundBefore(in, from), boundBehind(in, from, to)} {
		what := [...]string{below: "below", above: "above"}
		if s != unbounded && !says(what[s], func(t []token, i int) bool { return tellsBound(t, i, s) }) &&
			!k.once(topic{p, what[s] + " it"}, func() bool { return k.bounds(p, s) }) {
			return NearBounded
		}
	}
	if r := in.intervalAround(from, to); r != nil && !p.ranged() && !k.once(topic{nil, r.name()}, func() bool { return k.ranges(r) }) {
		return NearRange
	}
	if unit := rateBehind(in, from, to); unit != "" && !says(unit, func(t []token, i int) bool { return rateAt(t, i) == unit }) {
		return NearRate
	}
	if former(in, from) && !says(NearFormer, tellsFormer) {
		return NearFormer
	}
	if q := in.alternative(from, to); q != nil && !k.once(topic{nil, q.name()}, func() bool { return k.speaksOf(q) }) {
		return NearUndecided
	}
	return ""
}

// once asks a question once, however often an answer raises it.
func (k *known) once(what topic, ask func() bool) bool {
	said, known := k.told[what]
	if !known {
		if k.told == nil {
			k.told = map[topic]bool{}
		}
		said = ask()
		k.told[what] = said
	}
	return said
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

// bounds reports whether the case, or the evidence that was packed, bounds what p wants on that side, in any words that are read so.
func (k *known) bounds(p *pattern, s side) bool {
	states := func(text *prose) bool {
		for i := range text.tokens {
			for _, byValue := range [...]bool{false, true} {
				if end, _, ok := p.matchAt(text, i, byValue); ok && (boundBefore(text, i) == s || boundBehind(text, i, end) == s) {
					return true
				}
			}
		}
		return false
	}
	return slices.ContainsFunc(k.said, states) || slices.ContainsFunc(k.context(), func(item read) bool { return item.gold && states(item.prose) })
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

// boundBefore returns the side of "less than", "at least", ">" and the like right before a number or a date at from. Before a date and a time of
// the day only "later than" and its like count: who has to act no later than 1 September is told that day.
func boundBefore(in *prose, from int) side {
	tokens := in.tokens
	if currency(tokens[from]) && from+1 < len(tokens) && tokens[from+1].kind == tokenNumber {
		from++
	}
	_, dated := in.dates[from]
	moment := dated || in.quantities[from] != nil && in.quantities[from].unit == "clock"
	if tokens[from].kind == tokenWord && in.quantities[from] == nil && !dated || tokens[from].kind == tokenMark {
		return unbounded
	}
	if startsRange(in, from) {
		return unbounded
	}
	for i := from; i > 0 && !tokens[i].block; i-- {
		if s, found := boundEnding(tokens, i, moment); found {
			return s
		}
		if !currency(tokens[i-1]) && !idleBefore[tokens[i-1].text] {
			break
		}
	}
	return unbounded
}

// boundEnding returns the side of the phrase that ends right before the token at i. found is false where there is none.
func boundEnding(tokens []token, i int, moment bool) (s side, found bool) {
	for _, p := range boundPhrases {
		first := i - len(p.words)
		if !p.at(tokens, first) {
			continue
		}
		word, before := p.words[0], ""
		if first > 0 {
			before = tokens[first-1].text
		}
		turns := turned(tokens, first)
		switch {
		case starts[word] && len(p.words) == 1 && idleBefore[tokens[i].text], // taken from the 60 crowns
			word == ">" && (first == 0 || tokens[first].block) && tokens[first+1].space,              // a quotation
			(word == ">" || word == "=") && (before == "-" || before == "=") && !tokens[first].space, // an arrow
			word == "min" && first > 0 && tokens[first-1].kind == tokenNumber,                        // 10 min
			word == "over" && spread[before],
			word == "up" && sums[before],
			word == "mais" && before == ",", // French for "but"
			moment && (turns || word != "up" && !slices.Contains(p.words, "than")):
			return unbounded, true
		case turns:
			return below + above - p.side, true
		}
		return p.side, true
	}
	return unbounded, false
}

// starts are words before the lower end of a range or of a change, and otherwise before a least.
var starts = set("from", "ab", "desde", "vanaf", "od", "från", "от")

// rangeEnds stand behind the lower end.
var rangeEnds = set("to", "until", "till", "through", "and", "bis", "a", "à", "hasta", "tot", "do", "до", "jusqu", "al", "às")

// startsRange reports whether the quantity at from is the lower end behind one of starts: from 10 to 12 days, from 30 days to 60 days.
func startsRange(in *prose, from int) bool {
	i := from
	if i > 0 && currency(in.tokens[i-1]) {
		i--
	}
	if i == 0 || !starts[in.tokens[i-1].text] && in.tokens[i-1].text != "de" && in.tokens[i-1].text != "da" {
		return false
	}
	if in.intervalAround(from, from+1) != nil {
		return true
	}
	q := in.quantities[from]
	return q != nil && q.to < len(in.tokens) && rangeEnds[in.tokens[q.to].text]
}

// idleBefore may stand between a bound and its number.
var idleBefore = set("a", "an", "the", "about", "just", "exactly", "approximately", "de")

// boundBehind returns the side of "or more", "at most" and the like right behind a quantity that ends at to.
func boundBehind(in *prose, from, to int) side {
	if !endsCounted(in, from, to) {
		return unbounded
	}
	if q := in.quantities[from]; q != nil && q.numTo == to {
		to = q.to // 60 for 60 euros
	}
	for _, p := range boundTails {
		if p.at(in.tokens, to) && !in.tokens[to].block {
			return p.side
		}
	}
	return unbounded
}

// endsCounted reports whether [from,to) ends in a quantity: a number, with a word or a sign of currency.
func endsCounted(in *prose, from, to int) bool {
	tokens, last := in.tokens, to-1
	if tokens[last].kind == tokenNumber || last > from && tokens[last-1].kind == tokenNumber && (tokens[last].kind == tokenWord || tokens[last].unit != "") {
		return true
	}
	q := in.quantities[from]
	return q != nil && (q.unit != "" && q.to == to || q.numTo == to || q.numTo == last && tokens[last].kind == tokenWord)
}

// turned reports whether a negation stands before the bound at that token in its clause: "no more than", "never costs more than".
func turned(tokens []token, at int) bool {
	for i := at - 1; i >= 0 && at-i <= reach && !tokens[i].end && !tokens[i+1].block && !openers[tokens[i].text]; i-- {
		if negators[tokens[i].text] || elsewhere[tokens[i].text] {
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
	if starts[tokens[i].text] {
		return s == above && i+1 < len(tokens) && (tokens[i+1].kind == tokenNumber || currency(tokens[i+1]) || counting[tokens[i+1].text])
	}
	return boundWords[s][tokens[i].text] || boundWords[below+above-s][tokens[i].text] && turned(tokens, i)
}

func currency(t token) bool {
	r, _ := utf8.DecodeRuneInString(t.text)
	return t.kind == tokenMark && unicode.Is(unicode.Sc, r) || t.kind == tokenWord && t.unit == "" && codes[t.text]
}

// readCase returns what is asked, what the case says outside of its claims, and the sources of its evidence.
func (k *Checker) readCase(c *matrix.Case) (said []*prose) {
	questions := []string{c.Query}
	for _, m := range c.Messages {
		questions = append(questions, m.Text)
	}
	k.asked = k.readAll(questions)
	var texts []string
	for _, requirement := range c.Evidence.Required {
		for _, gold := range requirement.AnyOf {
			texts = append(texts, gold.Span, gold.Text)
			k.sources = append(k.sources, gold.Source)
		}
	}
	return append(slices.Clip(k.asked), k.readAll(texts)...)
}

func (k *Checker) readAll(texts []string) []*prose {
	var out []*prose
	for _, text := range texts {
		if text != "" {
			out = append(out, k.prose(text))
		}
	}
	return out
}
