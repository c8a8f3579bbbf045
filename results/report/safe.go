package report

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

const (
	safeColumns = 4000 // a terminal is not flooded, whatever a model wrote
	maxMarks    = 3    // combining marks on one character; more would cover the lines above and below
)

// Safe returns text of a store, a model, a document or a case as it may be shown on a terminal. Nothing is stripped: what
// would act on the terminal, hide or reorder text, or command a build log is shown as ‹U+202E›, a byte that is no UTF-8 as
// ‹0xFF›. Line ends and tabs become spaces. A very long text is cut, and says how long it is.
func Safe(s string) string {
	out, cut := clean(s, safeColumns)
	if cut {
		out += fmt.Sprintf(" (cut: %s bytes)", thousands(len(s)))
	}
	return out
}

// fit is Safe for a place of so many columns; what does not fit ends in "…".
func fit(s string, columns int) string {
	out, _ := clean(s, max(columns, 1))
	return out
}

// fitID is fit for an id or a source, which is cut at its start: what tells two pieces of one document apart stands at the
// end. Where a name of a path begins in what is kept, it begins there: "…/configuration.md#46".
func fitID(id string, width int) string {
	const longest = 512 // bytes of an id that are looked at
	whole, cut := clean(id, longest)
	if cut {
		from := len(id) - longest
		for from < len(id) && !utf8.RuneStart(id[max(from, 0)]) {
			from++
		}
		whole, _ = clean(id[max(from, 0):], safeColumns)
	}
	if !cut && columns(whole) <= width {
		return whole
	}
	runes := []rune(whole)
	from, used := len(runes), 0
	for i := len(runes) - 1; i >= 0 && used+runeWidth(runes[i]) < width; i-- {
		if used += runeWidth(runes[i]); runeWidth(runes[i]) > 0 {
			from = i
		}
	}
	tail := string(runes[from:])
	if slash := strings.IndexByte(tail, '/'); slash >= 0 && 2*columns(tail[slash:]) >= width {
		tail = tail[slash:]
	}
	return "…" + tail
}

// clean reads no more of s than it shows.
func clean(s string, columns int) (out string, cut bool) {
	var b strings.Builder
	var used, marks, end int // end is the length of b that leaves room for "…"
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		shown, w := show(s, i, r, size)
		switch {
		case !unicode.In(r, unicode.Mn, unicode.Me, unicode.Mc):
			marks = 0
		case marks == maxMarks:
			shown, w = code(r)
		default:
			marks++
		}
		if used+w > columns {
			return b.String()[:end] + "…", true
		}
		b.WriteString(shown)
		if used += w; used < columns {
			end = b.Len()
		}
		if r == '\r' && i+1 < len(s) && s[i+1] == '\n' {
			size++
		}
		i += size
	}
	return b.String(), false
}

// show returns what stands for the rune at s[i:], and its columns.
func show(s string, i int, r rune, size int) (string, int) {
	switch {
	case r == utf8.RuneError && size == 1:
		return fmt.Sprintf("‹0x%02X›", s[i]), 6
	case r == '\n' || r == '\t' || r == '\r' && strings.HasPrefix(s[i:], "\r\n"):
		return " ", 1
	case invisible(r), r == '‹' && looksEscaped(s[i+size:]), r == '[' && logCommand(s[:i]):
		return code(r)
	}
	return s[i : i+size], runeWidth(r)
}

func code(r rune) (string, int) {
	shown := fmt.Sprintf("‹U+%04X›", r)
	return shown, utf8.RuneCountInString(shown)
}

// invisible reports whether r acts on a terminal, has no shape of its own, or changes the shape or order of others.
func invisible(r rune) bool {
	switch {
	case !unicode.IsGraphic(r): // controls, format characters (bidi, zero width, tags), line separators, private use, unassigned
		return true
	case r >= 0xFE00 && r <= 0xFE0F, r >= 0xE0100 && r <= 0xE01EF: // variation selectors
		return true
	case r == 0x034F, r == 0x115F, r == 0x1160, r == 0x17B4, r == 0x17B5, r == 0x2800, r == 0x3164, r == 0xFFA0: // blank letters and marks
		return true
	}
	return false
}

// looksEscaped finds text that pretends to be an escape of ours.
func looksEscaped(rest string) bool {
	return strings.HasPrefix(rest, "U+") || strings.HasPrefix(rest, "0x")
}

// logCommand finds "##[" and "##name[", which build servers obey anywhere in a line.
func logCommand(before string) bool {
	before = before[max(0, len(before)-32):]
	name := strings.TrimRightFunc(before, func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' })
	return strings.HasSuffix(name, "##")
}

// runeWidth returns the columns that a terminal gives to a shown rune.
func runeWidth(r rune) int {
	if r < 0x300 {
		return 1
	}
	if unicode.In(r, unicode.Mn, unicode.Me) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}

// columns returns the columns of text that is safe already.
func columns(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// pad fills safe text up with spaces; right puts them in front.
func pad(s string, width int) string   { return s + spaces(width-columns(s)) }
func right(s string, width int) string { return spaces(width-columns(s)) + s }

func spaces(n int) string { return strings.Repeat(" ", max(n, 0)) }

// wrap makes untrusted text safe and breaks it into lines of so many columns, between words where it can.
func wrap(s string, width int) []string { return wrapSafe(Safe(s), width) }

// wrapSafe is wrap for text that is safe already.
func wrapSafe(safe string, width int) []string {
	width = max(width, 10)
	var lines []string
	line, used := "", 0
	for _, word := range strings.Fields(safe) {
		for columns(word) > width {
			head := takeColumns(word, width)
			if line != "" {
				lines, line, used = append(lines, line), "", 0
			}
			lines, word = append(lines, head), word[len(head):]
		}
		w := columns(word)
		switch {
		case word == "":
		case line == "":
			line, used = word, w
		case used+1+w > width:
			lines, line, used = append(lines, line), word, w
		default:
			line, used = line+" "+word, used+1+w
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// takeColumns returns the longest beginning of safe text that has at most so many columns, and at least one rune.
func takeColumns(s string, width int) string {
	used := 0
	for i, r := range s {
		if used += runeWidth(r); used > width && i > 0 {
			return s[:i]
		}
	}
	return s
}
