package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/results"
)

const (
	manyCases     = 60 // from here on passing cases are counted and not listed
	maxIDWidth    = 36
	maxLabelWidth = 30 // the text of a longer label stands below it
)

// row is one case, or one further defect of it.
type row struct {
	mark, id, label, text string
	grade                 string   // one letter; "" where there is none
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
		rows = append(rows, caseRows(c, s.Setup.Budget)...)
	}
	idWidth, labelWidth, graded := 0, 0, false
	for _, r := range rows {
		// A name with nothing behind it takes no part in the columns.
		if n := columns(r.id); n <= maxIDWidth && r.label+r.text != "" {
			idWidth = max(idWidth, n)
		}
		if n := columns(r.label); n <= maxLabelWidth {
			labelWidth = max(labelWidth, n)
		}
		graded = graded || r.grade != ""
	}
	for _, r := range rows {
		if !all && !p.whole { // a line has no room for ids that a store made up, where a name stands before them
			r.text = inParentheses.ReplaceAllString(r.text, "")
			for i := range r.shorter {
				r.shorter[i] = inParentheses.ReplaceAllString(r.shorter[i], "")
			}
		}
		if graded {
			r.grade = " " + pad(r.grade, 1)
		}
		p.caseRow(r, idWidth, labelWidth, all)
	}
	if hidden > 0 {
		p.linef("  %s %s", p.mark(markPass), counted(hidden, "more case passes", "more cases pass"))
	}
}

// caseRow draws one row. Its text takes one line and ends in "…" where there is more of it, unless whole is set: a table whose
// rows have as many lines as they like is hard to read, and explain tells all of it. A pipe gets it all on the one line. Nothing leaves its column: a text that does
// not fit loses what can be done without, and what stands behind a long id or label, which are never cut, begins a line. A text
// without a label stands where labels do.
func (p *page) caseRow(r row, idWidth, labelWidth int, whole bool) {
	head := "  " + p.mark(r.mark) + " "
	if columns(r.id) > idWidth || r.label+r.text == "" {
		p.line(head + r.id)
		if r.label+r.text == "" {
			return
		}
		head, r.id = "    ", ""
	}
	head += pad(r.id, idWidth) + "  "
	indent := 4 + idWidth + 2
	if r.label != "" {
		head, indent = head+pad(r.label, labelWidth)+r.grade+"  ", indent+labelWidth+columns(r.grade)+2
		if columns(r.label) > labelWidth && r.text != "" {
			p.line(head)
			head = spaces(indent)
		}
	}
	const narrow = 24 // columns that hold no sentence
	if p.width-indent < narrow && r.text != "" {
		indent = 8
		if strings.TrimSpace(head) != "" {
			p.line(head)
		}
		head = spaces(indent)
	}
	text, room := r.text, p.width-indent
	if p.whole {
		room = math.MaxInt
	}
	for _, shorter := range r.shorter {
		if whole || columns(Safe(text)) <= room {
			break
		}
		text = shorter
	}
	for _, line := range cell(text, room, whole) {
		p.line(head + line)
		head = spaces(indent)
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
	const stub = 12 // columns of a clause that say nothing
	first := wrap(text, width-2)[0]
	if at := strings.LastIndex(first, "; "); at > 0 && columns(first[at:]) < stub {
		first = first[:at]
	}
	return []string{first + " …"}
}

// caseRows makes the rows of a case. Budget is what the head of the page says of it.
func caseRows(c *results.CaseSummary, budget string) []row {
	first := row{mark: outcomeMark(c.Outcome), id: Safe(c.ID), label: outcomeLabel(c.Outcome, c.Qualifier)}
	production, both := counts(c, matrix.CellA), counts(c, matrix.CellA, matrix.CellB)
	switch c.Outcome {
	case verdict.Pass:
		note, findings := noted(c)
		if len(findings) > 0 {
			first.shorter = []string{joined(production, joined(note, counted(len(findings), "finding", "findings")))}
			note = joined(note, "note: "+strings.Join(findings, "; "))
		}
		first.text = joined(production, note)
	case verdict.Fail:
		if t := c.Attribution; t != nil && (t.Level == verdict.RestoresForSome || t.Level == verdict.RestoresPartly) {
			both += ": " + t.Kind + ", " + t.Level
		}
		// words are shortened first: no rate stands without its interval
		short, _, _ := strings.Cut(c.Summary, "; gold context ") // which B counts, too
		terse := tersely(short, budget)
		first.text = joined(both, c.Summary)
		first.shorter = []string{joined(both, short), joined(both, terse), joined(production, short), joined(production, terse)}
	default: // the label does not say why, so this comes first
		first.text = joined(c.Summary, both)
		first.shorter = []string{joined(c.Summary, production), c.Summary}
	}
	if len(c.Defects) == 0 {
		return []row{first}
	}
	first.label, first.grade = fit(c.Defects[0].Name(), maxName), gradeMark(c.Defects[0].Grade)
	rows := []row{first}
	for _, d := range c.Defects[1:] {
		rows = append(rows, furtherRow("and", &d, budget))
	}
	for _, d := range c.Behind {
		rows = append(rows, furtherRow("then", &d, budget))
	}
	return rows
}

// tersely leaves out what the head of the page, or the label, says.
func tersely(text, budget string) string {
	return strings.NewReplacer("the budget of "+budget, "the budget", "packed at position ", "packed at ").Replace(text)
}

// furtherRow shows a defect that is not the first. "then" stands before one that shows when another is repaired.
func furtherRow(joins string, d *results.DefectSummary, budget string) row {
	r := row{mark: " ", id: joins, label: fit(d.Name(), maxName), grade: gradeMark(d.Grade)}
	if len(d.Evidence) > 0 {
		r.text = d.Evidence[0]
		r.shorter = []string{tersely(r.text, budget)}
	}
	return r
}

// counts is what a stochastic case rests on; a deterministic one has nothing to count.
func counts(c *results.CaseSummary, cells ...matrix.CellID) string {
	var parts []string
	for _, id := range cells {
		if cell, ok := c.Cells[id]; ok && cell.Scored > 0 && !cell.Exact {
			part := string(id) + " " + ratio(cell.Pass, cell.Scored, false, cell.Interval())
			if cell.Scored == 1 {
				part += " of one trial"
			}
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ", ")
}

// noted is what has to be known of a case that passes: that it passes without any context, too, and its other findings.
func noted(c *results.CaseSummary) (note string, findings []string) {
	const memory = "memory: D/" + matrix.ClosedBook
	for _, finding := range c.Findings {
		closed, judged := c.Cells["D/"+matrix.ClosedBook]
		if !judged || closed.Scored == 0 || !strings.HasPrefix(finding, memory) {
			findings = append(findings, finding)
			continue
		}
		note = fmt.Sprintf("also without any context (closed-book %d/%d)", closed.Pass, closed.Scored)
		if bounds := interval(closed.Interval()); !closed.Exact && bounds != "" {
			note = fmt.Sprintf("also without any context (closed-book %d/%d, %s)", closed.Pass, closed.Scored, strings.Trim(bounds, "()"))
		}
	}
	return note, findings
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
	case o == verdict.Pass && qualifier == verdict.FromMemory:
		return "right from memory"
	case o == verdict.Pass:
		return fit(strings.ReplaceAll(qualifier, "-", " "), maxName)
	case o == verdict.InvalidFixture:
		return "invalid fixture"
	default:
		return fit(string(o), maxName)
	}
}
