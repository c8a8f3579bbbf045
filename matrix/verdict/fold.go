package verdict

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// foldString folds what a reader does not see or would not tell apart: compatibility forms (NFKC), case, kinds of white
// space, of dashes and of quotation marks; invisible characters go. White space becomes single spaces with none at the ends.
func foldString(s string) string { return normalise(s, true) }

// normalise is foldString with or without case folding. It works through the text once: ASCII goes byte by byte, and a run of other
// characters, with the ASCII character that its first mark may belong to, goes through the Unicode tables.
func normalise(s string, foldCase bool) string {
	if out, ok := normaliseASCII(s, foldCase); ok {
		return out
	}
	s = strings.ToValidUTF8(s, "\ufffd") // once, and not as each step would do it
	if strings.ContainsFunc(s, unseen) {
		s = strings.Map(func(r rune) rune {
			switch {
			case r == acute:
				return '\''
			case unseen(r):
				return -1
			}
			return r
		}, s)
	}
	n := normaliser{foldCase: foldCase, space: true}
	n.out.Grow(len(s))
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf && (i+1 == len(s) || s[i+1] < utf8.RuneSelf) {
			n.ascii(s[i])
			i++
			continue
		}
		end := i + 1
		for end < len(s) && s[end] >= utf8.RuneSelf {
			end++
		}
		n.run(s[i:end])
		i = end
	}
	return strings.TrimSuffix(n.out.String(), " ")
}

// normaliseASCII is normalise for a text of ASCII that can be seen; ok is false for another. Most texts are such, and many do not change.
func normaliseASCII(s string, foldCase bool) (_ string, ok bool) {
	var out strings.Builder
	from, space := 0, true // what comes from there on is not yet written; a space stands before, or nothing
	write := func(to int, c string) {
		if out.Len() == 0 {
			out.Grow(len(s))
		}
		out.WriteString(s[from:to])
		out.WriteString(c)
		from = to + 1
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c > ' ' && c < 0x7f:
			space = false
			switch {
			case c == '`' || c == '"':
				write(i, "'")
			case foldCase && c >= 'A' && c <= 'Z':
				write(i, lowerLetters[c-'A':][:1])
			}
		case c == ' ' && !space:
			space = true
		case c == ' ' || c >= '\t' && c <= '\r':
			if space {
				write(i, "")
			} else {
				write(i, " ")
			}
			space = true
		default:
			return "", false
		}
	}
	if out.Len() == 0 && from == 0 {
		return strings.TrimSuffix(s, " "), true
	}
	write(len(s), "")
	return strings.TrimSuffix(out.String(), " "), true
}

const lowerLetters = "abcdefghijklmnopqrstuvwxyz"

type normaliser struct {
	out      strings.Builder
	foldCase bool
	space    bool // the last thing written is a space, or nothing is written
}

func (n *normaliser) ascii(c byte) {
	switch {
	case c == ' ' || c >= '\t' && c <= '\r':
		if !n.space {
			n.out.WriteByte(' ')
			n.space = true
		}
		return
	case c == '`' || c == '"': // texts mix quotation marks for the same thing
		c = '\''
	case n.foldCase && c >= 'A' && c <= 'Z':
		c += 'a' - 'A'
	}
	n.out.WriteByte(c)
	n.space = false
}

func (n *normaliser) run(s string) {
	s = norm.NFKC.String(s)
	if n.foldCase {
		if folded := foldCase(s); folded != s {
			s = norm.NFKC.String(folded) // folding can undo the normal form
		}
	}
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r < utf8.RuneSelf:
			n.ascii(s[i])
		case unseen(r):
		case unicode.IsSpace(r):
			n.ascii(' ')
		case dash(r):
			n.ascii('-')
		case unicode.Is(unicode.Quotation_Mark, r) || otherQuotes(r):
			n.ascii('\'')
		default:
			n.out.WriteString(s[i : i+size])
			n.space = false
		}
		i += size
	}
}

// foldCase folds case alone.
func foldCase(s string) string {
	plain := true
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || c >= 'A' && c <= 'Z' {
			plain = false
			break
		}
	}
	if plain {
		return s
	}
	s = cases.Fold().String(s)
	if cherokee := func(r rune) bool { return unicode.Is(unicode.Cherokee, r) }; strings.ContainsFunc(s, cherokee) {
		// The library swaps the cases of Cherokee where the standard folds both to upper case.
		return strings.Map(func(r rune) rune {
			if cherokee(r) {
				return unicode.ToUpper(r)
			}
			return r
		}, s)
	}
	return s
}

func dash(r rune) bool { return unicode.Is(unicode.Pd, r) || r == '\u2212' }

// otherQuotes are marks that stand for quotation marks or apostrophes without the Unicode property.
func otherQuotes(r rune) bool {
	switch r {
	case '\u02b9', '\u02bb', '\u02bc', '\u02bd', '\u2032', '\u2033', '\u2035', '\u2036':
		return true
	}
	return false
}

// acute is typed for an apostrophe, and its compatibility form is a space with a mark.
const acute = '\u00b4'

// unseen characters go, or change, before the normal form is taken, which they would disturb: controls, soft hyphen, grapheme joiner,
// zero-width and directional marks, variation selectors, tags.
func unseen(r rune) bool {
	if r < 0xa0 {
		return (r < ' ' || r >= 0x7f) && !unicode.IsSpace(r)
	}
	switch {
	case r == acute, r == '\u00ad', r == '\u034f', r == '\u061c', r == '\u180e', r == '\ufeff',
		r >= '\u200b' && r <= '\u200f', r >= '\u202a' && r <= '\u202e', r >= '\u2060' && r <= '\u206f',
		r >= '\ufe00' && r <= '\ufe0f', r >= 0xe0000 && r <= 0xe01ef:
		return true
	}
	return false
}
