package runner_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/embedded"
	"github.com/culprit-rag/culprit/experiments"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/results"
	"github.com/culprit-rag/culprit/runner"
)

// abroad is an adapter "paid" whose models are those of the embedded one, and leave the process as far as anybody is told.
type abroad struct {
	silent bool   // answers tell no tokens
	id     string // of every response; "": each has its own

	mu      sync.Mutex
	prompts int
	texts   map[string]int // embedded, by text
	in, out int64
}

type abroadGenerator struct {
	adapters.Generator
	a *abroad
}

func (g *abroadGenerator) Describe(ctx context.Context) (adapters.GeneratorInfo, error) {
	info, err := g.Generator.Describe(ctx)
	info.Local, info.Deterministic = false, false
	return info, err
}

func (g *abroadGenerator) Generate(ctx context.Context, req adapters.GenerateRequest) (adapters.GenerateResponse, error) {
	resp, err := g.Generator.Generate(ctx, req)
	g.a.mu.Lock()
	defer g.a.mu.Unlock()
	g.a.prompts++
	resp.RequestID = fmt.Sprintf("r-%d", g.a.prompts)
	if g.a.id != "" {
		resp.RequestID = g.a.id
	}
	if err == nil {
		g.a.in, g.a.out = g.a.in+int64(*resp.InputTokens), g.a.out+int64(*resp.OutputTokens)
	}
	if g.a.silent {
		resp.InputTokens, resp.OutputTokens = nil, nil
	}
	return resp, err
}

type abroadEmbedder struct {
	adapters.Embedder
	a *abroad
}

func (e *abroadEmbedder) Describe(ctx context.Context) (adapters.EmbedderInfo, error) {
	info, err := e.Embedder.Describe(ctx)
	info.Local = false
	return info, err
}

func (e *abroadEmbedder) Embed(ctx context.Context, req adapters.EmbedRequest) (adapters.EmbedResponse, error) {
	resp, err := e.Embedder.Embed(ctx, req)
	e.a.mu.Lock()
	defer e.a.mu.Unlock()
	tokens := 0
	for _, text := range req.Texts {
		e.a.texts[string(req.Purpose)+" "+text]++
		tokens += len(strings.Fields(text))
	}
	if !e.a.silent {
		resp.InputTokens = &tokens
	}
	return resp, err
}

func newAbroad(t *testing.T, a *abroad) *adapters.Registry {
	t.Helper()
	a.texts = map[string]int{}
	paid := embedded.Factory()
	openGenerator, openEmbedder := paid.OpenGenerator, paid.OpenEmbedder
	paid.Name = "paid"
	paid.OpenGenerator = func(ctx context.Context, cfg adapters.Config) (adapters.Generator, error) {
		g, err := openGenerator(ctx, cfg)
		return &abroadGenerator{g, a}, err
	}
	paid.OpenEmbedder = func(ctx context.Context, cfg adapters.Config) (adapters.Embedder, error) {
		e, err := openEmbedder(ctx, cfg)
		return &abroadEmbedder{e, a}, err
	}
	r, err := adapters.NewRegistry(embedded.Factory(), paid)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// dear is the harbour's question, put twice, to models that are paid for.
func dear(limits string) string {
	text := strings.ReplaceAll(fees, "embedder: {adapter: embedded}", "embedder: {adapter: paid}")
	text = strings.ReplaceAll(text, "generator: {adapter: embedded,", "generator: {adapter: paid,")
	_, second, _ := strings.Cut(text, "  - id: c\n")
	return text + "  - id: d\n" + second + limits
}

func writtenFor(t *testing.T, text string, registry *adapters.Registry) *experiments.Loaded {
	t.Helper()
	file := filepath.Join(t.TempDir(), "experiment.yaml")
	if err := os.WriteFile(file, []byte("culprit: v1\nname: test\n"+text), 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, err := experiments.Load(file, experiments.Options{Schemas: registry.Schemas()})
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

func runAbroad(t *testing.T, a *abroad, limits string) (*results.Summary, *experiments.Loaded, error) {
	t.Helper()
	registry := newAbroad(t, a)
	loaded := writtenFor(t, dear(limits), registry)
	summary, err := runner.Run(t.Context(), loaded, runner.Options{Registry: registry, Out: t.TempDir(), CacheDir: t.TempDir()})
	return summary, loaded, err
}

const tariff = "\nprices: {currency: USD, generator: {input: 2, output: 8}, embedder: {input: 0.5}}\n"

// TestTotalsAreWhatWasAsked: the sums of the records are those of the backend.
func TestTotalsAreWhatWasAsked(t *testing.T) {
	t.Parallel()
	a := &abroad{}
	summary, _, err := runAbroad(t, a, tariff+"limits: {concurrency: 8}\n")
	if err != nil {
		t.Fatal(err)
	}
	totals := summary.Totals
	if totals.Generation != a.prompts || *totals.TokensOut != a.out || totals.CostMicro == nil || totals.CostUntold != 0 {
		t.Errorf("%d generations and %d tokens out of the backend, %+v in the totals", a.prompts, a.out, totals)
	}
	if least := 2*a.in + 8*a.out; *totals.CostMicro <= least || *totals.CostMicro > least+1000 {
		t.Errorf("cost %d, want that of the generations, %d, and a little for the embedding", *totals.CostMicro, least)
	}
	if summary.Shared == nil || summary.Shared.Paid == 0 {
		t.Errorf("shared %+v, want the embedding of the documents and of the sample", summary.Shared)
	}
	if totals.Paid <= totals.Generation || summary.Setup.Currency != "USD" {
		t.Errorf("%d paid calls in %s", totals.Paid, summary.Setup.Currency)
	}
}

// TestCasesShareIdenticalCalls: both cases ask the same, and only the generations are made for each.
func TestCasesShareIdenticalCalls(t *testing.T) {
	t.Parallel()
	for _, concurrency := range []int{1, 8} {
		a := &abroad{}
		summary, _, err := runAbroad(t, a, fmt.Sprintf("\nruns: {repeats: 5}\nlimits: {concurrency: %d}\n", concurrency))
		if err != nil {
			t.Fatal(err)
		}
		queries := 0
		for text, n := range a.texts {
			if strings.HasPrefix(text, string(adapters.ForQuery)) {
				queries++
				if n != 1 {
					t.Errorf("%q was embedded %d times", text, n)
				}
			}
		}
		var searches, shared int
		retrievals := map[string][]matrix.Retrieval{}
		for _, c := range summary.Cases {
			b, err := results.Open(c.Bundle)
			if err != nil {
				t.Fatal(err)
			}
			retrievals[c.ID] = b.Observations.Retrievals
			for _, r := range b.Observations.Retrievals {
				searches++
				if r.SameAs != "" {
					shared++
				}
			}
		}
		if queries == 0 || shared == 0 || shared*2 != searches {
			t.Errorf("%d searches, %d of them taken over, %d queries embedded", searches, shared, queries)
		}
		for i, r := range retrievals["c"] {
			other := retrievals["d"][i]
			if r.CallKey == other.CallKey || r.Cell != other.Cell || len(r.Candidates) != len(other.Candidates) || (r.SameAs == "") == (other.SameAs == "") {
				t.Errorf("retrieval %s: %q as %q, and %q as %q", r.Cell, r.CallKey, r.SameAs, other.CallKey, other.SameAs)
			}
		}
		var calls int
		for _, c := range summary.Cases {
			calls += c.Cells["A"].Trials
		}
		if calls != 10 {
			t.Errorf("%d answers of A, want five of each case: repeats are never one call", calls)
		}
	}
}

func TestUnknownCostIsUnknown(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		a      *abroad
		limits string
		want   string
	}{
		{"no price", &abroad{}, "", "cost unknown: prices.embedder is not set, prices.generator is not set"},
		{"no price of the answers", &abroad{}, "\nprices: {currency: USD, generator: {input: 2}, embedder: {input: 1}}\n", "cost unknown: prices.generator does not name output"},
		{"nothing told", &abroad{silent: true}, tariff, "cost at least 0.00 USD: "},
	} {
		summary, _, err := runAbroad(t, tt.a, tt.limits)
		if err != nil {
			t.Fatal(err)
		}
		if got := summary.Totals.CostSays(summary.Setup.Currency); !strings.HasPrefix(got, tt.want) || summary.Totals.CostMicro != nil {
			t.Errorf("%s: %q and %v, want %q and null", tt.name, got, summary.Totals.CostMicro, tt.want)
		}
	}
}

// TestBudgets: the run ends before the call that might pass the budget, names it, and nothing more is asked.
func TestBudgets(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		budget string
		want   string
		tokens int64 // that the backend may have taken at the most
	}{
		{"tokens: 3000", "limits.budget.tokens is 3000: ", 3000},
		{"cost: 0.01 USD", "limits.budget.cost is 0.01 USD: 0.00", 5000},
		{"calls: 9", "limits.budget.calls is 9, and 9 were made", 1 << 40},
	} {
		a := &abroad{}
		_, _, err := runAbroad(t, a, tariff+"limits: {concurrency: 8, budget: {"+tt.budget+"}}\n")
		if !errors.Is(err, runner.ErrBudget) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.budget, err, tt.want)
		}
		if a.prompts == 0 && !strings.HasPrefix(tt.budget, "calls") || a.in+a.out > tt.tokens {
			t.Errorf("%s: %d prompts, %d tokens", tt.budget, a.prompts, a.in+a.out)
		}
	}
}

// TestBudgetOfMoneyNeedsPrices: without them it refuses before anything is opened.
func TestBudgetOfMoneyNeedsPrices(t *testing.T) {
	t.Parallel()
	registry := newAbroad(t, &abroad{})
	loaded := writtenFor(t, dear(tariff+"limits: {budget: {cost: 1.00 USD}}\n"), registry)
	loaded.Experiment.Prices.Embedder = nil // past the check of the file
	_, err := runner.Run(t.Context(), loaded, runner.Options{Registry: registry, Out: t.TempDir(), CacheDir: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "prices.embedder (input)") {
		t.Errorf("want the price that is missing, got %v", err)
	}
}

// TestOneAnswerForManyQuestions: a provider that serves one response to different requests is named in the summary.
func TestOneAnswerForManyQuestions(t *testing.T) {
	t.Parallel()
	summary, _, err := runAbroad(t, &abroad{id: "cached"}, "")
	if err != nil {
		t.Fatal(err)
	}
	if len(summary.Warnings) != 1 || !strings.Contains(summary.Warnings[0], "carry the response id of another request") {
		t.Errorf("warnings %q", summary.Warnings)
	}
	if summary, _, err = runAbroad(t, &abroad{}, ""); err != nil || len(summary.Warnings) != 0 {
		t.Errorf("warnings %q, %v; want none", summary.Warnings, err)
	}
}
