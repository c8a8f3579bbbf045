package runner_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/results"
	"github.com/culprit-rag/culprit/runner"
)

const askForQuery = "Write one search query"

// rewritingTo answers prompts that ask for a query with these lines, and others as the embedded generator would.
func rewritingTo(lines ...string) func(string, int64) string {
	return func(prompt string, _ int64) string {
		if strings.Contains(prompt, askForQuery) {
			return strings.Join(lines, "\n")
		}
		return "The mooring fee for one night is 60 crowns. [fee]"
	}
}

func TestSeveralQueries(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name            string
		set             []string
		answer          []string
		queries, merged string // as searched, and the candidates with their ranks
	}{
		{
			"one query", nil,
			[]string{"mooring fee"},
			"mooring fee", "fee crane-fee winter",
		},
		{
			"several in turn",
			[]string{"pipeline.rewrite.several=true"},
			[]string{"1. crane tonnes", "2. mooring"},
			"crane tonnes; mooring", "crane fee crane-fee",
		},
		{
			"the original is kept, first",
			[]string{"pipeline.rewrite.keep_original=true"},
			[]string{"crane tonnes"},
			"What is the mooring fee for one night?; crane tonnes", "fee crane crane-fee winter",
		},
		{
			"fused",
			[]string{"pipeline.rewrite.several=true", "pipeline.rewrite.merge=rrf", "pipeline.search.k=3"},
			[]string{"lunch", "crane", "crane lift"},
			"lunch; crane; crane lift", "crane crane-fee lunch",
		},
		{
			"no more than most",
			[]string{"pipeline.rewrite.several=true", "pipeline.rewrite.most=1"},
			[]string{"lunch", "crane"},
			"lunch", "lunch",
		},
	} {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			registry, seen := watched(t, rewritingTo(test.answer...))
			b := runWith(t, load(t, "testdata/switches/rewrite.yaml", change{set: test.set}), registry)["mooring-fee"]
			c := b.Observations.Retrievals[0]
			if got := strings.Join(c.Queries(), "; "); got != test.queries {
				t.Errorf("searched for %q, want %q", got, test.queries)
			}
			var ids []string
			for _, h := range c.Candidates {
				ids = append(ids, h.ID)
			}
			if got := strings.Join(ids, " "); got != test.merged {
				t.Errorf("candidates %q, want %q", got, test.merged)
			}
			several := strings.Contains(test.queries, ";")
			if several != (len(c.Searches) > 0) || several != (c.Merge != "") {
				t.Errorf("searches %d, merge %q", len(c.Searches), c.Merge)
			}
			for _, s := range c.Searches {
				if len(s.Candidates) == 0 || s.Candidates[0].Score == nil || s.Candidates[0].Text.Value == "" {
					t.Errorf("the search for %q is not recorded as it came: %+v", s.Query, s.Candidates)
				}
			}
			rewritings := slices.DeleteFunc(slices.Clone(seen.prompts), func(p string) bool { return !strings.Contains(p, askForQuery) })
			if len(rewritings) != 1 {
				t.Errorf("the query was rewritten %d times, want once for the case", len(rewritings))
			}
		})
	}
}

// The rewriting is a call of its own: in the journal, in the totals, and in the trace with all that pins it.
func TestRewritingIsRecorded(t *testing.T) {
	t.Parallel()
	loaded := load(t, "testdata/switches/rewrite.yaml", change{})
	summary, err := runner.Run(t.Context(), loaded, runner.Options{Registry: registry(t), Out: t.TempDir(), CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	b, err := results.Open(summary.Cases[0].Bundle)
	if err != nil {
		t.Fatal(err)
	}
	w := b.Observations.Rewriting
	if w == nil || w.Status != matrix.StatusOK || w.ModelReported != "extractive" || w.FinishReason != "stop" || w.Usage.InputTokens == nil || len(w.Queries) != 1 {
		t.Fatalf("the rewriting is recorded as %+v", w)
	}
	if want := "Write one search query for the last message.\nuser: What is the mooring fee for one night?\n\nQuestion: What is the mooring fee for one night?\n"; w.Prompt[0].Text.Value != want {
		t.Errorf("prompt %q, want %q", w.Prompt[0].Text.Value, want)
	}
	generations := 0
	for i := range b.Observations.Trials {
		for _, a := range b.Observations.Trials[i].AllAsked() {
			generations += a.Calls
		}
	}
	if got := summary.Cases[0].Totals.Generation; got != generations+1 {
		t.Errorf("%d generations are counted, want those of %d trials and the rewriting", got, generations)
	}
	if b.Plan.Rewrite == nil || b.Plan.Rewrite.Searches != 1 {
		t.Errorf("the plan says %+v", b.Plan.Rewrite)
	}
}

// A conversation is rewritten from all of its messages, and what was typed last finds nothing by itself.
func TestConversationIsRewritten(t *testing.T) {
	t.Parallel()
	registry, seen := watched(t, rewritingTo("mooring fee for one night"))
	text, err := os.ReadFile("testdata/switches/rewrite.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(text), "name: rewrite\n")
	loaded := written(t, strings.Replace(body, "query: What is the mooring fee for one night?",
		"messages: [{role: user, text: What does mooring cost?}, {role: assistant, text: For how long?}, {role: user, text: A night.}]", 1))
	b := runWith(t, loaded, registry)["mooring-fee"]
	if got := b.Observations.Retrievals[0].QueryEffective; got != "mooring fee for one night" {
		t.Errorf("searched for %q", got)
	}
	if !slices.ContainsFunc(seen.prompts, func(p string) bool {
		return strings.Contains(p, "user: What does mooring cost?\nassistant: For how long?\nuser: A night.\n")
	}) {
		t.Errorf("the conversation is not in the prompt: %q", seen.prompts)
	}
}

// Where the generator gives no query, production searches with nothing: the store is not asked, and the case goes on.
func TestEmptyRewriting(t *testing.T) {
	t.Parallel()
	registry, seen := watched(t, rewritingTo(" "))
	b := runWith(t, load(t, "testdata/switches/rewrite.yaml", change{}), registry)["mooring-fee"]
	if got := verdictOf(b.Evaluation); got != "retrieve/query-altered" && got != "pass/without-evidence" {
		t.Errorf("got %s\n    %s", got, explained(b.Evaluation))
	}
	if !slices.ContainsFunc(b.Evaluation.Findings, func(f string) bool { return strings.Contains(f, "holds no query") }) {
		t.Errorf("findings: %q", b.Evaluation.Findings)
	}
	for _, s := range seen.searches {
		if !strings.Contains(s, "What is the mooring fee") {
			t.Errorf("the store was asked %q", s)
		}
	}
}

// A probe rewrites as a run does, and a sweep once for all of its points.
func TestRewritingOfProbeAndSweep(t *testing.T) {
	t.Parallel()
	registry, seen := watched(t, rewritingTo("crane tonnes"))
	loaded := load(t, "testdata/switches/rewrite.yaml", change{})
	o := runner.Options{Registry: registry, CacheDir: t.TempDir()}
	probe, err := runner.Probe(t.Context(), loaded, o)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(probe.Cases[0].Defects); !strings.Contains(got, "query-altered") {
		t.Errorf("the probe sees %s", got)
	}
	points, err := runner.Sweep(t.Context(), loaded, o, runner.Grid{K: []int{1, 2, 3}, Budgets: []matrix.Budget{{}}})
	if err != nil || len(points) != 3 {
		t.Fatalf("%d points, %v", len(points), err)
	}
	rewritings := 0
	for _, p := range seen.prompts {
		if strings.Contains(p, askForQuery) {
			rewritings++
		}
	}
	if rewritings != 2 {
		t.Errorf("the query was rewritten %d times, want once by the probe and once by the sweep", rewritings)
	}
}

// What goes wrong while the query is rewritten is the environment's: it is in the journal, the store is not asked, and a key that was
// refused is not tried again in the next case.
func TestFaultsOfTheRewriting(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/switches/rewrite.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(text), "name: rewrite\n")
	_, second, _ := strings.Cut(body, "  - id: mooring-fee\n")
	body += "  - id: again\n" + second + "limits: {retries: 1, concurrency: 1}\n"
	fails := func(kind adapters.Kind) func(context.Context) (adapters.GenerateResponse, error) {
		return func(context.Context) (adapters.GenerateResponse, error) {
			return adapters.GenerateResponse{}, &adapters.Error{Adapter: "embedded", Op: "generate", Kind: kind, RetryAfter: time.Millisecond, Err: errors.New("set GENERATOR_KEY")}
		}
	}
	for _, test := range []struct {
		name   string
		answer func(context.Context) (adapters.GenerateResponse, error)
		calls  int64
		want   string
	}{
		{"unauthorised", fails(adapters.KindUnauthorised), 1, "set GENERATOR_KEY"},
		{"the model is not there", fails(adapters.KindNotFound), 1, "set GENERATOR_KEY"},
		{"rate limited", fails(adapters.KindRateLimited), 4, "rate-limited"},
		{"too long", fails(adapters.KindTooLong), 2, "too-long"},
		{"blocked", func(context.Context) (adapters.GenerateResponse, error) {
			return adapters.GenerateResponse{FinishReason: adapters.FinishContentFilter}, nil
		}, 2, "content filter"},
		{"cut off", func(context.Context) (adapters.GenerateResponse, error) {
			return adapters.GenerateResponse{Text: "mooring", FinishReason: adapters.FinishLength}, nil
		}, 2, "raise pipeline.rewrite.max_tokens"},
	} {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			registry, calls := faultyRegistry(t, test.answer)
			summary, err := runner.Run(t.Context(), written(t, body), runner.Options{Registry: registry, Out: t.TempDir(), CacheDir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			if got := calls.Load(); got != test.calls || summary.Exit != 5 {
				t.Errorf("%d calls and exit %d, want %d and 5", got, summary.Exit, test.calls)
			}
			var bundles []*results.Bundle
			for _, c := range summary.Cases {
				b, err := results.Open(c.Bundle)
				if err != nil {
					t.Fatal(err)
				}
				judgeAgain(t, b)
				consistent(t, b.Evaluation)
				if e := b.Evaluation; (e.Qualifier == verdict.ContextLengthExceeded) != (test.name == "too long") {
					t.Errorf("the qualifier is %q", e.Qualifier)
				}
				if got := verdictOf(b.Evaluation); !strings.HasPrefix(got, "environment") || !strings.Contains(strings.Join(b.Evaluation.Missing, " "), test.want) {
					t.Errorf("got %s, want environment with %q\n    %s", got, test.want, explained(b.Evaluation))
				}
				for _, r := range b.Observations.Retrievals {
					if r.Status != matrix.StatusNotRun {
						t.Errorf("%s was searched: %s", r.Cell, r.Status)
					}
				}
				bundles = append(bundles, b)
			}
			if n := journalled(t, bundles); n != 0 {
				t.Errorf("%d generations are in the journals, want none behind a rewriting that failed", n)
			}
		})
	}
}

// A refusal in the place of a query is no query.
func TestRefusedRewriting(t *testing.T) {
	t.Parallel()
	registry, _ := faultyRegistry(t, func(context.Context) (adapters.GenerateResponse, error) {
		return adapters.GenerateResponse{Refusal: "I cannot help with that.", FinishReason: adapters.FinishStop}, nil
	})
	b := runWith(t, load(t, "testdata/switches/rewrite.yaml", change{}), registry)["mooring-fee"]
	if w := b.Observations.Rewriting; !w.Refused || len(w.Queries) != 0 || w.Answer.Value != "I cannot help with that." {
		t.Errorf("the rewriting is recorded as %+v", w)
	}
	if !slices.ContainsFunc(b.Evaluation.Findings, func(f string) bool { return strings.Contains(f, "the generator refused") }) {
		t.Errorf("findings: %q", b.Evaluation.Findings)
	}
}
