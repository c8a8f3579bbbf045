package verdict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
)

// belowFloor fires where the gold's own score is that of an item that has nothing to do with the query, by every arm of the search.
func belowFloor(x *facts, g *goldState) finding {
	if x.floorUnused() != "" {
		return no
	}
	floor := x.e.Checks.Floor
	var evidence []string
	for _, mode := range x.e.Pipeline.Search.Arms() {
		score, known := x.ownScore(g, mode)
		least := floor.Arm(mode)
		switch {
		case !known:
			return no // its rank decides, and says so
		case score == nil:
			evidence = append(evidence, fmt.Sprintf("gold %s: %s search has no score for it", g.name(), mode))
		case least == nil || !x.lower(mode, score, least):
			return no
		default:
			evidence = append(evidence, fmt.Sprintf("gold %s: its own score by %s search is %s, below the floor %s", g.name(), mode, *score, *least))
		}
	}
	f := yes(append(evidence, fmt.Sprintf("of %s that were measured at most %s %% score below the floor (checks.floor)", counted(floor.N, "piece of evidence", "pieces of evidence"), hundredths(floor.Error)))...)
	if floor.Error.Float() > x.by.alpha {
		f.grade = Inferred
	}
	return f
}

// hundredths writes a share as a number of hundredths.
func hundredths(share matrix.Decimal) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", 100*share.Float()), ".0")
}

// floorUnused says why no floor is held against the gold's score, "" where one is.
func (x *facts) floorUnused() string {
	floor := x.e.Checks.Floor
	switch {
	case floor == nil:
		return "no floor of scores is set (culprit calibrate floor)"
	case x.e.Pipeline.Rewrite.Many():
		return "the ranking is merged from several searches, which have no floor"
	case floor.EmbedModel != "" && x.search.EmbedModel != "" && floor.EmbedModel != x.search.EmbedModel:
		return fmt.Sprintf("checks.floor was measured with %q, and the queries are embedded with %q", floor.EmbedModel, x.search.EmbedModel)
	}
	return ""
}

// byRank says that the rank of the gold decided, for want of a floor, and why; nothing for keyword search, which needs none.
func (x *facts) byRank(g *goldState) []string {
	if x.keyword() || x.e.WithoutStore() {
		return nil
	}
	why := x.floorUnused()
	for _, mode := range x.e.Pipeline.Search.Arms() {
		if _, known := x.ownScore(g, mode); why == "" && !known {
			why = "its own score by " + mode + " search is not known"
		}
	}
	if why == "" {
		return nil
	}
	return []string{"decided by the rank: " + why}
}

// ownScore is the gold's own score by one arm, nil where the arm cannot score it. It is not known where nobody asked.
func (x *facts) ownScore(g *goldState, mode string) (score *matrix.Decimal, known bool) {
	if x.e.Pipeline.Search.Mode == matrix.ModeHybrid { // whose fused score is none
		r, _ := x.retrieval(matrix.ProbeOwn(mode))
		if r == nil {
			return nil, false
		}
		for _, h := range r.Candidates {
			if slices.Contains(g.holders, h.ID) && x.ownItem(g.requirement, h.ID) && h.Score != nil && (score == nil || x.lower(mode, score, h.Score)) {
				score = h.Score
			}
		}
		return score, true
	}
	if g.place.BySpan > 0 && x.search.By == "" {
		score = x.search.Candidates[g.place.BySpan-1].Score
		return score, score != nil
	}
	if n := x.named(g); n != nil {
		return n.Score, true
	}
	return nil, false
}

// lower reports whether a score of an arm is worse than another.
func (x *facts) lower(mode string, score, than *matrix.Decimal) bool {
	r := x.search
	if x.e.Pipeline.Search.Mode == matrix.ModeHybrid {
		r, _ = x.retrieval(matrix.ProbeOwn(mode))
	}
	return score.Float() != than.Float() && (score.Float() < than.Float()) != r.LowerIsBetter
}
