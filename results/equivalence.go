package results

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

// EquivalenceSchema is the schema of [Equivalence].
const EquivalenceSchema = "culprit.equivalence/v1"

// What became of a case that was run again.
const (
	Reproduced    = "reproduced"     // every pin that is told is the same, and so are the retrievals and the label; rates differ by no more than chance
	NotReproduced = "not-reproduced" // something differs
	NotComparable = "not-comparable" // the case, the rules or the judge are others
)

// Whether something is what it was.
const (
	PinSame         = "same"
	PinDiffers      = "differs"
	PinUnverifiable = "unverifiable" // not told, by one of both or by both

	StepIdentical  = "identical"
	StepEquivalent = "equivalent" // the same but for the order of items of equal score, or for what chance explains
	StepDifferent  = "different"
	StepMissing    = "missing" // made on one side alone
)

// Equivalence says whether a case that was run again came to the same.
type Equivalence struct {
	Schema  string    `json:"schema"`
	Case    string    `json:"case"`
	Then    Labelled  `json:"then"`
	Now     Labelled  `json:"now"`
	Verdict string    `json:"verdict"`
	Because []string  `json:"because,omitempty"` // what differs
	Pins    []PinMove `json:"pins"`
	Steps   []Step    `json:"steps"`
}

// PinMove is one pin. Then and Now are empty where it is the same.
type PinMove struct {
	Name  string `json:"name"`
	State string `json:"state"`
	Then  string `json:"then,omitempty"`
	Now   string `json:"now,omitempty"`
}

// Step is what one cell asked for: its retrieval, or its generations as a distribution.
type Step struct {
	Cell  matrix.CellID `json:"cell"`
	Step  string        `json:"step"` // retrieve, generate
	State string        `json:"state"`
	Says  string        `json:"says,omitempty"`
}

// telling are the pins that a backend may or may not tell: where it does not, that they are the same is not known.
var telling = []string{
	"store.version", "store.fingerprint", "store.count", "store.embed_model", "embedder.model", "generator.model_reported[0]", "generator.system_fingerprint[0]",
}

// NewEquivalence compares a bundle with that of the same case run again.
func NewEquivalence(then, now *Bundle) (*Equivalence, error) {
	d, err := Compare(then, now, Comparing{Force: true})
	if err != nil {
		return nil, err
	}
	q := &Equivalence{Schema: EquivalenceSchema, Case: d.Case, Then: d.Left, Now: d.Right}
	if q.Pins, err = pinMoves(then, now, d.Pins); err != nil {
		return nil, err
	}
	q.Steps = steps(then, now, d)
	q.judge(d)
	return q, nil
}

func pinMoves(then, now *Bundle, moved []Moved) ([]PinMove, error) {
	before, err := flattened("", then.Pins)
	if err != nil {
		return nil, err
	}
	after, err := flattened("", now.Pins)
	if err != nil {
		return nil, err
	}
	differs := map[string]Moved{}
	for _, m := range moved {
		differs[m.Name] = m
	}
	names := map[string]bool{}
	for _, values := range []map[string]string{before, after} {
		for name := range values {
			names[name] = true
		}
	}
	for name := range differs {
		names[name] = true
	}
	for _, name := range telling {
		if role, _, _ := strings.Cut(name, "."); !slices.ContainsFunc(slices.Collect(maps.Keys(names)), func(n string) bool { return strings.HasPrefix(n, role+".") }) {
			continue // there is no such backend
		}
		names[name] = true
	}
	if len(differs) > 0 {
		delete(names, "experiment") // its settings stand there in its place
	}
	var all []PinMove
	for _, name := range slices.Sorted(maps.Keys(names)) {
		m, moved := differs[name]
		p := PinMove{Name: name, State: PinSame}
		switch {
		case moved && slices.Contains(telling, name) && (m.Left == "" || m.Right == ""):
			p = PinMove{name, PinUnverifiable, m.Left, m.Right}
		case moved:
			p = PinMove{name, PinDiffers, m.Left, m.Right}
		case before[name] == "" && after[name] == "":
			p.State = PinUnverifiable
		}
		all = append(all, p)
	}
	return all, nil
}

// steps compares what each cell asked for.
func steps(then, now *Bundle, d *CaseDiff) (all []Step) {
	for i := range then.Observations.Retrievals {
		r := &then.Observations.Retrievals[i]
		s := Step{Cell: r.Cell, Step: "retrieve", State: StepIdentical}
		at := slices.IndexFunc(now.Observations.Retrievals, func(o matrix.Retrieval) bool { return o.Cell == r.Cell })
		switch {
		case at < 0:
			s.State = StepMissing
		case r.Status != now.Observations.Retrievals[at].Status:
			s.State, s.Says = StepDifferent, fmt.Sprintf("%s, now %s", r.Status, now.Observations.Retrievals[at].Status)
		case slices.ContainsFunc(d.Ranking, func(m Reranking) bool { return m.Cell == r.Cell }):
			s.State, s.Says = StepDifferent, rankingSays(d.Ranking, r.Cell)
		case !slices.EqualFunc(r.Candidates, now.Observations.Retrievals[at].Candidates, func(a, b matrix.Hit) bool { return a.ID == b.ID && a.Text.Same() == b.Text.Same() }):
			s.State = StepEquivalent
		}
		all = append(all, s)
	}
	for i := range then.Evaluation.Cells {
		c := &then.Evaluation.Cells[i]
		at := slices.IndexFunc(now.Evaluation.Cells, func(o verdict.CellResult) bool { return o.Cell == c.Cell })
		if c.Scored == 0 && (at < 0 || now.Evaluation.Cells[at].Scored == 0) {
			continue // it was run on neither side
		}
		s := Step{Cell: c.Cell, Step: "generate", State: StepIdentical}
		moved := slices.IndexFunc(d.Cells, func(m CellDiff) bool { return m.Cell == c.Cell })
		switch {
		case at < 0 || c.Scored == 0 || now.Evaluation.Cells[at].Scored == 0:
			s.State = StepMissing
		case moved >= 0:
			m := &d.Cells[moved]
			s.State, s.Says = StepEquivalent, fmt.Sprintf("passes %d/%d, now %d/%d", m.Left.Pass, m.Left.Scored, m.Right.Pass, m.Right.Scored)
			if m.Differs == matrix.Yes {
				s.State = StepDifferent
			}
		}
		all = append(all, s)
	}
	return all
}

// always are the cells that every run makes; whether others are made depends on what chance gave.
var always = []matrix.CellID{matrix.CellA, matrix.CellB, matrix.CellC}

func rankingSays(all []Reranking, cell matrix.CellID) string {
	for i := range all {
		if r := &all[i]; r.Cell == cell {
			first := r.Items[0]
			return fmt.Sprintf("%d items moved, the first %q: rank %s, now %s", len(r.Items), first.Name, rankSays(first.Left), rankSays(first.Right))
		}
	}
	return ""
}

func rankSays(rank string) string {
	if rank == "" {
		return "none"
	}
	return rank
}

func (q *Equivalence) judge(d *CaseDiff) {
	if len(d.Because) > 0 {
		q.Verdict, q.Because = NotComparable, d.Because
		return
	}
	if d.Left.Name() != d.Right.Name() {
		q.Because = append(q.Because, fmt.Sprintf("the label was %s and is %s", d.Left.Name(), d.Right.Name()))
	}
	for _, p := range q.Pins {
		if p.State == PinDiffers && !strings.HasPrefix(p.Name, "toolchain.") {
			q.Because = append(q.Because, fmt.Sprintf("pin %s was %q and is %q", p.Name, p.Then, p.Now))
		}
	}
	for _, s := range q.Steps {
		switch {
		case s.State == StepDifferent:
			q.Because = append(q.Because, fmt.Sprintf("%s of %s: %s", s.Step, s.Cell, s.Says))
		case s.State == StepMissing && slices.Contains(always, s.Cell):
			q.Because = append(q.Because, fmt.Sprintf("%s of %s: it was not made on both sides", s.Step, s.Cell))
		}
	}
	q.Verdict = Reproduced
	if len(q.Because) > 0 {
		q.Verdict = NotReproduced
	}
}
