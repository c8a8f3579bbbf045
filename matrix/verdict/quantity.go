package verdict

import (
	"maps"
	"math/big"
	"slices"
	"strconv"
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
	word           bool     // the word "one" alone, which often counts nothing
}

// interval is a range of two quantities: "10-12 days", "10 to 12 days", "between 10 and 12 days". An author who writes one end does not
// mean it.
type interval struct {
	from, to  int
	low, high *quantity
}

// dimension says how a unit is converted: (value + offset) × num / den is in the base unit of the kind.
type dimension struct {
	kind             string
	num, den, offset int64
}

var dimensions = map[string]dimension{
	"ms": {"time", 1, 1000, 0}, "s": {"time", 1, 1, 0}, "min": {"time", 60, 1, 0}, "h": {"time", 3600, 1, 0}, "d": {"time", 86400, 1, 0},
	"week": {"time", 604800, 1, 0}, "month": {"months", 1, 1, 0}, "year": {"months", 12, 1, 0},
	"mm": {"length", 1, 1000, 0}, "cm": {"length", 1, 100, 0}, "m": {"length", 1, 1, 0}, "km": {"length", 1000, 1, 0},
	"mile": {"length", 1609344, 1000, 0}, "ft": {"length", 3048, 10000, 0}, "inch": {"length", 254, 10000, 0},
	"mg": {"mass", 1, 1000, 0}, "g": {"mass", 1, 1, 0}, "kg": {"mass", 1000, 1, 0}, "t": {"mass", 1000000, 1, 0}, "lb": {"mass", 45359237, 100000, 0},
	"ml": {"volume", 1, 1000, 0}, "cl": {"volume", 1, 100, 0}, "l": {"volume", 1, 1, 0},
	"byte": {"data", 1, 1, 0}, "kb": {"data", 1e3, 1, 0}, "mb": {"data", 1e6, 1, 0}, "gb": {"data", 1e9, 1, 0}, "tb": {"data", 1e12, 1, 0},
	"kib": {"data", 1 << 10, 1, 0}, "mib": {"data", 1 << 20, 1, 0}, "gib": {"data", 1 << 30, 1, 0}, "tib": {"data", 1 << 40, 1, 0},
	"wh": {"energy", 1, 1, 0}, "kwh": {"energy", 1000, 1, 0}, "w": {"power", 1, 1, 0}, "kw": {"power", 1000, 1, 0},
	"hz": {"frequency", 1, 1, 0}, "khz": {"frequency", 1e3, 1, 0}, "mhz": {"frequency", 1e6, 1, 0}, "ghz": {"frequency", 1e9, 1, 0},
	"°c": {"temperature", 1, 1, 0}, "°f": {"temperature", 5, 9, -32},
}

func dimensionOf(unit string) dimension {
	if d, ok := dimensions[unit]; ok {
		return d
	}
	return dimension{kind: unit, num: 1, den: 1}
}

var (
	signs   = map[string]string{"€": "eur", "$": "usd", "£": "gbp", "¥": "jpy", "₹": "inr", "₺": "try", "₩": "krw", "₽": "rub", "₴": "uah", "₪": "ils"}
	codes   = set("eur", "usd", "gbp", "chf", "czk", "pln", "inr", "jpy", "cny", "cad", "aud", "nzd", "sek", "nok", "dkk", "huf", "euro", "rs")
	spelled = map[string]int64{
		"zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11,
		"twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19,
		"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
	}
	multiples = map[string]int64{
		"hundred": 1e2, "thousand": 1e3, "million": 1e6, "millions": 1e6, "billion": 1e9, "trillion": 1e12, "lakh": 1e5, "lakhs": 1e5, "crore": 1e7, "crores": 1e7,
		"mio": 1e6, "bn": 1e9, "mn": 1e6,
	}
	changes = set("raised", "rose", "rises", "rise", "raise", "raises", "increased", "increases", "increase", "extended", "extends", "extend", "changed", "changes",
		"change", "went", "goes", "grew", "grows", "reduced", "reduces", "reduce", "lowered", "lowers", "cut", "fell", "falls", "dropped", "drops", "moved",
		"updated", "adjusted", "shortened", "decreased", "up", "down")
)

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
	if q.plus != nil || q.unit == "clock" {
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
	m := set("between", "from", "half", "a", "an", "us")
	for word := range spelled {
		m[word] = true
	}
	maps.Copy(m, codes)
	return m
}()

// countAt reads the quantity whose first token is at i, or the interval, with its "between" or "from".
func (p *prose) countAt(i int) (*quantity, *interval) {
	tokens, start := p.tokens, i
	between := isWord(tokens, i, "between")
	if between || isWord(tokens, i, "from") && !changed(tokens, i) {
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
	if low == nil || start == i && i > 0 && isWord(tokens, i-1, "from") && changed(tokens, i-1) {
		return low, nil
	}
	var r *interval
	if at := low.to; between && isWord(tokens, at, "and") || !between && (isWord(tokens, at, "to") || isWord(tokens, at, "through") || isMark(tokens, at, "-")) {
		named := low.to > low.numTo // "10 euros - 12 euros" may be two prices, and "10 euros to 12 guests" has one
		if high := at + 1; high < len(tokens) && !tokens[at].block && !tokens[high].block && !(named && tokens[at].kind == tokenMark && tokens[at].space) {
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

func year(r readings) bool { return len(r.certain) == 4 && r.certain >= "1800" && r.certain < "2200" }

// codeInterval reads "10-12 days" and "€10-12", whose numbers are one token.
func (p *prose) codeInterval(i int) *interval {
	from, unit := i, ""
	if i < len(p.tokens) && currency(p.tokens[i]) {
		unit, i = signs[p.tokens[i].text], i+1
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

// changed reports whether "from" at i tells of a change, as in "raised from 10 to 12 days", which states 12 days.
func changed(tokens []token, i int) bool {
	for j := i - 1; j >= 0 && i-j <= reach && !tokens[j].end; j-- {
		if changes[tokens[j].text] {
			return true
		}
	}
	return false
}

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
	if unit, end := p.unitAt(q.to); unit != "" && (before == "" || unit == before) {
		q.unit, q.to, q.word = unit, end, false
	} else if before != "" {
		q.unit = before
		p.scaled(q, map[string]int64{"m": 1e6, "k": 1e3, "b": 1e9})
	}
	if half := p.tokens[q.numFrom].text == "half"; half && (q.unit == "" || q.unit == "d" || q.unit == "week") {
		return nil // half a day is no 12 hours
	}
	p.rest(q)
	return q
}

// scaled takes a word behind the number for its multiple.
func (p *prose) scaled(q *quantity, by map[string]int64) bool {
	if q.to >= len(p.tokens) || p.tokens[q.to].kind != tokenWord || by[p.tokens[q.to].text] == 0 {
		return false
	}
	n := big.NewRat(by[p.tokens[q.to].text], 1)
	if q.times != nil {
		n.Mul(n, q.times)
	}
	q.times, q.to, q.numTo = n, q.to+1, q.to+1
	return true
}

// currencyAt reads a sign or a code of currency before a number. Behind a letter, "$" is another dollar: A$60.
func (p *prose) currencyAt(i int) (unit string, next int) {
	t := p.tokens[i]
	sign := i
	if t.text == "us" && i+1 < len(p.tokens) && !p.tokens[i+1].space {
		sign = i + 1
	}
	switch {
	case isMark(p.tokens, sign, "$") && sign > i:
		return "usd", sign + 1
	case t.kind == tokenMark && signs[t.text] != "":
		if foreign(p.tokens, i) {
			return "", i
		}
		return signs[t.text], i + 1
	case t.kind == tokenWord && codes[t.text]:
		unit = t.text
		if known := units[unit]; known != "" {
			unit = known
		}
		if isMark(p.tokens, i+1, ".") {
			i++
		}
		return unit, i + 1
	}
	return "", i
}

// foreign reports whether the sign of currency at i belongs to a word before it that makes it another.
func foreign(tokens []token, i int) bool {
	return i > 0 && currency(tokens[i]) && !tokens[i].space && tokens[i-1].kind == tokenWord && tokens[i-1].text != "us"
}

// numberAt reads a number alone: 1,250, 1 1/2, twenty-five, a hundred, 1.2 million, 30k, half, ninety (90).
func (p *prose) numberAt(i int) *quantity {
	if i >= len(p.tokens) {
		return nil
	}
	if _, day := p.dayOf[i]; day {
		return nil
	}
	q := p.plainNumber(i)
	if q == nil {
		return nil
	}
	if q.to+2 < len(p.tokens) && isMark(p.tokens, q.to, "(") { // ninety (90) days
		if again := p.plainNumber(q.to + 1); again != nil && isMark(p.tokens, again.to, ")") && equalWorth(q.value(), again.value()) {
			q.to, q.numTo = again.to+1, again.to+1
		}
	}
	return q
}

func (p *prose) plainNumber(i int) *quantity {
	tokens := p.tokens
	if i >= len(tokens) {
		return nil
	}
	t := tokens[i]
	q := &quantity{from: i, numFrom: i, to: i + 1, numTo: i + 1}
	switch {
	case t.kind == tokenNumber && len(t.text) <= longestNumber && !t.glued:
		q.number = parseNumber(t.text)
	case t.kind == tokenNumber && len(t.text) <= longestNumber && i+1 < len(tokens) && tokens[i+1].kind == tokenCode && fraction(tokens[i+1].text) != nil:
		q.number = parseNumber(t.text)
		if q.number.certain == "" {
			return nil
		}
		n, _ := new(big.Rat).SetString(q.number.certain)
		q.number.certain, q.number.possible = "1", nil
		q.times, q.to = n.Add(n, fraction(tokens[i+1].text)), i+2
	case t.kind == tokenNumber && len(t.text) <= longestNumber && i+1 < len(tokens) && !tokens[i+1].space && (tokens[i+1].text == "k" || tokens[i+1].text == "m" || tokens[i+1].text == "bn"):
		q.number = parseNumber(t.text)
		if tokens[i+1].text != "m" { // 30m may be metres, minutes or millions
			p.scaled(q, map[string]int64{"k": 1e3, "bn": 1e9})
		}
	case t.kind == tokenCode && fraction(t.text) != nil:
		unit, _ := p.unitAt(i + 1)
		if unit == "" {
			return nil
		}
		q.number.certain, q.times = "1", fraction(t.text)
	case t.kind == tokenWord && t.text == "half" && (isWord(tokens, i+1, "a") || isWord(tokens, i+1, "an")):
		q.number.certain, q.times, q.to = "1", big.NewRat(1, 2), i+2
	case t.kind == tokenWord && (t.text == "a" || t.text == "an") && i+1 < len(tokens) && multiples[tokens[i+1].text] > 0:
		q.number.certain = "1"
	case t.kind == tokenWord:
		n, to, ok := spelledAt(tokens, i)
		if !ok {
			return nil
		}
		q.number.certain, q.to = strconv.FormatInt(n, 10), to
		q.word = n == 1
	default:
		return nil
	}
	for range 2 { // a hundred thousand
		q.word = !p.scaled(q, multiples) && q.word
	}
	if isWord(tokens, q.to, "and") && isWord(tokens, q.to+1, "a") && isWord(tokens, q.to+2, "half") && q.times == nil && q.number.certain != "" {
		n, _ := new(big.Rat).SetString(q.number.certain)
		q.number.certain, q.times, q.to, q.word = "1", n.Add(n, big.NewRat(1, 2)), q.to+3, false
	}
	q.numTo = q.to
	return q
}

// fraction reads 1/2 of small numbers, nil for another code.
func fraction(code string) *big.Rat {
	a, b, ok := strings.Cut(code, "/")
	if n, d := atoi(a), atoi(b); ok && n > 0 && d > n && len(b) <= 2 {
		return big.NewRat(int64(n), int64(d))
	}
	return nil
}

// spelledAt reads "seven", "thirty", "twenty-five" and "twenty five".
func spelledAt(tokens []token, i int) (n int64, to int, ok bool) {
	n, ok = spelled[tokens[i].text]
	to = i + 1
	if n >= 20 {
		next := to
		if isMark(tokens, next, "-") && !tokens[next].space {
			next++
		}
		if next < len(tokens) && tokens[next].kind == tokenWord {
			if digit := spelled[tokens[next].text]; digit >= 1 && digit <= 9 {
				return n + digit, next + 1, true
			}
		}
	}
	return n, to, ok
}

// unitAt reads a unit at i: a word, a sign, "per cent", "US dollars", "°C", "degrees Celsius".
func (p *prose) unitAt(i int) (unit string, next int) {
	tokens := p.tokens
	if isMark(tokens, i, "-") && !tokens[i].space && i+1 < len(tokens) && !tokens[i+1].space && tokens[i+1].kind == tokenWord {
		i++ // two-week
	}
	if i >= len(tokens) || tokens[i].block {
		return "", i
	}
	t := tokens[i]
	second := ""
	if i+1 < len(tokens) {
		second = tokens[i+1].text
	}
	two := t.text + " " + second
	switch {
	case twoWordUnits[two] != "":
		unit, next = twoWordUnits[two], i+2
	case t.kind == tokenMark && signs[t.text] != "":
		unit, next = signs[t.text], i+1
	case t.kind == tokenWord && units[t.text] != "":
		unit, next = units[t.text], i+1
	case t.text == "%":
		unit, next = "%", i+1
	case t.kind == tokenWord && codes[t.text]:
		unit, next = t.text, i+1
	}
	if unit == "%" && (isWord(tokens, next, "point") || isWord(tokens, next, "points")) {
		return "", i
	}
	return unit, next
}

// rest adds the smaller unit of "1 hour and 30 minutes".
func (p *prose) rest(q *quantity) {
	d := dimensionOf(q.unit)
	if d.kind != "time" && d.kind != "months" {
		return
	}
	at := q.to
	if isWord(p.tokens, at, "and") {
		at++
	}
	more := p.numberAt(at)
	if more == nil || p.tokens[at].block || p.tokens[q.to].block {
		return
	}
	unit, end := p.unitAt(more.to)
	m := dimensionOf(unit)
	if m.kind != d.kind || m.num*d.den >= d.num*m.den {
		return
	}
	more.unit = unit
	if q.plus = more.value().certain; q.plus != nil {
		q.to = end
	}
}

// clockAt reads a time of the day: 18:00, 6 pm, 6:00 p.m.
func (p *prose) clockAt(i int) *quantity {
	tokens := p.tokens
	t := tokens[i]
	if t.kind != tokenNumber && t.kind != tokenCode || len(t.text) > len("18:00") {
		return nil
	}
	h, m, coded := strings.Cut(t.text, ":")
	hour, err := strconv.Atoi(h)
	minute := 0
	if coded && err == nil {
		if minute, err = strconv.Atoi(m); len(m) != 2 {
			return nil
		}
	}
	half, to := "", i+1
	if to < len(tokens) {
		switch letter := tokens[to].text; {
		case letter == "am" || letter == "pm":
			half, to = letter, to+1
		case (letter == "a" || letter == "p") && isMark(tokens, to+1, ".") && !tokens[to+1].space && isWord(tokens, to+2, "m") && !tokens[to+2].space:
			half, to = letter+"m", to+3
		}
	}
	if err != nil || hour < 0 || minute < 0 || minute > 59 || hour > 24 || half == "" && !coded || half != "" && (hour < 1 || hour > 12) {
		return nil
	}
	if half != "" {
		hour %= 12
	}
	if half == "pm" {
		hour += 12
	}
	return &quantity{from: i, to: to, numFrom: i, numTo: i + 1, number: readings{certain: strconv.Itoa(60*hour + minute)}, unit: "clock"}
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

// equal reports whether two intervals have equal ends.
func (r *interval) equal(other *interval) bool {
	return dimensionOf(r.low.unit).kind == dimensionOf(other.low.unit).kind && equalWorth(r.low.value(), other.low.value()) && equalWorth(r.high.value(), other.high.value())
}
