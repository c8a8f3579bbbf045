package verdict

import (
	"slices"

	"github.com/culprit-rag/culprit/matrix"
)

// Examination is what the store checks and the searches of C say of one case before any model is asked.
type Examination struct {
	Case      string          `json:"id"`
	Risk      matrix.Risk     `json:"risk"`
	Defects   []Defect        `json:"defects"` // what would keep the evidence from the context, whatever a model makes of it
	Checks    []Check         `json:"checks"`
	Retrieval RetrievalResult `json:"retrieval"`
	Missing   []string        `json:"missing,omitempty"` // what would have to be observed to say more
	Findings  []string        `json:"findings,omitempty"`
	Error     string          `json:"error,omitempty"` // why the production search could not be made
}

// Examine walks the rules of the stages fixture, access, index, embed and retrieve. It needs no trial; a stage behind the search
// is not judged. A defect that it names is one that [Evaluate] names where the answer is wrong, too.
func Examine(e *matrix.Experiment, c *matrix.Case, p *matrix.Plan, o *matrix.Observations, f *Features) Examination {
	x := newFacts(e, c, p, o, f)
	rules := table()
	for _, g := range x.gold {
		if rank := g.place.BySpan; rank > 0 && rank <= x.search.K {
			g.lost = crossedAll // all that is looked at here
		}
	}
	w := &walker{facts: x, fired: map[*Rule]int{}}
	for i := range rules {
		switch r := &rules[i]; {
		case w.ended:
		case r.Stage == StageFixture, r.Stage == StageAccess, r.ID() == dimensionMismatch && !w.unstableIndex():
			w.ask(r)
		case r.gold != nil && slices.Contains([]Stage{StageIndex, StageEmbed, StageRetrieve}, r.Stage) && !w.unstableIndex():
			w.askGold(r)
		}
	}
	if w.blindToAccess() {
		w.missing = append(w.missing, "access: "+noAccessField)
	}
	if w.unstableIndex() {
		w.missing = append(w.missing, indexMoved)
	}
	out := Examination{
		Case: c.ID, Risk: c.Risk, Defects: w.defects, Checks: x.checks(), Retrieval: x.retrievalResult(), Missing: w.missing,
		Findings: slices.Concat(w.movedPins(), w.staleIDs(), w.equivalents(), x.rewriteFindings()),
	}
	if out.Defects == nil {
		out.Defects = []Defect{}
	}
	if q := x.failedSearch(); q != nil {
		out.Error = q.String()
	} else if why := x.notSearched(); e.WithoutStore() && why != "" {
		out.Missing = append(out.Missing, "retrieve: "+why)
	} else if c, _ := x.retrieval(matrix.CellC); c == nil {
		out.Error = why
	}
	// Whether a later boundary holds the gold is for a run to see.
	out.Checks = slices.DeleteFunc(out.Checks, func(c Check) bool {
		return slices.Contains([]string{"gold_in_reranked", "gold_in_context", "gold_in_prompt"}, c.Name)
	})
	return out
}

// failedSearch returns the error of the production search, nil where it was answered.
func (x *facts) failedSearch() *matrix.CallError {
	for i := range x.o.Retrievals {
		if q := &x.o.Retrievals[i]; q.Cell == matrix.CellC && q.Error != nil {
			return q.Error
		}
	}
	return nil
}
