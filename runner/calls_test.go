package runner_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/embedded"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/results"
	"github.com/culprit-rag/culprit/runner"
)

// asked counts what reaches the backends.
type asked struct {
	mu       sync.Mutex
	prompts  []string
	searches []string
	texts    []string // embedded as queries
}

func (a *asked) add(list *[]string, what string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	*list = append(*list, what)
}

// scripted is a generator that answers by a function of the joined prompt.
type scripted struct {
	adapters.Generator
	asked  *asked
	answer func(prompt string, seed int64) string // nil: the embedded generator answers
}

func (s *scripted) Generate(ctx context.Context, req adapters.GenerateRequest) (adapters.GenerateResponse, error) {
	var prompt []string
	for _, m := range req.Messages {
		prompt = append(prompt, m.Text)
	}
	joined := strings.Join(prompt, "\n")
	s.asked.add(&s.asked.prompts, fmt.Sprintf("%s\n%d", joined, *req.Seed))
	if s.answer == nil {
		return s.Generator.Generate(ctx, req)
	}
	return adapters.GenerateResponse{Text: s.answer(joined, *req.Seed), FinishReason: adapters.FinishStop}, nil
}

type countedStore struct {
	adapters.VectorStore
	asked *asked
}

func (s *countedStore) Search(ctx context.Context, req adapters.SearchRequest) (adapters.SearchResponse, error) {
	s.asked.add(&s.asked.searches, fmt.Sprint(req.Mode, req.Query, req.Filter, req.Exact, req.Limit))
	return s.VectorStore.Search(ctx, req)
}

type countedEmbedder struct {
	adapters.Embedder
	asked *asked
}

func (e *countedEmbedder) Embed(ctx context.Context, req adapters.EmbedRequest) (adapters.EmbedResponse, error) {
	if req.Purpose == adapters.ForQuery {
		e.asked.add(&e.asked.texts, strings.Join(req.Texts, "\n"))
	}
	return e.Embedder.Embed(ctx, req)
}

// watched is the embedded adapter with everything counted.
func watched(t *testing.T, answer func(string, int64) string) (*adapters.Registry, *asked) {
	t.Helper()
	a := &asked{}
	f := embedded.Factory()
	openGenerator, openStore, openEmbedder := f.OpenGenerator, f.OpenStore, f.OpenEmbedder
	f.OpenGenerator = func(ctx context.Context, cfg adapters.Config) (adapters.Generator, error) {
		g, err := openGenerator(ctx, cfg)
		return &scripted{Generator: g, asked: a, answer: answer}, err
	}
	f.OpenStore = func(ctx context.Context, cfg adapters.Config) (adapters.VectorStore, error) {
		s, err := openStore(ctx, cfg)
		return &countedStore{VectorStore: s, asked: a}, err
	}
	f.OpenEmbedder = func(ctx context.Context, cfg adapters.Config) (adapters.Embedder, error) {
		e, err := openEmbedder(ctx, cfg)
		return &countedEmbedder{Embedder: e, asked: a}, err
	}
	r, err := adapters.NewRegistry(f)
	if err != nil {
		t.Fatal(err)
	}
	return r, a
}

const fees = `
backends:
  store:
    adapter: embedded
    documents:
      - {id: lunch, text: The fee for lunch in the harbour is twelve crowns.}
      - {id: gold, text: The mooring fee in the harbour is forty crowns.}
      - {id: desks, text: The office has desks.}
  embedder: {adapter: embedded}
  generator: {adapter: embedded, spots: [forty crowns]}
pipeline: {search: {mode: hybrid, k: 2}}
cases:
  - id: c
    query: What is the mooring fee in the harbour?
    evidence: {required: [{source: gold, span: forty crowns}], distractors: [{source: lunch, kind: regional}]}
    claims: [{id: fee, any: [forty crowns]}, {id: cited, cites: [gold]}]
`

func repeated(values []string) []string {
	slices.Sort(values)
	var out []string
	for i := 1; i < len(values); i++ {
		if values[i] == values[i-1] {
			out = append(out, values[i])
		}
	}
	return out
}

// TestIdenticalCallsAreMadeOnce holds a deterministic run to its promise: no search, query embedding or prompt goes out twice,
// but for the one prompt that holds the generator to its word.
func TestIdenticalCallsAreMadeOnce(t *testing.T) {
	t.Parallel()
	registry, asked := watched(t, nil)
	b := runWith(t, written(t, fees), registry)["c"]
	if again := repeated(asked.prompts); len(again) != 1 {
		t.Errorf("want one prompt twice, got %d: %q", len(again), again)
	}
	if again := slices.Concat(repeated(asked.searches), repeated(asked.texts)); len(again) != 0 {
		t.Errorf("asked twice: %q", again)
	}
	reused := 0
	for _, trial := range b.Observations.Trials {
		if trial.SameAs != "" {
			reused++
		}
	}
	if reused == 0 || reused+len(asked.prompts) != len(b.Observations.Trials)-notRun(b) {
		t.Errorf("%d trials, %d not run, %d served by an identical one, %d asked", len(b.Observations.Trials), notRun(b), reused, len(asked.prompts))
	}
}

func notRun(b *results.Bundle) int {
	n := 0
	for _, trial := range b.Observations.Trials {
		if trial.Status == matrix.StatusNotRun {
			n++
		}
	}
	return n
}

// TestRepeatsAreNeverCollapsed: with a stochastic generator every repetition is asked, with a seed of its own, and A, B and D
// share their seeds.
func TestRepeatsAreNeverCollapsed(t *testing.T) {
	t.Parallel()
	registry, asked := watched(t, nil)
	b := runWith(t, written(t, strings.Replace(fees, "spots: [forty crowns]", "flip: {rate: 0.01, to: refuse}", 1)+"runs: {repeats: 5}\n"), registry)["c"]
	seeds := map[matrix.CellID][]int64{}
	for _, trial := range b.Observations.Trials {
		if trial.SameAs != "" {
			t.Errorf("%s %d is not a trial of its own", trial.Cell, trial.Rep)
		}
		if trial.Status == matrix.StatusNotRun {
			continue // such as the gold in the middle of two items
		}
		seeds[trial.Cell] = append(seeds[trial.Cell], trial.Seed)
	}
	for cell, got := range seeds {
		if fmt.Sprint(got) != "[1 2 3 4 5]" {
			t.Errorf("%s: seeds %v", cell, got)
		}
	}
	if want := len(b.Observations.Trials) - notRun(b); len(asked.prompts) != want {
		t.Errorf("%d trials, %d asked", want, len(asked.prompts))
	}
}

// TestWordIsHeld: a generator that only declares to be deterministic is repeated like any other, and the run says so.
func TestWordIsHeld(t *testing.T) {
	t.Parallel()
	n := 0
	var mu sync.Mutex
	registry, asked := watched(t, func(string, int64) string {
		mu.Lock()
		defer mu.Unlock()
		n++
		return fmt.Sprintf("It is forty crowns [gold], I say for the %dth time.", n)
	})
	loaded := written(t, fees+"\nruns: {repeats: 5}\n")
	summary, err := runner.Run(t.Context(), loaded, runner.Options{Registry: registry, Out: t.TempDir(), CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	b, err := results.Open(summary.Cases[0].Bundle)
	if err != nil {
		t.Fatal(err)
	}
	if kept := len(b.Observations.Trials) - notRun(b); kept != len(asked.prompts) {
		t.Errorf("%d answers were given, %d are kept", len(asked.prompts), kept)
	}
	journal, err := results.ReadJournal(b.Path)
	if err != nil {
		t.Fatal(err)
	}
	announced := map[string]bool{}
	for _, r := range journal.Records {
		if name := fmt.Sprintf("%s/%d", r.CallKey, r.Attempt); r.Type == "intent" {
			if announced[name] {
				t.Errorf("call %s is announced twice", name)
			}
			announced[name] = true
		}
	}
	if len(summary.Warnings) != 1 || b.Plan.Deterministic || b.Plan.Cells[0].Repeats != 5 || b.Pins.Generator.DeterministicObserved != matrix.No || !b.Pins.Generator.DeterministicDeclared {
		t.Errorf("warnings %q, plan deterministic %t with %d repeats, observed %q", summary.Warnings, b.Plan.Deterministic, b.Plan.Cells[0].Repeats, b.Pins.Generator.DeterministicObserved)
	}
}

// TestSweepHasOneBudget: the limit of calls is one for all points.
func TestSweepHasOneBudget(t *testing.T) {
	t.Parallel()
	registry, _ := watched(t, nil)
	loaded := written(t, fees+"\nlimits: {budget: {calls: 9}, concurrency: 1}\n")
	_, err := runner.Sweep(t.Context(), loaded, runner.Options{Registry: registry, CacheDir: t.TempDir()}, runner.Grid{K: []int{1, 2, 3}, Budgets: []matrix.Budget{{}}})
	if !errors.Is(err, runner.ErrBudget) {
		t.Errorf("want the budget used up, got %v", err)
	}
}

// TestJournalTellsEveryTry: each try has its intent before it and its outcome behind it, also one that is made again.
func TestJournalTellsEveryTry(t *testing.T) {
	t.Parallel()
	text := strings.Replace(fees, "spots: [forty crowns]", "spots: [forty crowns], provider: [{error: transient, times: 2, retry_after: 1ms}]", 1) + "\nlimits: {concurrency: 1}\n"
	b := run(t, written(t, text))["c"]
	journal, err := results.ReadJournal(b.Path)
	if err != nil {
		t.Fatal(err)
	}
	open, tries := map[string]bool{}, map[string]int{}
	for _, r := range journal.Records {
		name := fmt.Sprintf("%s/%d", r.CallKey, r.Attempt)
		switch r.Type {
		case "intent":
			if open[name] {
				t.Errorf("call %s is announced twice", name)
			}
			open[name] = true
			tries[r.CallKey]++
		case "result", "failure":
			if !open[name] {
				t.Errorf("outcome of %s without an intent", name)
			}
			open[name] = false
		}
	}
	most := 0
	for _, n := range tries {
		most = max(most, n)
	}
	for name, stillOpen := range open {
		if stillOpen {
			t.Errorf("call %s has no outcome", name)
		}
	}
	if most != 3 {
		t.Errorf("want one call in three tries, the most are %d", most)
	}
	for _, trial := range b.Observations.Trials {
		if trial.Cell == matrix.CellA && trial.Attempts != 3 {
			t.Errorf("A took %d tries", trial.Attempts)
		}
	}
}

// TestOrderIsThePlans: trials stand in the order of the plan however many run side by side.
func TestOrderIsThePlans(t *testing.T) {
	t.Parallel()
	text := strings.Replace(fees, "spots: [forty crowns]", "flip: {rate: 0.3, to: refuse}", 1) + "\nruns: {repeats: 5}\nlimits: {concurrency: 16}\n"
	b := run(t, written(t, text))["c"]
	i, trials := 0, b.Observations.Trials
	for _, cell := range b.Plan.Cells {
		for rep := 1; i < len(trials) && trials[i].Cell == cell.Cell; rep++ {
			if got := trials[i]; got.Rep != rep {
				t.Fatalf("place %d: want %s %d, got %s %d", i, cell.Cell, rep, got.Cell, got.Rep)
			}
			i++
		}
	}
	if i != len(trials) || i < 10 {
		t.Errorf("%d of %d trials stand in the order of the plan", i, len(trials))
	}
}

// TestAnswersThatNoSwitchGives are labels that depend on what exactly is said.
func TestAnswersThatNoSwitchGives(t *testing.T) {
	t.Parallel()
	withContext := func(in, out string) func(string, int64) string {
		return func(prompt string, _ int64) string {
			if strings.Contains(prompt, "[gold]") {
				return in
			}
			return out
		}
	}
	const never = "claims: [{id: fee, any: [forty crowns]}, {id: not-thirty, never: [thirty crowns]}, {id: cited, cites: [gold]}]"
	for name, test := range map[string]struct {
		answer   func(string, int64) string
		expected string
	}{
		"contradicts":         {withContext("It is forty crowns, that is thirty crowns. [gold]", "I don't know."), "generate/contradicts"},
		"fabricated-citation": {withContext("It is forty crowns. [tariff-2026]", "I don't know."), "generate/fabricated-citation"},
		"empty":               {withContext("", "I don't know."), "generate/empty-answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			registry, _ := watched(t, test.answer)
			text := strings.Replace(fees, "claims: [{id: fee, any: [forty crowns]}, {id: cited, cites: [gold]}]", never, 1)
			e := runWith(t, written(t, text), registry)["c"].Evaluation
			consistent(t, e)
			if got := verdictOf(e); got != test.expected {
				t.Errorf("got %s, want %s\n    %s", got, test.expected, explained(e))
			}
		})
	}
}

// TestNotNormalised: under a dot product a longer vector wins, and the norms say so.
func TestNotNormalised(t *testing.T) {
	t.Parallel()
	const text = `
backends:
  store:
    adapter: embedded
    distance: dot
    documents:
      - {id: gold, text: The fee is forty crowns., vector: [0.5, 0]}
      - {id: long, text: The desks are blue., vector: [8, 8]}
  embedder: {adapter: embedded, vectors: {"what is the fee": [1, 0], The fee is forty crowns.: [1, 0], The desks are blue.: [1, 1]}}
  generator: {adapter: embedded, spots: [forty crowns]}
pipeline: {search: {mode: dense, k: 1}}
cases:
  - {id: c, query: what is the fee, evidence: {required: [{source: gold, span: forty crowns}]}, claims: [{id: fee, any: [forty crowns]}]}
`
	e := run(t, written(t, text))["c"].Evaluation
	consistent(t, e)
	if got := verdictOf(e); got != "embed/not-normalised" {
		t.Errorf("got %s\n    %s", got, explained(e))
	}
}

// TestBudgetOfCalls: nothing is asked beyond limits.budget.calls, and finished cases are kept.
func TestBudgetOfCalls(t *testing.T) {
	t.Parallel()
	registry, asked := watched(t, nil)
	loaded := written(t, fees+"\nlimits: {budget: {calls: 3}, concurrency: 1}\n")
	_, err := runner.Run(t.Context(), loaded, runner.Options{Registry: registry, Out: t.TempDir(), CacheDir: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "limits.budget.calls is 3") {
		t.Errorf("want the limit named, got %v", err)
	}
	if n := len(asked.prompts) + len(asked.searches); n > 3 {
		t.Errorf("%d calls were made", n)
	}
}
