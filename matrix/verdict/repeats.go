package verdict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
)

// copied counts a trial as unscored where it is no answer of its own: the provider gave an earlier repeat of the cell the same
// response, or a cache says that it served the answer, and an earlier repeat has the same text. Such a cache may give each an id of its
// own. What was served without asking it is none of its copies.
func (c *cellFacts) copied(t *matrix.Trial) bool {
	if t.Cached || t.SameAs != "" {
		return false
	}
	id := t.ResponseID()
	if id != "" {
		if c.ids == nil {
			c.ids = make(map[string]int, cap(c.all))
		}
		c.ids[id]++
	}
	cached := t.Metadata[matrix.MetadataCache] != ""
	if cached && c.texts == nil { // which is rare
		c.texts = make(map[string]bool, cap(c.all))
		for _, before := range c.all[:len(c.all)-1] {
			if before.Status == matrix.StatusOK && !before.Cached && before.SameAs == "" {
				c.texts[before.Answer.Ref] = true
			}
		}
	}
	sameID, served := c.ids[id] > 1, cached && c.texts[t.Answer.Ref]
	if c.texts != nil {
		c.texts[t.Answer.Ref] = true
	}
	switch {
	case sameID:
	case served:
		c.served++
	default:
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
		if c.result.Copies > 0 {
			of := fmt.Sprintf("%s of %s", counted(c.result.Planned-c.result.NotRun, "repeat", "repeats"), planned.Cell)
			said := map[string]bool{}
			for _, t := range c.all {
				if id := t.ResponseID(); c.ids[id] > 1 && !said[id] {
					said[id] = true
					out = append(out, fmt.Sprintf("generator: %d of %s carry one response id: the provider served one answer, and they count as one", c.ids[id], of))
				}
			}
			if c.served > 0 {
				out = append(out, fmt.Sprintf("generator: %d of %s have the text of an earlier one, and their headers say that a cache served them: they count as one with it", c.served, of))
			}
		}
		if x.answersAlike(c) {
			alike = append(alike, fmt.Sprintf("%s (%d)", planned.Cell, len(c.trials)))
		}
	}
	if len(alike) > 0 {
		why := "though each was asked for with a seed of its own: the server may ignore seed or temperature"
		if slices.ContainsFunc(x.o.Trials, func(t matrix.Trial) bool { return len(t.Notes) > 0 && seedLeftOut(&t) }) {
			why = "though no seed was sent: the server may ignore the temperature, or a cache may have served them"
		}
		out = append(out, fmt.Sprintf("generator: at temperature %s all answers of %s are the same to the letter, %s", x.e.Pipeline.Generate.Temperature, strings.Join(alike, ", "), why))
	}
	return out
}

// TimeFindings say what the times of the calls give to suspect. They are no part of an evaluation, which is the same however long calls took.
func TimeFindings(p *matrix.Plan, o *matrix.Observations) (out []string) {
	for _, planned := range p.Cells {
		asked, trials := 0, []*matrix.Trial(nil)
		for i := range o.Trials {
			t := &o.Trials[i]
			if t.Cell != planned.Cell || t.Status == matrix.StatusNotRun {
				continue
			}
			if asked++; t.Status == matrix.StatusOK {
				trials = append(trials, t)
			}
		}
		if n, first, fastest := tooFast(trials); n > 0 {
			out = append(out, fmt.Sprintf("generator: %d of %s of %s have the text of an earlier one, and took a tenth of its time or less (%d ms after %d ms): a cache may have served them, or the first had to wait; they are counted", n, counted(asked, "repeat", "repeats"), planned.Cell, fastest, first))
		}
	}
	return out
}

// seedLeftOut reports whether a note says that the seed was not sent.
func seedLeftOut(t *matrix.Trial) bool {
	return slices.ContainsFunc(t.Notes, func(note string) bool { return strings.HasPrefix(note, fmt.Sprintf("seed %d was not sent", t.Seed)) })
}

// tooFast counts the repeats of a cell that took a tenth or less of the time of the first with the same text, which took long enough for
// the way to the server not to matter. Writing one text takes about one time, but the first may have waited for a model to load, or for
// its turn: it is a suspicion. What a prompt cache sped up is none.
func tooFast(trials []*matrix.Trial) (n int, first, fastest int64) {
	const long, times = 200, 10 // milliseconds
	by := map[string]*matrix.Trial{}
	for _, t := range trials {
		switch before := by[t.Answer.Ref]; {
		case !t.Outside || t.Cached || t.SameAs != "":
		case before == nil:
			by[t.Answer.Ref] = t
		case before.LatencyMS >= long && times*t.LatencyMS <= before.LatencyMS && !promptCached(t):
			if n++; n == 1 || t.LatencyMS < fastest {
				first, fastest = before.LatencyMS, t.LatencyMS
			}
		}
	}
	return n, first, fastest
}

// promptCached reports whether the provider had read half of the prompt or more before.
func promptCached(t *matrix.Trial) bool {
	u := t.Usage
	return u.CachedInputTokens != nil && *u.CachedInputTokens > 0 && (u.InputTokens == nil || 2**u.CachedInputTokens >= *u.InputTokens)
}

// answersAlike reports whether the scored repeats of a cell, three or more that were each asked for at a temperature, are one text.
func (x *facts) answersAlike(c *cellFacts) bool {
	const least = 3
	return !x.p.Deterministic && x.e.Pipeline.Generate.Temperature.Float() > 0 && len(c.trials) >= least && !slices.ContainsFunc(c.trials, func(t *matrix.Trial) bool {
		return !t.Outside || t.Cached || t.SameAs != "" || t.Answer.Ref != c.trials[0].Answer.Ref
	})
}
