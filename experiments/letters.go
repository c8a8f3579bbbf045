package experiments

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// letters keeps what two ways of writing the same words have in common: letters and digits in their compatibility form, so that
// accents that stand as letters of their own, ligatures and full-width forms count as the letters that a reader sees, in one
// case. It is wider than the comparison of a run, which folds the same and also keeps spaces and marks: what is missing here is
// missing there too.
func letters(s string) string {
	if short, ok := asciiLetters(s); ok {
		return short
	}
	s = norm.NFKC.String(strings.Map(func(r rune) rune {
		if joins(r) {
			return -1
		}
		return r
	}, s))
	s = norm.NFKC.String(cases.Fold().String(s)) // folding can undo the normal form
	return strings.Map(func(r rune) rune {
		if (unicode.IsLetter(r) || unicode.IsDigit(r)) && !apostrophe(r) {
			return unicode.ToLower(r) // the folding of Cherokee has two ends
		}
		return -1
	}, s)
}

// asciiLetters is letters where a text holds nothing else, as most do.
func asciiLetters(s string) (string, bool) {
	var b strings.Builder
	b.Grow(len(s))
	for i := range len(s) {
		switch c := s[i]; {
		case c >= utf8.RuneSelf:
			return "", false
		case 'A' <= c && c <= 'Z':
			b.WriteByte(c + 'a' - 'A')
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
			b.WriteByte(c)
		}
	}
	return b.String(), true
}

// apostrophe reports whether r is a letter to Unicode and typed for an apostrophe.
func apostrophe(r rune) bool { return r == '\u02b9' || r >= '\u02bb' && r <= '\u02bd' }

// joins reports whether r is not seen and stands between a letter and its accent at most: it goes before the normal form is
// taken, or the two would stay apart.
func joins(r rune) bool {
	return unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) || r == '\u034f' || unicode.IsControl(r) && !unicode.IsSpace(r)
}
