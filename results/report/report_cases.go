package report

import (
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
		labelWidth = max(labelWidth, columns(r.label))
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
// rows have as many lines as they like is hard to read, and explain tells all of it. An id or a label is never cut for it.
func (p *page) caseRow(r row, idWidth, labelWidth int, whole bool) {
	head := "  " + p.mark(r.mark) + " "
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
	head += pad(r.id, idWidth) + "  " + pad(r.label, labelWidth) + "  "
	indent := 4 + idWidth + 2 + max(labelWidth, columns(r.label)) + 2
	lines := []string{""}
	switch room := p.width - indent; {
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

// cell wraps untrusted text, or cuts it between words to one line.
func cell(text string, width int, whole bool) []string {
	lines := wrap(text, width)
	switch {
	case len(lines) == 0: // of nothing but spaces
		return []string{""}
	case whole || len(lines) == 1:
		return lines
	}
	return []string{wrap(text, width-2)[0] + " …"}
}

func caseRows(c *results.CaseSummary) []row {
	first := row{mark: outcomeMark(c.Outcome), id: Safe(c.ID), label: outcomeLabel(c.Outcome, c.Qualifier)}
	switch c.Outcome {
	case verdict.Pass:
	case verdict.Fail:
		first.text = joined(counts(c), c.Summary)
	default: // the label does not say why, so this comes first
		first.text = joined(c.Summary, counts(c))
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
func counts(c *results.CaseSummary) string {
	var parts []string
	for _, id := range []matrix.CellID{matrix.CellA, matrix.CellB} {
		if cell, ok := c.Cells[id]; ok && cell.Scored > 0 && !cell.Exact {
			parts = append(parts, string(id)+" "+ratio(cell.Pass, cell.Scored, false, cell.Wilson95))
		}
	}
	return strings.Join(parts, ", ")
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
