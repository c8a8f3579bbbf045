package verdict

import (
	"fmt"
	"slices"

	"github.com/culprit-rag/culprit/matrix"
)

func retrieveRules() []Rule {
	rule := func(label, says, decides, first, wasted string, fires func(*facts, *goldState) finding) Rule {
		return Rule{
			Stage: StageRetrieve, Label: label, grade: Shown, Needs: "the full ranking of C", Says: says, Decides: decides, TryFirst: first, Wasted: wasted,
			gold: func(x *facts, g *goldState) finding {
				if g.lost != lostInSearch {
					return no
				}
				return fires(x, g)
			},
		}
	}
	removed := func(label string, cell matrix.CellID, applies func(*facts) bool, what, says, decides, first, wasted string) Rule {
		return rule(label, says, decides, first, wasted, func(x *facts, g *goldState) finding {
			if !applies(x) {
				return no
			}
			rank, passed, seen := x.probe(cell, g)
			switch {
			case !seen:
				return unknown("the same search " + what + " (" + string(cell) + ")")
			case !passed:
				return no
			}
			return yes(fmt.Sprintf("gold %s: %s in production, rank %d of k = %d %s", g.source, rankOrAbsent(g.place.BySpan), rank, x.search.K, what))
		})
	}
	return []Rule{
		removed("query-altered", matrix.ProbeAsTyped, func(x *facts) bool { return x.search.QueryEffective != x.search.Query },
			"with the question as typed", "What is searched for is not what was asked: the query was rewritten on the way, and the rewriting loses the evidence.",
			"the same search with the question as typed", "look at the query as the store received it; mend the rewriting or the composition",
			"index and embedding work: the question as typed finds the evidence"),
		removed("filtered-out", matrix.ProbeNoFilter, func(x *facts) bool { return len(x.search.Filter) > 0 },
			"without the filter", "The evidence would be found, but the filter removes it.",
			"the same search without the filter", "compare the item's stored fields with the filter's values and types",
			"ranking and embedding work: the item is never considered"),
		rule("filter-ignored", "Items that the filter does not admit were returned, and they push the evidence out.",
			"every returned item against the declared filter", "look at the field's type and tokenisation, and at whether the filter reaches the store",
			"ranking work: the items ahead should not be there",
			func(x *facts, g *goldState) finding {
				ahead := aheadOf(x.found.Filtered, g.place.BySpan)
				fires := g.place.BySpan > 0 && ahead > 0 && g.place.BySpan-ahead <= x.search.K
				if !fires {
					return no
				}
				return yes(fmt.Sprintf("gold %s: rank %d, with %d items ahead that the filter does not admit: %s", g.source, g.place.BySpan, ahead, ranksOf(x.search, x.found.Filtered)))
			}),
		removed("below-threshold", matrix.ProbeNoThreshold, func(x *facts) bool { return x.search.Threshold != nil },
			"without the threshold", "The evidence is scored below the threshold and is not returned.",
			"the same search without the threshold", "lower the threshold, or measure it on known pairs first",
			"a larger k: the threshold cuts before it"),
		removed("approximate-miss", matrix.ProbeExact, func(x *facts) bool { return !x.keyword() && !x.search.Exact },
			"with an exact search", "The approximate index misses the evidence; an exact search finds it.",
			"the same search, exact", "raise the search effort of the index, or rebuild it",
			"embedding and query work: the vector is near enough"),
		rule("vocabulary-miss", "The search cannot tell the evidence from the rest: it shares no term with the query that the search understands.",
			"the gold item's own score in the full ranking", "add the asker's words to the chunk, synonyms, stemming or a dense arm",
			"a larger k: the item is not ranked at all",
			vocabularyMiss),
		rule("crowded-out", "Near copies of one text take the places, and the evidence falls below the cutoff.",
			"the gold's rank when every text counts once", "remove duplicates at ingestion or after the search, or diversify",
			"embedding work: the rank without the copies is good enough",
			func(x *facts, g *goldState) finding {
				copies := aheadOf(x.found.Duplicate, g.place.BySpan)
				if g.place.BySpan == 0 || copies == 0 || g.place.BySpan-copies > x.search.K {
					return no
				}
				return yes(fmt.Sprintf("gold %s: rank %d, cutoff %d; %d of the items ahead repeat another one: %s", g.source, g.place.BySpan, x.search.K, copies, ranksOf(x.search, x.found.Duplicate)))
			}),
		rule("below-cutoff", "The evidence is in the store and was found, but ranked below what is passed on.",
			"rank of the gold item in the full ranking against k", "a reranker, or a larger k together with a larger budget: culprit sweep",
			"prompt edits: the model never saw the evidence",
			belowCutoff),
	}
}

func rankOrAbsent(rank int) string {
	if rank == 0 {
		return "not returned"
	}
	return fmt.Sprintf("rank %d", rank)
}

// aheadOf counts the ranks that are better than rank.
func aheadOf(ranks []int, rank int) int {
	n := 0
	for _, r := range ranks {
		if r < rank {
			n++
		}
	}
	return n
}

func vocabularyMiss(x *facts, g *goldState) finding {
	ranked := len(x.search.Candidates)
	if g.place.BySpan == 0 {
		if ranked >= x.search.Depth {
			return no // it may stand below the depth
		}
		says := fmt.Sprintf("gold %s: in the store, shares no term with the query; %d items were ranked, it was not", g.source, ranked)
		if !x.keyword() {
			says = fmt.Sprintf("gold %s: in the store, not among the %d items that the search could score", g.source, ranked)
		}
		return yes(says)
	}
	// Equal scores from the top down to the gold: nothing in the query that the search understands tells them apart.
	top, mine := x.search.Candidates[0].Score, x.search.Candidates[g.place.BySpan-1].Score
	if top == nil || mine == nil || *top != *mine {
		return no
	}
	return yes(fmt.Sprintf("gold %s: ties with the %d items ahead at score %s; the order among them means nothing", g.source, g.place.BySpan-1, *mine))
}

func belowCutoff(x *facts, g *goldState) finding {
	if g.place.BySpan == 0 {
		return yes(fmt.Sprintf("gold %s: below rank %d, the depth of the recorded ranking; cutoff %d", g.source, x.search.Depth, x.search.K))
	}
	evidence := []string{fmt.Sprintf("gold %s: rank %d, cutoff %d", g.source, g.place.BySpan, x.search.K)}
	for _, arm := range []matrix.CellID{matrix.ProbeKeyword, matrix.ProbeDense} {
		if rank, _, seen := x.probe(arm, g); seen {
			evidence = append(evidence, fmt.Sprintf("%s arm alone: %s", arm.Variant(), rankOrAbsent(rank)))
		}
	}
	return yes(evidence...)
}

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
		return fmt.Sprintf("gold %s: rank %d before, %s after, top %d kept", g.source, g.place.BySpan, rankOrAbsent(g.place.Reranked), x.search.RerankTop)
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
		rule("input-truncated", "The reranker reads only the start of the evidence.",
			"what the reranker tells of its input; else the same text with the query appended must score higher", "cut chunks below the reranker's limit, or use one with a longer input",
			"a larger k before it: length decides, not relevance",
			func(x *facts, g *goldState, hit *matrix.Hit) finding {
				if hit.InputTruncated {
					return yes(moved(x, g), fmt.Sprintf("the reranker says that it did not read all of %s", hit.ID))
				}
				c := x.o.Store.RerankControl
				return when(c != nil && c.Error == nil && c.EndUnread && c.GoldID == hit.ID, moved(x, g),
					fmt.Sprintf("%s scores %s, and the same with the query itself appended: its end is not read", hit.ID, *orZero(hit.Score)))
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
				return yes(moved(x, g), fmt.Sprintf("its score %s is below the threshold %s", *hit.Score, *floor))
			}),
		rule("demoted", "The reranker ranks the evidence below what is passed on.",
			"rank before and after", "keep more after the rerank, or try the search order without it",
			"a larger k before it: the evidence is already in",
			func(x *facts, g *goldState, hit *matrix.Hit) finding {
				return yes(moved(x, g), fmt.Sprintf("its score is %s", *orZero(hit.Score)))
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
