package verdict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
)

// Stages lists every stage in the order in which they are judged.
func Stages() []Stage {
	return []Stage{StageFixture, StageAccess, StageIndex, StageEmbed, StageRetrieve, StageRerank, StageAssemble, StagePrompt, StageGenerate, StageAbstain, StageSeam}
}

// stages gives every stage one state. Clear needs a test that it passed; what an earlier break hides is not reached.
func (w *walker) stages() []StageState {
	out := make([]StageState, 0, len(Stages()))
	broken := false // an earlier stage of the way to the prompt is broken
	for _, s := range Stages() {
		state := StageState{Stage: s}
		if labels := w.labelsOf(s); len(labels) > 0 {
			state.State, state.Tested = Broken, strings.Join(labels, ", ")
			broken = broken || s != StageFixture && s != StageAccess
			out = append(out, state)
			continue
		}
		state.State, state.Tested = w.test(s)
		if state.State == Unobserved && broken {
			state.State, state.Tested = NotReached, ""
		}
		if w.outcome == InvalidFixture && state.State != NotUsed {
			state.State, state.Tested = NotReached, ""
		}
		out = append(out, state)
	}
	return out
}

func (w *walker) labelsOf(s Stage) []string {
	var out []string
	for _, defects := range [][]Defect{w.defects, w.suspects} {
		for i := range defects {
			if defects[i].Stage == s {
				out = append(out, defects[i].Label)
			}
		}
	}
	return out
}

// test says what a stage that no rule blames was tested by.
func (w *walker) test(s Stage) (State, string) {
	switch s {
	case StageFixture:
		if len(w.c.Claims) > 0 || w.c.Expect != matrix.ExpectAnswer {
			return Clear, "the checkers pass their self-test"
		}
		return Unobserved, "the case has no claims"
	case StageAccess:
		return w.testAccess()
	case StageIndex:
		return w.testIndex()
	case StageEmbed:
		return w.testEmbed()
	case StageRetrieve:
		return w.crossed(lostInSearch, "passed on by the search")
	case StageRerank:
		if w.e.Pipeline.Rerank == nil {
			return NotUsed, ""
		}
		return w.crossed(lostInRerank, "kept by the reranker")
	case StageAssemble:
		return w.crossed(lostInAssemble, "packed")
	case StagePrompt:
		if w.promptUnseen() {
			return Unobserved, "the service does not tell its prompt"
		}
		if w.allInPrompt() {
			return Clear, "gold span in A's prompt"
		}
		if w.goldTested() {
			return Clear, "gold span in B's prompt"
		}
		if t := w.productionTrial(); t != nil && t.Unseen(matrix.PromptUnobserved) {
			return Unobserved, "the service does not tell its prompt"
		}
		if w.standIn {
			return Unobserved, "A's prompt does not hold the gold, and B's is not production's"
		}
		return Unobserved, "no prompt held the gold"
	case StageGenerate:
		return w.testGenerate()
	case StageAbstain:
		return w.testAbstain()
	default: // StageSeam
		if w.cells[matrix.CellA].passes() {
			return Clear, passes(w.facts, matrix.CellA)
		}
		return Unobserved, "A does not pass"
	}
}

func (w *walker) testAccess() (State, string) {
	switch {
	case len(w.c.As) == 0:
		return Unobserved, "the case names no asker"
	case w.blindToAccess():
		return Unobserved, noAccessField
	case w.found == nil || len(w.search.PassedOn()) == 0:
		return Unobserved, "nothing was returned"
	case w.search.By != "" && !slices.ContainsFunc(w.search.PassedOn(), func(h matrix.Hit) bool { return len(h.Access) > 0 }):
		return Unobserved, "the service tells of none of its items who may see it (access)"
	case w.o.Store.FilterControl != nil && w.o.Store.FilterControl.Error == nil:
		return Clear, returnedItems(len(w.search.PassedOn())) + "; an impossible filter returns nothing"
	}
	return Clear, returnedItems(len(w.search.PassedOn()))
}

func (w *walker) testIndex() (State, string) {
	if len(w.gold) == 0 {
		return Unobserved, "the case names no evidence"
	}
	var held []string
	if w.e.WithoutStore() {
		var places []string
		for _, g := range w.gold {
			switch {
			case g.place.BySpan > 0:
				places = append(places, fmt.Sprintf("the service found gold %s at rank %d", g.name(), g.place.BySpan))
			case g.lost == crossedAll:
				places = append(places, fmt.Sprintf("gold %s is in the prompt", g.name()))
			default:
				return Unobserved, NoStore
			}
		}
		return Clear, strings.Join(places, "; ")
	}
	for _, g := range w.gold {
		switch g.inStore {
		case matrix.Yes:
			held = append(held, fmt.Sprintf("span found in %s", quoted(g.holders)))
		case matrix.Unknown:
			return Unobserved, "the scan is not complete: " + orElse(w.o.Store.Scan.Reason, "it was not run")
		default:
			return Unobserved, fmt.Sprintf("gold %s is not in the store", g.name())
		}
	}
	return Clear, fmt.Sprintf("%s by scan of %s", strings.Join(held, "; "), w.scanned())
}

func (w *walker) testEmbed() (State, string) {
	if w.keyword() {
		return NotUsed, ""
	}
	e := w.o.Store.Embed
	if w.e.WithoutStore() {
		return Unobserved, NoStore
	}
	if e == nil || !e.BehaviourObserved || len(e.Sample) == 0 {
		return Unobserved, "stored vectors were not compared with fresh embeddings"
	}
	s := w.sample(&goldState{})
	if s.answer() == matrix.Yes {
		return Clear, s.says()
	}
	if len(w.gold) > 0 && !slices.ContainsFunc(w.gold, func(g *goldState) bool {
		v := w.sample(g).gold
		return v == nil || !same(v.Passage)
	}) {
		return Clear, "the gold's own vectors match a fresh embedding; " + s.says()
	}
	return Unobserved, s.says()
}

// crossed says that every required item crossed a boundary of production.
func (w *walker) crossed(lost boundary, how string) (State, string) {
	if len(w.gold) == 0 {
		return Unobserved, "the case names no evidence"
	}
	var places []string
	for _, g := range w.gold {
		if g.lost == notSeen {
			return Unobserved, fmt.Sprintf("whether gold %s came this far was not seen", g.name())
		}
		if g.lost >= lost && g.lost != crossedAll {
			return Unobserved, fmt.Sprintf("gold %s did not come this far", g.name())
		}
		switch {
		case lost != lostInAssemble && g.place.BySpan == 0: // whose rank or text the service does not tell
			places = append(places, fmt.Sprintf("gold %s is in the prompt", g.name()))
		case lost == lostInSearch:
			places = append(places, fmt.Sprintf("gold %s: rank %d of k = %d", g.name(), g.place.BySpan, w.search.K))
		case lost == lostInRerank:
			places = append(places, fmt.Sprintf("gold %s: rank %d after the rerank", g.name(), g.place.Reranked))
		default:
			places = append(places, fmt.Sprintf("gold %s %s", g.name(), how))
		}
	}
	return Clear, strings.Join(places, "; ")
}

func (w *walker) testGenerate() (State, string) {
	a, b := w.cells[matrix.CellA], w.cells[matrix.CellB]
	switch {
	case b.passes() && w.goldTested():
		return Clear, passes(w.facts, matrix.CellB) + " with the evidence in its prompt"
	case len(w.gold) > 0 && a.passes() && w.allInPrompt():
		return Clear, passes(w.facts, matrix.CellA) + " with the evidence in its " + w.seenIn()
	case len(w.gold) == 0:
		return Unobserved, "the case names no evidence"
	case w.standIn:
		return Unobserved, "B is not production's: the service takes no context"
	}
	return Unobserved, "no cell with the evidence in its prompt passes"
}

func (w *walker) testAbstain() (State, string) {
	a := w.cells[matrix.CellA]
	switch {
	case a.result.Scored == 0:
		return Unobserved, "A was not scored"
	case w.c.Expect != matrix.ExpectAnswer && a.passes():
		return Clear, fmt.Sprintf("refused in %d of %s", a.result.Refused, counted(a.result.Scored, "trial", "trials"))
	case w.c.Expect == matrix.ExpectAnswer && a.result.Refused == 0:
		return Clear, fmt.Sprintf("answered in %d of %s", a.result.Scored, counted(a.result.Scored, "trial", "trials"))
	case w.c.Expect == matrix.ExpectAnswer && !w.allInPrompt():
		return Clear, fmt.Sprintf("refused in %d of %s, without the evidence in the prompt", a.result.Refused, counted(a.result.Scored, "trial", "trials"))
	}
	return Unobserved, "the refusals are not explained"
}
