package verdict

import (
	"errors"
	"fmt"
	"slices"

	"github.com/culprit-rag/culprit/matrix"
)

// ErrNoLabel is returned for a label that the table of rules does not have.
var ErrNoLabel = errors.New("there is no such label")

// WhyNot says why a case was not given a label.
type WhyNot struct {
	Label    string   `json:"label"`
	Given    bool     `json:"given"`          // it was
	Open     bool     `json:"open,omitempty"` // it may be, as the case is undecided
	Because  []string `json:"because"`
	Observed []string `json:"observed,omitempty"` // what the label would rest on
	Decides  string   `json:"decides"`            // the check that would have given it
	Needs    string   `json:"needs"`              // the observation without which it cannot be asked
}

// Labels lists the labels of the table of rules, in its order, each once.
func Labels() []string {
	var out []string
	for _, r := range table() {
		if !slices.Contains(out, r.ID()) {
			out = append(out, r.ID())
		}
	}
	return out
}

// ExplainWhyNot says which observation ruled a label out, with the same facts as [Evaluate]. The error is ErrNoLabel.
func ExplainWhyNot(e *matrix.Experiment, c *matrix.Case, p *matrix.Plan, o *matrix.Observations, f *Features, label string) (*WhyNot, error) {
	x := newFacts(e, c, p, o, f)
	w := walk(x)
	w.checkDefects()
	rules := table()
	i := slices.IndexFunc(rules, func(r Rule) bool { return r.ID() == label })
	if i < 0 {
		return nil, fmt.Errorf("label %q: %w", label, ErrNoLabel)
	}
	out := &WhyNot{Label: label, Decides: rules[i].Decides, Needs: rules[i].Needs}
	for _, d := range slices.Concat(w.defects, w.behind) {
		if d.Name() == label {
			out.Given, out.Because = true, d.Evidence
			return out, nil
		}
	}
	for _, d := range w.suspects {
		if d.Name() == label {
			out.Open, out.Because = true, append([]string{w.undecidedSays()}, d.Evidence...)
			return out, nil
		}
	}
	if out.Because = w.asksNothing(&rules[i]); out.Because == nil {
		for j := range rules[i:] { // a label may stand in several rules
			if rules[i+j].ID() == label {
				for _, line := range w.ruledOut(rules, i+j) {
					if !slices.Contains(out.Because, line) {
						out.Because = append(out.Because, line)
					}
				}
			}
		}
	}
	if len(out.Because) > 1 { // which say more
		out.Because = slices.DeleteFunc(out.Because, func(line string) bool { return line == saysNo })
	}
	out.Open = w.undecidedA() && rules[i].gold == nil && rules[i].Stage != StageFixture && rules[i].Stage != StageAccess
	out.Observed = w.restsOn(&rules[i])
	return out, nil
}

// saysNo is left to be said where a rule applies, and nothing that is nearer tells why it does not fire.
const saysNo = "asked, and the check says no"

// asksNothing says why no rule of that kind was asked at all, nil where it was.
func (w *walker) asksNothing(r *Rule) []string {
	a := w.cells[matrix.CellA]
	switch {
	case r.Stage == StageFixture, r.Stage == StageAccess, r.ID() == dimensionMismatch:
		return nil
	case w.ended:
		return []string{"the case itself cannot judge: " + w.defects[0].Name()}
	case w.unstableIndex():
		return []string{indexMoved}
	case a.passes():
		return []string{passes(w.facts, matrix.CellA) + ": nothing failed that a stage could be blamed for"}
	case !a.usable():
		return []string{"A was not scored, so that nothing failed: " + w.environment()}
	case !a.fails() && r.gold == nil:
		return []string{w.undecidedSays()}
	}
	return nil
}

// ruledOut says why a rule did not fire.
func (w *walker) ruledOut(rules []Rule, at int) []string {
	r := &rules[at]
	if why := w.unsuited(r); why != "" {
		return []string{"does not apply: " + why}
	}
	if r.gold == nil {
		return w.ruledOutOnce(r)
	}
	if len(w.gold) == 0 {
		return []string{"does not apply: the case names no evidence that could have been lost"}
	}
	var out []string
	for _, g := range w.gold {
		switch f := r.gold(w.facts, g); {
		case g.lost == crossedAll:
			out = append(out, fmt.Sprintf("gold %s: it stands in A's prompt, so that no stage before the prompt has lost it", g.name()))
		case g.rule != nil && slices.IndexFunc(rules, func(r Rule) bool { return r.ID() == g.rule.ID() }) < at:
			out = append(out, fmt.Sprintf("gold %s: it was not asked, as %s explains the loss before it: %s", g.name(), g.rule.ID(), w.evidenceOf(g.rule)))
		case f.answer == matrix.Unknown:
			out = append(out, fmt.Sprintf("gold %s: it is not known: %s", g.name(), f.missing))
		case g.blocked != "":
			out = append(out, fmt.Sprintf("gold %s: an earlier rule is open, and it may be that: %s", g.name(), g.blocked))
		case r.Stage == StageIndex && g.inStore == matrix.Yes:
			out = append(out, fmt.Sprintf("gold %s: its span is in the store, in %s; it %s", g.name(), orElse(quoted(g.holders), "what the search returns"), w.lostAt(g)))
		case g.lost != losses[r.Stage]:
			out = append(out, fmt.Sprintf("gold %s: does not apply: it %s", g.name(), w.lostAt(g)))
		default:
			out = append(out, fmt.Sprintf("gold %s: %s; it %s", g.name(), saysNo, w.lostAt(g)))
		}
	}
	return out
}

// losses are where the gold is lost that a stage's rules about gold are about.
var losses = map[Stage]boundary{
	StageIndex: lostInSearch, StageEmbed: lostInSearch, StageRetrieve: lostInSearch,
	StageRerank: lostInRerank, StageAssemble: lostInAssemble, StagePrompt: lostInPrompt,
}

// unsuited says why a label cannot be that of this case, whatever was observed: the pipeline has no such part, or the case asks for
// something else. It is "" where it can.
func (w *walker) unsuited(r *Rule) string {
	answers := w.c.Expect == matrix.ExpectAnswer
	switch {
	case (r.ID() == "abstain/answered-unanswerable" || r.ID() == "abstain/undeclared-refusal") && answers:
		return "the case expects an answer"
	case (r.Stage == StageGenerate && r.Label != "empty-answer" || r.ID() == "abstain/refused-answerable") && !answers:
		return "the case expects to " + string(w.c.Expect)
	case r.Stage == StageEmbed && w.keyword():
		return "the search is by keyword alone (pipeline.search.mode), without vectors"
	case r.ID() == "generate/prefers-superseded" && !w.cells[matrix.CellA].some(func(f *TrialFeatures) bool { return f.Superseded }):
		return "no item that the case declares to be superseded is in A's context"
	case w.search == nil:
		return ""
	case r.Stage == StageRerank && w.e.Pipeline.Rerank == nil && w.search.RerankModel == "" && len(w.search.Reranked) == 0:
		return "the pipeline has no reranker (pipeline.rerank)"
	}
	filter, none := len(w.search.Filter) == 0, ""
	switch r.ID() {
	case "retrieve/query-altered":
		if w.search.QueryEffective == w.search.Query && w.search.Searches == nil {
			none = "the question was searched for as it was typed"
		}
	case "retrieve/filtered-out", "retrieve/filter-ignored", "retrieve/corpus-statistics", "access/filter-open":
		if filter {
			none = "the search has no filter (pipeline.search.filter)"
		}
	case "retrieve/below-threshold":
		if w.search.Threshold == nil {
			none = "the search has no threshold (pipeline.search.threshold)"
		}
	case "retrieve/approximate-miss":
		if w.keyword() || w.search.Exact {
			none = "the search is exact"
		}
	case "rerank/below-threshold":
		if w.search.RerankFloor == nil {
			none = "the reranker's scores have no threshold (pipeline.rerank.threshold)"
		}
	case "assemble/budget-cut":
		if w.e.Pipeline.Assemble.Budget.N == 0 && w.e.Backends.Pipeline == nil {
			none = "the context has no budget (pipeline.assemble.budget)"
		}
	}
	return none
}

// evidenceOf is what a rule that fired saw first.
func (w *walker) evidenceOf(r *Rule) string {
	for _, d := range slices.Concat(w.defects, w.suspects) {
		if d.Name() == r.ID() {
			return d.Evidence[0]
		}
	}
	return r.Says
}

// lostAt says how far a required item came.
func (w *walker) lostAt(g *goldState) string {
	switch g.lost {
	case lostInSearch:
		return fmt.Sprintf("left the way in the search: %s, k = %d", rankOrAbsent(g.place.BySpan), w.search.K)
	case lostInRerank:
		return fmt.Sprintf("left the way in the rerank: rank %d before, %s after", g.place.BySpan, rankOrAbsent(g.place.Reranked))
	case lostInAssemble:
		return fmt.Sprintf("left the way in the assembly: rank %d, not packed", g.place.BySpan)
	case lostInPrompt:
		return fmt.Sprintf("was packed at %d, and does not stand in the prompt", g.packed.Packed)
	case notSeen:
		return "was not seen on its way: " + orElse(w.notSearched(), "the service does not tell")
	}
	return "stands in the prompt"
}

func (w *walker) ruledOutOnce(r *Rule) []string {
	b := w.cells[matrix.CellB]
	f := r.once(w.facts)
	var out []string
	switch {
	case r.ID() == w.last.ID() && len(w.defects) > 0: // it is what is left
		return []string{fmt.Sprintf("does not apply: %s explains the failure: %s", w.defects[0].Name(), w.defects[0].Evidence[0])}
	case r.ID() == w.last.ID() && len(w.missing) > 0:
		return []string{"does not apply while something is not known: " + w.missing[0]}
	case f.answer == matrix.Unknown:
		return []string{"it is not known: " + f.missing}
	case r.ID() == "access/leak":
		if state, why := w.testAccess(); state == Unobserved {
			return []string{"it is not known: " + why}
		}
		return []string{"every item that was returned is the asker's: " + returnedItems(len(w.search.PassedOn()))}
	case r.ID() == "seam/cached-answer" && f.answer == matrix.No:
		return []string{"the generator was asked: no answer of A, or not each of them, was served by a cache"}
	case f.answer == matrix.Yes && len(w.defects) > 0:
		return []string{fmt.Sprintf("it holds as well, and %s explains the failure first: %s", w.defects[0].Name(), w.defects[0].Evidence[0])}
	case r.Stage == StageGenerate && b.passes() && w.goldTested():
		out = append(out, passes(w.facts, matrix.CellB)+": with the evidence alone the generator answers right")
	}
	answers := r.Stage == StageGenerate || r.Stage == StageAbstain || r.Stage == StageSeam
	for _, g := range w.gold {
		if answers && g.lost != crossedAll {
			out = append(out, fmt.Sprintf("gold %s: it is not in A's prompt; it %s", g.name(), w.lostAt(g)))
		}
	}
	if len(out) == 0 && len(w.defects) > 0 && answers {
		out = append(out, fmt.Sprintf("%s explains the failure: %s", w.defects[0].Name(), w.defects[0].Evidence[0]))
	}
	return append(out, saysNo)
}

// restsOn lists what was observed of what a label of that stage rests on.
func (w *walker) restsOn(r *Rule) []string {
	var out []string
	switch {
	case r.Stage == StageGenerate, r.Stage == StageAbstain, r.Stage == StageSeam, r.Stage == StagePrompt:
		for _, planned := range w.p.Cells {
			if c := w.cells[planned.Cell]; c.result.Scored > 0 {
				line := passes(w.facts, planned.Cell)
				if c.result.Refused > 0 {
					line += fmt.Sprintf(", refuses in %d", c.result.Refused)
				}
				if planned.Change != "" {
					line += ": " + planned.Change
				}
				out = append(out, line)
			}
		}
	case w.search != nil:
		for i := range w.o.Retrievals {
			q := &w.o.Retrievals[i]
			if q.Status != matrix.StatusOK || i >= len(w.f.Retrievals) || len(w.f.Retrievals[i].Gold) != len(w.gold) {
				continue
			}
			for j, g := range w.gold {
				out = append(out, fmt.Sprintf("%s: gold %s %s of k = %d", q.Cell, g.name(), rankOrAbsent(w.f.Retrievals[i].Gold[j].BySpan), q.K))
			}
		}
	}
	return out
}
