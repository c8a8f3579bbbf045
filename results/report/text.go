package report

import "strings"

// Columns returns how many columns of a terminal safe text takes.
func Columns(s string) int { return columns(s) }

// Fit is [Safe] for a place of so many columns; what does not fit ends in "…".
func Fit(s string, columns int) string { return fit(s, columns) }

// Wrap makes untrusted text safe and breaks it into lines of so many columns, between words where it can.
func Wrap(s string, width int) []string { return wrap(s, width) }

// Fenced is a screen as a block of Markdown that nothing in it can end.
func Fenced(screen string) string {
	longest, run := 0, 0
	for _, r := range screen {
		if r != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", max(3, longest+1))
	return fence + "text\n" + screen + fence + "\n"
}
