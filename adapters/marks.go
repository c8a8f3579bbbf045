package adapters

import (
	"slices"
	"strings"
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

func pair(text string, at int) int { return int(text[at-1])<<8 | int(text[at]) }

func (m *marks) in(text string) bool {
	if m == nil {
		return false
	}
	for end := m.shortest - 1; end < len(text); {
		if step := int(m.shift[pair(text, end)]); step > 0 {
			end += step
			continue
		}
		rest := text[end-m.shortest+1:]
		if slices.ContainsFunc(m.texts, func(t string) bool { return strings.HasPrefix(rest, t) }) {
			return true
		}
		end++
	}
	return false
}

// Holds reports whether a text holds a secret of twelve bytes or more, in any of its forms. It reads several hundred megabytes a second.
func (r *Redactor) Holds(text string) bool { return r != nil && r.marks.in(text) }

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
