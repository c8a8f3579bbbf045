package embedded

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// stopWords are the English words that say nothing of a text's subject, with what is left of contractions.
var stopWords = wordSet(`a about above after again all also am an and any are as at be because been before being below
	between both but by can could d did do does doing don down during each few for from further get gets had has have
	having he her here hers him his how i if in into is it its itself just ll m may me might more most must my no nor not
	now of off on once only or other our ours out over own per please re s shall she should so some such t tell than that
	the their theirs them then there these they this those through to too under until up us ve very was we were what when
	where which while who whom whose why will with within would you your yours`)

func wordSet(list string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(list) {
		set[word] = true
	}
	return set
}

// isStop reports whether the lower-case word is on the English stop list.
func isStop(word string) bool { return stopWords[word] }

// runs is what a text is counted in: the runs of runes for which it holds.
type runs func(rune) bool

// inWord holds in a word: a run of letters and digits.
func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// inToken holds in a token of the generator: what stands between spaces, as a budget in words is counted.
func inToken(r rune) bool { return !unicode.IsSpace(r) }

// each calls yield for the bounds of each run in s, until yield returns false.
func (in runs) each(s string, yield func(start, end int) bool) {
	start := -1
	for i, r := range s {
		switch {
		case in(r):
			if start < 0 {
				start = i
			}
		case start >= 0:
			if !yield(start, i) {
				return
			}
			start = -1
		}
	}
	if start >= 0 {
		yield(start, len(s))
	}
}

// count returns the number of runs in s.
func (in runs) count(s string) int {
	n := 0
	in.each(s, func(int, int) bool { n++; return true })
	return n
}

// first returns s up to the end of its run number n, and whether that left a run out.
func (in runs) first(s string, n int) (head string, cut bool) {
	count, end := 0, 0
	in.each(s, func(_, stop int) bool {
		if count == n {
			cut = true
			return false
		}
		count, end = count+1, stop
		return true
	})
	if !cut {
		return s, false
	}
	return s[:end], true
}

// last returns s from the beginning of its run number n from the end, and how many runs that holds: n, or fewer where s
// has fewer, and then it is all of s.
func (in runs) last(s string, n int) (tail string, count int) {
	if n <= 0 {
		return "", 0
	}
	inside := false
	for end := len(s); end > 0; {
		r, size := utf8.DecodeLastRuneInString(s[:end])
		if in(r) {
			inside = true
		} else if inside {
			inside = false
			if count++; count == n {
				return s[end:], n
			}
		}
		end -= size
	}
	if inside {
		count++
	}
	return s, count
}

// words returns the runs of letters and digits in s, lower-cased.
func words(s string) []string {
	var list []string
	runs(inWord).each(s, func(start, end int) bool {
		list = append(list, strings.ToLower(s[start:end]))
		return true
	})
	return list
}

// contentWords returns the distinct words of s that are not stop words, with singular and plural as one: the final "s"
// of a word longer than three letters is dropped. The order is that of the text.
func contentWords(s string) []string {
	var list []string
	seen := map[string]bool{}
	runs(inWord).each(s, func(start, end int) bool {
		word := strings.ToLower(s[start:end])
		if isStop(word) {
			return true
		}
		if word = singular(word); !seen[word] {
			seen[word] = true
			list = append(list, word)
		}
		return true
	})
	return list
}

func singular(word string) string {
	if strings.HasSuffix(word, "s") && utf8.RuneCountInString(word) > 3 {
		return word[:len(word)-1]
	}
	return word
}

// shared counts the distinct words of wanted that stand in s, up to enough of them (0: all).
func shared(s string, wanted map[string]bool, enough int) int {
	found := map[string]bool{}
	runs(inWord).each(s, func(start, end int) bool {
		word := strings.ToLower(s[start:end])
		if isStop(word) {
			return true
		}
		if word = singular(word); wanted[word] {
			found[word] = true
		}
		return enough == 0 || len(found) < enough
	})
	return len(found)
}

// contentSet is contentWords as a set.
func contentSet(s string) map[string]bool {
	set := map[string]bool{}
	for _, word := range contentWords(s) {
		set[word] = true
	}
	return set
}
