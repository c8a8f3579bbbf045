package verdict

import (
	"fmt"
	"regexp"
	"sort"
	"strings"
)

// Why a near miss is not a match, in [ClaimResult.Near].
const (
	NearNegated         = "negated"          // it is stated, under a negation
	NearAmbiguousNumber = "ambiguous number" // 1.250 may be 1250 or 1.25
	NearAmbiguousDate   = "ambiguous date"   // 09/01/2026 may be 9 January or 1 September
	NearOtherDate       = "other date"       // the same words with another date
	NearOtherNumber     = "other number"     // the same words with another number
	NearBounded         = "bounded"          // less than 60 crowns, where the case speaks of no bound
	NearRate            = "rate"             // 60 crowns per hour, where the case speaks of no hour
	NearRange           = "range"            // 10 to 60 crowns, where the case speaks of no such range
	NearFormer          = "former"           // previously 60 crowns, where the case speaks of no change
	NearUndecided       = "undecided"        // 60 crowns or 70 crowns, where the case does not speak of the other
)

// nearOrder says which near miss is told when there are several.
var nearOrder = map[string]int{NearOtherNumber: 1, NearOtherDate: 2, NearAmbiguousDate: 3, NearAmbiguousNumber: 4, NearUndecided: 5, NearRange: 6, NearRate: 7, NearBounded: 8, NearFormer: 9, NearNegated: 10}

func nearer(a, b string) string {
	if b != "" && nearOrder[b] > nearOrder[a] {
		return b
	}
	return a
}

// pattern is one alternate of a claim or one refusal phrase.
type pattern struct {
	source   string
	expr     *regexp.Regexp // nil for a literal
	tokens   []token
	values   *prose // its dates, quantities and intervals, by their first token
	negative bool   // holds a negation itself
	name     bool   // holds a hyphen, or a digit in a word, as names do
}

// newPattern reads a literal, as the function given does, or an RE2 expression between slashes.
func newPattern(source string, reads func(string) *prose) (*pattern, error) {
	p := &pattern{source: source}
	if inner, ok := expression(source); ok {
		expr, err := regexp.Compile(inner)
		if err != nil {
			return nil, fmt.Errorf("expression %q: %w", source, err)
		}
		p.expr = expr
		p.negative = holdsNegator(tokenise(tokenText(classEscape.ReplaceAllString(inner, " "))))
		return p, nil
	}
	read := reads(source)
	p.tokens, p.values = read.tokens, read
	for n := len(p.tokens); n > 1 && p.tokens[n-1].kind == tokenMark && strings.Trim(p.tokens[n-1].text, ".,;:!?") == ""; n-- {
		p.tokens = p.tokens[:n-1] // the full stop of a sentence is no part of what it states
	}
	if len(p.tokens) == 0 {
		return nil, fmt.Errorf("%q holds nothing that could be found in an answer", source)
	}
	p.negative = holdsNegator(p.tokens)
	for i, t := range p.tokens {
		p.name = p.name || t.kind == tokenMark && t.text == "-" && !t.space && i > 0 && i+1 < len(p.tokens) && !p.tokens[i+1].space ||
			t.kind == tokenWord && strings.ContainsFunc(t.text, isDigit)
	}
	return p, nil
}

// hyphenated reports whether a hyphen joins [from,to) to a word before or behind it.
func hyphenated(tokens []token, from, to int) bool {
	joins := func(i int) bool {
		return i > 0 && i+1 < len(tokens) && tokens[i].text == "-" && !tokens[i].space && !tokens[i+1].space
	}
	return joins(from-1) && tokens[from-2].kind != tokenMark || joins(to) && tokens[to+1].kind != tokenMark
}

// wordHyphen reports whether the token at i is a hyphen that joins two words without digits.
func wordHyphen(tokens []token, i int) bool {
	return i > 0 && i+1 < len(tokens) && isMark(tokens, i, "-") && !tokens[i].space && !tokens[i+1].space &&
		tokens[i-1].kind == tokenWord && tokens[i+1].kind == tokenWord && !tokens[i+1].block
}

// classEscape is \b, \s and the like, whose letter would be read as part of the word behind it.
var classEscape = regexp.MustCompile(`\\[a-zA-Z]`)

func expression(source string) (inner string, ok bool) {
	if len(source) < 2 || source[0] != '/' || source[len(source)-1] != '/' {
		return "", false
	}
	return source[1 : len(source)-1], true
}

// stated is one place where a pattern matches.
type stated struct{ start, finish int } // in the text

// find looks for the pattern: the first place where the text states it, or that of the nearest miss and why it is none.
func (p *pattern) find(in *prose) (at stated, found bool, near string) {
	return p.findQuantity(in, nil)
}

// findQuantity is find, but passes over quantities with a bound, a rate or a range that is not known. An expression says itself what it
// wants.
func (p *pattern) findQuantity(in *prose, known *known) (at stated, found bool, near string) {
	if p.expr != nil {
		return p.findExpression(in)
	}
	for i := range in.tokens {
		for _, byValue := range [...]bool{false, true} {
			if byValue && !p.values.valued() {
				continue
			}
			end, miss, ok := p.matchAt(in, i, byValue)
			switch {
			case !ok:
			case !p.negative && negated(in.tokens, i, end):
				miss = NearNegated
			case known != nil:
				miss = known.miss(p, in, i, end)
			}
			switch {
			case ok && miss == "":
				return stated{in.tokens[i].start, in.tokens[end-1].finish}, true, ""
			case nearer(near, miss) != near:
				at, near = stated{in.tokens[i].start, in.tokens[end-1].finish}, miss
			}
		}
	}
	return at, false, near
}

func (p *pattern) findExpression(in *prose) (at stated, found bool, near string) {
	for _, m := range p.expr.FindAllStringIndex(in.text, -1) {
		if m[0] == m[1] {
			continue // an empty match states nothing
		}
		from := sort.Search(len(in.tokens), func(i int) bool { return in.tokens[i].finish > m[0] })
		to := sort.Search(len(in.tokens), func(i int) bool { return in.tokens[i].start >= m[1] })
		if !p.negative && (negated(in.tokens, from, to) || to > from && governed(in.tokens, to-1)) {
			at, near = stated{m[0], m[1]}, NearNegated
			continue
		}
		return stated{m[0], m[1]}, true, ""
	}
	return at, false, near
}

// matchAt compares the pattern with the tokens from i on. With byValue, dates, quantities and intervals are compared by what they
// stand for, else all as written. A miss is told only where all but numbers or dates agree.
func (p *pattern) matchAt(in *prose, i int, byValue bool) (end int, miss string, ok bool) {
	at, same := i, 0
	for n := 0; n < len(p.tokens); {
		if at >= len(in.tokens) {
			return 0, "", false
		}
		if byValue {
			v := p.valueAt(n, in, at)
			switch {
			case v.there:
				miss = nearer(miss, v.miss)
				if v.kin {
					same++
				}
				n, at = min(v.next, len(p.tokens)), v.end
				continue
			case v.wanted:
				return 0, "", false
			}
		}
		if n > 0 && p.tokens[n].kind == tokenWord && at > i && wordHyphen(in.tokens, at) {
			at++ // economy-class for economy class
		}
		equal, m := false, ""
		if wordHyphen(p.tokens, n) && in.tokens[at].kind == tokenWord && !in.tokens[at].block { // and the other way round
			n++
			equal = p.tokens[n].text == in.tokens[at].text
		} else {
			equal, m = sameToken(p.tokens, n, in, at)
		}
		if !equal && m == "" {
			return 0, "", false
		}
		if equal && p.tokens[n].kind != tokenNumber {
			same++
		}
		miss = nearer(miss, m)
		n, at = n+1, at+1
	}
	if !p.whole(in, i, at) {
		return 0, "", false
	}
	if miss != "" {
		if miss == NearOtherNumber && (same == 0 || len(p.values.dates) > 0) {
			miss = ""
		}
		return at, miss, false
	}
	return at, "", true
}

// compared is what came of comparing a value of the pattern with one of the text.
type compared struct {
	wanted, there bool // the pattern has a value here; so has the text
	kin           bool // of the same kind
	miss          string
	next, end     int // the tokens behind them, in the pattern and in the text
}

// valueAt compares the date, the interval or the quantity that begins at the pattern's token n with that at the text's token at.
func (p *pattern) valueAt(n int, in *prose, at int) compared {
	if want, ok := p.values.dates[n]; ok {
		got, there := in.dates[at]
		if !there {
			return compared{wanted: true}
		}
		return compared{wanted: true, there: true, miss: dateMiss(got, want), next: want.to, end: got.to}
	}
	if want := p.values.intervals[n]; want != nil {
		got := in.intervals[at]
		switch {
		case got == nil || dimensionOf(got.low.unit).kind != dimensionOf(want.low.unit).kind:
			return compared{wanted: true}
		case want.equal(got):
			return compared{wanted: true, there: true, next: want.to, end: got.to}
		}
		return compared{wanted: true, there: true, kin: want.low.unit != "", miss: NearOtherNumber, next: want.to, end: got.to}
	}
	want, got := p.values.quantities[n], in.quantities[at]
	if want == nil || got == nil {
		return compared{}
	}
	alone := want.from == 0 && want.to >= len(p.tokens) && want.unit == ""
	end, miss, kin, ok := want.stated(got, alone)
	if r := in.intervals[at]; r != nil && miss == NearOtherNumber && r.high.from == got.from {
		end, miss, kin, ok = want.stated(r.high, alone) // both ends are one token
	}
	if !ok {
		return compared{}
	}
	if r := in.intervals[at]; r != nil && r.low.from == at && r.high.from > at && want.unit == "" && got.unit == "" && want.to < len(p.tokens) {
		end = r.to // what the lower end of "between 45 and 60 crowns" counts stands behind the upper one
	}
	return compared{wanted: true, there: true, kin: kin, miss: miss, next: want.to, end: end}
}

// whole reports whether [from,to) begins and ends where something ends: not inside "30a", not with the day of a date for a number,
// not with "gh-pages" for a part of "gh-pages-old".
func (p *pattern) whole(in *prose, from, to int) bool {
	if in.tokens[from].joined || to < len(in.tokens) && in.tokens[to].joined || foreign(in.tokens, from) {
		return false // not "5 days" in "twenty-five days", nor "$60" in "A$60"
	}
	if from > 0 && in.quantities[from] != nil && (multipliers[in.tokens[from-1].text] || from > 1 && isWord(in.tokens, from-1, "of") && isWord(in.tokens, from-2, "half")) {
		return false // nor "30 days" in "twice 30 days"
	}
	if in.tokens[to-1].glued || p.name && hyphenated(in.tokens, from, to) {
		return false
	}
	for i := from; i < to; i++ {
		if month, ok := in.dayOf[i]; ok && (month < from || month >= to) {
			return false
		}
	}
	return true
}

var multipliers = set("twice", "double", "triple")

func dateMiss(got, want dated) string {
	if want.other == nil && got.other == nil && got.date.entails(want.date) {
		return ""
	}
	for _, g := range []*date{&got.date, got.other} {
		for _, w := range []*date{&want.date, want.other} {
			if g != nil && w != nil && g.entails(*w) {
				return NearAmbiguousDate
			}
		}
	}
	return NearOtherDate
}

// sameToken compares the pattern's token n with the text's token at.
func sameToken(want []token, n int, in *prose, at int) (equal bool, miss string) {
	w, g := want[n], in.tokens[at]
	if perAt(want, n) && perAt(in.tokens, at) {
		return true, "" // $5 per month, $5/month, $5 a month
	}
	if n > 0 && w.space != g.space && (w.kind == tokenMark || want[n-1].kind == tokenMark) && want[n-1].kind != tokenNumber && want[n-1].unit == "" {
		return false, "" // "node.js" is not "node. JS"
	}
	switch {
	case w.kind == tokenNumber && g.kind == tokenNumber:
		equal, possible := equalNumbers(w.text, g.text)
		switch {
		case possible:
			return false, NearAmbiguousNumber
		case !equal:
			return false, NearOtherNumber
		}
		return true, ""
	case w.kind == tokenNumber && g.kind == tokenCode:
		if d, ok := in.dates[at]; ok && d.to == at+1 && asYear(w) == d.date.year {
			return true, "" // 2026 is stated by 2026-09-01
		}
		return false, NearOtherNumber
	case w.kind == tokenCode && g.kind == tokenNumber:
		return false, NearOtherNumber
	case w.kind == tokenCode && g.kind == tokenCode && w.text != g.text:
		return false, NearOtherNumber
	case w.unit != "" && w.unit == g.unit:
		return true, ""
	}
	return w.kind == g.kind && w.text == g.text, ""
}
