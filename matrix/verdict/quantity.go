package verdict

import (
	"maps"
	"math/big"
	"slices"
	"strings"
)

// quantity is a number in a row of tokens with the unit that it counts, however it is written: "90 min", "1.5 hours", "1 hour and 30
// minutes", "€60", "60 euros", "thirty days", "1.2 million", "6 pm". The tables are closed and exact: a month is no 30 days, a mile is
// 1.609344 km. golang.org/x/text knows currencies for printing only, and no library reads prose with exact arithmetic.
type quantity struct {
	from, to       int // with its unit
	numFrom, numTo int // the number alone
	number         readings
	times          *big.Rat // what the number is multiplied by: of "1.2 million", nil for 1
	plus           *big.Rat // what is added in the base unit: of "1 hour and 30 minutes"
	unit           string   // a value of units, "clock", or "" for none
	whole          bool     // it states nothing without its last token: km/h is no km
	word           bool     // the word "one" alone, which often counts nothing
}

const longestNumber = 40 // bytes; longer digits are compared as they are written

// findQuantities finds the quantities and intervals outside of dates, from left to right. Where a number is written with several tokens,
// all but the first are marked as joined, so that no match cuts it.
func (p *prose) findQuantities() {
	for i := 0; i < len(p.tokens); {
		if d, ok := p.dates[i]; ok {
			i = d.to
			continue
		}
		if !p.mayCount(i) {
			i++
			continue
		}
		q, r := p.countAt(i)
		if r == nil {
			if q == nil {
				i++
				continue
			}
			p.addQuantity(q)
			i = q.to
			continue
		}
		p.addQuantity(r.low)
		if r.high.from != r.low.from {
			p.addQuantity(r.high)
		}
		if p.intervals == nil {
			p.intervals = map[int]*interval{}
		}
		p.intervals[r.low.from] = r
		p.intervals[r.from] = r
		p.within = append(p.within, r)
		i = r.to
	}
}

func (p *prose) addQuantity(q *quantity) {
	if p.quantities == nil {
		p.quantities = map[int]*quantity{}
	}
	p.quantities[q.from] = q
	if q.numFrom != q.from {
		p.quantities[q.numFrom] = &quantity{from: q.numFrom, to: q.numTo, numFrom: q.numFrom, numTo: q.numTo, number: q.number, times: q.times}
	}
	to := q.numTo
	if q.whole {
		to = q.to
	}
	for i := q.numFrom + 1; i < to; i++ {
		p.tokens[i].joined = true
	}
}

// mayCount reports whether a quantity or an interval may begin with the token at i.
func (p *prose) mayCount(i int) bool {
	t := &p.tokens[i]
	switch t.kind {
	case tokenNumber, tokenCode:
		return true
	case tokenMark:
		return signs[t.text] != ""
	}
	return counting[t.text]
}

// counting are the words that a quantity or an interval may begin with.
var counting = func() map[string]bool {
	m := set("between", "from", "half", "a", "an", "us", "minus", "negative")
	for word := range spelled {
		m[word] = true
	}
	for word := range betweens {
		m[word] = true
	}
	maps.Copy(m, codes)
	return m
}()

// bigMoney are letters that stand for a multiple beside a currency alone.
var bigMoney = map[string]int64{"m": 1e6, "k": 1e3, "b": 1e9}

// quantityAt reads the quantity whose first token is at i, a currency before it included; nil for none.
func (p *prose) quantityAt(i int) *quantity {
	if q := p.clockAt(i); q != nil {
		return q
	}
	before, at := p.currencyAt(i)
	q := p.numberAt(at)
	if q == nil {
		return nil
	}
	q.from = i
	if before == "" && q.to < len(p.tokens) && !p.tokens[q.to].block {
		if unit, _ := p.unitAt(q.to + 1); currencies[unit] { // 200m €
			p.scaled(q, bigMoney)
		}
	}
	if unit, end := p.unitAt(q.to); unit != "" && (before == "" || unit == before) {
		q.unit, q.to, q.word = unit, end, false
		q.whole = dimensions[unit].kind == "" && strings.ContainsAny(unit, "/23")
	} else if before != "" {
		q.unit = before
		p.scaled(q, bigMoney)
	}
	if (q.unit == "°c" || q.unit == "°f") && isWord(p.tokens, q.to, "below") && (isWord(p.tokens, q.to+1, "zero") || isWord(p.tokens, q.to+1, "freezing")) {
		q.number, q.to, q.whole = q.number.negative(), q.to+2, true
	}
	if half := p.tokens[q.numFrom].text == "half"; half && multiples[p.tokens[q.numTo-1].text] == 0 && (q.unit == "" || q.unit == "d" || q.unit == "week") {
		return nil // half a day is no 12 hours
	}
	p.rest(q)
	return q
}

// worth is the value of a quantity in the base unit of its kind: the one by common use, and others that it might have.
type worth struct {
	certain  *big.Rat
	possible []*big.Rat
}

func (q *quantity) value() worth { return q.valueIn(dimensionOf(q.unit)) }

func (q *quantity) valueIn(d dimension) worth {
	convert := func(s string) *big.Rat {
		v, ok := new(big.Rat).SetString(s)
		if !ok {
			return nil
		}
		if q.times != nil {
			v.Mul(v, q.times)
		}
		v.Mul(v.Add(v, big.NewRat(d.offset, 1)), big.NewRat(d.num, d.den))
		if q.plus != nil {
			v.Add(v, q.plus)
		}
		return v
	}
	var w worth
	w.certain = convert(q.number.certain)
	for _, s := range q.number.possible {
		if v := convert(s); v != nil {
			w.possible = append(w.possible, v)
		}
	}
	return w
}

func equalWorth(a, b worth) bool {
	return a.certain != nil && b.certain != nil && a.certain.Cmp(b.certain) == 0
}

func maybe(a, b worth) bool {
	for _, v := range append(a.possible, a.certain) {
		for _, w := range append(b.possible, b.certain) {
			if v != nil && w != nil && v.Cmp(w) == 0 {
				return true
			}
		}
	}
	return false
}

// name is equal for quantities of equal worth and kind.
func (q *quantity) name() string {
	if w := q.value().certain; w != nil {
		return w.RatString() + " " + dimensionOf(q.unit).kind
	}
	return strings.Join(q.number.possible, "|") + " " + q.unit
}

// stated compares a quantity that is wanted with one that is there. A wanted number without a unit is stated with any: end is the token
// behind what was compared, kin whether both count the same kind of thing.
func (q *quantity) stated(got *quantity, alone bool) (end int, miss string, kin, ok bool) {
	d, g := dimensionOf(q.unit), dimensionOf(got.unit)
	end = got.to
	if q.unit == "" && got.unit != "" && got.unit != "clock" && got.plus == nil {
		g, end = dimension{num: 1, den: 1}, got.numTo
	} else if d.kind != g.kind {
		return 0, "", false, false
	}
	if alone && got.word {
		return 0, "", false, false
	}
	kin = q.unit != ""
	a, b := q.valueIn(d), got.valueIn(g)
	switch {
	case equalWorth(a, b) || equalText(q, got):
		return end, "", kin, true
	case maybe(a, b):
		return end, NearAmbiguousNumber, kin, true
	}
	return end, NearOtherNumber, kin, true
}

// equalText: the same form is the same number, whatever it means.
func equalText(a, b *quantity) bool {
	return a.unit == b.unit && a.times == nil && b.times == nil && a.plus == nil && b.plus == nil &&
		a.number.certain == b.number.certain && slices.Equal(a.number.possible, b.number.possible)
}
