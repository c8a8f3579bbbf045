package experiments

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

var utf8BOM = []byte("\ufeff")

// decodeText takes one byte order mark off and reports what no text file may hold: another encoding than UTF-8, and NUL.
// Other raw control characters are mistakes in a file that is written for us, and let through where body is set: in
// documents they happen. Positions are those of an editor.
func decodeText(f *file, data []byte, body bool, c *collector) ([]byte, bool) {
	if isUTF16(data) {
		c.fail(position{file: f, line: 1, column: 1}, "this file is UTF-16: save it as UTF-8")
		return nil, false
	}
	data = bytes.TrimPrefix(data, utf8BOM)
	ok := true
	line, column := 1, 1
	for i := 0; i < len(data); {
		b := data[i]
		if b < utf8.RuneSelf && b >= ' ' && b != 0x7f {
			i, column = i+1, column+1
			continue
		}
		r, size := utf8.DecodeRune(data[i:])
		switch {
		case r == '\n':
			line, column, i = line+1, 1, i+1
			continue
		case r == utf8.RuneError && size == 1:
			c.fail(position{file: f, line: line, column: column}, "byte 0x%02X is not valid UTF-8: save the file as UTF-8", b)
			ok = false
		case r == '\r' || r == '\t' || r == '\u0085':
		case body && r != 0:
		case unicode.IsControl(r) || r == '\ufffe' || r == '\uffff':
			c.fail(position{file: f, line: line, column: column}, `control character %s: remove it, or write it as an escape in double quotes`, codePoint(r))
			ok = false
		}
		i, column = i+size, column+1
	}
	return data, ok
}

// isUTF16 recognises a UTF-16 byte order mark, or every second byte of the beginning being NUL.
func isUTF16(data []byte) bool {
	if bytes.HasPrefix(data, []byte{0xff, 0xfe}) || bytes.HasPrefix(data, []byte{0xfe, 0xff}) {
		return true
	}
	return len(data) >= 4 && (data[0] == 0 && data[2] == 0 && data[1] != 0 || data[1] == 0 && data[3] == 0 && data[0] != 0)
}

// invisible reports whether r cannot be seen: control and format characters (zero-width ones among them) and
// spaces other than the ordinary one.
func invisible(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) || r != ' ' && unicode.Is(unicode.Zs, r)
}

// hidden describes the first character of s that makes it look like another name, or returns "". It also finds space at
// either end.
func hidden(s string) string {
	for _, r := range s {
		if invisible(r) {
			return codePoint(r)
		}
	}
	if strings.TrimSpace(s) != s {
		return "space at its end"
	}
	return ""
}

// codePoint writes "U+200B (zero width space)".
func codePoint(r rune) string {
	names := map[rune]string{
		0: "NUL", '\t': "tab", '\n': "line feed", '\r': "carriage return", 0x1b: "escape", 0x7f: "delete",
		0xa0: "no-break space", 0xad: "soft hyphen", 0x200b: "zero width space", 0x200c: "zero width non-joiner",
		0x200d: "zero width joiner", 0x200e: "left-to-right mark", 0x200f: "right-to-left mark", 0x202e: "right-to-left override",
		0x202f: "narrow no-break space", 0x2060: "word joiner", 0x3000: "ideographic space", 0xfeff: "byte order mark",
	}
	if name, ok := names[r]; ok {
		return fmt.Sprintf("U+%04X (%s)", r, name)
	}
	return fmt.Sprintf("U+%04X", r)
}

// show quotes an input for a message, shortened and with everything that cannot be seen escaped.
func show(s string) string {
	const most = 60
	if runes := []rune(s); len(runes) > most {
		s = string(runes[:most]) + "…"
	}
	return strconv.Quote(s)
}
