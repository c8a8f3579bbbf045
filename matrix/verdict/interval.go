package verdict

import (
	"slices"
	"sort"
	"strings"
)

// interval is a range of two quantities: "10-12 days", "10 to 12 days", "between 10 and 12 days". An author who writes one end does not
// mean it.
type interval struct {
	from, to  int
	low, high *quantity
}

// countAt reads the quantity whose first token is at i, or the interval, with its "between" or "from".
func (p *prose) countAt(i int) (*quantity, *interval) {
	tokens, start := p.tokens, i
	and := betweens[tokens[i].text]
	between := and != ""
	if between || isWord(tokens, i, "from") && !changed(tokens, i, changes) {
		start++
	}
	if r := p.codeInterval(start); r != nil {
		r.from = i
		return nil, r
	}
	if start == len(tokens) {
		return nil, nil
	}
	low := p.quantityAt(start)
	if low == nil || start == i && i > 0 && (isWord(tokens, i-1, "from") || isWord(tokens, i-1, "by")) && changed(tokens, i-1, changes) {
		return low, nil
	}
	var r *interval
	if at := low.to; between && at < len(tokens) && strings.Contains(and, " "+tokens[at].text+" ") || !between && (isWord(tokens, at, "to") || isWord(tokens, at, "through") || isMark(tokens, at, "-") || foreignTo(tokens, at)) {
		named := low.to > low.numTo // "10 euros - 12 euros" may be two prices where "2 °C - 4 °C" is a range, and "10 euros to 12 guests" has one
		high := at + 1
		if high < len(tokens) && nearly[tokens[high].text] && tokens[at].kind == tokenWord {
			high++ // 15 to about 30 days
		}
		if high < len(tokens) && !tokens[at].block && !tokens[high].block && !(named && tokens[at].kind == tokenMark && tokens[at].space && dimensions[low.unit].kind == "") {
			if q := p.quantityAt(high); q != nil && (q.unit != "" || !named) {
				r = newInterval(i, low, q)
			}
		}
	}
	if start > i && r == nil {
		return nil, nil // it is read for itself
	}
	return low, r
}

// betweens are words for "between", with those for "and" that go with them.
var betweens = map[string]string{"between": " and ", "zwischen": " und ", "entre": " et y e ", "tra": " e ", "fra": " e ", "tussen": " en ", "mellan": " och ", "między": " a "}

var tos = set("bis", "à", "a", "hasta", "até", "tot", "till", "до")

// foreignTo reports whether the word at i is "to" between two numbers in another language: "50 bis 60 €".
func foreignTo(tokens []token, i int) bool {
	return i+1 < len(tokens) && tokens[i].kind == tokenWord && tos[tokens[i].text] && (tokens[i+1].kind == tokenNumber || currency(tokens[i+1]))
}

var nearly = set("about", "around", "approximately", "roughly", "nearly", "almost")

func newInterval(from int, low, high *quantity) *interval {
	if high == nil {
		return nil
	}
	l, h := *low, *high
	switch {
	case l.unit == "":
		l.unit = h.unit
	case h.unit == "":
		h.unit = l.unit
	}
	if l.unit == "" && (year(l.number) || year(h.number)) || l.unit == "clock" || dimensionOf(l.unit).kind != dimensionOf(h.unit).kind {
		return nil
	}
	a, b := l.value(), h.value()
	if a.certain == nil || b.certain == nil || a.certain.Cmp(b.certain) >= 0 {
		return nil
	}
	return &interval{from: from, to: h.to, low: &l, high: &h}
}

// codeInterval reads "10-12 days" and "€10-12", whose numbers are one token.
func (p *prose) codeInterval(i int) *interval {
	from, unit := i, ""
	if i < len(p.tokens) && currency(p.tokens[i]) {
		unit, i = p.currencyAt(i)
	}
	if i >= len(p.tokens) || p.tokens[i].kind != tokenCode || len(p.tokens[i].text) > longestNumber {
		return nil
	}
	a, b, ok := strings.Cut(p.tokens[i].text, "-")
	if !ok || strings.ContainsAny(b, "-/:^") || strings.ContainsAny(a, "/:^") {
		return nil
	}
	to := i + 1
	if named, end := p.unitAt(to); named != "" {
		unit, to = named, end
	}
	ends := [2]*quantity{}
	for n, s := range []string{a, b} {
		ends[n] = &quantity{from: from, to: to, numFrom: i, numTo: i + 1, number: parseNumber(s), unit: unit}
	}
	return newInterval(from, ends[0], ends[1])
}

// changes are words before "from" that make what is behind "to" the one that is stated.
var changes = set("raised", "rose", "rises", "rise", "raise", "raises", "increased", "increases", "increase", "extended", "extends", "extend", "changed", "changes",
	"change", "went", "goes", "grew", "grows", "reduced", "reduces", "reduce", "lowered", "lowers", "cut", "fell", "falls", "dropped", "drops", "moved",
	"updated", "adjusted", "shortened", "decreased", "up", "down")

// changed reports whether "from" at i tells of a change, as in "raised from 10 to 12 days", which states 12 days.
func changed(tokens []token, i int, by map[string]bool) bool {
	for j := i - 1; j >= 0 && i-j <= reach && !tokens[j].end; j-- {
		if by[tokens[j].text] {
			return true
		}
	}
	return false
}

// equal reports whether two intervals have equal ends.
func (r *interval) equal(other *interval) bool {
	return dimensionOf(r.low.unit).kind == dimensionOf(other.low.unit).kind && equalWorth(r.low.value(), other.low.value()) && equalWorth(r.high.value(), other.high.value())
}

// name is equal for intervals with equal ends.
func (r *interval) name() string { return r.low.name() + " - " + r.high.name() }

// intervalAround returns the range that the quantity at [from,to) is an end of.
func (p *prose) intervalAround(from, to int) *interval {
	ends := func(q *quantity) bool { return from <= q.numFrom && q.numTo <= to }
	first := sort.Search(len(p.within), func(i int) bool { return p.within[i].to > from })
	for _, r := range p.within[first:] {
		if r.from >= to {
			break
		}
		if ends(r.low) || ends(r.high) {
			return r
		}
	}
	return nil
}

// ranged reports whether the pattern names a range itself.
func (p *pattern) ranged() bool { return len(p.values.within) > 0 }

// ranges reports whether the case speaks of that range: its own words, or the evidence that was packed.
func (k *known) ranges(r *interval) bool {
	for _, text := range k.said {
		if slices.ContainsFunc(text.within, r.equal) {
			return true
		}
	}
	return slices.ContainsFunc(k.context(), func(item read) bool { return item.gold && slices.ContainsFunc(item.prose.within, r.equal) })
}

func year(r readings) bool { return len(r.certain) == 4 && r.certain >= "1800" && r.certain < "2200" }
