package verdict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
)

func retrieveRules() []Rule {
	rule := func(label, says, decides, first, wasted string, fires func(*facts, *goldState) finding) Rule {
		return Rule{
			Stage: StageRetrieve, Label: label, grade: Shown, Needs: "the full ranking of C", Says: says, Decides: decides, TryFirst: first, Wasted: wasted,
			gold: func(x *facts, g *goldState) finding {
				switch {
				case g.lost != lostInSearch:
					return no
				case g.place.BySpan == 0 && x.otherSearch():
					return unknown(x.otherSearchSays(g))
				}
				return fires(x, g)
			},
		}
	}
	// hides: what is removed keeps items out whatever their rank, so a gold that comes back at any rank was hidden by it.
	removed := func(label string, cell matrix.CellID, hides bool, applies func(*facts, *goldState) bool, what, says, decides, first, wasted string) Rule {
		return rule(label, says, decides, first, wasted, func(x *facts, g *goldState) finding {
			if !applies(x, g) {
				return no
			}
			rank, passed, seen := x.probe(cell, g)
			switch {
			case !seen && x.e.WithoutStore():
				return x.withoutStore(g)
			case !seen:
				return unknown("the same search " + what + " (" + string(cell) + ")")
			case !passed && !(hides && g.place.BySpan == 0 && rank > 0):
				return no
			}
			evidence := []string{fmt.Sprintf("gold %s: %s in production, rank %d of k = %d %s", g.name(), rankOrAbsent(g.place.BySpan), rank, x.search.K, what)}
			if cell == matrix.ProbeNoFilter {
				evidence = append(x.refusedBy(cell, rank), evidence...)
			}
			return yes(evidence...)
		})
	}
	return []Rule{
		rewritten(removed("query-altered", matrix.ProbeAsTyped, false, func(x *facts, _ *goldState) bool { return x.search.QueryEffective != x.search.Query },
			"with the question as typed", "What is searched for is not what was asked: the query was rewritten on the way, and the rewriting loses the evidence.",
			"the same search with the question as typed", "look at the query as the store received it; mend the rewriting or the composition",
			"index and embedding work: the question as typed finds the evidence")),
		removed("filtered-out", matrix.ProbeNoFilter, true, func(x *facts, g *goldState) bool { return filtered(x, g) && !x.askerLacks() },
			"without the filter", "The evidence would be found, but the filter removes it.",
			"the same search without the filter", "compare the item's stored fields with the filter's values and types",
			"ranking and embedding work: the item is never considered"),
		removed("filtered-out", matrix.ProbeNoFilter, true, func(x *facts, g *goldState) bool { return filtered(x, g) && x.askerLacks() },
			"without the filter", "The filter asks for an attribute that the asker does not have, and admits nothing.",
			"the same search without the filter, and the asker's attributes against those that the filter asks for", "give the case's asker the attribute (`as`); where it is missing in production, too, see why it does not reach the search",
			"work on the filter, the stored fields, ranking or embedding: without a value no item is admitted"),
		rule("filter-ignored", "Items that the filter does not admit were returned, and they push the evidence out.",
			"every returned item against the declared filter", "look at the field's type and tokenisation, and at whether the filter reaches the store",
			"ranking work: the items ahead should not be there",
			func(x *facts, g *goldState) finding {
				ahead := aheadOf(x.found.Filtered, g.place.BySpan)
				fires := g.place.BySpan > 0 && ahead > 0 && g.place.BySpan-ahead <= x.search.K
				if !fires {
					return no
				}
				return yes(fmt.Sprintf("gold %s: rank %d, with %s ahead that the filter does not admit: %s", g.name(), g.place.BySpan, counted(ahead, "item", "items"), x.ranksOf(x.search, x.found.Filtered)))
			}),
		removed("below-threshold", matrix.ProbeNoThreshold, false, func(x *facts, g *goldState) bool { return x.search.Threshold != nil && g.place.BySpan == 0 },
			"without the threshold", "The evidence is scored below the threshold and is not returned.",
			"the same search without the threshold", "lower the threshold, or measure it on known pairs first",
			"a larger k: the threshold cuts before it"),
		removed("approximate-miss", matrix.ProbeExact, false, approximated,
			"with an exact search", "The approximate index misses the evidence; an exact search finds it.",
			"the same search, exact", "raise the search effort of the index, or rebuild it",
			"embedding and query work: the vector is near enough"),
		rule("vocabulary-miss", "The search cannot tell the evidence from the rest: it shares no term with the query that the search understands.",
			"the gold item's own score in the full ranking", "add the asker's words to the chunk, synonyms, stemming or a dense arm",
			"a larger k: the item is not ranked at all",
			vocabularyMiss),
		{
			Stage: StageIndex, Label: "stale", grade: Shown, Needs: "the full ranking of C, and what the case declares to be superseded",
			Says:     "The store serves a superseded text beside the current one, and it takes the place.",
			Decides:  "the gold's rank when the declared superseded items do not count",
			TryFirst: "remove or mark superseded items at ingestion, and filter or rank by validity",
			Wasted:   "embedding work: the two texts are alike, and only their date tells them apart",
			gold: func(x *facts, g *goldState) finding {
				ahead := 0
				if g.lost == lostInSearch && g.place.BySpan > 0 {
					ahead = aheadOf(x.found.Outdated, g.place.BySpan)
				}
				if ahead == 0 || g.place.BySpan-ahead > x.search.K {
					return no
				}
				return yes(fmt.Sprintf("gold %s: rank %d, cutoff %d; ahead of it the superseded %s", g.name(), g.place.BySpan, x.search.K, x.ranksOf(x.search, before(x.found.Outdated, g.place.BySpan))))
			},
		},
		rule("crowded-out", "Near copies of one text take the places, and the evidence falls below the cutoff.",
			"the gold's rank when every text counts once", "remove duplicates at ingestion or after the search, or diversify",
			"embedding work: the rank without the copies is good enough",
			func(x *facts, g *goldState) finding {
				copies := aheadOf(x.found.Duplicate, g.place.BySpan)
				if g.place.BySpan == 0 || copies == 0 || g.place.BySpan-copies > x.search.K {
					return no
				}
				return yes(fmt.Sprintf("gold %s: rank %d, cutoff %d; %d of the items ahead repeat another one: %s", g.name(), g.place.BySpan, x.search.K, copies, x.ranksOf(x.search, before(x.found.Duplicate, g.place.BySpan))))
			}),
		removed("corpus-statistics", matrix.ProbeStatistics, false, func(x *facts, g *goldState) bool {
			_, _, seen := x.probe(matrix.ProbeStatistics, g) // few stores can: then it is below the cutoff, which is so all the same
			return seen
		},
			"with words counted over what the filter admits", "How rare a word is was counted over the whole collection: items that the asker never sees decide the order of those that they see.",
			"the same keyword search, with its word statistics counted over what the filter admits", "a collection, shard or index for each tenant, or a dense arm or reranker that counts no words",
			"work on the texts: their order is right among themselves"),
		rule("vocabulary-miss", "The search scores the evidence like the items ahead: nothing in the query that it understands tells them apart.",
			"the gold item's own score in the full ranking against the best one", "keep the symbols that matter (token_chars), put the asker's words into the chunk, or add a dense arm or a reranker",
			"work on the order among equal scores: it is that of the ids",
			undistinguished),
		rule("vocabulary-miss", "To the search the evidence is no nearer to the query than an item that has nothing to do with it.",
			"the gold item's own score against the floor that was measured on this store", "add the asker's words to the chunk, another embedding model, or a keyword arm",
			"a larger k: what has nothing to do with the query stands ahead of it",
			belowFloor),
		rule("below-cutoff", "The evidence is in the store and was found, but ranked below what is passed on.",
			"rank of the gold item in the full ranking against k", "a reranker, or a larger k together with a larger budget: culprit sweep",
			"prompt edits: what is missing never reached the prompt",
			belowCutoff),
	}
}

// filtered reports whether a filter may hide the gold. What it admits, it does not hide; without one, only more would be ahead.
func filtered(x *facts, g *goldState) bool {
	return len(x.search.Filter) > 0 && !(x.e.WithoutStore() && g.place.BySpan > 0)
}

// askerLacks reports whether a condition of the filter got no value, since the asker has none, so that it holds for nothing.
func (x *facts) askerLacks() bool {
	return slices.ContainsFunc(x.search.Filter, func(c matrix.Condition) bool { return len(c.AnyOf) == 0 && !c.Not })
}

// unresolved is what the experiment's filter asks of the asker for a field.
func (x *facts) unresolved(field string) string {
	for _, c := range x.e.Pipeline.Search.Filter {
		if c.Field == field && c.Asks() {
			return strings.Join(c.AnyOf, " or ")
		}
	}
	return "a value"
}

// refusedBy names the conditions of the filter that an item of a probe does not meet, with what it has instead.
func (x *facts) refusedBy(cell matrix.CellID, rank int) []string {
	probe, _ := x.retrieval(cell)
	if probe == nil || rank < 1 || rank > len(probe.Candidates) {
		return nil
	}
	hit := probe.Candidates[rank-1]
	var out, alike []string
	for _, c := range x.search.Filter {
		if admits(matrix.Filter{c}, hit) {
			alike = append(alike, fmt.Sprintf("its %s reads %s", c.Field, orElse(quoted(valuesOf(hit, c.Field)), "nothing")))
			continue
		}
		wants := "wants " + orElse(quoted(c.AnyOf), x.unresolved(c.Field)+", and the asker has none")
		if c.Not {
			wants = "excludes " + quoted(c.AnyOf)
		}
		out = append(out, fmt.Sprintf("gold %s: its %s is %s, the filter %s", x.label(hit.ID), c.Field, orElse(quoted(valuesOf(hit, c.Field)), "not set"), wants))
	}
	if len(out) == 0 {
		out = append(out, fmt.Sprintf("gold %s: %s, which is what the filter wants, and the store does not admit it: is the field of another type (a number or boolean needs typed), or not indexed?",
			x.label(hit.ID), strings.Join(alike, " and ")))
	}
	return out
}

// approximated reports whether an exact search may rank the gold better. One that has a rank among vectors alone, behind what
// scores as well, is not missed: exactness can only bring more items ahead of it.
func approximated(x *facts, g *goldState) bool {
	if n := x.named(g); g.place.BySpan == 0 && x.search.Mode == matrix.ModeDense && n != nil && !x.beatsLast(n.Score) {
		return false
	}
	return !x.keyword() && !x.search.Exact && (g.place.BySpan == 0 || x.search.Mode == matrix.ModeHybrid || x.misplaced(g.place.BySpan))
}

// beatsLast reports whether a score is as good as that of the last item that production passes on, so that a search that sees
// everything might pass the item on. It is true where that is not known.
func (x *facts) beatsLast(score *matrix.Decimal) bool {
	if score == nil {
		return false // the search cannot score the item, however exact
	}
	if len(x.search.Candidates) < x.search.K {
		return true
	}
	last := x.search.Candidates[x.search.K-1].Score
	return last == nil || score.Float() == last.Float() || (score.Float() > last.Float()) != x.search.LowerIsBetter
}

// misplaced reports whether an item below the cutoff scores better than one that is passed on: the search for the first k did
// not see it, and a longer one did.
func (x *facts) misplaced(rank int) bool {
	mine := x.search.Candidates[rank-1].Score
	return rank > x.search.K && mine != nil && slices.ContainsFunc(x.search.PassedOn(), func(h matrix.Hit) bool {
		return h.Score != nil && (mine.Float() > h.Score.Float()) != x.search.LowerIsBetter && mine.Float() != h.Score.Float()
	})
}

func rankOrAbsent(rank int) string {
	if rank == 0 {
		return "not returned"
	}
	return fmt.Sprintf("rank %d", rank)
}

// aheadOf counts the ranks that are better than rank.
func aheadOf(ranks []int, rank int) int { return len(before(ranks, rank)) }

// before keeps the ranks that are better than rank.
func before(ranks []int, rank int) []int {
	return slices.DeleteFunc(slices.Clone(ranks), func(r int) bool { return r >= rank })
}

func vocabularyMiss(x *facts, g *goldState) finding {
	ranked := len(x.search.Candidates)
	if g.place.BySpan == 0 {
		if rank, _ := x.elsewhere(g); rank > 0 {
			return no
		}
		named := x.named(g)
		switch {
		case named != nil && named.Score != nil && named.Rank > 0 && named.Rank <= x.search.K:
			return unknown("the search without " + strings.Join(x.cuts(), " and ") + " at once: by its own score the gold is within the cutoff")
		case named != nil && named.Score != nil:
			return no // it has a score and a place, if a bad one
		case named != nil && x.keyword() && len(g.place.Shared) == 0:
			return yes(fmt.Sprintf("gold %s: in the store, shares no term with the query", g.name()), "asked for by its id, it has no score")
		}
		if ranked >= x.search.Depth {
			if !x.keyword() || len(g.place.Shared) > 0 {
				return no // it may stand below the depth
			}
			f := yes(fmt.Sprintf("gold %s: in the store, holds no word of the query, and is not among the %d items that were ranked", g.name(), ranked))
			f.grade = Inferred // a stem may be shared all the same
			return f
		}
		if cuts := x.cuts(); len(cuts) > 1 && (!x.keyword() || len(g.place.Shared) > 0) {
			return unknown("the search without " + strings.Join(cuts, " and ") + " at once: removing one of them does not bring the gold back")
		}
		others := counted(ranked, "item was", "items were") + " ranked, the gold was not"
		switch {
		case !x.keyword(): // vectors score every item: what has no score has no vector, whatever its words
			return unknown(fmt.Sprintf("the gold's own similarity (%s): it is not among the %d items that the search could score", matrix.ProbeNamed, ranked))
		case len(g.place.Shared) > 0:
			return yes(fmt.Sprintf("gold %s: in the store, holds %s of the query, and the search does not see it", g.name(), quotedTexts(g.place.Shared)),
				"look at the search's operator, tokenizer and folding", others)
		}
		return yes(fmt.Sprintf("gold %s: in the store, shares no term with the query", g.name()), others)
	}
	return no
}

// undistinguished fires for equal scores from the top down to the gold: nothing in the query that the search understands
// tells them apart.
func undistinguished(x *facts, g *goldState) finding {
	if g.place.BySpan == 0 || x.search.Mode == matrix.ModeHybrid { // fused ranks tie without the arms doing so
		return no
	}
	top, mine := x.search.Candidates[0].Score, x.search.Candidates[g.place.BySpan-1].Score
	if top == nil || mine == nil || *top != *mine {
		return no
	}
	if x.search.By != "" && !slices.ContainsFunc(x.search.Candidates, func(h matrix.Hit) bool { return h.Score == nil || *h.Score != *top }) {
		return no // a service that scores all alike ranks by something else, which its order shows
	}
	return yes(fmt.Sprintf("gold %s: rank %d only by its id, with the same score as the %d ahead (%s)", g.name(), g.place.BySpan, g.place.BySpan-1, *mine))
}

func quotedTexts(texts []string) string {
	out := make([]string, len(texts))
	for i, s := range texts {
		out[i] = fmt.Sprintf("%q", s)
	}
	return quoted(out)
}

// cuts lists what may keep an item out of the ranking although the search knows it.
func (x *facts) cuts() []string {
	var out []string
	if len(x.search.Filter) > 0 {
		out = append(out, "the filter")
	}
	if x.search.Threshold != nil {
		out = append(out, "the threshold")
	}
	if !x.keyword() && !x.search.Exact {
		out = append(out, "the approximation")
	}
	return out
}

// elsewhere returns the rank of the gold in a probe that removes what has no influence on the ranks ahead, with its name.
func (x *facts) elsewhere(g *goldState) (int, matrix.CellID) {
	for _, cell := range []matrix.CellID{matrix.ProbeNoThreshold, matrix.ProbeExact} {
		if rank, _, _ := x.probe(cell, g); rank > 0 {
			return rank, cell
		}
	}
	return 0, ""
}

// deep says where the gold stands below the recorded ranking, as far as that is known.
func (x *facts) deep(g *goldState) string {
	switch n := x.named(g); {
	case n != nil && n.Score != nil && n.Rank > 0:
		return fmt.Sprintf("gold %s: rank %d by its own score %s; cutoff %d", g.name(), n.Rank, *n.Score, x.search.K)
	case n != nil && n.Score != nil && n.AtLeast > 0:
		return fmt.Sprintf("gold %s: behind %d items by its own score %s; cutoff %d", g.name(), n.AtLeast, *n.Score, x.search.K)
	}
	return fmt.Sprintf("gold %s: below rank %d, the depth of the recorded ranking; cutoff %d", g.name(), x.search.Depth, x.search.K)
}

func belowCutoff(x *facts, g *goldState) finding {
	if rank, cell := x.elsewhere(g); g.place.BySpan == 0 && rank > 0 {
		return yes(append([]string{fmt.Sprintf("gold %s: not returned in production, and rank %d of k = %d in %s, so the cutoff would cut it all the same", g.name(), rank, x.search.K, cell)}, x.byRank(g)...)...)
	}
	if g.place.BySpan == 0 {
		return yes(append([]string{x.deep(g)}, x.byRank(g)...)...)
	}
	evidence := []string{fmt.Sprintf("gold %s: rank %d, cutoff %d", g.name(), g.place.BySpan, x.search.K)}
	for _, arm := range []matrix.CellID{matrix.ProbeKeyword, matrix.ProbeDense} {
		if rank, _, seen := x.probe(arm, g); seen {
			evidence = append(evidence, fmt.Sprintf("%s arm alone: %s", arm.Variant(), rankOrAbsent(rank)))
		}
	}
	return yes(append(evidence, x.byRank(g)...)...)
}
