package embedded

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// abbreviations end in a full stop that ends no sentence.
var abbreviations = wordSet("al approx ca cf dr e.g eg fig i.e ie incl max min mr mrs ms no nr st vs")

// sentences cuts s into its sentences, each a piece of s without the space around it. A sentence ends at ". ! ? …" before
// space, at a CJK full stop, at an empty line, and at the end of a line that is a heading, a table row or a list item's last.
func sentences(s string) []string {
	var list []string
	start, title := 0, headingEnd(s)
	cut := func(end int) {
		if piece := strings.TrimSpace(s[start:end]); piece != "" {
			list = append(list, piece)
		}
		start = end
	}
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		next := i + size
		switch {
		case r == '\n':
			if i == title || lineEnds(s[start:i], s[next:]) {
				cut(next)
			}
		case strings.ContainsRune("。！？", r):
			next = skipClosers(s, next)
			cut(next)
		case strings.ContainsRune(".!?…", r):
			next = skipClosers(s, next)
			if r == '.' && !stopEnds(s, start, i, next) {
				break
			}
			if rest, _ := utf8.DecodeRuneInString(s[next:]); next == len(s) || unicode.IsSpace(rest) {
				cut(next)
			}
		}
		i = next
	}
	cut(len(s))
	return list
}

// skipClosers goes over what may stand between a full stop and the space after it.
func skipClosers(s string, i int) int {
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		if !strings.ContainsRune(".!?…。！？\"'”’»)]*_", r) {
			break
		}
		i += size
	}
	return i
}

// stopEnds reports whether the full stop at s[i], with what closes it up to next, ends the sentence that began at start.
// It looks a few bytes back at most, so that cutting takes linear time.
func stopEnds(s string, start, i, next int) bool {
	const reach = 16
	before := s[max(start, i-reach):i]
	last := before[strings.LastIndexFunc(before, unicode.IsSpace)+1:]
	if abbreviations[strings.ToLower(strings.TrimLeft(last, "([\"'"))] {
		return false
	}
	if isNumber(last) && i-start <= reach && strings.TrimSpace(before) == last {
		return false // "1." of a numbered list
	}
	rest, _ := utf8.DecodeRuneInString(strings.TrimLeft(s[next:], " \t"))
	return !unicode.IsLower(rest)
}

func isNumber(s string) bool { return s != "" && strings.TrimLeft(s, "0123456789") == "" }

// lineEnds reports whether the end of a line ends the sentence: line is the sentence so far, after is what follows.
func lineEnds(line, after string) bool {
	if at := strings.LastIndexByte(line, '\n'); at >= 0 {
		line = line[at+1:]
	}
	next := after
	if at := strings.IndexByte(next, '\n'); at >= 0 {
		next = next[:at]
	}
	next = strings.TrimSpace(next)
	return next == "" || isRowOrHeading(strings.TrimSpace(line)) || isRowOrHeading(next) || isListItem(next)
}

// headingEnd returns where the first line of s ends, if it is a title above the text: "Travel > Trains", or a short line
// without an end mark which the next line does not go on with. Else it is -1: a wrapped line is part of its sentence.
func headingEnd(s string) int {
	const most = 60 // runes; a longer line is taken for wrapped text
	end := strings.IndexByte(s, '\n')
	if end < 0 {
		return -1
	}
	title, body := strings.TrimSpace(s[:end]), strings.TrimSpace(s[end:])
	last, _ := utf8.DecodeLastRuneInString(title)
	next, _ := utf8.DecodeRuneInString(body)
	switch {
	case title == "" || body == "" || strings.ContainsRune(".!?…。！？:;,", last):
		return -1
	case strings.Contains(title, " > "):
		return end
	case unicode.IsLower(next) || utf8.RuneCountInString(title) > most:
		return -1
	}
	return end
}

func isRowOrHeading(line string) bool {
	return strings.HasPrefix(line, "#") || strings.HasPrefix(line, "|")
}

func isListItem(line string) bool {
	for _, bullet := range []string{"- ", "* ", "+ ", "• "} {
		if strings.HasPrefix(line, bullet) {
			return true
		}
	}
	rest := strings.TrimLeft(line, "0123456789")
	return rest != line && (strings.HasPrefix(rest, ". ") || strings.HasPrefix(rest, ") "))
}
