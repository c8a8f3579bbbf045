package verdict

import (
	"math/big"
	"slices"
)

// alternative returns the other quantity of the same kind that an "or" puts beside that at [from,to): "either 30 days or 60 days", "30 or 60
// days". Which of the two it is stays open. One of equal worth is no other.
func (p *prose) alternative(from, to int) *quantity {
	q := p.quantities[from]
	if q == nil || !endsCounted(p, from, to) {
		return nil
	}
	kind := func(q *quantity) string {
		if q.unit == "" && q.to < len(p.tokens) && p.tokens[q.to].kind == tokenWord && p.tokens[q.to].text != "or" {
			return p.tokens[q.to].text // crowns
		}
		return dimensionOf(q.unit).kind
	}
	differs := func(other *quantity) bool {
		return other != nil && (kind(q) == kind(other) || kind(q) == "" || kind(other) == "") && other.unit != "clock" && !maybe(q.value(), other.value()) && !rounded(q, other)
	}
	behind := max(to, q.to)
	if isWord(p.tokens, behind, "or") && !p.tokens[behind].block {
		for next := behind + 1; next <= behind+2; next++ { // or even 60 days
			if other := p.quantities[next]; differs(other) {
				return other
			}
		}
	}
	if or := from - 1; or > 0 && isWord(p.tokens, or, "or") && !p.tokens[from].block {
		for i := or - 1; i >= 0 && or-i <= reach && !p.tokens[i].end && !p.tokens[i+1].block; i-- {
			if other := p.quantities[i]; other != nil && or-max(other.to, i) <= 1 && differs(other) { // 30 or, 30 days or, 30 crowns or
				return other
			}
		}
	}
	return nil
}

// rounded reports whether two quantities are one in two units, rounded: 10 kg or 22 lb.
func rounded(a, b *quantity) bool {
	x, y := a.value().certain, b.value().certain
	if a.unit == b.unit || x == nil || y == nil {
		return false
	}
	gap := new(big.Rat).Sub(x, y)
	return gap.Abs(gap).Cmp(new(big.Rat).Quo(new(big.Rat).Abs(x), big.NewRat(50, 1))) <= 0
}

// speaksOf reports whether the case speaks of that quantity: in its own words, or in the evidence that was packed.
func (k *known) speaksOf(q *quantity) bool {
	holds := func(text *prose) bool {
		for _, told := range text.quantities {
			if dimensionOf(told.unit).kind == dimensionOf(q.unit).kind && equalWorth(told.value(), q.value()) {
				return true
			}
		}
		return false
	}
	return slices.ContainsFunc(k.said, holds) || slices.ContainsFunc(k.context(), func(item read) bool { return item.gold && holds(item.prose) })
}
