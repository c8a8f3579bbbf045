package verdict

import (
	"fmt"
	"maps"
	"slices"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/measure"
)

// repairs names, for each label that can be undone without writing anything, the cells that undo it, the likeliest first.
var repairs = map[string][]matrix.CellID{
	"embed/model-mismatch":      {matrix.RepairIndexEmbed},
	"embed/prefix-mismatch":     {matrix.RepairIndexEmbed},
	"retrieve/query-altered":    {matrix.RepairAsTyped},
	"retrieve/filtered-out":     {matrix.RepairNoFilter},
	"retrieve/below-threshold":  {matrix.RepairNoThreshold},
	"retrieve/approximate-miss": {matrix.RepairExact},
	"retrieve/below-cutoff":     {matrix.RepairMoreK},
	"retrieve/crowded-out":      {matrix.RepairMoreK},
	"rerank/demoted":            {matrix.RepairNoRerank},
	"rerank/dropped":            {matrix.RepairNoRerank},
	"rerank/input-truncated":    {matrix.RepairNoRerank},
	"rerank/wrong-direction":    {matrix.RepairReversed},
	"rerank/below-threshold":    {matrix.RepairNoRerank},
	"assemble/budget-cut":       {matrix.RepairBudget},
	"assemble/span-truncated":   {matrix.RepairBudget},
	"assemble/deduplicated":     {matrix.RepairNoDedupe},
	"prompt/not-serialised":     {matrix.RepairPrompt},
	"prompt/wrong-variable":     {matrix.RepairPrompt},
	"prompt/escaped-away":       {matrix.RepairPrompt},
	"prompt/role-dropped":       {matrix.RepairPrompt},
	"seam/cached-answer":        {matrix.RepairPastCache},
}

// RepairOf returns the cell of the repair that undoes a label first, "" where it can only be undone by writing something.
func RepairOf(label string) matrix.CellID {
	if cells := repairs[label]; len(cells) > 0 {
		return cells[0]
	}
	return ""
}

// rungs put the gold in just behind a stage: where production then recovers, the defect is in that stage or before it.
var rungs = map[Stage]matrix.CellID{
	StageIndex: matrix.RungCandidates, StageEmbed: matrix.RungCandidates, StageRetrieve: matrix.RungCandidates,
	StageRerank: matrix.RungReranked, StageAssemble: matrix.RungPacked,
}

// throughPrompt reports whether a defect may be that of the production prompt, which B has in common with A.
func throughPrompt(d *Defect) bool {
	return slices.Contains([]Stage{StagePrompt, StageGenerate, StageAbstain}, d.Stage)
}

// tries lists the cells that show whether a defect is what it is called, in the order in which they are run.
func (x *facts) tries(d *Defect) []matrix.CellID {
	a, b := x.cells[matrix.CellA], x.cells[matrix.CellB]
	var out []matrix.CellID
	switch {
	case throughPrompt(d) && b.fails():
		out = append(out, matrix.RungPrompt)
	case a.fails() && (b.passes() || !b.usable()):
		out = append(out, repairs[d.Name()]...)
		out = slices.DeleteFunc(slices.Clone(out), func(cell matrix.CellID) bool { return x.cells[cell] == nil })
		helped := slices.ContainsFunc(out, func(cell matrix.CellID) bool { return x.cells[cell].asked() == 0 || x.cells[cell].passes() })
		if rung := rungs[d.Stage]; rung != "" && b.passes() && !helped {
			out = append(out, rung)
		}
	}
	return slices.DeleteFunc(out, func(cell matrix.CellID) bool { return x.cells[cell] == nil })
}

// nextRepairs asks for the cells that show whether the defects are what they are called, one after the other.
func (x *facts) nextRepairs() []Want {
	if !x.cells[matrix.CellA].fails() || !slices.ContainsFunc(x.p.Cells, func(c matrix.PlannedCell) bool { return c.Condition == matrix.IfDecides }) {
		return nil
	}
	tried := 0
	for _, planned := range x.p.Cells {
		c := x.cells[planned.Cell]
		if planned.Condition != matrix.IfDecides || c.asked() == 0 {
			continue
		}
		tried++
		if c.goes() && !x.settled(c) {
			step := x.fewest(c, func(more []bool) bool {
				return x.by.of(slices.Concat(c.outcomes(), more), false) != measure.Undecided
			})
			return []Want{{planned.Cell, c.asked() + step}}
		}
	}
	if tried >= matrix.MostRepairs {
		return nil
	}
	w := walk(x)
	for i := range w.defects {
		for _, cell := range x.tries(&w.defects[i]) {
			if c := x.cells[cell]; c.asked() == 0 {
				reps := c.cap
				if x.p.Auto {
					reps = min(fewestPairs, reps)
				}
				return []Want{{cell, reps}}
			}
		}
	}
	return nil
}

// settled reports whether more repetitions of a repair change nothing.
func (x *facts) settled(c *cellFacts) bool {
	return !x.p.Auto || c.decided != measure.Undecided || x.hopeless(c)
}

// recovers reports whether a repair, held against A, makes the case pass: it is reliable, and better than A. Several repairs are looked
// at, so that each must show more.
func (x *facts) recovers(c *cellFacts) bool {
	return x.beats(c, x.cells[matrix.CellA])
}

func (x *facts) beats(c, base *cellFacts) bool {
	if !c.usable() || c.decided != measure.Passes {
		return false
	}
	up := x.by.contrast(base.outcomes(), c.outcomes()).up
	return atMost(up*float64(max(x.repairsRun(), 1)), x.by.alpha)
}

func (x *facts) repairsRun() int {
	n := 0
	for _, planned := range x.p.Cells {
		if c := x.cells[planned.Cell]; planned.Condition == matrix.IfDecides && c.result.Scored > 0 {
			n++
		}
	}
	return n
}

// repaired returns the facts of production with the one change of a repair: its trials and its search stand in A's place.
func (x *facts) repaired(cell matrix.CellID) *facts {
	r := *x
	r.cells = maps.Clone(x.cells)
	r.cells[matrix.CellA] = x.cells[cell]
	for _, planned := range x.p.Cells {
		if planned.Cell.Run() == matrix.Perturbation && planned.Base == matrix.CellA {
			r.cells[planned.Cell] = &cellFacts{result: CellResult{Cell: planned.Cell}} // it started from another context
		}
	}
	if search, found := x.retrieval(cell); search != nil {
		r.search, r.found = search, found
	}
	r.gold = nil
	for i := range x.c.Evidence.Required {
		r.gold = append(r.gold, r.newGold(i))
	}
	return &r
}

// checkDefects grades the defects by the repairs and rungs that were run for them, and adds the next defect that one of them reveals.
func (w *walker) checkDefects() {
	for i := range len(w.defects) {
		var failing []matrix.CellID
		recovered := false
		for _, cell := range w.tries(&w.defects[i]) {
			c := w.cells[cell]
			if c.result.Scored == 0 {
				continue
			}
			d := &w.defects[i]
			d.Repair = string(cell)
			planned, _ := w.p.Cell(cell)
			d.Evidence = append(d.Evidence, fmt.Sprintf("%s: %s", passes(w.facts, cell), planned.Change))
			switch {
			case cell == matrix.RungPrompt && w.beats(c, w.cells[matrix.CellB]):
				w.blamePrompt(d)
			case w.recovers(c) && cell.Run() == matrix.Production:
				d.Grade, recovered = Verified, true
			case c.passes():
				recovered = true
			case cell != matrix.RungPrompt && c.fails():
				failing = append(failing, cell)
			}
		}
		for _, cell := range failing {
			w.reveal(cell, &w.defects[i], recovered)
		}
	}
}

// reveal adds the first defect of the repaired production that is not known yet. Where the gold at a better place recovers the answer,
// a rank among items that only the repair let in is none; and what the generator makes of the repaired context is never told apart, as
// none of D was made of it.
func (w *walker) reveal(cell matrix.CellID, behind *Defect, recovered bool) {
	repaired := w.repaired(cell)
	if repaired.allInPrompt() {
		w.beside = passes(w.facts, cell)
	}
	next := walk(repaired)
	for i, d := range next.defects {
		known := slices.ContainsFunc(slices.Concat(w.defects, w.behind), func(known Defect) bool { return known.Name() == d.Name() })
		if known || recovered && d.Stage == behind.Stage || !isBeforeAnswer(d.Stage) && d.Stage != StagePrompt {
			continue
		}
		d.Behind = behind.Name()
		w.behind, w.behindSays = append(w.behind, d), append(w.behindSays, next.says[i])
		return
	}
}

// blamePrompt says that a defect of the generation goes away with the production prompt.
func (w *walker) blamePrompt(d *Defect) {
	d.Grade = Verified
	d.TryFirst = "the production prompt: the same model answers from the same evidence through a plain one"
}
