package report

import (
	"math"
	"strconv"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

// onCurve reports whether a cell is drawn as a point of a curve, and not as a row of the table of runs.
func onCurve(c *verdict.CellResult) bool {
	return c.Scored > 0 && (c.Cell.Variant() == matrix.NoiseCurve || c.Cell.Variant() == matrix.GoldPositions)
}

// shows names what the answer is robust, fragile, sensitive and insensitive to.
func (x *explained) shows() {
	var parts []string
	for _, kind := range []string{verdict.Robust, verdict.Fragile, verdict.Sensitive, verdict.Insensitive} {
		var to []string
		for i := range x.Evaluation.Cells {
			if c := &x.Evaluation.Cells[i]; c.Shows == kind && !onCurve(c) {
				_, variant, _ := strings.Cut(string(c.Cell), "/")
				to = append(to, fitID(variant, maxName))
			}
		}
		if len(to) > 0 {
			parts = append(parts, kind+" to "+strings.Join(to, ", "))
		}
	}
	if len(parts) > 0 {
		x.paragraph("the answer is " + strings.Join(parts, "; "))
	}
}

// curves draws the pass rate over the number of seeded items, and over the place of the gold among them.
func (x *explained) curves() {
	for _, curve := range []struct{ variant, about string }{
		{matrix.NoiseCurve, "the gold, and so many seeded items behind it"},
		{matrix.GoldPositions, "the gold at each place among seeded items"},
	} {
		var points []*verdict.CellResult
		for i := range x.Evaluation.Cells {
			c := &x.Evaluation.Cells[i]
			switch {
			case onCurve(c) && c.Cell.Variant() == curve.variant:
				points = append(points, c)
			case c.Cell == matrix.CellB && c.Scored > 0 && curve.variant == matrix.NoiseCurve:
				points = append(points, c) // no item behind it
			}
		}
		if len(points) > 0 && onCurve(points[len(points)-1]) {
			x.curve(curve.variant, curve.about, points)
		}
	}
}

func (x *explained) curve(variant, about string, points []*verdict.CellResult) {
	var subjects, results []string
	width, exact := 0, true
	for _, c := range points {
		subject := c.Cell.Subject()
		if subject == "" {
			subject = "0"
		}
		result := ratio(c.Pass, c.Scored, c.Exact, c.Interval())
		subjects, results = append(subjects, fit(subject, 4)), append(results, result)
		width = max(width, columns(result))
		exact = exact && c.Exact
	}
	x.note(variant + ": " + about)
	for i, c := range points {
		mark := passMark(c)
		if c.Expect != "" {
			mark = heldMark(c)
		}
		head := "  " + spaces(4-columns(subjects[i])) + subjects[i] + "  " + bar(c) + "  " + pad(results[i], width) + " " + x.mark(mark) + "  " + pad(c.Shows, len(verdict.Fragile)) + "  "
		answers := x.answers(c)
		x.answerLines(head, visible(head), answers[:min(1, len(answers))])
	}
	if !exact {
		x.line("  " + x.dim("█▓ share that passes   ▓░ its interval of 95 %"))
	}
	x.blank()
}

// bar draws the share that passes, and its interval where there is one.
func bar(c *verdict.CellResult) string {
	const cells = 20
	at := func(share float64) int { return int(math.Round(min(max(share, 0), 1) * cells)) }
	passed := at(float64(c.Pass) / float64(c.Scored))
	low, high := passed, passed
	if bounds := c.Interval(); interval(bounds) != "" {
		lo, _ := strconv.ParseFloat(bounds[0], 64) // interval has read them
		hi, _ := strconv.ParseFloat(bounds[1], 64)
		low, high = min(at(lo), passed), max(at(hi), passed)
	}
	return strings.Repeat("█", low) + strings.Repeat("▓", passed-low) + strings.Repeat("░", high-passed) + strings.Repeat("·", cells-high)
}
