package verdict

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culprit-rag/culprit/matrix"
)

// asked is a case of which A never finds the answer and B does, each trial changed by the test.
func asked(t *testing.T, repeats int, change func(*matrix.Trial)) Evaluation {
	t.Helper()
	e, c, p, o := askedCase(repeats, change)
	return evaluated(t, e, c, p, o)
}

func evaluated(t *testing.T, e *matrix.Experiment, c *matrix.Case, p *matrix.Plan, o *matrix.Observations) Evaluation {
	t.Helper()
	f, err := Extract(e, c, o)
	if err != nil {
		t.Fatal(err)
	}
	ev, err := Evaluate(e, c, p, o, &f)
	if err != nil {
		t.Fatal(err)
	}
	for _, cell := range ev.Cells {
		if cell.Planned != cell.Scored+cell.Unscored+cell.Failed+cell.NotRun {
			t.Errorf("cell %s does not add up: %+v", cell.Cell, cell)
		}
	}
	return ev
}

// askedCase has the gold in the prompts of A and of B, so that a failing A is a matter of what follows.
func askedCase(repeats int, change func(*matrix.Trial)) (*matrix.Experiment, *matrix.Case, *matrix.Plan, *matrix.Observations) {
	gold := matrix.Gold{Source: "tariff", Span: "forty crowns", Text: "The fee is forty crowns."}
	c := &matrix.Case{
		ID: "fee", Query: "What is the fee?", Expect: matrix.ExpectAnswer,
		Evidence: matrix.Evidence{Required: []matrix.Requirement{{AnyOf: []matrix.Gold{gold}}}},
		Claims:   []matrix.Claim{{ID: "fee", Any: []string{"forty crowns"}}},
	}
	e := &matrix.Experiment{Pipeline: matrix.Pipeline{Search: matrix.Search{Mode: matrix.ModeKeyword, K: 2, Depth: 2}, Generate: matrix.Generate{Temperature: "0.7"}, Refusal: []string{"I don't know"}}}
	p := &matrix.Plan{Cells: []matrix.PlannedCell{{Cell: "A", Repeats: repeats}, {Cell: "B", Repeats: repeats}}}
	text := matrix.NewText(gold.Text)
	hits := []matrix.Hit{{Rank: 1, ID: "tariff", Source: "tariff", Text: text}, {Rank: 2, ID: "lunch", Source: "lunch", Text: matrix.NewText("Lunch is at noon.")}}
	o := &matrix.Observations{
		Store: matrix.StoreFacts{
			Scan: matrix.ScanFacts{Scanned: 2, Counted: 2, Complete: true},
			Gold: []matrix.GoldFacts{{Exact: []string{"tariff"}, Items: []matrix.GoldItem{{ID: "tariff", Text: text, Allowed: true}}, Text: text, TextOrigin: "case"}},
		},
		Retrievals: []matrix.Retrieval{{CallKey: "c", Cell: "C", Query: c.Query, QueryEffective: c.Query, K: 2, Depth: 2, Candidates: hits, Status: matrix.StatusOK}},
	}
	for _, cell := range []matrix.CellID{"A", "B"} {
		for rep := 1; rep <= repeats; rep++ {
			trial := matrix.Trial{
				CallKey: fmt.Sprint(cell, rep), Cell: cell, Rep: rep, Retrieval: "c", Seed: int64(rep), Status: matrix.StatusOK, FinishReason: "stop", Outside: true,
				Packed: []matrix.Packed{{Position: 1, ID: "tariff", Source: "tariff", Text: text, Rank: 1}}, ModelRequested: "m-2025-04-14", ModelReported: "m-2025-04-14",
				Prompt: []matrix.PromptMessage{{Role: "user", Text: matrix.NewText("The fee is forty crowns.\n" + c.Query)}},
				Answer: matrix.NewText(fmt.Sprintf("It is forty crowns, %s.", strings.Repeat("very ", rep))),
			}
			if cell == "A" {
				trial.Packed = append(trial.Packed, matrix.Packed{Position: 2, ID: "lunch", Source: "lunch", Text: hits[1].Text, Rank: 2})
				trial.Answer = matrix.NewText(fmt.Sprintf("It is fifty crowns, %s.", strings.Repeat("very ", rep)))
			}
			change(&trial)
			o.Trials = append(o.Trials, trial)
		}
	}
	return e, c, p, o
}

func TestWhoAnswered(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		change   func(*matrix.Trial)
		findings []string
		missing  []string
	}{
		{name: "one dated model", change: func(*matrix.Trial) {}},
		{
			name: "an alias, and what it stands for", change: func(t *matrix.Trial) { t.ModelRequested = "m" },
			findings: []string{
				`generator: "m" was asked, "m-2025-04-14" answered in 6 of 6 generations`,
				`generator: the model name "m" holds no date or revision, so that another model may answer under it (6 generations): name a dated one, or pin what answers in pins.generator.model_reported`,
			},
		},
		{name: "a bare name within this process", change: func(t *matrix.Trial) { t.ModelRequested, t.ModelReported, t.Outside = "m", "m", false }},
		{name: "nothing reported", change: func(t *matrix.Trial) { t.ModelReported = "" }},
		{
			name: "a fingerprint that changes within A and B alike", change: func(t *matrix.Trial) { t.SystemFingerprint = fmt.Sprint("fp", t.Rep) },
			findings: []string{"generator: 3 system fingerprints answered 6 generations: fp1 (2), fp2 (2), fp3 (2)"},
		},
		{
			name: "another fingerprint in B", change: func(t *matrix.Trial) { t.SystemFingerprint = "fp" + string(t.Cell) },
			findings: []string{"generator: 2 system fingerprints answered 6 generations: fpA (3), fpB (3)"},
			missing:  []string{"generate: the generator's system fingerprint differs between A (fpA) and B (fpB), so that they cannot be compared: run again"},
		},
		{
			name: "another model in B",
			change: func(t *matrix.Trial) {
				if t.Cell == "B" {
					t.ModelReported = "m-2025-05-01"
				}
			},
			findings: []string{
				`generator: "m-2025-04-14" was asked, "m-2025-05-01" answered in 3 of 6 generations`,
				"generator: 2 models answered 6 generations: m-2025-04-14 (3), m-2025-05-01 (3)",
			},
			missing: []string{"generate: the generator's model differs between A (m-2025-04-14) and B (m-2025-05-01), so that they cannot be compared: run again"},
		},
		{
			name: "a note of each seed", change: func(t *matrix.Trial) {
				t.Notes = []string{fmt.Sprintf("seed %d was not sent: the server refused it", t.Seed)}
			},
			findings: []string{"generator: seed was not sent: the server refused it (in 6 of 6 generations)"},
		},
		{
			name: "a note of one", change: func(t *matrix.Trial) {
				if t.Rep == 2 && t.Cell == "A" {
					t.Notes = []string{"top_p 0.5 was not sent: models that reason take none"}
				}
			},
			findings: []string{"generator: top_p 0.5 was not sent: models that reason take none (in 1 of 6 generations)"},
		},
	} {
		ev := asked(t, 3, test.change)
		got := slices.DeleteFunc(ev.Findings, func(s string) bool { return !strings.HasPrefix(s, "generator: ") })
		if diff := cmp.Diff(test.findings, got); diff != "" && len(test.findings)+len(got) > 0 {
			t.Errorf("%s: findings (-want +got):\n%s", test.name, diff)
		}
		if diff := cmp.Diff(test.missing, ev.Missing); diff != "" {
			t.Errorf("%s: missing (-want +got):\n%s", test.name, diff)
		}
		if inconclusive := ev.Outcome == Inconclusive; inconclusive != (len(test.missing) > 0) {
			t.Errorf("%s: outcome %s (%s)", test.name, ev.Outcome, ev.Summary)
		}
	}
}

// TestWhoEmbedded: another embedder than the one that was asked is a finding, where the queries are embedded here.
func TestWhoEmbedded(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		asked, reported string
		service         bool
		finding         bool
	}{
		{asked: "e-1", reported: "e-2", finding: true},
		{asked: "e-1", reported: "e-1"},
		{asked: "e-1"},
		{reported: "e-2"},
		{asked: "e-1", reported: "e-2", service: true},
	} {
		e, c, p, o := askedCase(1, func(*matrix.Trial) {})
		o.Store.Embed = &matrix.EmbedFacts{QueryModel: test.asked}
		o.Retrievals[0].EmbedModel = test.reported
		if test.service {
			e.Backends.Pipeline = &matrix.Backend{Adapter: "remote"}
		}
		ev := evaluated(t, e, c, p, o)
		got := slices.ContainsFunc(ev.Findings, func(s string) bool { return strings.HasPrefix(s, `embedder: "e-1" was asked, "e-2" answered`) })
		if got != test.finding {
			t.Errorf("%+v: findings %q", test, ev.Findings)
		}
	}
}

// TestVolatileMetadata holds the digest to what differs between two executions that saw the same, and to what does not.
func TestVolatileMetadata(t *testing.T) {
	t.Parallel()
	digest := func(change func(*matrix.Trial)) string {
		_, _, _, o := askedCase(2, change)
		d, err := o.Digest()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	ids := func(run string) func(*matrix.Trial) {
		return func(t *matrix.Trial) {
			t.Metadata = map[string]string{matrix.MetadataResponseID: run + t.CallKey, matrix.MetadataCreated: run, "provider": "p"}
		}
	}
	first := digest(ids("1"))
	if again := digest(ids("2")); again != first {
		t.Error("other response ids make another digest")
	}
	if other := digest(func(t *matrix.Trial) { t.Metadata = map[string]string{"provider": "q"} }); other == first {
		t.Error("another provider makes the same digest")
	}
	if copies := digest(func(t *matrix.Trial) {
		t.Metadata = map[string]string{matrix.MetadataResponseID: string(t.Cell), "provider": "p"}
	}); copies == first {
		t.Error("copies make the digest of answers that are none")
	}
}
