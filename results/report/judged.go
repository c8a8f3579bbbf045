package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/results"
)

// judged shows what a model said of the answers, apart from what was decided without it.
func (x *explained) judged() {
	d := x.Evaluation.Judged
	if d == nil {
		return
	}
	x.flow("  ", "   ", append([]string{x.dim("judge") + "  " + fit(judgeName(d), maxSetting)}, x.judgeCounts(d)...))
	rows, width, nameWidth := []judgedRow{}, 0, 0
	for i := range d.Cells {
		rows = append(rows, x.judgedRows(&d.Cells[i])...)
	}
	for _, r := range rows {
		width, nameWidth = max(width, columns(r.cell)), max(nameWidth, columns(r.name))
	}
	for _, r := range rows {
		head, gap := "  · "+pad(r.cell, width)+"  "+pad(r.name, nameWidth)+"  ", "   "
		if visible(head+strings.Join(r.says, gap)) <= x.width {
			x.line(head + strings.Join(r.says, gap))
			continue
		}
		x.line(head)
		x.flow("      ", gap, r.says)
	}
	x.blank()
}

func judgeName(d *verdict.Judged) string {
	switch {
	case len(d.ModelReported) == 1:
		return d.ModelReported[0]
	case d.Model != "":
		return d.Model
	}
	return "of no name"
}

// judgeCounts says how many judgements there are and what they are worth.
func (p *page) judgeCounts(d *verdict.Judged) []string {
	parts := []string{counted(d.Judgements, "judgement", "judgements")}
	for _, lost := range []struct {
		n    int
		says string
	}{{d.Void, "void"}, {d.Failed, "failed"}, {d.NotRun, "not made"}} {
		if lost.n > 0 {
			parts[0] += fmt.Sprintf(", %s %s", thousands(lost.n), lost.says)
		}
	}
	if d.Compared > 0 {
		agrees := fmt.Sprintf("%d of %s on claims as the checks have it", d.Agree, counted(d.Compared, "word", "words"))
		if d.Agree < d.Compared {
			agrees += " " + p.mark(markBetween)
		}
		parts = append(parts, agrees)
	}
	if d.Decided > 0 {
		return append(parts, "met "+counted(d.Decided, "claim", "claims")+" that the checks leave missing")
	}
	return append(parts, "decides nothing")
}

// judgedRow is one claim or metric of a cell; every part is safe.
type judgedRow struct {
	cell, name string
	says       []string
}

func (x *explained) judgedRows(c *verdict.JudgedCell) []judgedRow {
	const most, widest = 8, 32
	var rows []judgedRow
	add := func(name string, says ...string) {
		rows = append(rows, judgedRow{cellName(c.Cell), name, says})
	}
	for i := range c.Claims[:min(most, len(c.Claims))] {
		claim := &c.Claims[i]
		add(fit(claim.ID, widest), x.judgedClaim(claim)...)
	}
	if more := len(c.Claims) - most; more > 0 {
		add("", x.dim(fmt.Sprintf("and %s", counted(more, "other claim", "other claims"))))
	}
	for i := range c.Metrics {
		m := &c.Metrics[i]
		add(fit(metricName(m.Name), widest), judgedMetric(m))
	}
	return rows
}

// judgedClaim counts the words on a claim: "entailed 4/5", "absent 1/5".
func (x *explained) judgedClaim(c *verdict.JudgedClaim) []string {
	var says []string
	for _, word := range []struct {
		n    int
		says string
	}{{c.Entailed, "entailed"}, {c.Contradicted, "contradicted"}, {c.Absent, "absent"}, {c.Void, "void"}, {c.Failed, "not judged"}} {
		if word.n > 0 {
			says = append(says, fmt.Sprintf("%s %d/%d", word.says, word.n, c.N))
		}
	}
	if c.Forbidden {
		says = append(says, x.dim("must not be said"))
	}
	if c.Agree < c.Compared {
		says = append(says, x.mark(markBetween)+fmt.Sprintf(" %d/%d not as the check has it", c.Compared-c.Agree, c.Compared))
	}
	return says
}

func metricName(name string) string {
	return map[string]string{
		string(matrix.JudgeFaithfulness): "faithfulness", string(matrix.JudgeAnswerRelevancy): "answer relevancy",
		string(matrix.JudgeContextPrecision): "context precision", string(matrix.JudgeContextRecall): "context recall",
	}[name]
}

// judgedMetric writes a metric with what it is over: ".50 over 2 statements of 1 answer".
func judgedMetric(m *verdict.JudgedMetric) string {
	value, err := strconv.ParseFloat(m.Value, 64)
	if err != nil || m.Used == 0 {
		return "–     " + fit(m.Reason, 40)
	}
	number := fraction(value)
	if value < 0 {
		number = "-" + fraction(-value)
	}
	number = pad(number, 4) + "  over "
	switch matrix.JudgementKind(m.Name) {
	case matrix.JudgeContextPrecision:
		return number + counted(m.Parts, "item", "items")
	case matrix.JudgeContextRecall:
		return number + counted(m.Parts, "claim", "claims")
	case matrix.JudgeAnswerRelevancy:
		number += counted(m.Parts, "question", "questions")
	default:
		number += counted(m.Parts, "statement", "statements")
	}
	if m.Used < m.Total {
		return number + fmt.Sprintf(" of %d of %s", m.Used, counted(m.Total, "answer", "answers"))
	}
	return number + " of " + counted(m.Used, "answer", "answers")
}

// runJudged says over all cases what the judge is worth.
func (p *page) runJudged(s *results.Summary) {
	sum := verdict.Judged{}
	asked := false
	for i := range s.Cases {
		if d := s.Cases[i].Judged; d != nil {
			asked = true
			sum.Judgements, sum.Void, sum.Failed, sum.NotRun = sum.Judgements+d.Judgements, sum.Void+d.Void, sum.Failed+d.Failed, sum.NotRun+d.NotRun
			sum.Compared, sum.Agree = sum.Compared+d.Compared, sum.Agree+d.Agree
			sum.Decided += d.Decided
		}
	}
	if asked {
		p.flow("  ", "   ", append([]string{"judge " + fit(s.Setup.Judge, maxSetting)}, p.judgeCounts(&sum)...))
	}
}
