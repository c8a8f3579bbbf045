package verdict

import (
	"fmt"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/measure"
)

// What a perturbation shows of the generator, in [CellResult.Shows].
const (
	Robust      = "robust"      // the answer stays right, as it is to
	Fragile     = "fragile"     // the answer is worse, and is to stay right
	Sensitive   = "sensitive"   // the answer is worse, as it is to be without its evidence
	Insensitive = "insensitive" // the answer stays right without its evidence: it does not depend on it
)

// shows names what a perturbation shows (STATISTICS 5.4): the contrast with its base comes before its own verdict, as a reliable cell can be
// worse than its base. It is "" where neither tells, and where the cell is better than its base.
func (x *facts) shows(expect matrix.Expectation, c, base *cellFacts) string {
	if !c.usable() || !base.usable() || x.c.Expect != matrix.ExpectAnswer {
		return ""
	}
	worse, same := Fragile, Robust
	switch {
	case expect == matrix.ExpectBreaks || expect == matrix.ExpectAbstains:
		worse, same = Sensitive, Insensitive
	case base.cached():
		return ""
	}
	switch {
	case c.worse:
		return worse
	case c.decided == measure.Passes && !c.better:
		return same
	}
	return ""
}

// family says with which other perturbations a cell is corrected for being one of several. The noise curve and the positions are families
// of their own: however many points they have, what the other perturbations must show stays what it is. Each family errs in at most
// alpha of the cases.
func family(cell matrix.CellID) string {
	switch variant := cell.Variant(); variant {
	case matrix.NoiseCurve, matrix.GoldPositions:
		return variant
	}
	return ""
}

// fromMemory returns a cell in which a fact of the evidence is changed and the answer reliably keeps the old one; nil where there is none.
// What stands in for the generator of a service says nothing of the service.
func (x *facts) fromMemory() *cellFacts {
	if x.standIn || !x.cells[matrix.CellB].passes() {
		return nil
	}
	for _, d := range x.variants(matrix.SwapSpan) {
		if d.result.Shows == Insensitive {
			return d
		}
	}
	return nil
}

// swapped says what was changed in the context of the cell.
func (c *cellFacts) swapped() string {
	s := c.trials[0].Swapped
	if s == nil {
		return "a fact changed"
	}
	return fmt.Sprintf("%q changed to %q", s.From, s.To)
}

// unmovedBySwap shows by the changed fact what D/closed-book was not asked for: with it, B answers as before, and not in words of its prompt,
// so that a sentence which the change does not touch is not what it answers from.
func (x *facts) unmovedBySwap() finding {
	b := x.cells[matrix.CellB]
	for _, d := range x.variants(matrix.SwapSpan) {
		if !b.some(grounded) && !b.most(refused) && sameAnswers(b, d) {
			return yes(fmt.Sprintf("B with the evidence and %s with %s give the same answer (%d and %d trials)", d.result.Cell, d.swapped(), len(b.trials), len(d.trials)))
		}
	}
	return no
}

func grounded(f *TrialFeatures) bool { return f.Grounded }

// probeFindings says from how many seeded items on, and at which places among them, the answer is worse than with the gold alone.
func (w *walker) probeFindings() []string {
	var out, places []string
	if w.standIn {
		return nil
	}
	last := 0 // place
	ends := false
	for _, planned := range w.p.Cells {
		c := w.cells[planned.Cell]
		fragile := c.result.Shows == Fragile
		switch planned.Cell.Variant() {
		case matrix.NoiseCurve:
			if fragile && len(out) == 0 {
				out = append(out, fmt.Sprintf("noise: with %s behind the gold the answer is worse than with the gold alone (%d of %d)",
					counted(planned.Seeded, "seeded item", "seeded items"), c.result.Pass, c.result.Scored))
			}
		case matrix.GoldPositions:
			last = planned.Seeded + 1
			if fragile {
				places = append(places, fmt.Sprint(planned.Place))
				ends = ends || planned.Place == 1 || planned.Place == last
			}
		}
	}
	if len(places) == 0 {
		return out
	}
	where := "position: with the gold at place"
	if !ends {
		where = "position: lost in the middle: with the gold at place"
	}
	return append(out, fmt.Sprintf("%s %s of %d the answer is worse than with the gold alone", where, strings.Join(places, ", "), last))
}
