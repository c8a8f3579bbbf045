package verdict

import (
	"slices"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/measure"
)

// Want asks for the first Reps repetitions of a cell.
type Want struct {
	Cell matrix.CellID
	Reps int
}

// Where a decision within what is left of the most repetitions has a smaller chance than hopeless, no more are bought: the rates are too
// close to settle. Stopping without a decision makes no error, so that it costs nothing of the error rate; some few decisions are lost.
const (
	hopeless       = 0.25
	fewestToGiveUp = 10
)

// hopeless reports whether a cell on its own is not worth more repetitions.
func (x *facts) hopeless(c *cellFacts) bool { return x.by.hopeless(c, c.result.Pass) }

// hopeless reports whether more repetitions of a cell are unlikely to decide about k of those that were scored.
func (d deciding) hopeless(c *cellFacts, k int) bool {
	_, likely, chance := d.sequence().MoreNeeded(c.result.Scored, k, max(c.cap-c.asked(), 0))
	return c.result.Scored >= fewestToGiveUp && !likely && chance < hopeless
}

// mostAtOnce is how many repetitions of a cell are asked for before it is looked at again.
const mostAtOnce = 4

// Next says what is to be generated next, given what was observed, and nothing once everything is decided that the plan can decide.
// It is pure and looks at trials in the order of the plan, so that a run that was resumed, or that makes its calls side by side, asks
// for the same. A cell that was asked for has at least one trial among the observations, be it one that was not run.
func Next(e *matrix.Experiment, c *matrix.Case, p *matrix.Plan, o *matrix.Observations, f *Features) []Want {
	x := factsWith(e, c, p, o, f, true)
	if len(o.Trials) == 0 {
		return x.first()
	}
	if p.Auto {
		for _, next := range []func() []Want{x.nextPairs, x.nextRefusal, x.nextLost, x.nextPerturbations} {
			if w := next(); len(w) > 0 {
				return w
			}
		}
	}
	return x.nextRepairs()
}

// First says what is generated before anything is known.
func First(p *matrix.Plan) []Want {
	x := &facts{p: p}
	return x.first()
}

// first asks for all cells of a matrix whose size is fixed, and else for the fewest pairs of A and B.
func (x *facts) first() []Want {
	var out []Want
	for _, planned := range x.p.Cells {
		switch {
		case planned.Condition == matrix.IfDecides:
		case !x.p.Auto, planned.Cell == matrix.CellAgain:
			out = append(out, Want{planned.Cell, planned.Repeats})
		case planned.Cell == matrix.CellA, planned.Cell == matrix.CellB:
			out = append(out, Want{planned.Cell, min(fewestPairs, planned.Repeats)})
		}
	}
	return out
}

// asked is how many trials of a cell are among the observations.
func (c *cellFacts) asked() int {
	if c == nil {
		return 0
	}
	return len(c.all)
}

// goes reports whether a cell can be asked for more: it has trials, and all that were asked for were made and scored.
func (c *cellFacts) goes() bool {
	return c != nil && c.usable() && c.asked() < c.cap && c.result.Reason == ""
}

// nextPairs goes on with A and B together until their difference is decided, and then with B alone until it is known how far it
// restores.
func (x *facts) nextPairs() []Want {
	a, b := x.cells[matrix.CellA], x.cells[matrix.CellB]
	alone := func(c *cellFacts) []Want {
		if !c.goes() || c.decided != measure.Undecided || x.hopeless(c) {
			return nil
		}
		return []Want{{c.result.Cell, c.asked() + x.fewest(c, func(more []bool) bool {
			return x.by.of(slices.Concat(c.outcomes(), more), false) != measure.Undecided
		})}}
	}
	switch {
	case !a.usable():
		return nil
	case x.attribution == nil:
		return append(alone(a), alone(b)...)
	case x.attributed == measure.Context:
		return alone(b)
	case x.attributed != measure.Unattributed || !a.goes() || !b.goes():
		return nil
	}
	passA, passB := a.outcomes(), b.outcomes()
	n := min(len(passA), len(passB))
	if n >= fewestToGiveUp && !measure.PairsDecide(count(passA[:n]), count(passB[:n]), n, a.cap-n, x.by.alpha, hopeless) {
		return nil
	}
	step := x.fewest(a, func(moreA []bool) bool {
		for _, pass := range []bool{true, false} {
			moreB := slices.Repeat([]bool{pass}, len(moreA))
			if x.by.attribute(slices.Concat(passA[:n], moreA), slices.Concat(passB[:n], moreB)) != measure.Unattributed {
				return true
			}
		}
		return false
	})
	return []Want{{matrix.CellA, a.asked() + step}, {matrix.CellB, b.asked() + step}}
}

// nextRefusal goes on with a cell that refuses until it is shown that it fails more often than not.
func (x *facts) nextRefusal() []Want {
	c, shown := x.refusing()
	by := x.by.failures()
	if c == nil || shown != measure.Undecided || !c.goes() || by.hopeless(c, c.result.Scored-c.result.Pass) {
		return nil
	}
	return []Want{{c.result.Cell, c.asked() + x.fewest(c, func(more []bool) bool {
		return by.of(slices.Concat(c.failures(), more), false) != measure.Undecided
	})}}
}

// nextLost goes on with a cell of which too many calls failed for those that were made, and not for the most that may be made, where it
// would decide something.
func (x *facts) nextLost() []Want {
	a := x.cells[matrix.CellA]
	for _, planned := range x.p.Cells {
		c := x.cells[planned.Cell]
		less := perLost*c.lost() - c.result.Scored - c.lost()
		if less > 0 && c.goes() && (a.fails() || c == a && a.passes()) {
			return []Want{{planned.Cell, c.asked() + min(less, mostAtOnce, c.cap-c.asked())}}
		}
	}
	return nil
}

// fewest is the least number of further trials, all of one outcome, that may decide: fewer need not be looked at.
func (x *facts) fewest(c *cellFacts, decides func(more []bool) bool) int {
	most := min(mostAtOnce, c.cap-c.asked())
	for r := 1; r < most; r++ {
		if decides(slices.Repeat([]bool{true}, r)) || decides(slices.Repeat([]bool{false}, r)) {
			return r
		}
	}
	return most
}

// nextPerturbations goes on with each D until it differs from its base, or has been asked as often as A and B were.
func (x *facts) nextPerturbations() []Want {
	if !x.cells[matrix.CellA].usable() {
		return nil
	}
	reach := max(x.cells[matrix.CellA].result.Scored, fewestPairs)
	if b := x.cells[matrix.CellB]; b.usable() {
		reach = max(reach, b.result.Scored)
	}
	var out []Want
	for _, planned := range x.p.Cells {
		c := x.cells[planned.Cell]
		if planned.Cell.Run() != matrix.Perturbation {
			continue
		}
		most := min(reach, planned.Repeats)
		switch {
		case c.asked() == 0:
			out = append(out, Want{planned.Cell, min(fewestPairs, most)})
		case c.goes() && c.asked() < most && !c.better && !c.worse:
			out = append(out, Want{planned.Cell, min(c.asked()+mostAtOnce, most)})
		}
	}
	return out
}
