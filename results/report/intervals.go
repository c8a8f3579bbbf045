package report

import (
	"strings"

	"github.com/culprit-rag/culprit/matrix/verdict"
)

// Intervals collects of which kinds the intervals of a screen are, so that it is said once. The zero value has none.
type Intervals struct{ fixed, sequence, judged bool }

// Add counts in the interval of a cell's pass rate.
func (i *Intervals) Add(c *verdict.CellResult) { i.add(c.Wilson95, c.Sequence95, c.Judged95) }

func (i *Intervals) add(wilson, sequence, judged []string) {
	switch {
	case judged != nil:
		i.judged = true
	case sequence != nil:
		i.sequence = true
	case wilson != nil:
		i.fixed = true
	}
}

// String says of how much the intervals are and how they are made; "" where there are none.
func (i Intervals) String() string {
	var made []string
	for _, kind := range []struct {
		shown bool
		says  string
	}{
		{i.sequence, "where runs.repeats is auto, a confidence sequence, which holds whenever it stops and is wider for it"},
		{i.fixed, "for a fixed n, Wilson's"},
		{i.judged, "where a judge decides, widened by its errors"},
	} {
		if kind.shown {
			made = append(made, kind.says)
		}
	}
	if made == nil {
		return ""
	}
	return "(low–high) is the 95 % interval of the rate: " + strings.Join(made, "; ")
}

// Rate writes the pass rate of a cell with its n and what that is worth: "1/1 exact", "4/5 (.38–.96)".
func Rate(c *verdict.CellResult) string { return ratio(c.Pass, c.Scored, c.Exact, c.Interval()) }
