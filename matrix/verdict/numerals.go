package verdict

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

var (
	spelled = map[string]int64{
		"zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11,
		"twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19,
		"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
	}
	multiples = map[string]int64{
		"hundred": 1e2, "thousand": 1e3, "million": 1e6, "millions": 1e6, "billion": 1e9, "trillion": 1e12, "lakh": 1e5, "lakhs": 1e5, "crore": 1e7, "crores": 1e7,
		"mio": 1e6, "bn": 1e9, "mn": 1e6, "dozen": 12,
	}
)

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
	if minus(tokens, i) {
		q := p.unsignedNumber(i + 1)
		if q != nil {
			q.from, q.numFrom = i, i
			q.number = q.number.negative()
		}
		return q
	}
	return p.unsignedNumber(i)
}

// minus reports whether the word at i is the sign of the number behind it, and takes it from no number before.
func minus(tokens []token, i int) bool {
	if i+1 >= len(tokens) || tokens[i].text != "minus" && tokens[i].text != "negative" {
		return false
	}
	_, number := spelled[tokens[i+1].text]
	return (number || tokens[i+1].kind == tokenNumber) && (i == 0 || tokens[i-1].kind != tokenNumber && tokens[i-1].unit == "")
}

func (p *prose) unsignedNumber(i int) *quantity {
	tokens := p.tokens
	if i >= len(tokens) {
		return nil
	}
	t := tokens[i]
	q := &quantity{from: i, numFrom: i, to: i + 1, numTo: i + 1}
	behind := func(words ...string) bool { // without a space
		return i+1 < len(tokens) && !tokens[i+1].space && slices.Contains(words, tokens[i+1].text)
	}
	switch {
	case t.kind == tokenNumber && len(t.text) > longestNumber:
		return nil
	case t.kind == tokenNumber && !t.glued:
		q.number = parseNumber(t.text)
	case t.kind == tokenNumber && i+1 < len(tokens) && tokens[i+1].kind == tokenCode && fraction(tokens[i+1].text) != nil:
		q.number = parseNumber(t.text)
		if q.number.certain == "" {
			return nil
		}
		n, _ := new(big.Rat).SetString(q.number.certain)
		q.number.certain, q.number.possible = "1", nil
		q.times, q.to = n.Add(n, fraction(tokens[i+1].text)), i+2
	case t.kind == tokenNumber && behind("k", "m", "bn", "million", "billion"):
		q.number = parseNumber(t.text)
		if tokens[i+1].text == "k" { // 30m may be metres, minutes or millions
			p.scaled(q, map[string]int64{"k": 1e3})
		}
	case t.kind == tokenCode && fraction(t.text) != nil:
		unit, _ := p.unitAt(i + 1)
		if unit == "" {
			return nil
		}
		q.number.certain, q.times = "1", fraction(t.text)
	case t.kind == tokenWord && t.text == "half" && (isWord(tokens, i+1, "a") || isWord(tokens, i+1, "an")):
		q.number.certain, q.times, q.to = "1", big.NewRat(1, 2), i+2
	case t.kind == tokenWord:
		number, to, ok := spelledAt(tokens, i)
		if !ok {
			return nil
		}
		q.number.certain, q.to = number, to
		q.word = number == "1" && to == i+1
		if share, end := spelledShare(tokens, i, to); share != nil {
			q.times, q.to, q.word = share, end, false
			q.number.certain = "1"
		}
	default:
		return nil
	}
	p.multiplied(q)
	if isWord(tokens, q.to, "and") && isWord(tokens, q.to+1, "a") && isWord(tokens, q.to+2, "half") && q.number.certain != "" {
		n, _ := new(big.Rat).SetString(q.number.certain)
		if q.times != nil {
			n.Mul(n, q.times)
		}
		half := big.NewRat(max(multiples[tokens[q.to-1].text], 1), 2) // a million and a half
		q.number, q.times, q.to, q.word = readings{certain: "1"}, n.Add(n, half), q.to+3, false
		p.multiplied(q)
	}
	q.numTo = q.to
	return q
}

// multiplied takes the multiples behind a number: 3 hundred thousand.
func (p *prose) multiplied(q *quantity) {
	for range 2 {
		q.word = !p.scaled(q, multiples) && q.word
	}
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

// fraction reads 1/2 of small numbers, nil for another code.
func fraction(code string) *big.Rat {
	a, b, ok := strings.Cut(code, "/")
	if n, d := atoi(a), atoi(b); ok && n > 0 && d > n && len(b) <= 2 {
		return big.NewRat(int64(n), int64(d))
	}
	return nil
}

// spelledAt reads a number in English words: seven, twenty-five, a hundred, two hundred and fifty, two thousand five hundred, one point five.
// to is the token behind it.
func spelledAt(tokens []token, i int) (number string, to int, ok bool) {
	n, to, ok := belowThousand(tokens, i)
	if !ok {
		return "", i, false
	}
	if n >= 18 && n <= 20 { // nineteen ninety-nine
		if more, end, ok := belowHundred(tokens, to); ok && more >= 10 && !tokens[to].block {
			return strconv.FormatInt(100*n+more, 10), end, true
		}
	}
	total, least := int64(0), int64(math.MaxInt64)
	for {
		scale := multipleAt(tokens, to)
		if scale <= 100 && scale != 12 || scale >= least {
			break
		}
		total, least, to = total+n*scale, scale, to+1
		n = 0
		next := to
		comma := isMark(tokens, next, ",")
		if comma || isWord(tokens, next, "and") {
			next++
		}
		if isWord(tokens, next, "a") || next < len(tokens) && tokens[next].block {
			break
		}
		more, end, ok := belowThousand(tokens, next)
		behind := multipleAt(tokens, end)
		if !ok || more == 0 || more >= scale || behind >= scale || comma && more < 100 && behind == 0 {
			break // one thousand and two thousand are two numbers
		}
		n, to = more, end
	}
	number = strconv.FormatInt(total+n, 10)
	if total == 0 && isWord(tokens, to, "point") {
		digits := ""
		at := to + 1
		for at < len(tokens) && len(digits) < longestNumber {
			digit, ok := spelled[tokens[at].text]
			if !ok || digit > 9 {
				break
			}
			digits += strconv.FormatInt(digit, 10)
			at++
		}
		if digits != "" {
			return decimal("", number, digits), at, true
		}
	}
	return number, to, true
}

// multipleAt is what the word at i multiplies by, 0 for another.
func multipleAt(tokens []token, i int) int64 {
	if i = hyphened(tokens, i); i < len(tokens) && tokens[i].kind == tokenWord && !tokens[i].block {
		return multiples[tokens[i].text]
	}
	return 0
}

// hyphened steps over a hyphen between two words: twenty-five.
func hyphened(tokens []token, i int) int {
	if isMark(tokens, i, "-") && !tokens[i].space && i+1 < len(tokens) && !tokens[i+1].space {
		return i + 1
	}
	return i
}

// belowThousand reads "two hundred and fifty", and "a" before a multiple.
func belowThousand(tokens []token, i int) (n int64, to int, ok bool) {
	n, to, ok = belowHundred(tokens, i)
	if !ok && (isWord(tokens, i, "a") || isWord(tokens, i, "an")) && multipleAt(tokens, i+1) > 0 {
		n, to, ok = 1, i+1, true
	}
	if !ok || n == 0 || multipleAt(tokens, to) != 100 {
		return n, to, ok
	}
	n, to = 100*n, hyphened(tokens, to)+1
	next := hyphened(tokens, to)
	if isWord(tokens, next, "and") {
		next = hyphened(tokens, next+1)
	}
	if more, end, ok := belowHundred(tokens, next); ok && more > 0 && multipleAt(tokens, end) != 100 && !tokens[next].block {
		n, to = n+more, end
	}
	return n, to, true
}

// belowHundred reads "seven", "thirty", "twenty-five" and "twenty five". "Twenty-fifth" is none.
func belowHundred(tokens []token, i int) (n int64, to int, ok bool) {
	if i >= len(tokens) {
		return 0, i, false
	}
	n, ok = spelled[tokens[i].text]
	to = i + 1
	if next := hyphened(tokens, to); n >= 20 && next < len(tokens) && tokens[next].kind == tokenWord && !tokens[next].block {
		if digit := spelled[tokens[next].text]; digit >= 1 && digit <= 9 {
			return n + digit, next + 1, true
		}
		if next > to && ordinals[tokens[next].text] > 0 {
			return 0, i, false
		}
	}
	return n, to, ok
}

var spelledShares = map[string]int64{"half": 2, "halves": 2, "third": 3, "thirds": 3, "quarter": 4, "quarters": 4, "fifth": 5, "fifths": 5, "tenth": 10, "tenths": 10}

// spelledShare reads "two thirds of" and "three quarters of an", whose first number stands at [i,to); nil for none.
func spelledShare(tokens []token, i, to int) (share *big.Rat, end int) {
	at := hyphened(tokens, to)
	if at >= len(tokens) || spelledShares[tokens[at].text] == 0 || !isWord(tokens, at+1, "of") {
		return nil, to
	}
	n, ok := spelled[tokens[i].text]
	if !ok || to != i+1 || n == 0 {
		return nil, to
	}
	end = at + 1
	if isWord(tokens, end+1, "a") || isWord(tokens, end+1, "an") {
		end += 2
	}
	return big.NewRat(n, spelledShares[tokens[at].text]), end
}
