package adapters

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// marks are texts of which one stands wherever a secret does, in any of its forms. They are searched for together, as Wu and Manber do:
// most of a text is passed over in steps of almost the shortest mark.
type marks struct {
	texts    []string
	shortest int
	// shift says, of two bytes, how far the end of a mark is at least, where its first bytes, as many as the shortest mark has, are
	// looked at alone.
	shift [1 << 16]uint8
}

// newMarks takes the forms of secrets, the longest first, and leaves out those in which a shorter one stands. It returns nil for none.
func newMarks(forms []string) *marks {
	if len(forms) == 0 {
		return nil
	}
	m := &marks{shortest: min(len(forms[len(forms)-1]), 1<<8)}
	for _, form := range slices.Backward(forms) {
		if !slices.ContainsFunc(m.texts, func(t string) bool { return strings.Contains(form, t) }) {
			m.texts = append(m.texts, form)
		}
	}
	for i := range m.shift {
		m.shift[i] = uint8(m.shortest - 1)
	}
	for _, t := range m.texts {
		for i := 1; i < m.shortest; i++ {
			at := pair(t, i)
			m.shift[at] = min(m.shift[at], uint8(m.shortest-1-i))
		}
	}
	return m
}

func pair[T string | []byte](text T, at int) int { return int(text[at-1])<<8 | int(text[at]) }

// markIn reports whether one of the marks stands in a text.
func markIn[T string | []byte](m *marks, text T) bool {
	for end := m.shortest - 1; end < len(text); {
		if step := int(m.shift[pair(text, end)]); step > 0 {
			end += step
			continue
		}
		rest := text[end-m.shortest+1:]
		if slices.ContainsFunc(m.texts, func(t string) bool { return len(rest) >= len(t) && string(rest[:len(t)]) == t }) {
			return true
		}
		end++
	}
	return false
}

// Holds reports whether a text holds a secret of twelve bytes or more, in any of its forms, also where it is escaped in part or more than it
// need be, and broken over lines. It reads several hundred megabytes a second.
func (r *Redactor) Holds(text []byte) bool {
	if r == nil || r.marks == nil {
		return false
	}
	if markIn(r.marks, text) {
		return true
	}
	if bytes.IndexByte(text, '\\') >= 0 {
		if plain := unescaped(text, '\\'); markIn(r.marks, plain) {
			return true
		}
	}
	if bytes.IndexByte(text, '%') >= 0 && markIn(r.marks, unescaped(text, '%')) {
		return true
	}
	return bytes.IndexByte(text, '\n') >= 0 && markIn(r.marks, slices.DeleteFunc(bytes.Clone(text), func(c byte) bool { return c == '\n' || c == '\r' }))
}

// HoldsText is Holds, without a copy of most texts.
func (r *Redactor) HoldsText(text string) bool {
	if r == nil || r.marks == nil {
		return false
	}
	return markIn(r.marks, text) || strings.ContainsAny(text, "\\%\n") && r.Holds([]byte(text))
}

// unescaped reads what is escaped behind a mark as JSON strings or URLs have it: \u002b, \/, %2b. What is no escape stays as it is.
func unescaped(text []byte, mark byte) []byte {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != mark || i+1 == len(text) {
			out = append(out, text[i])
			continue
		}
		digits := ""
		switch {
		case mark == '%' && i+3 <= len(text):
			digits = string(text[i+1 : i+3])
		case mark == '\\' && text[i+1] == 'u' && i+6 <= len(text):
			digits = string(text[i+2 : i+6])
		}
		if r, err := strconv.ParseUint(digits, 16, 16); err == nil {
			if mark == '%' {
				out = append(out, byte(r))
				i += 2
			} else {
				out = utf8.AppendRune(out, rune(r))
				i += 5
			}
			continue
		}
		if mark == '\\' {
			i++ // the mark stands before what is meant
			if c := strings.IndexByte("bfnrt", text[i]); c >= 0 {
				out = append(out, "\b\f\n\r\t"[c])
				continue
			}
		}
		out = append(out, text[i])
	}
	return out
}

// beginning returns the length of the longest end of text that is the beginning of a mark.
func (r *Redactor) beginning(text string) (most int) {
	if r == nil || r.marks == nil {
		return 0
	}
	for _, m := range r.marks.texts {
		for n := min(len(m)-1, len(text)); n > most; n-- {
			if strings.HasSuffix(text, m[:n]) {
				most = n
			}
		}
	}
	return most
}
