package matrix

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

func exampleExperiment() *Experiment {
	return &Experiment{
		Version: "v1", Name: "x",
		Backends: Backends{Store: &Backend{Adapter: "embedded"}, Generator: &Backend{Adapter: "embedded"}},
		Pipeline: Pipeline{Search: Search{Mode: ModeKeyword, K: 2, Depth: 20}, Generate: Generate{Temperature: "0"}},
		Runs:     Runs{Repeats: 3, Perturbations: Perturbations()},
	}
}

func exampleCase() *Case {
	return &Case{
		ID: "c", Query: "q", Expect: ExpectAnswer,
		Evidence: Evidence{
			Required:    []Requirement{{AnyOf: []Gold{{Source: "g1", Span: "one"}}}, {AnyOf: []Gold{{Source: "g1", Span: "two"}}}},
			Distractors: []Distractor{{Source: "old", Kind: Superseded}, {Source: "eu", Kind: Regional}},
		},
	}
}

func cellNames(p *Plan) []string {
	var out []string
	for _, c := range p.Cells {
		out = append(out, fmt.Sprintf("%s×%d", c.Cell, c.Repeats))
	}
	return out
}

func TestExpand(t *testing.T) {
	t.Parallel()
	noGold := &Case{ID: "n", Query: "q", Expect: ExpectAbstain}
	one := exampleCase()
	one.Evidence.Required = one.Evidence.Required[:1]
	only := exampleExperiment()
	only.Runs.Perturbations = []string{ClosedBook}
	probing := exampleExperiment()
	probing.Runs = Runs{Repeats: 3, Noise: []int{4, 1, 4}, Positions: 3}
	tests := []struct {
		name          string
		experiment    *Experiment
		c             *Case
		deterministic bool
		want          []string
	}{
		{"every variant, two spans of one source told apart", exampleExperiment(), exampleCase(), false, []string{
			"A×3", "B×3", "D/drop-span:g1×3", "D/drop-span:g1#2×3", "D/swap-span:g1×3", "D/swap-span:g1#2×3", "D/superseded:old×3", "D/distractor:eu×3", "D/irrelevant×3",
			"D/gold-first×3", "D/gold-middle×3", "D/gold-last×3", "D/context-reversed×3", "D/closed-book×3",
		}},
		{"a deterministic generator is asked once", exampleExperiment(), noGold, true, []string{"A×1", "D/context-reversed×1", "D/closed-book×1"}},
		{"a case without gold has no B", exampleExperiment(), noGold, false, []string{"A×3", "D/context-reversed×3", "D/closed-book×3"}},
		{"the noise in its order, and the places of the gold", probing, exampleCase(), false, []string{
			"A×3", "B×3", "D/noise:1×3", "D/noise:4×3", "D/position:1×3", "D/position:2×3", "D/position:3×3",
		}},
		{"a case without gold has no noise to bear", probing, noGold, false, []string{"A×3"}},
		{"only the variants that are asked for", only, exampleCase(), false, []string{"A×3", "B×3", "D/closed-book×3"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, err := Expand(tt.experiment, tt.c, tt.deterministic)
			if err != nil {
				t.Fatal(err)
			}
			if got := cellNames(p); fmt.Sprint(got) != fmt.Sprint(tt.want) {
				t.Errorf("want %v\n got %v", tt.want, got)
			}
		})
	}
	p, err := Expand(exampleExperiment(), one, true)
	if err != nil {
		t.Fatal(err)
	}
	if c, ok := p.Cell("D/drop-span:g1"); !ok || c.Expect != ExpectAbstains {
		t.Errorf("with nothing left an abstention is expected, got %+v", c)
	}
	if c, ok := p.Cell("D/swap-span:g1"); !ok || c.Expect != ExpectBreaks || c.Base != CellB || c.Item != 1 {
		t.Errorf("with another fact in the only item the old claim is expected to break, got %+v", c)
	}
	p, err = Expand(probing, one, true)
	if err != nil {
		t.Fatal(err)
	}
	want := []PlannedCell{
		{Cell: "D/noise:1", Base: CellB, Change: "one seeded item is added behind the gold", Expect: ExpectInvariant, Seeded: 1, Place: 1},
		{Cell: "D/noise:4", Base: CellB, Change: "4 seeded items are added behind the gold", Expect: ExpectInvariant, Seeded: 4, Place: 1},
		{Cell: "D/position:2", Base: CellB, Change: "the gold stands at place 2 of 3, among seeded items", Expect: ExpectInvariant, Seeded: 2, Place: 2},
	}
	for _, w := range want {
		w.Repeats, w.Condition, w.Settings = 1, IfGoldOffered, p.Cells[0].Settings
		if c, _ := p.Cell(w.Cell); c != w {
			t.Errorf("want %+v\n got %+v", w, c)
		}
	}
}

func TestExpandProbes(t *testing.T) {
	t.Parallel()
	e := exampleExperiment()
	threshold := Decimal("0.5")
	e.Pipeline.Query, e.Pipeline.Search.Mode, e.Pipeline.Search.Threshold = "{{query}} x", ModeHybrid, &threshold
	e.Pipeline.Search.Filter = Filter{{Field: "tenant", AnyOf: []string{"a"}}}
	e.Checks.SecondLook = Duration(time.Second)
	e.Pipeline.Rerank, e.Backends.Reranker = &Rerank{Top: 1}, &Backend{Adapter: "embedded"}
	p, err := Expand(e, exampleCase(), true)
	if err != nil {
		t.Fatal(err)
	}
	var got []CellID
	for _, r := range p.Retrievals {
		got = append(got, r.Cell)
	}
	want := []CellID{CellC, ProbeAsTyped, ProbeNoFilter, ProbeNoThreshold, ProbeExact, ProbeKeyword, ProbeDense, ProbeIndexEmbed, ProbeUncached, ProbeStatistics, ControlFilter, ControlRerank, ProbeLater}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("want %v\n got %v", want, got)
	}
}

// One change at a time: the plan is refused as soon as two compared cells differ in anything but their context.
func TestPlanCheck(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		spoil func(*Plan)
		want  error
	}{
		{"another temperature in B", func(p *Plan) { p.Cells[1].Settings = "sha256:other" }, ErrManyChanges},
		{"a perturbation of a perturbation", func(p *Plan) { p.Cells[3].Base = p.Cells[2].Cell }, ErrManyChanges},
		{"a perturbation that changes nothing", func(p *Plan) { p.Cells[2].Change = "" }, nil},
		{"a cell twice", func(p *Plan) { p.Cells[2].Cell = p.Cells[3].Cell }, nil},
		{"a cell that is never run", func(p *Plan) { p.Cells[1].Repeats = 0 }, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, err := Expand(exampleExperiment(), exampleCase(), false)
			if err != nil {
				t.Fatal(err)
			}
			tt.spoil(p)
			if err := p.Check(); err == nil || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("want it refused (%v), got %v", tt.want, err)
			}
		})
	}
}

// The key of a call is the question that is asked: it moves with whatever changes the answer, the repetition included.
func TestCallKey(t *testing.T) {
	t.Parallel()
	base := Call{Case: "sha256:c", Cell: CellA, Step: "generate", Rep: 1, Provider: "p", Model: "m", Params: "sha256:s", Input: "sha256:i"}
	seen := map[string]string{}
	for name, change := range map[string]func(*Call){
		"nothing":    func(*Call) {},
		"case":       func(c *Call) { c.Case = "sha256:d" },
		"cell":       func(c *Call) { c.Cell = CellB },
		"repetition": func(c *Call) { c.Rep = 2 },
		"model":      func(c *Call) { c.Model = "n" },
		"settings":   func(c *Call) { c.Params = "sha256:t" },
		"input":      func(c *Call) { c.Input = "sha256:j" },
	} {
		call := base
		change(&call)
		key, err := call.Key()
		if err != nil {
			t.Fatal(err)
		}
		if other, taken := seen[key]; taken {
			t.Errorf("a change of %s and of %s give the same key", name, other)
		}
		seen[key] = name
	}
}

func TestCellID(t *testing.T) {
	t.Parallel()
	for id, want := range map[CellID][3]string{
		"A": {"production", "", ""}, "A/again": {"production", "again", ""}, "B": {"gold", "", ""}, "C/no-filter": {"retrieval", "no-filter", ""},
		"D/drop-span:hr:2026#2": {"perturbation", "drop-span", "hr:2026#2"},
	} {
		if got := [3]string{string(id.Run()), id.Variant(), id.Subject()}; got != want {
			t.Errorf("%s: want %v, got %v", id, want, got)
		}
	}
}
