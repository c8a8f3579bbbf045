package verdict

import (
	"math/big"
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
		"mio": 1e6, "bn": 1e9, "mn": 1e6,
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
