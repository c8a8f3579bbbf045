package verdict

import (
	"fmt"
	"slices"

	"github.com/culprit-rag/culprit/matrix"
)

func rerankRules() []Rule {
	rule := func(label, says, decides, first, wasted string, fires func(*facts, *goldState, *matrix.Hit) finding) Rule {
		return Rule{
			Stage: StageRerank, Label: label, grade: Shown, Needs: "the ranking before and after the rerank", Says: says, Decides: decides, TryFirst: first, Wasted: wasted,
			gold: func(x *facts, g *goldState) finding {
				if g.lost != lostInRerank {
					return no
				}
				var hit *matrix.Hit
				if g.place.Reranked > 0 {
					hit = &x.search.Reranked[g.place.Reranked-1]
				}
				return fires(x, g, hit)
			},
		}
	}
	moved := func(x *facts, g *goldState) string {
		return fmt.Sprintf("gold %s: rank %d before, %s after, top %d kept", g.name(), g.place.BySpan, rankOrAbsent(g.place.Reranked), x.search.RerankTop)
	}
	return []Rule{
		rule("wrong-direction", "The reranker's scores are read in the wrong direction, or its order is lost.",
			"the query itself against an unrelated text must win, and what is passed on must have the best scores", "sort by the score, best first, and check the score's sign",
			"another reranker model: this one may be right",
			func(x *facts, g *goldState, _ *matrix.Hit) finding {
				if c := x.o.Store.RerankControl; c != nil && c.Error == nil && !c.QueryFirst {
					return yes(moved(x, g), fmt.Sprintf("the query itself scores %s, an unrelated text %s", c.QueryScore, c.OtherScore))
				}
				if i := firstAscent(x.search.Reranked); i > 0 {
					return yes(moved(x, g), fmt.Sprintf("scores are not descending: rank %d has %s, rank %d has %s", i, *x.search.Reranked[i-1].Score, i+1, *x.search.Reranked[i].Score))
				}
				return no
			}),
		rule("scores-misassigned", "The reranker's scores are attached to the wrong items.",
			"the gold item reranked alone against its score in the list", "map results by their index, and expect fewer results than documents",
			"another reranker model: its scores are right, their places are not",
			func(x *facts, g *goldState, _ *matrix.Hit) finding {
				c := x.o.Store.RerankControl
				if c == nil || c.GoldAlone == nil || c.GoldInList == nil {
					return no
				}
				difference := c.GoldAlone.Float() - c.GoldInList.Float()
				return when(difference > scoreTolerance || difference < -scoreTolerance, moved(x, g),
					fmt.Sprintf("%s scores %s alone and %s in the list", c.GoldID, *orZero(c.GoldAlone), *orZero(c.GoldInList)))
			}),
		rule("dropped", "The reranker returned no score for the evidence, and it was lost.",
			"documents in against results out", "keep items without a score, or raise the reranker's own top n",
			"query work: the evidence went in",
			func(x *facts, g *goldState, hit *matrix.Hit) finding {
				return when(hit == nil, moved(x, g), fmt.Sprintf("%d documents in, %d results out", min(x.search.K, len(x.search.Candidates)), len(x.search.Reranked)))
			}),
		rule("below-threshold", "The evidence is reranked near the top, but a threshold on the raw score removes it.",
			"the gold's score against the threshold", "put the threshold on the same scale as the scores (raw logits may be negative)",
			"prompt work: a refusal here is the right answer to an empty context",
			func(x *facts, g *goldState, hit *matrix.Hit) finding {
				floor := x.search.RerankFloor
				fires := floor != nil && hit.Score != nil && hit.Score.Float() < floor.Float() && hit.Rank <= x.search.RerankTop
				if !fires {
					return no
				}
				return yes(fmt.Sprintf("gold %s: rank %d after the rerank, its score %s is below the threshold %s", g.name(), hit.Rank, *hit.Score, *floor))
			}),
		rule("input-truncated", "The reranker reads only the start of the evidence.",
			"what the reranker tells of its input; else the same text with the query appended must score higher", "cut chunks below the reranker's limit, or use one with a longer input",
			"a larger k before it: length decides, not relevance",
			func(x *facts, g *goldState, hit *matrix.Hit) finding {
				if hit.InputTruncated {
					return yes(moved(x, g), fmt.Sprintf("the reranker says that it did not read all of %s", hit.ID))
				}
				c := x.o.Store.RerankControl
				// A text that already has the best score cannot get a better one.
				room := c != nil && c.GoldAlone != nil && c.GoldAlone.Float() < c.QueryScore.Float()
				return when(room && c.Error == nil && c.EndUnread && c.GoldID == hit.ID, moved(x, g),
					fmt.Sprintf("%s scores %s, and the same with the query itself appended: its end is not read", hit.ID, *orZero(hit.Score)))
			}),
		rule("demoted", "The reranker ranks the evidence below what is passed on.",
			"rank before and after", "keep more after the rerank, or try the search order without it",
			"a larger k before it: the evidence is already in",
			func(x *facts, g *goldState, hit *matrix.Hit) finding {
				f := yes(moved(x, g), fmt.Sprintf("its score is %s", *orZero(hit.Score)))
				if c := x.o.Store.RerankControl; c == nil || c.Error != nil {
					f.grade = Inferred
					f.evidence = append(f.evidence, "that its scores are right, and read the right way, was not tested ("+string(matrix.ControlRerank)+")")
				}
				return f
			}),
	}
}

// scoreTolerance is how far a pointwise reranker's score of one text may move between two calls.
const scoreTolerance = 0.01

func orZero(d *matrix.Decimal) *matrix.Decimal {
	if d == nil {
		none := matrix.Decimal("none")
		return &none
	}
	return d
}

// firstAscent returns the rank before the first score that is better than the one ahead of it, 0 where there is none.
func firstAscent(hits []matrix.Hit) int {
	return 1 + slices.IndexFunc(hits[:max(len(hits)-1, 0)], func(h matrix.Hit) bool {
		next := hits[h.Rank].Score
		return h.Score != nil && next != nil && next.Float() > h.Score.Float()
	})
}
