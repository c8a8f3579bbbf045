package results

import (
	"fmt"
	"testing"
	"time"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

var testTime = time.Date(2026, 11, 29, 20, 0, 0, 0, time.UTC)

func ptr[T any](v T) *T { return &v }

func testBundle(tb testing.TB, id string, trials int) Bundle {
	tb.Helper()
	b, err := makeBundle(id, trials)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// reobserve makes the evaluation of a bundle one of the observations that were put into it.
func reobserve(tb testing.TB, b *Bundle) {
	tb.Helper()
	var err error
	if b.Evaluation.ObservationDigest, err = b.Observations.Digest(); err != nil {
		tb.Fatal(err)
	}
}

// makeBundle makes a plausible bundle of a case with that many trials.
func makeBundle(id string, trials int) (Bundle, error) {
	c := matrix.Case{
		ID: id, Query: "Which class for long flights?", Risk: matrix.RiskBlocking, Expect: matrix.ExpectAnswer,
		Evidence: matrix.Evidence{Required: []matrix.Requirement{{AnyOf: []matrix.Gold{{Source: "c08", Span: "business class"}}}}},
		Claims:   []matrix.Claim{{ID: "class", Any: []string{"business class"}}},
	}
	e := matrix.Experiment{
		Version: "v1", Name: "travel-policy",
		Backends: matrix.Backends{
			Store:     &matrix.Backend{Adapter: "embedded"},
			Generator: &matrix.Backend{Adapter: "embedded", Settings: []byte(`{"flip":{"rate":"0.3"},"model":"extractive"}`)},
		},
		Pipeline: matrix.Pipeline{
			Search:   matrix.Search{Mode: matrix.ModeKeyword, K: 2, Depth: 200},
			Assemble: matrix.Assemble{Budget: matrix.Budget{N: 50, Unit: "words"}, Tokenizer: "words"},
			Generate: matrix.Generate{Temperature: "0.7", Seed: 1},
		},
		Runs: matrix.Runs{Alpha: "0.05"},
	}
	pins, err := NewPins(&e)
	if err != nil {
		return Bundle{}, err
	}
	digest, err := matrix.Digest(&c)
	if err != nil {
		return Bundle{}, err
	}
	o := matrix.Observations{Store: matrix.StoreFacts{
		Adapter: "embedded", Mode: "keyword",
		Gold: []matrix.GoldFacts{{Exact: []string{"c08"}, Text: matrix.NewText("Exception: business class is allowed <b>")}},
	}}
	r := matrix.Retrieval{
		CallKey: "r", Cell: matrix.CellC, Query: c.Query, QueryEffective: c.Query, Mode: "keyword", K: 2, Depth: 200,
		Status: matrix.StatusOK, At: "2026-11-29T20:00:00Z", LatencyMS: 3,
	}
	for i := range min(14, trials+2) {
		r.Candidates = append(r.Candidates, matrix.Hit{
			Rank: i + 1, ID: fmt.Sprintf("c%02d", i+1), Source: fmt.Sprintf("c%02d", i+1),
			Score: ptr(matrix.NewDecimal(9.5 - float64(i)/2)), Text: matrix.NewText(fmt.Sprintf("chunk %d of the policy", i+1)),
		})
	}
	o.Retrievals = []matrix.Retrieval{r}
	for i := range trials {
		prompt := fmt.Sprintf("Context:\n[c08] chunk\nQuestion: %d?", i)
		o.Trials = append(o.Trials, matrix.Trial{
			CallKey: fmt.Sprintf("sha256:%064d", i), Cell: matrix.CellA, Rep: i + 1, Retrieval: "r",
			Packed: []matrix.Packed{{Position: 1, ID: "c01", Text: matrix.NewText("chunk 1 of the policy"), Units: 5}},
			Prompt: []matrix.PromptMessage{{Role: "system", Text: matrix.NewText("Answer.")}, {Role: "user", Text: matrix.NewText(prompt)}},
			Answer: matrix.NewText(fmt.Sprintf("answer %d", i)), Status: matrix.StatusOK, Attempts: 1, LatencyMS: int64(i), Seed: 1,
			Usage: matrix.Usage{InputTokens: ptr(12), OutputTokens: ptr(3)},
		})
	}
	observed, err := o.Digest()
	if err != nil {
		return Bundle{}, err
	}
	return Bundle{
		Case: c, CaseSource: []byte("id: " + id + "\n"), Experiment: e, Pins: pins, Observations: o,
		Plan:     matrix.Plan{Schema: matrix.PlanSchema, Case: id, CaseDigest: digest, Cells: []matrix.PlannedCell{{Cell: matrix.CellA, Repeats: trials}}},
		Features: verdict.Features{Schema: verdict.FeaturesSchema},
		Evaluation: verdict.Evaluation{
			Schema: verdict.EvaluationSchema, Case: id, Risk: c.Risk, Outcome: verdict.Fail, Summary: "gold c08: rank 3, cutoff 2",
			Defects:           []verdict.Defect{{Stage: verdict.StageRetrieve, Label: "below-cutoff", Rule: "R1", Grade: verdict.Shown}},
			Cells:             []verdict.CellResult{{Cell: matrix.CellA, Planned: trials, Scored: trials}},
			Retrieval:         verdict.RetrievalResult{Gold: []verdict.GoldRank{{Source: "c08", Rank: ptr(3)}}, Metrics: []verdict.Metric{{Name: "recall@2", Value: "0.000000"}}},
			ObservationDigest: observed, Ruleset: matrix.DigestBytes([]byte("rules")),
		},
	}, nil
}

// writeCase runs a case through a writer as the runner does: intents, outcomes, seal.
func writeCase(e *Execution, b Bundle, durable bool) (string, error) {
	digest, err := matrix.Digest(&b.Case)
	if err != nil {
		return "", err
	}
	w, err := e.Case(&b.Case, digest, "")
	if err != nil {
		return "", err
	}
	if err := w.Plan(&b.Plan); err != nil {
		return "", fail(w, err)
	}
	for i := range b.Observations.Trials {
		t := &b.Observations.Trials[i]
		call := matrix.Call{Case: digest, Cell: t.Cell, Step: "generate", Rep: t.Rep, Provider: "embedded", Model: "extractive"}
		err := w.Intent(Intent{CallKey: t.CallKey, Call: call, Attempt: 1, Request: []byte(t.Prompt[1].Text.Value), Durable: durable})
		if err != nil {
			return "", fail(w, err)
		}
		err = w.Outcome(Outcome{CallKey: t.CallKey, Attempt: 1, Status: t.Status, Response: []byte(t.Answer.Value), FinishReason: "stop", Durable: durable})
		if err != nil {
			return "", fail(w, err)
		}
	}
	path, err := w.Seal(b)
	if err != nil {
		return "", fail(w, err)
	}
	return path, nil
}

func fail(w *CaseWriter, err error) error {
	if aborted := w.Abort(); aborted != nil {
		return fmt.Errorf("%w (and %w)", err, aborted)
	}
	return err
}

func newTestExecution(tb testing.TB, out string) *Execution {
	tb.Helper()
	e, err := NewExecution(out, "travel-policy", testTime)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := e.Close(); err != nil {
			tb.Error(err)
		}
	})
	e.now = func() time.Time { return testTime }
	return e
}

func BenchmarkSeal(b *testing.B) {
	for _, trials := range []int{8, 50} {
		b.Run(fmt.Sprintf("trials=%d", trials), func(b *testing.B) {
			e := newTestExecution(b, b.TempDir())
			n := 0
			for b.Loop() {
				n++
				if _, err := writeCase(e, testBundle(b, fmt.Sprintf("case-%d", n), trials), false); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkOpen(b *testing.B) {
	dir, err := writeCase(newTestExecution(b, b.TempDir()), testBundle(b, "long-haul", 50), false)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := Open(dir); err != nil {
			b.Fatal(err)
		}
	}
}
