package embedded

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// oldest returns the block whose text holds the earliest date; blocks without a date come after those with one, by id.
func oldest(list []candidate) block {
	return slices.MinFunc(list, func(a, b candidate) int {
		dateA, dateB := earliest(a.text), earliest(b.text)
		if dateA == noDate && dateB == noDate {
			return cmp.Compare(a.id, b.id)
		}
		return cmp.Compare(dateA, dateB)
	}).block
}

const (
	noDate = 1 << 30
	months = "jan feb mar apr may jun jul aug sep oct nov dec"
)

const month = `(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?`

var (
	isoDate   = regexp.MustCompile(`\b((?:19|20)\d\d)-(\d\d)(?:-(\d\d))?\b`)
	dayFirst  = regexp.MustCompile(`(?i)\b(\d{1,2})(?:st|nd|rd|th)? ` + month + `,? ((?:19|20)\d\d)\b`)
	monthDate = regexp.MustCompile(`(?i)\b` + month + ` (?:(\d{1,2})(?:st|nd|rd|th)?,? )?((?:19|20)\d\d)\b`)
	yearOnly  = regexp.MustCompile(`\b(?:19|20)\d\d\b`)
)

// earliest returns the earliest date in text as the number yyyymmdd, with zeros for what is not told, or noDate. Dates
// are ISO 8601 or English, or a bare year.
func earliest(text string) int {
	first := noDate
	add := func(year, month, day int) { first = min(first, year*10000+month*100+day) }
	for _, form := range []struct {
		pattern          *regexp.Regexp
		year, month, day int // groups
	}{{isoDate, 1, 2, 3}, {dayFirst, 3, 2, 1}, {monthDate, 3, 1, 2}} {
		for _, m := range form.pattern.FindAllStringSubmatch(text, -1) {
			add(number(m[form.year]), monthNumber(m[form.month]), number(m[form.day]))
		}
		text = form.pattern.ReplaceAllLiteralString(text, " ") // or its year would be read again as a bare one
	}
	for _, year := range yearOnly.FindAllString(text, -1) {
		add(number(year), 0, 0)
	}
	return first
}

// number is 0 for what is not a number; the patterns let only short ones through.
func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// monthNumber reads a month that is a number or an English name, whole or short.
func monthNumber(name string) int {
	if n := number(name); n > 0 {
		return n
	}
	return strings.Index(months, strings.ToLower(name[:min(3, len(name))]))/4 + 1
}
