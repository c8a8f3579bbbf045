package verdict

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/culprit-rag/culprit/matrix"
)

// FindCitations returns the ids of the packed items that an answer cites, and what it cites that was not packed, each once and in the
// order of first mention.
//
// A citation stands in square brackets, alone or in a list, or behind "source:" in parentheses: [c08], [c08, c11], [1], [source: c08],
// (source: c08), 【c08】. It is resolved as an id, then as a source, then as a position in the context. What does not resolve was
// fabricated only if it looks like the name of an item: one word of letters and digits together (c99, hr-2031-s2), a number of up
// to three digits, or a word built of the same kinds of characters as a packed id or source (hr-nowhere beside hr-leave). Other words in
// brackets, such as [sic], [Note], [2026] or the text of a link, cite nothing, nor does a number in code or 0: args[1].
func FindCitations(answer string, packed []matrix.Packed) (cited, fabricated []string) {
	if !mayCite(answer) {
		return nil, nil
	}
	names := newCitable(packed)
	seen := map[string]bool{}
	read, code := 0, false // between an odd number of backticks
	eachBracket(answer, func(b bracket) {
		code = code != (strings.Count(answer[read:b.start], "`")%2 == 1)
		read = b.start
		for _, name := range names.split(b.inner) {
			if allDigits(name) && (code || name == "0") {
				continue // args[1], and no position
			}
			ids := names.resolve(name)
			for _, id := range ids {
				if !seen[id] {
					seen[id] = true
					cited = append(cited, id)
				}
			}
			if bad := "\x00" + name; len(ids) == 0 && !seen[bad] && !b.link && names.looksLikeName(name) {
				seen[bad] = true
				fabricated = append(fabricated, name)
			}
		}
	})
	return cited, fabricated
}

// StripCitations returns the answer without what stands in brackets and looks like citations, so that it can be compared with a context.
func StripCitations(answer string) string {
	return strings.ReplaceAll(withoutCitations(answer), "\x00", "")
}

// withoutPositions blanks the citations that are numbers, which would otherwise be read as numbers that the answer states. NUL is not
// seen, and every other byte keeps its place.
func withoutPositions(answer string) string {
	return blankBrackets(answer, func(items []string, _ bool) bool {
		return !slices.ContainsFunc(items, func(s string) bool { return !allDigits(s) })
	})
}

// withoutCitations blanks all that [StripCitations] takes out.
func withoutCitations(answer string) string { return blankBrackets(answer, looksCited) }

func blankBrackets(text string, drop func(items []string, link bool) bool) string {
	var out []byte
	eachBracket(text, func(b bracket) {
		var names citable
		if items := names.split(b.inner); len(items) == 0 || !drop(items, b.link) {
			return
		}
		if out == nil {
			out = []byte(text)
		}
		for b.start > 0 && strings.IndexByte(" \t", out[b.start-1]) >= 0 {
			b.start--
		}
		clear(out[b.start:b.end])
	})
	if out == nil {
		return text
	}
	return string(out)
}

// looksCited reports whether the names in a bracket look like citations.
func looksCited(items []string, link bool) bool {
	return !link && !slices.ContainsFunc(items, func(s string) bool {
		return strings.ContainsFunc(s, unicode.IsSpace) || !strings.ContainsAny(s, "0123456789-_/#.:")
	})
}

// bracket is one innermost bracket of a text that may hold citations.
type bracket struct {
	inner      string
	start, end int  // with its marks, and the white space before it
	link       bool // the text of a Markdown link
}

// mayCite reports whether there is a mark that opens a bracket.
func mayCite(text string) bool {
	return strings.IndexByte(text, '[') >= 0 || strings.IndexByte(text, '(') >= 0 || strings.Contains(text, "【")
}

// eachBracket visits brackets from left to right. It reads the text once: an opening mark starts over, so nesting costs nothing.
func eachBracket(text string, visit func(bracket)) {
	if !mayCite(text) {
		return
	}
	open, closing := -1, ""
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '[':
			open, closing = i, "]"
		case c == '(':
			open, closing = i, ")"
		case c == "【"[0] && strings.HasPrefix(text[i:], "【"):
			open, closing = i, "】"
		case open < 0 || !strings.HasPrefix(text[i:], closing):
		default:
			b := bracket{start: open, end: i + len(closing)}
			b.inner = text[open+len(closing) : i] // opening marks are as long as closing ones
			b.link = closing == "]" && strings.HasPrefix(text[b.end:], "(")
			if closing != ")" {
				visit(b)
			} else if inner, ok := afterSource(b.inner); ok {
				b.inner = inner
				visit(b)
			}
			open = -1
		}
	}
}

// leads are words that may stand before a name within a bracket.
var leads = []string{
	"sources", "source", "documents", "document", "docs", "doc", "chunks", "chunk", "passages", "passage", "context",
	"references", "reference", "refs", "ref", "ids", "id", "items", "item",
}

func afterSource(inner string) (rest string, ok bool) {
	for _, lead := range leads[:2] {
		if len(inner) > len(lead) && strings.EqualFold(inner[:len(lead)], lead) && inner[len(lead)] == ':' {
			return inner[len(lead)+1:], true
		}
	}
	return "", false
}

// citable is what can be cited: packed items by id, by source and by position.
type citable struct {
	packed       []matrix.Packed
	ids, sources map[string][]string // name → ids

	// As loosely makes them, for names that are none of these.
	positions map[int]string
	folded    map[string]string // a name without its case → the name, "" of several
	shapes    map[string]bool
}

func newCitable(packed []matrix.Packed) citable {
	n := citable{packed: packed, ids: make(map[string][]string, len(packed)), sources: map[string][]string{}}
	for i := range packed {
		p := &packed[i]
		n.ids[p.ID] = []string{p.ID}
		if p.Source != "" {
			n.sources[p.Source] = append(n.sources[p.Source], p.ID)
		}
	}
	return n
}

// loosely makes what is looked at where a name is neither an id nor a source.
func (n *citable) loosely() {
	if n.folded != nil {
		return
	}
	n.positions, n.folded, n.shapes = map[int]string{}, map[string]string{}, map[string]bool{}
	for i := range n.packed {
		p := &n.packed[i]
		n.positions[p.Position] = p.ID
		for _, name := range [...]string{p.ID, p.Source} {
			key := foldString(name)
			if known, ok := n.folded[key]; !ok {
				n.folded[key] = name
			} else if known != name {
				n.folded[key] = "" // a case that tells two apart
			}
			if s := shape(name); strings.Trim(s, "a0") != "" {
				n.shapes[s] = true
			}
		}
	}
}

// split returns the names in a bracket: all of it where that is a name, else its parts between commas and semicolons.
func (n *citable) split(inner string) []string {
	inner = strings.TrimSpace(inner)
	if n.ids[inner] != nil || n.sources[inner] != nil {
		return []string{inner}
	}
	var names []string
	for part := range strings.FieldsFuncSeq(inner, func(r rune) bool { return r == ',' || r == ';' }) {
		if name := bareName(part); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// bareName strips marks of footnotes and quotation and a leading "source:", "document ", "id=" from a name.
func bareName(s string) string {
	if before, after, ok := strings.Cut(s, "†"); ok { // 【4:0†handbook.md】; of 【4:0†source】 nobody can tell what it is
		if s = after; after == "source" && !allDigits(before) {
			return ""
		} else if after == "source" {
			s = before
		}
	}
	s = strings.Trim(s, " \t\r\n\"'`*^#")
	for _, lead := range leads {
		if len(s) > len(lead)+1 && strings.EqualFold(s[:len(lead)], lead) && strings.ContainsRune(": =#", rune(s[len(lead)])) {
			return strings.TrimLeft(s[len(lead):], ": =#")
		}
	}
	return s
}

func (n *citable) resolve(name string) []string {
	if ids := n.ids[name]; ids != nil {
		return ids
	}
	if ids := n.sources[name]; ids != nil {
		return ids
	}
	n.loosely()
	if allDigits(name) {
		if position, err := strconv.Atoi(name); err == nil && n.positions[position] != "" {
			return []string{n.positions[position]}
		}
	}
	if known := n.folded[foldString(name)]; known != "" && known != name {
		return n.resolve(known)
	}
	return nil
}

const longestName = 200

func (n *citable) looksLikeName(s string) bool {
	if s == "" || len(s) > longestName || strings.ContainsFunc(s, unicode.IsSpace) {
		return false
	}
	if allDigits(s) {
		return len(s) <= 3
	}
	letter, digit := false, false
	for _, r := range s {
		switch {
		case unicode.IsLetter(r):
			letter = true
		case unicode.IsDigit(r):
			digit = true
		case !strings.ContainsRune("-_.:/#~@", r):
			return false
		}
	}
	if letter && digit {
		return true
	}
	n.loosely()
	return n.shapes[shape(s)]
}

// shape writes runs of letters as a and runs of digits as 0: hr-2026-s2 is a-0-a0.
func shape(s string) string {
	var b strings.Builder
	var last rune
	for _, r := range s {
		switch {
		case unicode.IsLetter(r):
			r = 'a'
		case unicode.IsDigit(r):
			r = '0'
		}
		if r != last || r != 'a' && r != '0' {
			b.WriteRune(r)
		}
		last = r
	}
	return b.String()
}

func allDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
