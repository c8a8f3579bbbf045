package verdict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
)

// copied counts a trial as unscored where the provider gave an earlier repeat of the cell the same response: it was asked twice, and
// answered once. What was served without asking it is none of its copies.
func (c *cellFacts) copied(t *matrix.Trial) bool {
	id := t.ResponseID()
	if id == "" || t.Cached || t.SameAs != "" {
		return false
	}
	if c.ids == nil {
		c.ids = map[string]int{}
	}
	c.ids[id]++
	if c.ids[id] == 1 {
		return false
	}
	c.result.Unscored++
	c.result.Copies++
	if c.result.Reason == "" {
		c.result.Reason = "the provider served one answer to several repeats"
	}
	return true
}

// repeatFindings say which repeats are no independent answers, and which may not be.
func (x *facts) repeatFindings() []string {
	var out, alike []string
	for _, planned := range x.p.Cells {
		c := x.cells[planned.Cell]
		repeats := c.result.Planned - c.result.NotRun
		said := map[string]bool{}
		for _, t := range c.all {
			if id := t.ResponseID(); c.ids[id] > 1 && !said[id] {
				said[id] = true
				out = append(out, fmt.Sprintf("generator: %d of %s of %s carry one response id: the provider served one answer, and they count as one", c.ids[id], counted(repeats, "repeat", "repeats"), planned.Cell))
			}
		}
		if x.answersAlike(c) {
			alike = append(alike, fmt.Sprintf("%s (%d)", planned.Cell, len(c.trials)))
		}
	}
	if len(alike) > 0 {
		out = append(out, fmt.Sprintf("generator: at temperature %s all answers of %s are the same to the letter, though each was asked for with a seed of its own: the server may ignore seed or temperature",
			x.e.Pipeline.Generate.Temperature, strings.Join(alike, ", ")))
	}
	return out
}

// answersAlike reports whether the scored repeats of a cell, three or more that were each asked for at a temperature, are one text.
func (x *facts) answersAlike(c *cellFacts) bool {
	const least = 3
	return !x.p.Deterministic && x.e.Pipeline.Generate.Temperature.Float() > 0 && len(c.trials) >= least && !slices.ContainsFunc(c.trials, func(t *matrix.Trial) bool {
		return !t.Outside || t.Cached || t.SameAs != "" || t.Answer.Ref != c.trials[0].Answer.Ref
	})
}
