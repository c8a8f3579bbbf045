package main

import (
	"regexp"
	"strings"

	"github.com/culprit-rag/culprit/results/report"
)

// row is a line of a table of two columns, such as a flag with what it does.
var row = regexp.MustCompile(`^( +\S+(?: \S+)*  +)\S`)

// folded folds a text of the program's own, a page of help or of a label, to what is as wide as the page: what reads on, rows of two
// columns and items of a list. Examples and other indented lines stay as they are, so that they can be copied.
func (a *app) folded(text string) string {
	lines := strings.Split(text, "\n")
	if a.whole() || fits(lines, a.width()) {
		return text
	}
	var out []string
	for i, fenced := 0, false; i < len(lines); i++ {
		first := lines[i]
		if strings.HasPrefix(first, "```") {
			fenced = !fenced
		}
		head := ""
		switch found := row.FindStringSubmatch(first); {
		case found != nil:
			head = found[1]
		case strings.HasPrefix(first, "- "):
			head = "- "
		}
		if fenced || first == "" || head == "" && first[0] == ' ' || strings.HasPrefix(first, "```") {
			out = append(out, first)
			continue
		}
		said, indent := first[len(head):], strings.Repeat(" ", len(head))
		for i+1 < len(lines) && continues(lines[i+1], indent) {
			i++
			said += " " + strings.TrimSpace(lines[i])
		}
		const least = 24 // columns that a text needs beside its name
		if a.width()-len(head) < least {
			out, head, indent = append(out, strings.TrimRight(head, " ")), "        ", "        "
		}
		for _, part := range report.Wrap(said, a.width()-len(indent)) {
			out = append(out, head+part)
			head = indent
		}
	}
	return strings.Join(out, "\n")
}

// continues reports whether a line reads on in a column that is so far indented.
func continues(line, indent string) bool {
	rest, deep := strings.CutPrefix(line, indent)
	return deep && rest != "" && rest[0] != ' ' && !strings.HasPrefix(rest, "- ") && !strings.HasPrefix(rest, "```")
}

func fits(lines []string, width int) bool {
	for _, l := range lines {
		if report.Columns(l) > width {
			return false
		}
	}
	return true
}
