package verdict

import "strings"

// number reads digits from the position of the first one; l.pos may be a sign or a leading point before it.
func (l *lexer) number(first int) {
	end := first
	for end < len(l.text) && (l.digitAt(end) || strings.ContainsRune(".,'-/:^", rune(l.text[end])) && l.digitAt(end+1)) {
		end++
	}
	body := l.text[first:end]
	// 1 250: groups of three behind one to three digits
	if head := strings.IndexAny(body, ".,'-/:^"); head < 0 && len(body) <= 3 && body[0] != '0' {
		end = l.spacedGroups(end)
	}
	t := token{kind: tokenNumber, joined: l.emphasised("*_")}
	if l.behindLetter() || strings.ContainsAny(body, "-/:^") || parseNumber(l.text[l.pos:end]).none() {
		t.kind = tokenCode
	}
	// 1 1/2 is one number, and does not state 1
	if last := len(l.tokens) - 1; t.kind == tokenCode && last >= 0 && l.tokens[last].kind == tokenNumber && strings.Count(body, "/") == 1 && !strings.ContainsAny(body, ".,'-:^") {
		l.tokens[last].glued = true
	}
	l.emit(t, end)
	if l.rounds() {
		for l.pos++; strings.HasPrefix(l.text[l.pos:], "-"); l.pos++ {
		}
		return // 60,- is how some languages write whole sums
	}
	// 30-day: the hyphen is how English writes the space
	if (t.kind == tokenNumber || len(body) == 2 && body[0] == '0') && strings.HasPrefix(l.text[l.pos:], "-") && l.wordAt(l.pos+1) { // and 01-Sep-2026
		l.pos++
		l.space = true
	}
	if t.kind == tokenNumber && strings.HasPrefix(strings.TrimPrefix(l.text[l.pos:], " "), "%") {
		if l.text[l.pos] == ' ' {
			l.pos++
			l.space = true
		}
		l.emit(token{kind: tokenMark, unit: "%"}, l.pos+1)
	}
}

// rounds reports whether ",-" ends the sum before it.
func (l *lexer) rounds() bool {
	rest := l.text[l.pos:]
	return (strings.HasPrefix(rest, ",-") || strings.HasPrefix(rest, ".-")) && !l.digitAt(l.pos+2) && !l.wordAt(l.pos+2)
}

// spacedGroups returns the end of " 250 000,50" behind a number that ends at end, or end.
func (l *lexer) spacedGroups(end int) int {
	groups := end
	for strings.HasPrefix(l.text[groups:], " ") && l.digits(groups+1) == 3 {
		groups += 4
	}
	if groups == end {
		return end
	}
	if groups < len(l.text) && strings.ContainsRune(".,", rune(l.text[groups])) {
		if n := l.digits(groups + 1); n > 0 {
			groups += 1 + n
		}
	}
	if groups < len(l.text) && strings.ContainsRune(".,'-/:^", rune(l.text[groups])) && l.digitAt(groups+1) {
		return end // 1 250-300, 1 250.300.100: no one number
	}
	return groups
}

func (l *lexer) digits(i int) int {
	n := 0
	for l.digitAt(i + n) {
		n++
	}
	return n
}

// behindLetter reports whether the digits belong to a name: covid-19, A/4.
func (l *lexer) behindLetter() bool {
	if l.pos == 0 || l.space || len(l.tokens) == 0 {
		return false
	}
	last := l.tokens[len(l.tokens)-1]
	if last.kind == tokenMark && (last.text == "-" || last.text == "/") && !last.space && len(l.tokens) > 1 {
		return last.finish == l.pos && l.tokens[len(l.tokens)-2].kind == tokenWord
	}
	return last.kind == tokenWord && last.finish == l.pos && last.unit == "" && !unjoined([]rune(last.text)[0]) && !currencyCode(l.text[last.start:last.finish]) // 1h30 is no name
}

// readings are the numbers that digits with separators may stand for: the one that they stand for by common use, and others
// that they might stand for in another locale. Numbers are decimal strings without superfluous zeros.
type readings struct {
	certain  string
	possible []string
}

// negative is the number below zero.
func (r readings) negative() readings {
	sign := func(s string) string {
		if s == "" || s == "0" {
			return s
		}
		return strings.TrimPrefix("-"+s, "--")
	}
	n := readings{certain: sign(r.certain)}
	for _, s := range r.possible {
		n.possible = append(n.possible, sign(s))
	}
	return n
}

func (r readings) none() bool { return r.certain == "" && len(r.possible) == 0 }

// parseNumber reads 1250, 1,250, 1'250, 1 250, 1.250.000, 1,250.75, 1.250,75, 2.48, 2,48, -5, .5. A form such as 1.250 is
// certain in no direction; 1,250 is 1250, and might be 1.25. Digits with leading zeros or in other groups are no number.
func parseNumber(s string) readings {
	sign := ""
	if s != "" && (s[0] == '-' || s[0] == '+') {
		sign = strings.TrimPrefix(s[:1], "+")
		s = s[1:]
	}
	if strings.HasPrefix(s, ".") {
		s = "0" + s
	}
	if strings.Contains(s, " ") {
		r := readings{possible: strings.Fields(s)}
		whole, fraction := cutLast(s, ".,")
		r.certain = decimal(sign, strings.ReplaceAll(whole, " ", ""), fraction)
		return r
	}
	var marks []byte
	for i := range len(s) {
		if !isDigit(rune(s[i])) {
			marks = append(marks, s[i])
		}
	}
	switch {
	case len(marks) == 0:
		if len(s) > 1 && s[0] == '0' {
			return readings{}
		}
		return readings{certain: decimal(sign, s, "")}
	case len(marks) == 1 && marks[0] != '\'':
		return oneSeparator(sign, s, marks[0])
	}
	first, last := marks[0], marks[len(marks)-1]
	if first == last { // 1,250,000 or 1'250
		if !grouped(s, first) {
			return readings{}
		}
		return readings{certain: decimal(sign, strings.ReplaceAll(s, string(first), ""), "")}
	}
	whole, fraction := cutLast(s, string(last))
	if last == '\'' || strings.IndexByte(whole, last) >= 0 || !grouped(whole, first) {
		return readings{}
	}
	return readings{certain: decimal(sign, strings.ReplaceAll(whole, string(first), ""), fraction)}
}

func oneSeparator(sign, s string, mark byte) readings {
	whole, fraction := cutLast(s, string(mark))
	if len(whole) > 1 && whole[0] == '0' {
		return readings{}
	}
	asDecimal := decimal(sign, whole, fraction)
	if len(fraction) != 3 || len(whole) > 3 || whole == "0" {
		return readings{certain: asDecimal}
	}
	asThousands := decimal(sign, whole+fraction, "")
	if mark == ',' {
		return readings{certain: asThousands, possible: []string{asDecimal}}
	}
	return readings{possible: []string{asDecimal, asThousands}}
}

// grouped reports whether s is digits in groups of three (or, with commas, as in India: 12,34,567).
func grouped(s string, mark byte) bool {
	groups := strings.Split(s, string(mark))
	last := len(groups) - 1
	if groups[0] == "" || groups[0][0] == '0' || len(groups[0]) > 3 || len(groups[last]) != 3 {
		return false
	}
	size := 3
	if mark == ',' && last > 1 && len(groups[1]) == 2 && len(groups[0]) <= 2 {
		size = 2
	}
	for i, g := range groups {
		if i > 0 && i < last && len(g) != size || strings.Trim(g, "0123456789") != "" {
			return false
		}
	}
	return true
}

func cutLast(s, marks string) (before, after string) {
	i := strings.LastIndexAny(s, marks)
	if i < 0 {
		return s, ""
	}
	return s[:i], s[i+1:]
}

func decimal(sign, whole, fraction string) string {
	whole = strings.TrimLeft(whole, "0")
	fraction = strings.TrimRight(fraction, "0")
	if whole == "" {
		whole = "0"
	}
	if fraction != "" {
		return sign + whole + "." + fraction
	}
	if whole == "0" {
		return whole // there is no negative zero
	}
	return sign + whole
}

// equalNumbers compares two numbers as they are written: equal for certain, or only in one of several readings.
func equalNumbers(a, b string) (equal, possible bool) {
	if a == b {
		return true, false
	}
	x, y := parseNumber(a), parseNumber(b)
	if x.certain != "" && x.certain == y.certain {
		return true, false
	}
	for _, v := range append(x.possible, x.certain) {
		for _, w := range append(y.possible, y.certain) {
			if v != "" && v == w {
				return false, true
			}
		}
	}
	return false, false
}
