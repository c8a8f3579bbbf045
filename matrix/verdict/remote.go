package verdict

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
)

// NoStore is why nothing is known of what only a store could tell.
const NoStore = "no store is declared (backends.store)"

// withoutStore says what may have kept the gold from what is passed on, where there is no store to look into.
func (x *facts) withoutStore(g *goldState) finding {
	var labels []string
	for i := range x.rules {
		r := &x.rules[i]
		if r.gold != nil && x.mayBe(r, g) && !slices.Contains(labels, r.ID()) {
			labels = append(labels, r.ID())
		}
	}
	where := fmt.Sprintf("gold %s is not among the %s that the service tells", g.name(), counted(len(x.search.Candidates), "candidate", "candidates"))
	switch {
	case g.place.BySpan > 0:
		where = fmt.Sprintf("gold %s: rank %d, cutoff %d", g.name(), g.place.BySpan, x.search.K)
	case x.textless(g):
		where += ", or is its item at rank " + strconv.Itoa(g.place.BySource) + ", of which it does not tell the text"
	case g.place.BySource > 0:
		where += fmt.Sprintf(" (an item of its source is at rank %d, without its span)", g.place.BySource)
	}
	if len(x.search.Candidates) <= x.search.K {
		where += "; how deep it searched is not told"
	}
	return unknown(fmt.Sprintf("%s: it may be %s. backends.store would decide, and is not declared", where, strings.Join(labels, ", ")))
}

// textless reports whether the service tells an item of the gold's source and not its text, which no store can tell either: whether
// the gold was found is then not known.
func (x *facts) textless(g *goldState) bool {
	return x.e.WithoutStore() && x.search != nil && g.place.BySpan == 0 && g.place.BySource > 0 && x.search.Candidates[g.place.BySource-1].Text.Ref == ""
}

// mayBe reports whether a rule might explain the loss of a gold if a store could be asked.
func (x *facts) mayBe(r *Rule, g *goldState) bool {
	found := g.place.BySpan > 0
	switch r.Stage {
	case StageIndex:
		return !found
	case StageEmbed:
		return !x.keyword()
	case StageRetrieve:
	default:
		return false
	}
	switch r.Label {
	case "query-altered":
		return x.search.QueryEffective != x.search.Query
	case "filtered-out":
		return !found && len(x.search.Filter) > 0
	case "below-threshold":
		return !found && x.search.Threshold != nil
	case "approximate-miss":
		return approximated(x, g)
	case "corpus-statistics":
		return x.search.Mode != matrix.ModeDense && len(x.search.Filter) > 0
	case "filter-ignored", "crowded-out":
		return found
	}
	return true
}

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

// seenIn says where the gold of A was seen: in its prompt, or as far as anybody could see, in its context.
func (x *facts) seenIn() string {
	if x.promptUnseen() {
		return "context"
	}
	return "prompt"
}

// onlyGiven reports whether nothing shows that a failing B was answered from the evidence: the service, which says that it answers from
// the context that it is given, tells neither what it packed nor its prompt. It may have answered from a context of its own.
func (x *facts) onlyGiven() bool {
	b := x.cells[matrix.CellB]
	return b.fails() && slices.ContainsFunc(b.trials, func(t *matrix.Trial) bool {
		return t.Unseen(matrix.PackedUnobserved) && t.Unseen(matrix.PromptUnobserved)
	})
}

func (x *facts) onlyGivenSays() string {
	return fmt.Sprintf("%s with the evidence given as its context, and the service tells neither what it packs of it nor its prompt, so that it may have answered from another: let its trace tell packed or prompt, or say context: false in backends.service.capabilities", passes(x, matrix.CellB))
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

// otherSearchSays says why nothing is known of evidence that the service's own search lacks, and what would tell.
func (x *facts) otherSearchSays(g *goldState) string {
	const tell = "let its trace tell more of its ranking (candidates)"
	declares, remedy := "the search that pipeline.search declares passes on items of other ids", "declare its search in pipeline.search as it is, with the ids of the store in its trace, or "+tell
	switch declared, _ := x.retrieval(matrix.ProbeDeclared); {
	case x.search.Searches != nil:
		declares, remedy = "pipeline.search declares one search and not several", tell
	case declared == nil:
		declares, remedy = "the search that pipeline.search declares was not made, or failed", tell
	}
	return fmt.Sprintf("gold %s is not in what the service tells of its search (%s), and %s, so that no probe shows why: %s",
		g.name(), counted(len(x.search.Candidates), "item", "items"), declares, remedy)
}

// composed reports whether B and D, where production is the user's own service, were made without it: what they do then says what
// pipeline.prompt and backends.generator do, and nothing of production.
func composed(e *matrix.Experiment, o *matrix.Observations) bool {
	return e.Backends.Pipeline != nil && slices.ContainsFunc(o.Trials, func(t matrix.Trial) bool {
		return t.Status != matrix.StatusNotRun && t.Cell.Run() != matrix.Production && t.By == ""
	})
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
	if slices.ContainsFunc(x.o.Trials, func(t matrix.Trial) bool { return t.Status != matrix.StatusNotRun && t.By == matrix.ByTap }) {
		out = append(out, "the context of B and D: put into the service's own prompt by the tap before its model")
	}
	if x.standIn {
		out = append(out, "B and D: through pipeline.prompt and backends.generator; the service takes no context")
	}
	if slices.ContainsFunc(x.o.Retrievals, func(r matrix.Retrieval) bool {
		return r.Cell != matrix.CellC && r.By == "" && x.search != nil && x.search.By != ""
	}) {
		out = append(out, "the probes of C: the search that pipeline.search declares, in backends.store")
	}
	return out
}
