package verdict

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/culprit-rag/culprit/matrix"
)

// NoSwap is why a case has no D/swap-span for an item: no fact of it can be changed so that it shows.
const NoSwap = "no fact of the span, be it a date, a number or a name, can be changed so that the evidence no longer states a claim of the case"

// SwapFact changes one fact of the span of a required item wherever the item's text states it: a date, a number, a spelled number or a name,
// in this order. gold are the texts of all required items, of which that at the place item is changed. A fact counts only where some
// claim rests on it: the gold states the claim before, and no longer after. ok is false where there is none, see [NoSwap].
//
// Equal texts are changed alike: 30 days become 47 days, 1 September 2026 becomes 9 November 2026.
func SwapFact(c *matrix.Case, gold []string, item int, span string) (text string, swap matrix.Swap, ok bool) {
	k, err := NewChecker(c, nil)
	if err != nil {
		return "", matrix.Swap{}, false // the case is told to be broken elsewhere
	}
	before := k.statedBy(gold)
	for _, f := range factsOf(span) {
		swapped := slices.Clone(gold)
		swapped[item] = f.replaceIn(gold[item])
		if swapped[item] == gold[item] {
			continue
		}
		after := k.statedBy(swapped)
		for i := range before {
			if before[i] && !after[i] {
				return swapped[item], matrix.Swap{From: f.from, To: f.to}, true
			}
		}
	}
	return "", matrix.Swap{}, false
}

// statedBy says of each claim whether the texts together state what it asks for.
func (k *Checker) statedBy(texts []string) []bool {
	all := readProse(strings.Join(texts, "\n\n"))
	out := make([]bool, len(k.claims))
	for i := range k.claims {
		out[i] = slices.ContainsFunc(k.claims[i].any, func(p *pattern) bool {
			_, found, _ := p.find(all)
			return found
		})
	}
	return out
}

// fact is something that a text states and that can be changed: a row of tokens, of which the first are replaced.
type fact struct {
	from, to string  // as they are shown, with the unit
	tokens   []token // of from
	put      string  // in the place of the first tokens
	replaced int     // how many
	number   bool    // no part of a date
}

// plainSpace makes every white space a space of the same length, so that tokens keep their places in the text, also in what is no UTF-8.
func plainSpace(s string) string {
	plain := []byte(s)
	for i, c := range plain {
		if c < utf8.RuneSelf && unicode.IsSpace(rune(c)) {
			plain[i] = ' '
		}
	}
	return string(plain)
}

// factsOf lists the facts of a span: dates, numbers, spelled numbers, names, each kind from left to right.
func factsOf(span string) []fact {
	text := plainSpace(strings.TrimSpace(span))
	tokens := tokenise(text)
	var dates, numbers, spelled []fact
	inDate := datesIn(tokens)
	add := func(list *[]fact, from, to, replaced int, put string) {
		start, end := tokens[from].start, tokens[to-1].finish
		rest := text[tokens[from+replaced-1].finish:end]
		if f := (fact{from: text[start:end], to: put + rest, tokens: tokens[from:to], put: put, replaced: replaced, number: inDate[from] == nil}); put != "" && f.from != f.to {
			*list = append(*list, f)
		}
	}
	for i, t := range tokens {
		behind := i + 1 // the word that says what is counted
		if behind < len(tokens) && (tokens[behind].kind == tokenWord || tokens[behind].unit != "") {
			behind++
		}
		switch d := inDate[i]; {
		case d != nil && d.from == i:
			add(&dates, d.from, d.to, d.to-d.from, otherDate(text, tokens, d))
		case d != nil || t.glued:
		case t.kind == tokenNumber:
			add(&numbers, i, behind, 1, otherNumber(text[t.start:t.finish], behind == i+1))
		case t.kind == tokenCode:
			add(&numbers, i, i+1, 1, otherTime(t.text))
		case t.kind == tokenWord && !hyphenated(tokens, i, i+1):
			add(&spelled, i, behind, 1, likeCase(otherSpelled(t.text), text[t.start:t.finish]))
		}
	}
	return slices.Concat(dates, numbers, spelled, namesOf(text, tokens))
}

func datesIn(tokens []token) map[int]*dated {
	out := map[int]*dated{}
	for _, d := range findDates(tokens) {
		for i := d.from; i < d.to; i++ {
			out[i] = &d
		}
	}
	return out
}

// replaceIn changes the fact wherever a text states it in the same words.
func (f *fact) replaceIn(text string) string {
	plain := plainSpace(text)
	tokens := tokenise(plain)
	inDate := datesIn(tokens)
	var out strings.Builder
	done := 0
	for i := 0; i+len(f.tokens) <= len(tokens); i++ {
		if !f.at(tokens[i:]) || f.number && inDate[i] != nil {
			continue
		}
		last := i + f.replaced - 1
		out.WriteString(text[done:tokens[i].start])
		out.WriteString(f.put)
		done = tokens[last].finish
		i = last
	}
	out.WriteString(text[done:])
	return out.String()
}

// at reports whether tokens begin with those of the fact.
func (f *fact) at(tokens []token) bool {
	for i, w := range f.tokens {
		g := tokens[i]
		if same := w.kind == g.kind && (w.text == g.text || w.unit != "" && w.unit == g.unit); !same || w.glued != g.glued {
			return false
		}
	}
	return true
}

// otherNumber is another number of the same form: 30 → 47, 1,250 → 2,927, 0.5 → 0.6. A bare year becomes one not far from it.
func otherNumber(s string, bare bool) string {
	if n, err := strconv.Atoi(s); err == nil && bare && n >= 1900 && n < 2100 {
		return strconv.Itoa(n + 13)
	}
	leading := true
	return strings.Map(func(r rune) rune {
		switch {
		case !isDigit(r) || leading && r == '0':
			return r
		case leading:
			leading = false
			return '1' + (r-'0')%9
		}
		return '0' + (r-'0'+7)%10
	}, s)
}

// otherTime moves a time of day by three hours; any other code is left alone, which is "".
func otherTime(s string) string {
	hour, minute, ok := strings.Cut(s, ":")
	h, err := strconv.Atoi(hour)
	if !ok || err != nil || h > 23 || len(hour) > 2 || len(minute) != 2 || strings.Trim(minute, "0123456789") != "" {
		return ""
	}
	moved := strconv.Itoa((h + 3) % 24)
	return strings.Repeat("0", max(len(hour)-len(moved), 0)) + moved + ":" + minute
}

var spelledNumbers = []string{
	"one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen",
	"sixteen", "seventeen", "eighteen", "nineteen", "twenty",
}

var spelledTens = []string{"thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"}

// otherSpelled is another spelled number, "" where the word is none.
func otherSpelled(word string) string {
	if i := slices.Index(spelledNumbers, word); i >= 0 {
		return spelledNumbers[(i+3)%len(spelledNumbers)]
	}
	if i := slices.Index(spelledTens, word); i >= 0 {
		return spelledTens[(i+1)%len(spelledTens)]
	}
	return ""
}

var (
	englishMonths   = []string{"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"}
	englishWeekdays = []string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}
)

// otherDate is the date with another month and day and the same year, in the same form, and on its weekday where one is told. A month in
// another language stays. It is "" where the form may be read in two ways, or is one of several numbers.
func otherDate(text string, tokens []token, d *dated) string {
	month, english := (d.date.month+1)%12+1, months[tokens[d.monthAt].text] > 0
	code := d.monthAt == d.dayAt
	day := d.date.day + 8
	if day > 28 { // every month has that many
		day = d.date.day - 8
	}
	switch {
	case d.other != nil, d.date.weekday > 0 && d.date.year == 0, !code && tokens[d.monthAt].kind != tokenWord, !code && !english && d.dayAt < 0:
		return ""
	case !code && !english:
		month = d.date.month
	}
	put := func(i int, written string) string {
		switch t := tokens[i]; {
		case i == d.monthAt && code: // 2026-09-01
			return otherCode(written, d.date, month, day)
		case i == d.monthAt && english:
			return likeCase(shortLike(englishMonths[month-1], t.text, englishMonths), written)
		case i == d.dayAt && t.kind == tokenWord: // the first of September
			return strconv.Itoa(day) + ordinalEnd(day)
		case i == d.dayAt:
			return padNumber(day, written)
		case i == d.from && d.date.weekday > 0:
			on := date{year: d.date.year, month: month, day: day}
			return likeCase(shortLike(englishWeekdays[on.onWeekday()-1], t.text, englishWeekdays), written)
		case i == d.dayAt+1 && t.kind == tokenWord && !t.space && d.dayAt >= 0 && i != d.monthAt: // 1st
			return ordinalEnd(day)
		}
		return written
	}
	out := ""
	for i := d.from; i < d.to; i++ {
		if i > d.from {
			out += text[tokens[i-1].finish:tokens[i].start]
		}
		out += put(i, text[tokens[i].start:tokens[i].finish])
	}
	return out
}

// shortLike shortens a name where the name in its place is none of the whole ones.
func shortLike(name, like string, whole []string) string {
	if slices.Contains(whole, like) {
		return name
	}
	return name[:3]
}

// otherCode writes month and day into a date of digits.
func otherCode(written string, d date, month, day int) string {
	mark := strings.Trim(written, "0123456789")[:1]
	parts := strings.Split(written, mark)
	dayAt, monthAt := 0, 1
	switch {
	case len(parts[0]) == 4:
		dayAt, monthAt = 2, 1
	case atoi(parts[0]) != d.day: // month first
		dayAt, monthAt = 1, 0
	}
	parts[dayAt], parts[monthAt] = padNumber(day, parts[dayAt]), padNumber(month, parts[monthAt])
	return strings.Join(parts, mark)
}

// padNumber writes a number with a leading zero where the one in its place may have one.
func padNumber(n int, like string) string {
	if s := strconv.Itoa(n); len(s) >= len(like) {
		return s
	}
	return "0" + strconv.Itoa(n)
}

func ordinalEnd(day int) string {
	switch day {
	case 1, 21:
		return "st"
	case 2, 22:
		return "nd"
	case 3, 23:
		return "rd"
	}
	return "th"
}

// likeCase writes a word in the case of another.
func likeCase(word, like string) string {
	switch first := []rune(like)[0]; {
	case word == "":
		return ""
	case len(like) > 1 && strings.ToUpper(like) == like:
		return strings.ToUpper(word)
	case unicode.IsUpper(first):
		return strings.ToUpper(word[:1]) + word[1:]
	}
	return word
}

// otherNames are of nobody and of no place; a text that has the first gets the second.
var otherNames = []string{"Velmora", "Tarnholm"}

// namesOf lists the runs of capitalised words that do not merely begin a sentence.
func namesOf(text string, tokens []token) []fact {
	var out []fact
	name := func(i int) bool {
		t := tokens[i]
		return t.kind == tokenWord && t.upper && len(t.text) > 2 && months[t.text] == 0 && strings.ToUpper(text[t.start:t.finish]) != text[t.start:t.finish]
	}
	for i := 0; i < len(tokens); i++ {
		end := i
		for end < len(tokens) && name(end) {
			end++
		}
		if end == i {
			continue
		}
		if begins := i == 0 || tokens[i-1].end; !begins || end > i+1 {
			other := otherNames[0]
			if strings.Contains(text, other) {
				other = otherNames[1]
			}
			from := text[tokens[i].start:tokens[end-1].finish]
			out = append(out, fact{from: from, to: other, tokens: tokens[i:end], put: other, replaced: end - i})
		}
		i = end
	}
	return out
}
