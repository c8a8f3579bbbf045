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
	case c < ' ' || c == 0x7f: // control characters are invisible
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
		s = norm.NFKC.String(cases.Fold().String(s)) // folding can undo the normal form
	}
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r < utf8.RuneSelf:
			n.ascii(s[i])
		case invisible(r):
		case unicode.IsSpace(r):
			n.ascii(' ')
		case dash(r):
			n.ascii('-')
		case unicode.Is(unicode.Quotation_Mark, r) || otherQuotes(r):
			n.ascii('\'')
		default:
			n.out.WriteString(s[i : i+size]) // bytes that are no UTF-8 stay as they are
			n.space = false
		}
		i += size
	}
}

func dash(r rune) bool { return unicode.Is(unicode.Pd, r) || r == '\u2212' }

// otherQuotes are marks that stand for quotation marks or apostrophes without the Unicode property.
func otherQuotes(r rune) bool {
	switch r {
	case '\u00b4', '\u02b9', '\u02bb', '\u02bc', '\u02bd', '\u2032', '\u2033', '\u2035', '\u2036':
		return true
	}
	return false
}

// invisible characters: soft hyphen, grapheme joiner, zero-width and directional marks, variation selectors, tags, controls.
func invisible(r rune) bool {
	switch {
	case r == '\u00ad', r == '\u034f', r == '\u061c', r == '\u180e', r == '\ufeff',
		r >= '\u200b' && r <= '\u200f', r >= '\u202a' && r <= '\u202e', r >= '\u2060' && r <= '\u206f',
		r >= '\ufe00' && r <= '\ufe0f', r >= 0xe0000 && r <= 0xe01ef:
		return true
	}
	return unicode.Is(unicode.Cc, r) && !unicode.IsSpace(r)
}
