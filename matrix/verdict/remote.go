package verdict

import (
	"slices"

	"github.com/culprit-rag/culprit/matrix"
)

// packedUnseen reports whether the service does not tell what it packs, and the gold was lost where only that would show it.
func (x *facts) packedUnseen() bool {
	t := x.productionTrial()
	return t != nil && t.Unseen(matrix.PackedUnobserved) && slices.ContainsFunc(x.gold, func(g *goldState) bool { return g.lost == notSeen })
}

// promptUnseen reports whether the prompt that carried the gold, A's or else B's, was not observed.
func (x *facts) promptUnseen() bool {
	assumed := func(f *TrialFeatures) bool {
		return slices.ContainsFunc(f.Gold, func(g GoldPlace) bool { return g.Assumed })
	}
	if p := x.production(); p != nil && x.allInPrompt() {
		return assumed(p)
	}
	return x.cells[matrix.CellB].some(assumed)
}

// otherSearch reports whether a service passed on something else than the declared search does in the store, for the same query: then
// what the declared search does, to its full depth or with one thing removed, says nothing of the service's.
func (x *facts) otherSearch() bool {
	if x.search.By == "" {
		return false
	}
	declared, _ := x.retrieval(matrix.ProbeDeclared)
	return declared == nil || !slices.EqualFunc(declared.PassedOn(), x.search.PassedOn(), func(a, b matrix.Hit) bool { return a.ID == b.ID })
}

// notProduction says which parts of the case were made otherwise than by the user's own service, where production is one.
func (x *facts) notProduction() []string {
	if x.e.Backends.Pipeline == nil {
		return nil
	}
	var out []string
	if x.search != nil && x.search.By == "" {
		out = append(out, "C and its ranks: the search that pipeline.search declares, in backends.store; the service does not tell its own")
	}
	var tapped, composed bool
	for i := range x.o.Trials {
		if t := &x.o.Trials[i]; t.Status != matrix.StatusNotRun && t.Cell.Run() != matrix.Production {
			tapped, composed = tapped || t.By == matrix.ByTap, composed || t.By == ""
		}
	}
	if tapped {
		out = append(out, "the context of B and D: put into the service's own prompt by the tap before its model")
	}
	if composed {
		out = append(out, "B and D: through pipeline.prompt and backends.generator; the service takes no context")
	}
	if slices.ContainsFunc(x.o.Retrievals, func(r matrix.Retrieval) bool {
		return r.Cell != matrix.CellC && r.By == "" && x.search != nil && x.search.By != ""
	}) {
		out = append(out, "the probes of C: the search that pipeline.search declares, in backends.store")
	}
	return out
}
