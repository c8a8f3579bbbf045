package verdict

import (
	"strconv"
	"strings"
)

func digitsOnly(s string) bool { return len(s) == 2 && isDigit(rune(s[0])) && isDigit(rune(s[1])) }

// clockAt reads a time of the day: 18:00, 6 pm, 6:00 p.m., 18h00, 18 Uhr.
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
		case letter == "uhr" && !coded:
			coded, to = true, to+1
			if whole, part, found := strings.Cut(t.text, "."); found && len(part) == 2 {
				if hour, err = strconv.Atoi(whole); err == nil {
					minute, err = strconv.Atoi(part)
				}
			}
		case letter == "h" && !coded && err == nil && to+1 < len(tokens) && digitsOnly(tokens[to+1].text) && !tokens[to].space && !tokens[to+1].space && (tokens[to+1].text == "00" || hour > 12):
			minute, _ = strconv.Atoi(tokens[to+1].text) // 18h00; 1h30 lasts that long
			coded, to = true, to+2
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
	return &quantity{from: i, to: to, numFrom: i, numTo: i + 1, number: readings{certain: strconv.Itoa(60*hour + minute)}, unit: "clock", whole: true}
}
