package verdict

import (
	"fmt"
	"slices"

	"github.com/culprit-rag/culprit/matrix"
)

func assembleRules() []Rule {
	rule := func(label, says, decides, first, wasted string, fires func(*facts, *goldState, *matrix.Trial) finding) Rule {
		return Rule{
			Stage: StageAssemble, Label: label, grade: Shown, Needs: "the packed context", Says: says, Decides: decides, TryFirst: first, Wasted: wasted,
			gold: func(x *facts, g *goldState) finding {
				if g.lost != lostInAssemble {
					return no
				}
				return fires(x, g, x.productionTrial())
			},
		}
	}
	packed := func(g *goldState, t *matrix.Trial) *matrix.Packed {
		if i := slices.IndexFunc(t.Packed, func(p matrix.Packed) bool { return p.ID == g.place.ID }); i >= 0 {
			return &t.Packed[i]
		}
		return nil
	}
	dropped := func(g *goldState, t *matrix.Trial, reason string) *matrix.Dropped {
		if i := slices.IndexFunc(t.Dropped, func(d matrix.Dropped) bool { return d.ID == g.place.ID && d.Reason == reason }); i >= 0 {
			return &t.Dropped[i]
		}
		return nil
	}
	return []Rule{
		rule("budget-cut", "The evidence was retrieved, but the context budget leaves it out.",
			"items passed on against items packed, one by one", "a larger budget, shorter chunks, or overflow: skip: culprit sweep",
			"ranking work: the rank is good enough",
			func(x *facts, g *goldState, t *matrix.Trial) finding {
				d := dropped(g, t, matrix.DroppedBudget)
				if d == nil {
					return no
				}
				if a := x.e.Pipeline.Assemble; a.Overflow == matrix.OverflowStop && a.Budget.N > 0 && d.Units <= a.Budget.N {
					return yes(fmt.Sprintf("gold %s: rank %d, behind an item that the budget of %s does not hold, where packing stops (overflow: stop); it would fit itself (needs %d)", g.name(), g.rankPassedOn(), a.Budget, d.Units))
				}
				return yes(fmt.Sprintf("gold %s: rank %d, cut by the budget of %s (needs %d)", g.name(), g.rankPassedOn(), x.e.Pipeline.Assemble.Budget, d.Units))
			}),
		rule("deduplicated", "The evidence was taken for a duplicate and left out.",
			"items passed on against items packed, one by one", "keep the copy whose source the asker needs, and key duplicates by source as well as text",
			"ranking work: the item was there",
			func(_ *facts, g *goldState, t *matrix.Trial) finding {
				d := dropped(g, t, matrix.DroppedDuplicate)
				if d == nil {
					return no
				}
				return yes(fmt.Sprintf("gold %s: %s was left out as a duplicate of %s", g.name(), d.ID, d.Of))
			}),
		rule("span-truncated", "The evidence was packed, but its text was cut before the fact.",
			"the packed text against the retrieved text", "raise the cut, or chunk smaller",
			"ranking work: the item was there",
			func(_ *facts, g *goldState, t *matrix.Trial) finding {
				p := packed(g, t)
				return when(p != nil && p.Cut, fmt.Sprintf("gold %s: %s is packed with its text cut before the span", g.name(), g.place.ID))
			}),
		rule("id-body-mismatch", "An item was packed under the gold's id with another item's body.",
			"the packed body against the retrieved body of the same id", "join bodies and metadata by id, not by position",
			"ranking work: the ids are right",
			func(_ *facts, g *goldState, t *matrix.Trial) finding {
				return when(packed(g, t) != nil, fmt.Sprintf("gold %s: %s is packed with a body that the store does not have under this id", g.name(), g.place.ID))
			}),
		rule("lost", "The evidence was passed on, and the assembly lost it without a word.",
			"items in against items out", "count items in and out of the assembly; look for look-ups by id that skip unknown ids",
			"ranking work: the item was there",
			func(x *facts, g *goldState, t *matrix.Trial) finding {
				if p := x.foreign(t); p != nil {
					return unknown(fmt.Sprintf("gold %s is not among what is packed by any id, but the service packs %q, which is in no list of candidates that it tells and has no text there, and may be it: let its trace tell the same ids in both, or the texts of what it packs", g.name(), p.ID))
				}
				return yes(fmt.Sprintf("gold %s: %d items in, %d packed, %d left out with a reason, %s neither", g.name(), len(x.search.Kept()), len(t.Packed), len(t.Dropped), g.place.ID))
			}),
		{
			Stage: StageAssemble, Label: "span-truncated", grade: Shown, Needs: "the packed context, and B with the whole text",
			Says:     "The evidence was packed with its end cut off: the span is there, and not what the answer needs besides.",
			Decides:  "the packed text is cut, and the whole text alone is answered right (B)",
			TryFirst: "a larger budget, or chunks that fit; overflow: truncate cuts in the middle of a thought",
			Wasted:   "prompt and model work: the end of the evidence was not there",
			once: func(x *facts) finding {
				if !x.cells[matrix.CellA].fails() || !x.allInPrompt() || !x.cells[matrix.CellB].passes() {
					return no
				}
				for _, g := range x.gold {
					if g.packed.Packed == 0 {
						continue // the prompt shows it, and what was packed is not told
					}
					if p := x.productionTrial().Packed[g.packed.Packed-1]; p.Cut {
						return yes(fmt.Sprintf("gold %s: packed with its end cut off, %d units of it", g.name(), p.Units), passes(x, matrix.CellB)+" with the whole text")
					}
				}
				return no
			},
		},
		{
			Stage: StageAssemble, Label: "id-body-mismatch", grade: Shown, Needs: "the packed context",
			Says:     "The fact is in the context, but under another item's id.",
			Decides:  "the packed body against the retrieved body of the same id",
			TryFirst: "join bodies and metadata by id, not by position", Wasted: "citation rules in the prompt: the prompt itself carries the wrong id",
			once: func(x *facts) finding { return x.wrongCopy(false) },
		},
		{
			Stage: StageAssemble, Label: "deduplicated", grade: Shown, Needs: "the packed context",
			Says:     "The fact is in the context, but only the copy of another source was kept.",
			Decides:  "items passed on against items packed, one by one",
			TryFirst: "key duplicates by source as well as text", Wasted: "citation rules in the prompt: the cited source is the one that was kept",
			once: func(x *facts) finding { return x.wrongCopy(true) },
		},
	}
}

// foreign returns a packed item that the retrieval did not return and whose text nobody tells, where the prompt does not show it either:
// it may be any item. nil where there is none.
func (x *facts) foreign(t *matrix.Trial) *matrix.Packed {
	if !t.Unseen(matrix.PromptUnobserved) {
		return nil
	}
	for i, p := range t.Packed {
		found := func(h matrix.Hit) bool { return h.ID == p.ID }
		if p.Text.Ref == "" && !slices.ContainsFunc(x.search.Candidates, found) && !slices.ContainsFunc(x.search.Reranked, found) {
			return &t.Packed[i]
		}
	}
	return nil
}

func (g *goldState) rankPassedOn() int {
	if g.place.Reranked > 0 {
		return g.place.Reranked
	}
	return g.place.BySpan
}
