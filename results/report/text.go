package report

// Columns returns how many columns of a terminal safe text takes.
func Columns(s string) int { return columns(s) }

// Fit is [Safe] for a place of so many columns; what does not fit ends in "…".
func Fit(s string, columns int) string { return fit(s, columns) }

// Wrap makes untrusted text safe and breaks it into lines of so many columns, between words where it can.
func Wrap(s string, width int) []string { return wrap(s, width) }
