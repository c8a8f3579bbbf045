package matrix

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Run is an arm of the matrix.
type Run string

// The runs.
const (
	Production   Run = "production"   // A
	GoldRun      Run = "gold"         // B
	RetrievalRun Run = "retrieval"    // C
	Perturbation Run = "perturbation" // D
)

// CellID names a run with its variant: "A", "B", "C", "C/no-filter", "D/drop-span:hr-2026-s2".
type CellID string

// The cells that every plan knows.
const (
	CellA CellID = "A"
	CellB CellID = "B"
	CellC CellID = "C"
	// CellAgain repeats A's request of a sampled case, to hold a generator that calls itself deterministic to its word.
	CellAgain CellID = "A/again"
)

// Run returns the arm that the cell belongs to.
func (c CellID) Run() Run {
	switch letter, _, _ := strings.Cut(string(c), "/"); letter {
	case "A":
		return Production
	case "B":
		return GoldRun
	case "C":
		return RetrievalRun
	default:
		return Perturbation
	}
}

// Variant returns what follows the letter, without its subject: "drop-span".
func (c CellID) Variant() string {
	_, rest, _ := strings.Cut(string(c), "/")
	variant, _, _ := strings.Cut(rest, ":")
	return variant
}

// Subject returns what the variant is about: "hr-2026-s2".
func (c CellID) Subject() string {
	_, subject, _ := strings.Cut(string(c), ":")
	return subject
}

// Variants of D.
const (
	DropSpan        = "drop-span"        // gold without one required item
	SwapSpan        = "swap-span"        // gold with one fact of a required item changed
	WithSuperseded  = "superseded"       // gold and one superseded item behind it
	WithDistractor  = "distractor"       // gold and one other declared distractor behind it
	WithIrrelevant  = "irrelevant"       // gold and one seeded stored item behind it
	GoldFirst       = "gold-first"       // A's context with the gold moved to the front
	GoldMiddle      = "gold-middle"      // A's context with the gold moved to the middle
	GoldLast        = "gold-last"        // A's context with the gold moved to the end
	ContextReversed = "context-reversed" // A's context backwards
	ClosedBook      = "closed-book"      // no context
)

// Perturbations lists the variants of D in the order in which they are run; it is also the default of an experiment.
func Perturbations() []string {
	return []string{DropSpan, SwapSpan, WithSuperseded, WithDistractor, WithIrrelevant, GoldFirst, GoldMiddle, GoldLast, ContextReversed, ClosedBook}
}

// Probes of C: the production search with exactly one thing removed.
const (
	ProbeNoFilter    CellID = "C/no-filter"
	ProbeNoThreshold CellID = "C/no-threshold"
	ProbeExact       CellID = "C/exact"
	ProbeAsTyped     CellID = "C/as-typed"          // the question as typed instead of the composed query
	ProbeKeyword     CellID = "C/keyword"           // the keyword arm of a hybrid search alone
	ProbeDense       CellID = "C/dense"             // the dense arm alone
	ProbeIndexEmbed  CellID = "C/index-embed"       // the query embedded as the index is pinned or declared to be
	ProbeDeclared    CellID = "C/declared"          // of a service: the search that the experiment declares, made in the store
	ProbeNamed       CellID = "C/named"             // the gold items by name: their own scores
	ProbeAhead       CellID = "C/ahead"             // what scores better than they do, counted however deep
	ProbeUncached    CellID = "C/uncached"          // the query embedded behind white space, which a cache of vectors does not know
	ProbeStatistics  CellID = "C/filter-statistics" // how often words stand, counted over what the filter admits
	ProbeLater       CellID = "C/later"             // production's search once more, after checks.second_look
	ControlFilter    CellID = "C/filter-void"       // a filter value that cannot exist: must return nothing
	ControlRerank    CellID = "C/rerank-order"      // the reranker on the query itself and an unrelated text: the query must win
)

// Expectation is what a cell of D is declared to show.
type Expectation string

// The expectations of D.
const (
	ExpectInvariant      Expectation = "invariant"       // passes as its base does
	ExpectBreaks         Expectation = "breaks"          // the claims can no longer be met
	ExpectAbstains       Expectation = "abstains"        // refuses: nothing is left to answer from
	ExpectPrefersCurrent Expectation = "prefers-current" // passes although the old text is there too
)

// Plan is what is run for one case: its generations and its retrievals, in the order in which results are kept.
type Plan struct {
	Schema        string          `json:"schema"`
	Case          string          `json:"case"`
	CaseDigest    string          `json:"case_digest"`
	Deterministic bool            `json:"deterministic"`  // the generator declares that equal requests give equal answers
	Auto          bool            `json:"auto,omitempty"` // cells are repeated until they decide; Repeats of a cell is the most
	Cells         []PlannedCell   `json:"cells"`
	Rewrite       *PlannedRewrite `json:"rewrite,omitempty"`
	Retrievals    []PlannedSearch `json:"retrievals"`
	Judgements    int             `json:"judgements,omitempty"` // the most questions to the judge
}

// PlanSchema is the schema of [Plan].
const PlanSchema = "culprit.plan/v1"

// PlannedCell is one cell that generates. Base is the cell whose context it starts from, Change the one thing that differs.
type PlannedCell struct {
	Cell      CellID      `json:"cell"`
	Base      CellID      `json:"base,omitempty"`
	Change    string      `json:"change,omitempty"`
	Expect    Expectation `json:"expect,omitempty"`
	Repeats   int         `json:"repeats"`
	Condition string      `json:"condition,omitempty"` // run only where it holds; "" means always
	Item      int         `json:"item,omitempty"`      // of drop-span and swap-span: the required item that is left out or changed, from 1
	Seeded    int         `json:"seeded,omitempty"`    // of noise and position: how many seeded items are in the context
	Place     int         `json:"place,omitempty"`     // of them: where the gold stands, from 1
	Settings  string      `json:"settings"`            // digest of model, prompt, generation settings and checks
}

// PlannedSearch is one retrieval of C; the first, C itself, also serves A.
type PlannedSearch struct {
	Cell      CellID `json:"cell"`
	Change    string `json:"change,omitempty"`
	Condition string `json:"condition,omitempty"`
}

// Conditions under which a cell is run.
const (
	IfGoldPacked  = "gold is in A's context"
	IfGoldMissed  = "gold is not among the items that C passes on"
	IfManyPacked  = "A's context holds more than one item"
	IfGoldAbsent  = "no stored item holds the gold"
	IfGoldOffered = "there is gold text to substitute"
	IfDecides     = "it decides something" // a repair or a rung of the ladder
)

// Expand makes the plan of one case. It is pure: the same experiment and case give the same plan.
func Expand(e *Experiment, c *Case, deterministic bool) (*Plan, error) {
	digest, err := Digest(c)
	if err != nil {
		return nil, fmt.Errorf("case %q: %w", c.ID, err)
	}
	settings, err := settingsOf(e, c, &e.Pipeline)
	if err != nil {
		return nil, err
	}
	reference := e.Pipeline.WithReferencePrompt()
	plainSettings, err := settingsOf(e, c, &reference)
	if err != nil {
		return nil, err
	}
	repeats := int(e.Runs.Repeats)
	if e.Runs.Repeats == Auto {
		repeats = e.Runs.MaxRepeats
	}
	if deterministic {
		repeats = 1
	}
	p := &Plan{Schema: PlanSchema, Case: c.ID, CaseDigest: digest, Deterministic: deterministic, Auto: e.Runs.Repeats == Auto && !deterministic}
	add := func(cell PlannedCell) {
		cell.Repeats, cell.Settings = repeats, settings
		if cell.Cell.ReferencePrompt() {
			cell.Settings = plainSettings
		}
		p.Cells = append(p.Cells, cell)
	}
	add(PlannedCell{Cell: CellA})
	if c.HasGold() {
		add(PlannedCell{Cell: CellB, Change: "the final context is the gold evidence", Condition: IfGoldOffered})
	}
	for _, variant := range Perturbations() {
		if slices.Contains(e.Runs.Perturbations, variant) {
			for _, cell := range expandVariant(variant, c) {
				add(cell)
			}
		}
	}
	for _, cell := range slices.Concat(expandProbes(e, c), expandRepairs(e, c)) {
		add(cell)
	}
	if p.Rewrite, err = expandRewrite(e); err != nil {
		return nil, err
	}
	p.Retrievals = expandSearches(e, c)
	p.Judgements = p.judgements(e, c)
	return p, p.Check()
}

// settingsOf is the digest of what is the same in all cells that are compared: model, prompt, generation settings and checks.
func settingsOf(e *Experiment, c *Case, p *Pipeline) (string, error) {
	digest, err := Digest(struct {
		Generator *Backend
		Prompt    Prompt
		Generate  Generate
		Faults    *Faults
		Tokenizer string
		Refusal   []string
		Claims    []Claim
		Expect    Expect
		Answer    *AnswerForm `json:",omitempty"`
		Pipeline  *Backend    `json:",omitempty"`
	}{e.Backends.Generator, p.Prompt, p.Generate, p.Faults, p.Assemble.Tokenizer, p.Refusal, c.Claims, c.Expect, p.Answer, e.Backends.Pipeline})
	if err != nil {
		return "", fmt.Errorf("settings of experiment %q: %w", e.Name, err)
	}
	return digest, nil
}

func expandVariant(variant string, c *Case) []PlannedCell {
	cell := func(subject string) CellID {
		if subject == "" {
			return CellID("D/" + variant)
		}
		return CellID("D/" + variant + ":" + subject)
	}
	var cells []PlannedCell
	switch variant {
	case DropSpan, SwapSpan:
		change := map[string]string{DropSpan: "is left out", SwapSpan: "has one fact changed"}[variant]
		for i, r := range c.Evidence.Required {
			expect, subject := ExpectBreaks, r.AnyOf[0].Source
			if len(c.Evidence.Required) == 1 && variant == DropSpan {
				expect = ExpectAbstains
			}
			if slices.ContainsFunc(c.Evidence.Required[:i], func(q Requirement) bool { return q.AnyOf[0].Source == subject }) {
				subject = fmt.Sprintf("%s#%d", subject, i+1)
			}
			cells = append(cells, PlannedCell{
				Cell: cell(subject), Base: CellB, Expect: expect, Condition: IfGoldOffered,
				Change: fmt.Sprintf("required item %d %s", i+1, change), Item: i + 1,
			})
		}
	case WithSuperseded, WithDistractor:
		seen := map[string]bool{}
		for _, d := range c.Evidence.Distractors {
			if (d.Kind == Superseded) != (variant == WithSuperseded) || !c.HasGold() || seen[d.Source] {
				continue
			}
			seen[d.Source] = true
			expect := ExpectInvariant
			if d.Kind == Superseded {
				expect = ExpectPrefersCurrent
			}
			cells = append(cells, PlannedCell{
				Cell: cell(d.Source), Base: CellB, Expect: expect, Condition: IfGoldOffered,
				Change: fmt.Sprintf("%s item %q is added behind the gold", d.Kind, d.Source),
			})
		}
	case WithIrrelevant:
		if c.HasGold() {
			cells = append(cells, PlannedCell{
				Cell: cell(""), Base: CellB, Expect: ExpectInvariant, Condition: IfGoldOffered,
				Change: "one seeded stored item is added behind the gold",
			})
		}
	case GoldFirst, GoldMiddle, GoldLast:
		if c.HasGold() {
			cells = append(cells, PlannedCell{
				Cell: cell(""), Base: CellA, Expect: ExpectInvariant, Condition: IfGoldPacked,
				Change: "the gold is moved to the " + map[string]string{GoldFirst: "front", GoldMiddle: "middle", GoldLast: "end"}[variant],
			})
		}
	case ContextReversed:
		cells = append(cells, PlannedCell{
			Cell: cell(""), Base: CellA, Expect: ExpectInvariant, Condition: IfManyPacked,
			Change: "the order is reversed",
		})
	case ClosedBook:
		cells = append(cells, PlannedCell{Cell: cell(""), Base: CellA, Expect: ExpectAbstains, Change: "the context is empty"})
	}
	return cells
}

func expandSearches(e *Experiment, c *Case) []PlannedSearch {
	searches := []PlannedSearch{{Cell: CellC}}
	if e.WithoutStore() {
		return searches // a service searches as it does: nothing can be taken away
	}
	s := e.Pipeline.Search
	probe := func(cell CellID, wanted bool, change string) {
		if wanted && c.HasGold() {
			searches = append(searches, PlannedSearch{Cell: cell, Change: change, Condition: IfGoldMissed})
		}
	}
	vectors := s.Mode == ModeDense || s.Mode == ModeHybrid
	probe(ProbeDeclared, e.Backends.Pipeline != nil, "the declared search is made in the store, beside the service")
	probe(ProbeAsTyped, e.Pipeline.Query != "" || e.Pipeline.Rewrite != nil || e.Backends.Pipeline != nil, "the question as typed is searched for")
	probe(ProbeNoFilter, len(s.Filter) > 0, "the filter is removed")
	probe(ProbeNoThreshold, s.Threshold != nil, "the threshold is removed")
	// Fused scores depend on how many items each arm or search ranked, so that they place nothing beyond it.
	fused := s.Mode == ModeHybrid || e.Pipeline.Rewrite.Many()
	probe(ProbeNamed, !fused, "the gold items are asked for by name")
	probe(ProbeAhead, !fused, "what scores better than the gold items is counted")
	probe(ProbeExact, vectors && !s.Exact, "the search is exact")
	probe(ProbeKeyword, s.Mode == ModeHybrid, "the keyword arm alone")
	probe(ProbeDense, s.Mode == ModeHybrid, "the dense arm alone")
	for _, arm := range s.Arms() {
		probe(ProbeOwn(arm), s.Mode == ModeHybrid && !e.Pipeline.Rewrite.Many() && e.Checks.Floor.Arm(arm) != nil, "the gold items are asked for by name, of the "+arm+" arm alone")
	}
	probe(ProbeIndexEmbed, vectors, "the query is embedded as the index is pinned or declared to be")
	probe(ProbeUncached, vectors && e.Backends.Pipeline == nil && !e.Pipeline.Rewrite.Many(), "the query is embedded past a cache of its vector")
	probe(ProbeStatistics, s.Mode != ModeDense && len(s.Filter) > 0, "words are counted over what the filter admits")
	if len(s.Filter) > 0 {
		searches = append(searches, PlannedSearch{Cell: ControlFilter, Change: "every filter value is one that cannot exist"})
	}
	if e.Backends.Reranker != nil && e.Pipeline.Rerank != nil {
		searches = append(searches, PlannedSearch{Cell: ControlRerank, Change: "the query itself and an unrelated text are reranked", Condition: IfGoldMissed})
	}
	if later := e.Checks.SecondLook; later > 0 && c.HasGold() {
		searches = append(searches, PlannedSearch{Cell: ProbeLater, Change: fmt.Sprintf("it is made again %s behind the scan of the store", time.Duration(later)), Condition: IfGoldAbsent})
	}
	return searches
}

// ErrManyChanges is returned by [Plan.Check] for a plan that changes more than one thing between two compared cells.
var ErrManyChanges = errors.New("more than one thing changes")

// Check enforces one change at a time: A, B and every D share prompt and generation settings, which the reference prompt alone
// may change, every D names the one change it makes to one base, and no cell appears twice.
func (p *Plan) Check() error {
	seen := map[CellID]bool{}
	for i, c := range p.Cells {
		switch {
		case seen[c.Cell]:
			return fmt.Errorf("plan of case %q: cell %q appears twice", p.Case, c.Cell)
		case c.Settings != p.Cells[0].Settings && !c.Cell.ReferencePrompt():
			return fmt.Errorf("plan of case %q: cell %q has other prompt or generation settings than %q: %w", p.Case, c.Cell, p.Cells[0].Cell, ErrManyChanges)
		case c.Repeats < 1:
			return fmt.Errorf("plan of case %q: cell %q has %d repeats", p.Case, c.Cell, c.Repeats)
		case i > 0 && c.Change == "":
			return fmt.Errorf("plan of case %q: cell %q changes nothing", p.Case, c.Cell)
		case c.Cell.Run() == Perturbation && c.Base != CellA && c.Base != CellB:
			return fmt.Errorf("plan of case %q: cell %q starts from %q and not from A or B alone: %w", p.Case, c.Cell, c.Base, ErrManyChanges)
		}
		seen[c.Cell] = true
	}
	return nil
}

// HoldToWord adds a repetition of A's own request, kept apart from A's counts.
func (p *Plan) HoldToWord() {
	again := p.Cells[0]
	again.Cell, again.Repeats, again.Change = CellAgain, 1, "nothing: the same request once more must get the same answer"
	p.Cells = append(p.Cells, again)
}

// Cell returns the planned cell with that id.
func (p *Plan) Cell(id CellID) (PlannedCell, bool) {
	for _, c := range p.Cells {
		if c.Cell == id {
			return c, true
		}
	}
	return PlannedCell{}, false
}

// Generations returns the most generations that the plan can make, with that of the rewriting.
func (p *Plan) Generations() int {
	n := 0
	if p.Rewrite != nil {
		n++
	}
	repairs := 0
	for _, c := range p.Cells {
		if c.Condition == IfDecides {
			if repairs++; repairs > MostRepairs {
				continue
			}
		}
		n += c.Repeats
	}
	return n
}
