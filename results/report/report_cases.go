package report

import (
	"fmt"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/results"
)

const (
	manyCases     = 60 // from here on passing cases are counted and not listed
	maxIDWidth    = 36
	maxLabelWidth = 30 // a longer label moves the text of its own line only
)

// row is one case, or one further defect of it.
type row struct {
	mark, id, label, text string
	loose                 bool     // its text stands behind its label, whatever the column is: of a case that passes
	shorter               []string // what stands for the text where that does not fit: the first of them that does
}

func (p *page) cases(s *results.Summary, all bool) {
	var rows []row
	hidden := 0
	for i := range s.Cases {
		c := &s.Cases[i]
		if c.Outcome == verdict.Pass && !all && len(s.Cases) > manyCases {
			hidden++
			continue
		}
		rows = append(rows, caseRows(c)...)
	}
	idWidth, labelWidth := 0, 0
	for _, r := range rows {
		if r.text == "" { // of a case that passes: it takes no part in the columns
			continue
		}
		if n := columns(r.id); n <= maxIDWidth {
			idWidth = max(idWidth, n)
		}
		if !r.loose {
			labelWidth = max(labelWidth, columns(r.label))
		}
	}
	labelWidth = min(labelWidth, maxLabelWidth)
	for _, r := range rows {
		p.caseRow(r, idWidth, labelWidth, all)
	}
	if hidden > 0 {
		p.linef("  %s %s", p.mark(markPass), counted(hidden, "more case passes", "more cases pass"))
	}
}

// caseRow draws one row. Its text takes one line and ends in "…" where there is more of it, unless whole is set: a table whose
// rows have as many lines as they like is hard to read, and explain tells all of it. An id or a label is never cut for it. A
// text that does not fit first loses what can be done without, then its place in the column.
func (p *page) caseRow(r row, idWidth, labelWidth int, whole bool) {
	head := "  " + p.mark(r.mark) + " "
	if r.loose {
		labelWidth = columns(r.label)
	}
	switch {
	case r.text == "" && 4+columns(r.id)+2+columns(r.label) <= p.width:
		p.line(head + pad(r.id, idWidth) + "  " + r.label)
		return
	case columns(r.id) > idWidth:
		p.line(head + r.id)
		if r.label+r.text == "" {
			return
		}
		head, r.id = "    ", ""
	}
	room := p.width - (4 + idWidth + 2 + max(labelWidth, columns(r.label)) + 2)
	if labelWidth == 0 && r.label == "" {
		room += 2
	}
	if !whole && columns(Safe(r.text)) > room {
		var aligned bool
		if r.text, aligned = fitting(append([]string{r.text}, r.shorter...), room, labelWidth-columns(r.label)); !aligned {
			room, labelWidth = room+labelWidth-columns(r.label), columns(r.label)
		}
	}
	head += pad(r.id, idWidth) + "  "
	if labelWidth > 0 || r.label != "" {
		head += pad(r.label, labelWidth) + "  "
	}
	indent := p.width - room
	lines := []string{""}
	switch {
	case r.text == "":
	case room >= 24:
		lines = cell(r.text, room, whole)
	default:
		lines, indent = append(lines, cell(r.text, p.width-8, whole)...), 8
	}
	p.line(head + lines[0])
	for _, line := range lines[1:] {
		p.line(spaces(indent) + line)
	}
}

// fitting returns the first of some texts that fits into so many columns, else the first that fits with more of them, which
// moves it out of its column; else the last one, which is to be cut.
func fitting(texts []string, room, more int) (text string, aligned bool) {
	for _, extra := range []int{0, max(more, 0)} {
		for _, text := range texts {
			if columns(Safe(text)) <= room+extra {
				return text, extra == 0
			}
		}
	}
	return texts[len(texts)-1], true
}

// cell wraps untrusted text, or cuts it between words to one line.
func cell(text string, width int, whole bool) []string {
	lines := wrap(text, width)
	switch {
	case len(lines) == 0: // of nothing but spaces
		return []string{""}
	case whole || len(lines) == 1:
		return lines
	}
	const stub = 12 // columns of a clause that say nothing
	first := wrap(text, width-2)[0]
	if at := strings.LastIndex(first, "; "); at > 0 && columns(first[at:]) < stub {
		first = first[:at]
	}
	return []string{first + " …"}
}

func caseRows(c *results.CaseSummary) []row {
	first := row{mark: outcomeMark(c.Outcome), id: Safe(c.ID), label: outcomeLabel(c.Outcome, c.Qualifier)}
	short, _, _ := strings.Cut(c.Summary, "; gold context ") // which B counts, too
	switch c.Outcome {
	case verdict.Pass:
		first.text, first.loose = joined(counts(c, matrix.CellA), noted(c)), true
	case verdict.Fail:
		first.text = joined(counts(c, matrix.CellA, matrix.CellB), c.Summary)
		first.shorter = []string{joined(counts(c, matrix.CellA, matrix.CellB), short), joined(counts(c, matrix.CellA), short)}
	default: // the label does not say why, so this comes first
		first.text = joined(c.Summary, counts(c, matrix.CellA, matrix.CellB))
		first.shorter = []string{joined(c.Summary, counts(c, matrix.CellA)), c.Summary}
	}
	if len(c.Defects) == 0 {
		return []row{first}
	}
	first.label = fit(c.Defects[0].Name(), maxName)
	rows := []row{first}
	for _, d := range c.Defects[1:] {
		also := row{mark: " ", label: "and " + fit(d.Name(), maxName)}
		if len(d.Evidence) > 0 {
			also.text = d.Evidence[0]
		}
		rows = append(rows, also)
	}
	return rows
}

// counts is what a stochastic case rests on; a deterministic one has nothing to count.
func counts(c *results.CaseSummary, cells ...matrix.CellID) string {
	var parts []string
	for _, id := range cells {
		if cell, ok := c.Cells[id]; ok && cell.Scored > 0 && !cell.Exact {
			parts = append(parts, string(id)+" "+ratio(cell.Pass, cell.Scored, false, cell.Wilson95))
		}
	}
	return strings.Join(parts, ", ")
}

// noted is what has to be known of a case that passes: that it passes without any context, too, and its first finding.
func noted(c *results.CaseSummary) string {
	const memory = "memory: "
	var note, first string
	more := 0
	for _, finding := range c.Findings {
		closed, judged := c.Cells["D/"+matrix.ClosedBook]
		switch {
		case judged && closed.Scored > 0 && strings.HasPrefix(finding, memory):
			note = fmt.Sprintf("also without any context (closed-book %d/%d)", closed.Pass, closed.Scored)
			if bounds := interval(closed.Wilson95); !closed.Exact && bounds != "" {
				note = fmt.Sprintf("also without any context (closed-book %d/%d, %s)", closed.Pass, closed.Scored, strings.Trim(bounds, "()"))
			}
		case first == "":
			first = finding
		default:
			more++
		}
	}
	if more > 0 {
		first += fmt.Sprintf(" (and %s)", counted(more, "more finding", "more findings"))
	}
	return joined(note, first)
}

// joined puts two parts of a text together, of which any may be missing.
func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

func outcomeMark(o verdict.Outcome) string {
	switch o {
	case verdict.Pass:
		return markPass
	case verdict.Fail:
		return markFail
	case verdict.Environment, verdict.InvalidFixture:
		return markEnvironment
	default:
		return markUnknown
	}
}

func outcomeLabel(o verdict.Outcome, qualifier string) string {
	switch {
	case o == verdict.Pass && qualifier == verdict.WithoutEvidence:
		return "right without evidence"
	case o == verdict.Pass:
		return fit(strings.ReplaceAll(qualifier, "-", " "), maxName)
	case o == verdict.InvalidFixture:
		return "invalid fixture"
	default:
		return fit(string(o), maxName)
	}
}
