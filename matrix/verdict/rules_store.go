package verdict

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/culprit-rag/culprit/matrix"
)

func fixtureRules() []Rule {
	return []Rule{
		{
			Stage: StageFixture, Label: "checker-broken", ends: true, outcome: InvalidFixture, grade: Shown,
			Needs:    "the gold text",
			Says:     "The case cannot judge: its own checkers fail their self-test.",
			Decides:  "the gold text as the answer must pass, a wrong answer must fail",
			TryFirst: "mend the claim that the self-test names, then culprit check",
			Wasted:   "any change to the system: nothing has been measured yet",
			once: func(x *facts) finding {
				broken := slices.DeleteFunc(slices.Clone(x.f.Fixture), isInsufficient)
				return when(len(broken) > 0, broken...)
			},
		},
		{
			Stage: StageFixture, Label: "gold-insufficient", ends: true, outcome: InvalidFixture, grade: Shown,
			Needs:    "the gold text",
			Says:     "The declared evidence does not support what the answer is asked to state.",
			Decides:  "every claim is looked for in the gold text itself",
			TryFirst: "declare the missing evidence, or correct the claim",
			Wasted:   "retrieval work: even perfect retrieval would fail this case",
			once:     func(x *facts) finding { return when(len(x.f.Fixture) > 0, x.f.Fixture...) },
		},
		{
			Stage: StageFixture, Label: "gold-unauthorised", ends: true, outcome: InvalidFixture, grade: Shown,
			Needs:    "access lists of the stored items",
			Says:     "The asker may not see the declared evidence, so a right answer would be a leak.",
			Decides:  "the rights of every stored item that holds the gold against the asker's",
			TryFirst: "correct `as:`, or the rights that the item was stored with, or expect an abstention",
			Wasted:   "retrieval work: the filter does what the stored rights say",
			once:     goldUnauthorised,
		},
		{
			Stage: StageFixture, Label: "gold-id-stale", ends: true, outcome: InvalidFixture, grade: Shown,
			Needs:    "a complete scan of the store",
			Says:     "The case asks for a citation of a source that is not stored any more: its text stands under other ids.",
			Decides:  "a complete scan: no item has the cited source, and the gold text stands under another",
			TryFirst: "name the sources that hold the text now, in `evidence` and in `cites`",
			Wasted:   "any change to the system: a right citation fails this case",
			once:     goldIDStale,
		},
	}
}

func isInsufficient(problem string) bool { return strings.HasPrefix(problem, insufficient) }

// insufficient starts the self-test's messages about gold that does not support a claim.
const insufficient = "gold does not support"

func goldUnauthorised(x *facts) finding {
	for i := range x.c.Evidence.Required {
		holders, denied := 0, []string{}
		for _, g := range x.goldFacts(i) {
			for _, item := range g.Items {
				if slices.Contains(g.Exact, item.ID) || slices.Contains(g.Folded, item.ID) {
					holders++
					if !item.Allowed {
						denied = append(denied, x.denial(matrix.Hit{ID: item.ID, Access: item.Access, Metadata: item.Metadata}))
					}
				}
			}
		}
		if holders > 0 && len(denied) == holders {
			return yes(append([]string{fmt.Sprintf("gold %s is stored only where the asker may not look", x.c.Evidence.Required[i].AnyOf[0].Source)}, denied...)...)
		}
	}
	return no
}

// goldIDStale needs a claim that can be met by no right citation. Where facts alone are asked for, a stale id is a finding: see staleIDs.
func goldIDStale(x *facts) finding {
	if !x.o.Store.Scan.Complete || x.cells[matrix.CellA].passes() {
		return no
	}
	for i := range x.o.Store.Gold {
		g := &x.o.Store.Gold[i]
		source := x.c.Evidence.Required[g.Requirement].AnyOf[g.Alternative].Source
		moved := Moved(g, x.c.Evidence.Required[g.Requirement].AnyOf[g.Alternative])
		for _, claim := range x.c.Claims {
			if len(moved) > 0 && slices.Equal(claim.Cites, []string{source}) {
				return yes(fmt.Sprintf("claim %q asks for a citation of %s, and no item has this source; its text stands in %s", claim.ID, source, quoted(moved)))
			}
		}
	}
	return no
}

func accessRules() []Rule {
	return []Rule{
		{
			Stage: StageAccess, Label: "leak", grade: Shown,
			Needs:    "access lists or tenants of the returned items",
			Says:     "The search returned items that the asker may not see.",
			Decides:  "every returned item against the asker's rights, whatever the answer says",
			TryFirst: "compare the rights that the item was stored with with its source's, and see that the asker's tenant and groups reach the store's filter on every route",
			Wasted:   "prompt rules that ask the model to keep quiet: the text already left the store",
			once: func(x *facts) finding {
				if x.found == nil || len(x.found.Forbidden) == 0 {
					return no
				}
				evidence := []string{fmt.Sprintf("%d of %s not the asker's: %s", len(x.found.Forbidden), returned(len(x.found.Forbidden), len(x.search.PassedOn())), x.ranksOf(x.search, x.found.Forbidden))}
				for _, rank := range x.found.Forbidden[:min(len(x.found.Forbidden), mostDenials)] {
					evidence = append(evidence, x.denial(x.search.Candidates[rank-1]))
				}
				if open := x.openFilter(); open != "" {
					evidence = append(evidence, open)
				}
				return yes(evidence...)
			},
		},
		{
			Stage: StageAccess, Label: "filter-open", grade: Shown,
			Needs:    "the impossible filter's answer",
			Says:     "A filter value that cannot exist returns items: the filter protects nobody.",
			Decides:  "the same search with an impossible filter value must return nothing",
			TryFirst: "find where an empty or unknown filter is turned into no filter",
			Wasted:   "tuning of the filter's values: they have no effect",
			once: func(x *facts) finding {
				if x.found != nil && len(x.found.Forbidden) > 0 {
					return no // the leak says so among its evidence
				}
				open := x.openFilter()
				return when(open != "" && x.filterGuards(), open)
			},
		},
	}
}

// mostDenials is how many forbidden items are explained one by one.
const mostDenials = 3

// denial says why the asker may not see an item.
func (x *facts) denial(h matrix.Hit) string {
	for _, attribute := range slices.Sorted(maps.Keys(x.c.As)) {
		if theirs, ok := h.Metadata[attribute]; ok && !slices.ContainsFunc(theirs, func(v string) bool { return slices.Contains(x.c.As[attribute], v) }) {
			return fmt.Sprintf("%s is for %s %s; the asker has %s", x.label(h.ID), attribute, orElse(quoted(theirs), "none"), orElse(quoted(x.c.As[attribute]), "none"))
		}
	}
	var has []string
	for _, attribute := range slices.Sorted(maps.Keys(x.c.As)) {
		has = append(has, x.c.As[attribute]...)
	}
	return fmt.Sprintf("%s is for %s; the asker has %s", x.label(h.ID), quoted(h.Access), quoted(has))
}

func (x *facts) openFilter() string {
	if c := x.o.Store.FilterControl; c != nil && c.Error == nil && len(c.Returned) > 0 {
		return fmt.Sprintf("a filter value that cannot exist returned %s: %s", counted(len(c.Returned), "item", "items"), quoted(c.Returned))
	}
	return ""
}

// filterGuards reports whether the filter depends on who asks.
func (x *facts) filterGuards() bool {
	for _, c := range x.e.Pipeline.Search.Filter {
		if _, ok := x.c.As[c.Field]; ok || c.Field == "access" {
			return true
		}
		if c.Asks() {
			return true
		}
	}
	return false
}

func (x *facts) ranksOf(r *matrix.Retrieval, ranks []int) string {
	var out []string
	for _, rank := range ranks {
		out = append(out, fmt.Sprintf("%s at rank %d", x.label(r.Candidates[rank-1].ID), rank))
	}
	return quoted(out)
}

func cacheRules() []Rule {
	return []Rule{{
		Stage: StageSeam, Label: "cached-answer", grade: Shown,
		Needs:    "whether production asked the generator",
		Says:     "The answer came from a cache in front of the generator; the context of this question was never read.",
		Decides:  "no generator call was made for A, while B answers the same question from gold",
		TryFirst: "tighten the cache's similarity, or key it by the exact question and the asker",
		Wasted:   "index, ranking and prompt work: none of it was used for this answer",
		once: func(x *facts) finding {
			a := x.cells[matrix.CellA]
			cached := a.fails() && !slices.ContainsFunc(a.trials, func(t *matrix.Trial) bool { return !t.Cached })
			return when(cached, fmt.Sprintf("%d of %s served without asking the generator", len(a.trials), counted(len(a.trials), "answer of A was", "answers of A were")))
		},
	}}
}

func indexRules() []Rule {
	base := Rule{Stage: StageIndex, grade: Shown, Needs: "a complete scan of the store"}
	rule := func(label, says, decides, first, wasted string, fires func(*facts, *goldState) finding) Rule {
		r := base
		r.Label, r.Says, r.Decides, r.TryFirst, r.Wasted = label, says, decides, first, wasted
		r.gold = func(x *facts, g *goldState) finding {
			switch {
			case g.lost != lostInSearch || g.inStore == matrix.Yes:
				return no
			case x.e.WithoutStore():
				return x.withoutStore(g)
			case g.inStore == matrix.Unknown:
				return unknown("a complete scan of the store: " + orElse(x.o.Store.Scan.Reason, "the scan was not run"))
			}
			f := fires(x, g)
			if f.answer == matrix.Yes && label != "wrong-collection" {
				for _, s := range x.goldFacts(g.requirement) {
					if len(s.Elsewhere) > 0 {
						f.evidence = append(f.evidence, "its span stands in another collection: "+quoted(s.Elsewhere))
						break
					}
				}
			}
			return f
		}
		return r
	}
	return []Rule{
		rule("not-yet-visible", "The evidence is stored, but the store did not show it yet: it is there a little later.",
			"the same search once more, after checks.second_look, and a second scan where that search misses it too and the store has changed; a scan that misses an item once proves no lasting absence",
			"wait until writes are visible before reading (a refresh, strong reads), or ingest earlier; the case is flaky until then",
			"a new ingestion: the item is there",
			func(x *facts, g *goldState) finding {
				says, behind := fmt.Sprintf("gold %s: in none of %s, and ", g.name(), x.scannedAll()), fmt.Sprintf("%s behind the scan", time.Duration(x.e.Checks.SecondLook))
				if rank, _, _ := x.probe(matrix.ProbeLater, g); rank > 0 {
					return yes(fmt.Sprintf("%sat rank %d of the search made again, %s", says, rank, behind))
				}
				for _, s := range x.goldFacts(g.requirement) {
					if s.Later != "" {
						return yes(fmt.Sprintf("%sin %s when it was scanned again, %s; the search made again misses it", says, x.label(s.Later), behind))
					}
				}
				rank, _, _ := x.probe(matrix.ProbeNoFilter, g) // the filter may keep it from the search that is made again
				return when(rank > 0 && x.unstableIndex(), fmt.Sprintf("%sat rank %d of the search without the filter (%s), which was made later; the index has changed between them", says, rank, matrix.ProbeNoFilter))
			}),
		rule("wrong-collection", "The evidence is stored, but in another collection than the one that is searched.",
			"the same span looked for in the store's other collections",
			"point the search (or the ingestion) at the right collection",
			"ranking and prompt work: the searched collection cannot answer",
			func(x *facts, g *goldState) finding {
				if len(x.relations(g.requirement)) > 0 {
					return no // what the searched collection has of the source is nearer
				}
				for _, s := range x.goldFacts(g.requirement) {
					if len(s.Elsewhere) > 0 {
						return yes(fmt.Sprintf("gold %s: in none of %s of %q, but in %s", g.name(), x.scannedAll(), x.o.Store.Collection, quoted(s.Elsewhere)))
					}
				}
				return no
			}),
		rule("missing", "The evidence is not in the store at all.",
			"a complete scan for the span, and no item under the gold's source",
			"find out why the document was not ingested, then ingest it",
			"ranking, prompt and model work: there is nothing to find",
			func(x *facts, g *goldState) finding {
				evidence := []string{fmt.Sprintf("gold %s: in none of %s", g.name(), x.scannedAll())}
				evidence = append(evidence, x.unserved(g)...)
				if len(g.holders) > 0 {
					evidence = append(evidence, fmt.Sprintf("its span stands in %s, which is not the gold: another source, and too few words to tell", quoted(g.holders)))
				}
				if len(x.relations(g.requirement)) > 0 {
					return no
				}
				return x.within(yes(evidence...))
			}),
		rule("ghost", "An item with the gold's id is indexed, but its body is empty.",
			"fetch by id: the item exists and has no text",
			"re-ingest the item; look for a delete that removed the body and left the index entry",
			"ranking work: an empty item cannot answer",
			storedAs("empty", "is stored with an empty body", func(*goldState, StoredRelation) bool { return true })),
		rule("stale", "The store holds another revision of the evidence.",
			"the stored item's revision against the contract's, and its text and times against its source's",
			"re-index the source; compare the ingestion's schedule with the source's last change",
			"prompt and model work: the model answers from what the store still says",
			func(x *facts, g *goldState) finding {
				relations := x.relations(g.requirement)
				// Of a document with several items, one of another revision says nothing of the others.
				current := slices.ContainsFunc(relations, func(r StoredRelation) bool { return !r.Stale })
				for _, r := range relations {
					if r.Stale && (!current || r.Relation == "holds-span" || r.ID == g.source) {
						return yes(fmt.Sprintf("gold %s: %s is stored in revision %q, the case needs %q", g.name(), x.label(r.ID), r.Revision, x.c.Evidence.Required[g.requirement].AnyOf[0].Revision))
					}
				}
				for _, s := range x.goldFacts(g.requirement) {
					for i := range s.Items {
						item := &s.Items[i]
						for _, why := range []string{matrix.OutdatedText, matrix.OutdatedSource} { // age alone explains nothing
							if slices.Contains(item.Outdated, why) {
								return yes(fmt.Sprintf("gold %s: %s does not hold it, and %s", g.name(), x.label(item.ID), x.outdatedBy(item, why)))
							}
						}
					}
				}
				return no
			}),
		rule("partial", "Only a part of the evidence is in the store: the span is cut off or split.",
			"the stored text against the gold text",
			"look at the extraction and the chunk boundaries of this document",
			"ranking work: no chunk holds the whole fact",
			func(x *facts, g *goldState) finding {
				for _, s := range x.goldFacts(g.requirement) {
					if len(s.Split) > 0 {
						return yes(fmt.Sprintf("gold %s: the span is split over %s", g.name(), strings.Join(s.Split[0], " and ")))
					}
				}
				for _, r := range x.relations(g.requirement) {
					if r.Relation == "part" {
						return yes(fmt.Sprintf("gold %s: %s ends before or inside the span (%s scanned)", g.source, x.label(r.ID), x.scanned()))
					}
				}
				return no
			}),
		rule("overwritten", "Another body is stored under the gold's id.",
			"fetch by id: the body under the id is not the gold's",
			"look for id collisions in the ingestion; ids must be unique over all sources",
			"ranking work: the right body is gone",
			storedAs("other", "is stored with another body", func(g *goldState, r StoredRelation) bool { return r.ID == g.source || r.Like })),
		rule("missing", "The evidence is not in the store: its source is there, but none of the source's items holds the span.",
			"a complete scan for the span, and the number of items under the gold's source",
			"see whether this section was ingested, and whether the document has changed since the case was written",
			"ranking, prompt and model work: there is nothing to find",
			func(x *facts, g *goldState) finding {
				stored := 0
				for _, s := range x.goldFacts(g.requirement) {
					stored += max(s.Stored, len(s.Items))
				}
				evidence := []string{fmt.Sprintf("gold %s: %s stored, and none holds the span (%s scanned)", g.source, counted(stored, "item of this source is", "items of this source are"), x.scanned())}
				evidence = append(evidence, x.unserved(g)...)
				if len(g.holders) > 0 {
					evidence = append(evidence, fmt.Sprintf("the span stands in %s, which the case does not name", quoted(g.holders)))
				}
				return x.within(yes(evidence...))
			}),
	}
}

// notYetVisible may be told of an index that moved: that is how it does.
const notYetVisible = "index/not-yet-visible"

// within takes into account that the settings leave a part of the collection out: it may hold what was not found.
func (x *facts) within(f finding) finding {
	if out := x.o.Store.Scan.LeftOut; out != "" {
		f.evidence, f.grade = append(f.evidence, "it was not looked for in what the settings leave out: "+out), Inferred
	}
	return f
}

// unserved names the fields that hold the span although they are not what is served as text.
func (x *facts) unserved(g *goldState) []string {
	for _, s := range x.goldFacts(g.requirement) {
		if len(s.Unserved) > 0 {
			return []string{fmt.Sprintf("its span stands only in a field that is not served: %s; see backends.store.fields.text", quoted(s.Unserved))}
		}
	}
	return nil
}

// bodyRules are about evidence that was found by its span and is not what the case says it is.
func bodyRules() []Rule {
	rule := func(label, body, says, first string) Rule {
		return Rule{
			Stage: StageIndex, Label: label, grade: Shown, Needs: "the stored bodies, and the gold text of the case", Says: says,
			Decides:  "the stored text against the case's gold text, where the case's own text is answered right (B), or states a claim that no stored item of the gold does",
			TryFirst: first, Wasted: "ranking, prompt and model work: the stored text reached the prompt as it is",
			once: func(x *facts) finding {
				if !x.cells[matrix.CellA].fails() || !x.allInPrompt() || !x.cells[matrix.CellB].passes() {
					return no
				}
				for _, g := range x.gold {
					if r := x.onlySpan(g, body); r != nil {
						return yes(x.onlySpanSays(g, r), passes(x, matrix.CellB)+" with the case's own text")
					}
				}
				return no
			},
		}
	}
	return []Rule{
		rule("partial", "part", "The stored text is only a part of the evidence: it holds the span, and not what the answer needs besides.",
			"look at the extraction and the chunk boundaries of this document"),
		rule("overwritten", "other", "The stored text holds the span, but it is another text than the evidence.",
			"compare the stored text with its source; look for id collisions and for an older or edited version"),
	}
}

// onlySpan returns an item that holds the gold's span, and of the rest of the gold text that the case gives what body says; nil where there
// is none, or another has all of it.
func (x *facts) onlySpan(g *goldState, body string) *StoredRelation {
	var found *StoredRelation
	for _, r := range x.relations(g.requirement) {
		switch {
		case r.Body == "same":
			return nil
		case r.Body == body && found == nil:
			found = &r
		}
	}
	return found
}

func (x *facts) onlySpanSays(g *goldState, r *StoredRelation) string {
	return fmt.Sprintf("gold %s: %s holds the span, and not the rest of the gold text", g.source, x.label(r.ID))
}

// lacking puts ahead of what was found behind the store what the store itself lacks: a claim that the case's gold text states, no stored
// item of the gold does, and A's answers miss. B need not pass for that, as something behind the store may be broken as well.
func (w *walker) lacking() {
	if w.ended || w.judgeable() != "" || slices.ContainsFunc(w.defects, func(d Defect) bool { return d.Stage == StageIndex }) {
		return
	}
	rules := w.rules
	for _, g := range w.gold {
		claim := w.lackedClaim(g)
		if claim == "" {
			continue
		}
		for _, body := range []struct{ is, label string }{{"part", "partial"}, {"other", "overwritten"}} {
			if r := w.onlySpan(g, body.is); r != nil {
				i := slices.IndexFunc(rules, func(r Rule) bool { return r.Stage == StageIndex && r.Label == body.label && r.once != nil })
				if i < 0 {
					continue
				}
				w.add(&rules[i], yes(w.onlySpanSays(g, r), fmt.Sprintf("no stored item of the gold states claim %q, which the gold text states", claim)), g.source)
				last := len(w.defects) - 1
				w.defects = slices.Insert(w.defects[:last], 0, w.defects[last])
				w.says = slices.Insert(w.says[:last], 0, w.says[last])
				return
			}
		}
	}
}

// lackedClaim names a claim that no stored item of a gold states and a failing answer of A misses, "" for none.
func (w *walker) lackedClaim(g *goldState) string {
	for _, of := range w.f.Gold {
		for _, id := range of.Lacks {
			if of.Requirement == g.requirement && slices.ContainsFunc(w.cells[matrix.CellA].failing(), func(f *TrialFeatures) bool {
				return slices.ContainsFunc(f.Claims, func(r ClaimResult) bool { return r.ID == id && r.State == ClaimMissing })
			}) {
				return id
			}
		}
	}
	return ""
}

// storedAs finds an item in that relation to the gold that is surely the gold's own: of a document with several items, one
// that is not named by its id may be any other part.
func storedAs(relation, says string, own func(*goldState, StoredRelation) bool) func(*facts, *goldState) finding {
	return func(x *facts, g *goldState) finding {
		for _, r := range x.relations(g.requirement) {
			if r.Relation == relation && own(g, r) {
				return yes(fmt.Sprintf("gold %s: %s %s (%s scanned)", g.source, x.label(r.ID), says, x.scanned()))
			}
		}
		return no
	}
}

func (x *facts) scanned() string {
	if s := x.o.Store.Scan; !s.Complete && s.Counted == 0 { // it stopped before the store was asked how many there are
		return counted(s.Scanned, "item", "items") + " read, and not all"
	}
	return fmt.Sprintf("%d of %d items", x.o.Store.Scan.Scanned, x.o.Store.Scan.Counted)
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
