package verdict

import (
	"strconv"
	"strings"
	"time"
)

// date is a calendar date; a part that is not given is 0. A weekday is 1 for Sunday.
type date struct{ year, month, day, weekday int }

// entails reports whether whoever states d states want: 1 September 2026 entails September 2026.
func (d date) entails(want date) bool {
	return (want.year == 0 || want.year == d.year) && (want.month == 0 || want.month == d.month) && (want.day == 0 || want.day == d.day) &&
		(want.weekday == 0 || want.weekday == d.onWeekday())
}

// onWeekday is the weekday that is told, else that of the day.
func (d date) onWeekday() int {
	if d.weekday > 0 || d.year == 0 || d.month == 0 || d.day == 0 {
		return d.weekday
	}
	return int(time.Date(d.year, time.Month(d.month), d.day, 0, 0, 0, 0, time.UTC).Weekday()) + 1
}

func (d date) valid() bool { return d.month >= 1 && d.month <= 12 && d.day >= 0 && d.day <= 31 }

// dated is a date in a row of tokens: [from,to). 09/01/2026 has a second reading.
type dated struct {
	from, to int
	date     date
	other    *date
	dayAt    int // the token that is its day, -1 for none
	monthAt  int // the token that is its month's name, or the whole date
}

var months = map[string]int{
	"january": 1, "february": 2, "march": 3, "april": 4, "may": 5, "june": 6, "july": 7, "august": 8, "september": 9,
	"october": 10, "november": 11, "december": 12, "jan": 1, "feb": 2, "mar": 3, "apr": 4, "jun": 6, "jul": 7, "aug": 8,
	"sep": 9, "sept": 9, "oct": 10, "nov": 11, "dec": 12,
}

// otherMonths are names in other languages; they count with a year behind them.
var otherMonths = monthNames(
	"januar jänner janvier enero gennaio ledna", "februar février febrero febbraio února", "märz mars marzo března", "avril abril aprile dubna",
	"mai mayo maggio května", "juni juin junio giugno června", "juli juillet julio luglio července", "août agosto srpna",
	"septembre septiembre setiembre settembre září", "oktober octobre octubre ottobre října", "novembre noviembre listopadu",
	"dezember décembre diciembre dicembre prosince")

func monthNames(byMonth ...string) map[string]int {
	m := map[string]int{}
	for i, names := range byMonth {
		for name := range strings.FieldsSeq(names) {
			m[name] = i + 1
		}
	}
	return m
}

var weekdays = map[string]int{
	"sunday": 1, "monday": 2, "tuesday": 3, "wednesday": 4, "thursday": 5, "friday": 6, "saturday": 7,
	"sun": 1, "mon": 2, "tue": 3, "tues": 3, "wed": 4, "thu": 5, "thur": 5, "thurs": 5, "fri": 6, "sat": 7,
}

var ordinals = map[string]int{
	"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10,
	"eleventh": 11, "twelfth": 12, "fifteenth": 15, "twentieth": 20, "thirtieth": 30,
}

// findDates finds the dates in a row of tokens, from left to right, none overlapping.
func findDates(tokens []token) []dated {
	var found []dated
	for i := 0; i < len(tokens); {
		d, ok := dateAt(tokens, i)
		if !ok {
			i++
			continue
		}
		found = append(found, d)
		i = d.to
	}
	return found
}

func dateAt(tokens []token, i int) (dated, bool) {
	switch t := tokens[i]; {
	case t.kind == tokenCode && len(t.text) > 2:
		return codeDate(t.text, i)
	case t.kind == tokenCode || t.kind == tokenNumber:
		if d, ok := spacedDate(tokens, i); ok {
			return d, true
		}
		d, _, ok := dayFirst(tokens, i)
		return d, ok
	case t.kind == tokenWord && weekdays[t.text] > 0:
		next := i + 1
		for isMark(tokens, next, ",") || isMark(tokens, next, ".") {
			next++
		}
		if next >= len(tokens) || weekdays[tokens[next].text] > 0 {
			return dated{}, false
		}
		d, ok := dateAt(tokens, next)
		d.from, d.date.weekday = i, weekdays[t.text]
		return d, ok && d.date.day > 0 && d.other == nil
	case isWord(tokens, i, "the") && i+1 < len(tokens):
		d, ordinal, ok := dayFirst(tokens, i+1) // the 1st of September
		d.from = i
		return d, ok && ordinal
	case t.kind == tokenWord && months[t.text] > 0:
		return monthFirst(tokens, i)
	}
	return dated{}, false
}

// spacedDate reads "1. 9. 2026" and 2026年9月1日, which are several numbers.
func spacedDate(tokens []token, i int) (dated, bool) {
	if i+4 >= len(tokens) {
		return dated{}, false
	}
	d := dated{from: i, to: i + 5, dayAt: i, monthAt: i + 4}
	switch tokens[i+1].text + tokens[i+3].text {
	case "..":
		d.date = date{year: asYear(tokens[i+4]), month: asDay(tokens[i+2]), day: asDay(tokens[i])}
	case "年月":
		d.date = date{year: asYear(tokens[i]), month: asDay(tokens[i+2]), day: asDay(tokens[i+4])}
		if isWord(tokens, i+5, "日") {
			d.to++
		}
	}
	return d, d.date.year > 0 && d.date.day > 0 && d.date.valid()
}

// codeDate reads 2026-09-01, 2026/09/01, 2026.09.01, 01.09.2026 and 09/01/2026. Points mean day first where the year is last; between slashes
// and hyphens the day may come first or second.
func codeDate(s string, at int) (dated, bool) {
	for _, mark := range []string{"-", "/", "."} {
		parts := strings.Split(s, mark)
		if len(parts) != 3 {
			continue
		}
		a, b, c := atoi(parts[0]), atoi(parts[1]), atoi(parts[2])
		d := dated{from: at, to: at + 1, dayAt: at, monthAt: at}
		switch {
		case len(parts[0]) == 4 && len(parts[1]) <= 2 && len(parts[2]) <= 2 && (mark != "." || len(parts[1]) == 2 && len(parts[2]) == 2):
			d.date = date{year: a, month: b, day: c}
		case len(parts[2]) != 4 || len(parts[0]) > 2 || len(parts[1]) > 2:
			return dated{}, false
		case mark == "." || a == b || a > 12:
			d.date = date{year: c, month: b, day: a}
		case b > 12:
			d.date = date{year: c, month: a, day: b}
		default:
			d.date, d.other = date{year: c, month: b, day: a}, &date{year: c, month: a, day: b}
		}
		return d, d.date.valid() && d.date.day > 0
	}
	return dated{}, false
}

// atoi reads a short number; anything else is 0, which is no part of a date.
func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || len(s) > 4 {
		return 0
	}
	return n
}

// dayFirst reads "1 September 2026", "1st of Sept., 2026", "1. September", "1-Sep-2026", "the first of September", "1 de mayo de 2026".
func dayFirst(tokens []token, i int) (d dated, ordinal, ok bool) {
	day := asDay(tokens[i])
	if isWord(tokens, i+1, "of") && day == 0 && tokens[i].kind == tokenWord {
		day = ordinals[tokens[i].text]
	}
	if day == 0 {
		return dated{}, false, false
	}
	next, ordinal := skipOrdinal(tokens, i+1)
	if isWord(tokens, next, "of") || isWord(tokens, next, "de") {
		next, ordinal = next+1, true
	} else if isMark(tokens, next, ".") && !tokens[next].space {
		next++
	}
	if next >= len(tokens) || tokens[next].kind != tokenWord {
		return dated{}, false, false
	}
	month := months[tokens[next].text]
	other := otherMonths[tokens[next].text]
	if month+other == 0 {
		return dated{}, false, false
	}
	d = dated{from: i, dayAt: i, monthAt: next, date: date{month: max(month, other), day: day}}
	year := false
	d.date.year, d.to, year = yearAt(tokens, next+1)
	return d, ordinal, year || month > 0 && (ordinal || !mayBeVerb(tokens[next]))
}

// monthFirst reads "September 1, 2026", "Sept. 1st", "September 2026".
func monthFirst(tokens []token, i int) (dated, bool) {
	d := dated{from: i, dayAt: -1, monthAt: i, date: date{month: months[tokens[i].text]}}
	next := i + 1
	if isMark(tokens, next, ".") && !tokens[next].space {
		next++
	}
	if next >= len(tokens) {
		return dated{}, false
	}
	if year := asYear(tokens[next]); year > 0 {
		d.date.year, d.to = year, next+1
		return d, true
	}
	d.date.day, d.dayAt = asDay(tokens[next]), next
	if d.date.day == 0 && tokens[next].kind == tokenWord && tokens[i].upper {
		d.date.day = ordinals[tokens[next].text]
	}
	if d.date.day == 0 {
		return dated{}, false
	}
	after, ordinal := skipOrdinal(tokens, next+1)
	year := false
	d.date.year, d.to, year = yearAt(tokens, after)
	return d, year || ordinal || !mayBeVerb(tokens[i])
}

func asDay(t token) int {
	if day := atoi(t.text); len(t.text) <= 2 && day >= 1 && day <= 31 && (t.kind == tokenNumber || t.kind == tokenCode) {
		return day
	}
	return 0
}

// mayBeVerb: "employees may 3 times a year" holds no date; "May 3" does.
func mayBeVerb(t token) bool {
	return (t.text == "may" || t.text == "march" || t.text == "mar") && !t.upper
}

func skipOrdinal(tokens []token, i int) (next int, ordinal bool) {
	if i < len(tokens) && tokens[i].kind == tokenWord && !tokens[i].space {
		switch tokens[i].text {
		case "st", "nd", "rd", "th", "er", "o":
			return i + 1, true
		}
	}
	return i, false
}

// yearAt reads the year behind day and month: "2026", ", 2026", ". 2026" or "-2026".
func yearAt(tokens []token, i int) (year, next int, ok bool) {
	j := i
	if isMark(tokens, j, ",") || isMark(tokens, j, ".") || isMark(tokens, j, "-") || isWord(tokens, j, "de") || isWord(tokens, j, "del") {
		j++
	}
	if j < len(tokens) {
		if y := asYear(tokens[j]); y > 0 {
			return y, j + 1, true
		}
	}
	return 0, i, false
}

func asYear(t token) int {
	if len(t.text) != 4 || t.kind != tokenNumber && t.kind != tokenCode || t.glued {
		return 0
	}
	if y := atoi(t.text); y >= 1000 {
		return y
	}
	return 0
}

func isWord(tokens []token, i int, text string) bool {
	return i < len(tokens) && tokens[i].kind == tokenWord && tokens[i].text == text
}

func isMark(tokens []token, i int, text string) bool {
	return i < len(tokens) && tokens[i].kind == tokenMark && tokens[i].text == text
}
