package verdict

import (
	"slices"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/measure"
)

// finish counts claims and says whether each perturbation shows what it is declared to show.
func (x *facts) finish() {
	x.compareGenerators()
	x.compareJudged()
	x.decideCells()
	for _, planned := range x.p.Cells {
		c := x.cells[planned.Cell]
		if x.p.Auto || planned.Condition == matrix.IfDecides {
			c.result.Planned = c.asked() // what is not needed was not planned
		}
		c.result.NotRun = c.result.Planned - c.result.Scored - c.result.Unscored - c.result.Failed
		if c.result.Scored > 0 {
			c.result.Decision = c.decided.String()
		}
		c.result.interval(x.by.by)
		c.vary(x.p.Deterministic)
		x.widen(c)
		c.result.Claims = slices.Grow(c.result.Claims, len(x.c.Claims))
		for i, claim := range x.c.Claims {
			count := ClaimCount{ID: claim.ID, N: len(c.features)}
			for _, f := range c.features {
				if f.Claims[i].State == ClaimMet {
					count.Met++
				}
			}
			c.result.Claims = append(c.result.Claims, count)
		}
	}
	for _, planned := range x.p.Cells {
		switch c := x.cells[planned.Cell]; {
		case x.standIn && planned.Expect == matrix.ExpectInvariant && planned.Base.Run() == matrix.Production:
			c.result.Expect = "" // of another pipeline than the base's, nothing is expected
		case planned.Expect != "":
			c.result.Held = x.held(planned.Expect, c, x.cells[planned.Base])
			c.result.Shows = x.shows(planned.Expect, c, x.cells[planned.Base])
		}
	}
}

// interval gives a cell that was scored the interval that holds for how its trials were counted.
func (r *CellResult) interval(by string) {
	switch {
	case r.Scored == 0 || by == DecidedExactly:
	case by == DecidedSequential:
		lo, hi := measure.ConfidenceSequence(r.Scored, r.Pass, 0.05)
		r.Sequence95 = []string{decimals(lo), decimals(hi)}
	default:
		r.Wilson95 = Wilson95(r.Pass, r.Scored)
	}
}

func (x *facts) held(expect matrix.Expectation, c, base *cellFacts) matrix.Answer {
	if !c.usable() {
		return matrix.Unknown
	}
	switch expect {
	case matrix.ExpectInvariant:
		if !base.usable() || base.cached() {
			return matrix.Unknown // an answer from a cache says nothing of the context that is varied
		}
		switch {
		case c.better, c.worse:
			return matrix.No
		case c.decided == base.decided && c.decided != measure.Undecided:
			return matrix.Yes
		}
		return matrix.Unknown
	case matrix.ExpectBreaks:
		if c.worse {
			return matrix.Yes
		}
		return decisionAnswer(c.state, measure.Fails)
	case matrix.ExpectAbstains:
		refusals := make([]bool, len(c.features))
		for i, f := range c.features {
			refusals[i] = f.Refused
		}
		return decisionAnswer(x.by.of(refusals, false), measure.Passes)
	default: // prefers-current
		return decisionAnswer(c.state, measure.Passes)
	}
}

// decisionAnswer says whether a decision is the one that is wanted.
func decisionAnswer(d, want measure.Decision) matrix.Answer {
	if d == measure.Undecided {
		return matrix.Unknown
	}
	return boolAnswer(d == want)
}

// goldRanks lists where each required item stands at each boundary.
func (x *facts) goldRanks() []GoldRank {
	var out []GoldRank
	for _, g := range x.gold {
		rank := GoldRank{Source: g.source, ID: g.place.ID, Stored: g.inStore, Prompt: g.packed.Prompt && !g.packed.Assumed}
		if g.place.BySpan > 0 {
			rank.Rank = &g.place.BySpan
			rank.Score = x.search.Candidates[g.place.BySpan-1].Score
		}
		if g.place.Reranked > 0 {
			rank.Rerank = &g.place.Reranked
		}
		if g.packed.Packed > 0 {
			rank.Packed = &g.packed.Packed
		}
		if rank.ID == "" && len(g.holders) > 0 {
			rank.ID = g.holders[0]
		}
		out = append(out, rank)
	}
	return out
}

// cutoffs are the k at which metrics are reported: the usual ones and the experiment's own.
func (x *facts) cutoffs() []int {
	out := []int{1, 2, 3, 5, 10, x.e.Pipeline.Search.K}
	slices.Sort(out)
	return slices.Compact(out)
}
