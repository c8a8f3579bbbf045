package verdict

import (
	"slices"

	"github.com/culprit-rag/culprit/matrix"
)

// finish counts claims and says whether each perturbation shows what it is declared to show.
func (x *facts) finish() {
	x.compareGenerators()
	for _, planned := range x.p.Cells {
		c := x.cells[planned.Cell]
		c.result.NotRun = c.result.Planned - c.result.Scored - c.result.Unscored - c.result.Failed
		if c.result.Scored > 0 && !c.result.Exact {
			c.result.Wilson95 = Wilson95(c.result.Pass, c.result.Scored)
		}
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
			c.result.Held = held(planned.Expect, c, x.cells[planned.Base])
		}
	}
}

func held(expect matrix.Expectation, c, base *cellFacts) matrix.Answer {
	if !c.usable() {
		return matrix.Unknown
	}
	switch expect {
	case matrix.ExpectInvariant:
		if !base.usable() || base.cached() {
			return matrix.Unknown // an answer from a cache says nothing of the context that is varied
		}
		switch {
		case c.passes() == base.passes():
			return matrix.Yes
		case !c.result.Exact && overlap(c.result.Wilson95, base.result.Wilson95):
			return matrix.Unknown // on two sides of the limit, and not apart
		}
		return matrix.No
	case matrix.ExpectBreaks:
		return boolAnswer(!c.passes())
	case matrix.ExpectAbstains:
		return boolAnswer(c.every(func(f *TrialFeatures) bool { return f.Refused }))
	default: // prefers-current
		return boolAnswer(c.passes())
	}
}

// overlap reports whether two intervals share a value.
func overlap(a, b []string) bool {
	return len(a) == 2 && len(b) == 2 && matrix.Decimal(a[0]).Float() <= matrix.Decimal(b[1]).Float() && matrix.Decimal(b[0]).Float() <= matrix.Decimal(a[1]).Float()
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
