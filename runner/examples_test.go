package runner_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/embedded"
	"github.com/culprit-rag/culprit/adapters/openai"
	"github.com/culprit-rag/culprit/adapters/qdrant"
	"github.com/culprit-rag/culprit/adapters/remote"
	"github.com/culprit-rag/culprit/adapters/weaviate"
	"github.com/culprit-rag/culprit/experiments"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/results"
	"github.com/culprit-rag/culprit/results/report"
	"github.com/culprit-rag/culprit/runner"
)

// The examples that ship prove what the documentation says: each case gets the label that its file announces, on every
// machine, in every run, at every concurrency.

const examples = "../experiments/examples"

func exampleRegistry(t *testing.T) *adapters.Registry {
	t.Helper()
	registry, err := adapters.NewRegistry(embedded.Factory(), openai.Factory(), qdrant.Factory(), remote.Factory(), weaviate.Factory())
	if err != nil {
		t.Fatal(err)
	}
	return registry
}

func loadExample(t *testing.T, name, profile string, set ...string) *experiments.Loaded {
	t.Helper()
	loaded, err := experiments.Load(filepath.Join(examples, name), experiments.Options{Schemas: exampleRegistry(t).Schemas(), Profile: profile, Set: set})
	if err != nil {
		t.Fatal(err)
	}
	if len(loaded.Warnings) > 0 {
		t.Errorf("an example must be read without a warning:\n%v", loaded.Warnings)
	}
	return loaded
}

// runExample runs into new folders for results and cache, as on a machine that has just cloned the repository.
func runExample(t *testing.T, loaded *experiments.Loaded) *results.Summary {
	t.Helper()
	summary, err := runner.Run(t.Context(), loaded, runner.Options{Registry: exampleRegistry(t), Out: t.TempDir(), CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return summary
}

// label is what the table of a run says of a case: its defects, or "pass".
func label(c *results.CaseSummary) string {
	var names []string
	for _, d := range c.Defects {
		names = append(names, d.Name())
	}
	switch {
	case len(names) > 0:
		return strings.Join(names, " and ")
	case c.Qualifier != "":
		return string(c.Outcome) + " " + c.Qualifier
	}
	return string(c.Outcome)
}

func labels(s *results.Summary) map[string]string {
	out := map[string]string{}
	for i := range s.Cases {
		out[s.Cases[i].ID] = label(&s.Cases[i])
	}
	return out
}

func travelPolicy() map[string]string {
	return map[string]string{
		"mileage-rate":    "index/missing",
		"lie-flat-seat":   "retrieve/vocabulary-miss",
		"long-haul-cabin": "retrieve/below-cutoff",
		"taxi-receipt":    "assemble/budget-cut",
		"business-10h":    "generate/position-sensitive",
		"zurich-hotel":    "abstain/answered-unanswerable",
		"gym-fee":         "pass correct-refusal",
		"per-diem-dinner": "pass",
	}
}

// handbook holds the labels with every switch on. Vectors alone change no label: each switch acts where both searches meet it.
func handbook() map[string]string {
	return map[string]string{
		"desk-allowance":                  "embed/mixed-models",
		"training-budget":                 "retrieve/filtered-out",
		"bonus-points":                    "rerank/input-truncated",
		"sick-line":                       "prompt/escaped-away",
		"office-dog":                      "pass correct-refusal",
		"leave-policy-effective-date-014": "pass",
		"leave-policy-austria":            "pass",
		"adoption-weeks":                  "seam/cached-answer",
		"globex-annual-leave":             "pass",
		"trial-period-talk":               "pass",
		"bonus-date":                      "access/leak",
	}
}

// stores holds the labels of the example that runs on every store; here it runs on the one that needs no server.
func stores() map[string]string {
	return map[string]string{
		"mileage-rate":        "index/missing",
		"remote-days":         "index/stale",
		"desk-allowance":      "embed/mixed-models",
		"training-budget":     "retrieve/filtered-out",
		"long-haul-cabin":     "retrieve/below-cutoff",
		"visitor-key":         "retrieve/vocabulary-miss",
		"bonus-date":          "access/leak",
		"parental-leave-date": "pass",
		"globex-annual-leave": "pass",
		"office-dog":          "pass correct-refusal",
	}
}

func handbookHealthy() map[string]string {
	all := handbook()
	for id := range all {
		all[id] = "pass"
	}
	all["office-dog"] = "pass correct-refusal"
	return all
}

// TestExamples runs each example one call at a time and then eight at a time, on stores built anew. Every case must get its
// label; what is derived must be the same byte for byte, and what was observed the same up to times and request ids.
func TestExamples(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, profile string
		want          map[string]string
		exit          int
		also          []func(*testing.T, *results.Summary)
	}{
		{"travel-policy", "", travelPolicy(), 0, []func(*testing.T, *results.Summary){checkTravelPolicyNumbers}},
		{"handbook", "", handbook(), 3, []func(*testing.T, *results.Summary){checkLeavePolicy, checkReadme("handbook")}}, // bonus-date blocks: a leak stops a release
		{"handbook", "dense", handbook(), 3, nil},
		{"handbook", "healthy", handbookHealthy(), 0, nil},
		{"stores", "", stores(), 3, []func(*testing.T, *results.Summary){checkReadme("stores")}},
	} {
		t.Run(tt.name+" "+tt.profile, func(t *testing.T) {
			t.Parallel()
			summary := runExample(t, loadExample(t, tt.name, tt.profile, "limits.concurrency=1"))
			if diff := cmp.Diff(tt.want, labels(summary)); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
			if summary.Exit != tt.exit {
				t.Errorf("exit code %d, want %d", summary.Exit, tt.exit)
			}
			if summary.Totals.Paid != 0 {
				t.Errorf("%d calls were paid for", summary.Totals.Paid)
			}
			if len(summary.Warnings) > 0 {
				t.Errorf("warnings: %q", summary.Warnings)
			}
			for _, check := range tt.also {
				check(t, summary)
			}
			again := runExample(t, loadExample(t, tt.name, tt.profile, "limits.concurrency=8"))
			if diff := cmp.Diff(reopen(t, summary), reopen(t, again)); diff != "" {
				t.Errorf("a second run differs (-one call at a time +eight):\n%s", diff)
			}
		})
	}
}

// TestLocalModelChangesBackendsAlone: what the pipeline is, and what is measured, stays when real models take the stand-ins' place.
func TestLocalModelChangesBackendsAlone(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"travel-policy", "handbook"} {
		plain, local := loadExample(t, name, ""), loadExample(t, name, "local-model")
		if cmp.Equal(plain.Experiment.Backends, local.Experiment.Backends) {
			t.Errorf("%s: the profile changes no backend", name)
		}
		local.Experiment.Backends = plain.Experiment.Backends
		if diff := cmp.Diff(plain.Experiment, local.Experiment); diff != "" {
			t.Errorf("%s: the profile changes more than backends (-without +with):\n%s", name, diff)
		}
	}
}

func checkTravelPolicyNumbers(t *testing.T, s *results.Summary) {
	t.Helper()
	if s.RecallCases != (results.Share{Used: 6, Total: 8}) {
		t.Errorf("recall is over %+v, want 6 of 8 cases", s.RecallCases)
	}
	for k, want := range map[string]float64{"1": 0.25, "2": 0.5, "3": 0.6667, "5": 0.6667} {
		if got := s.Recall[k]; got == nil || float64(*got) != want {
			t.Errorf("recall@%s is %v, want %v", k, got, want)
		}
	}
	if want := (results.AnswerTotals{Scored: 8, Answered: 6, Copied: 6, Correct: 2, CopiedCorrect: 1}); s.Answers != want {
		t.Errorf("answers %+v, want %+v", s.Answers, want)
	}
	if s.Counts.Failing != 6 || s.Counts.Passing != 2 || s.Counts.Inconclusive != 0 {
		t.Errorf("counts %+v, want 6 failing and 2 passing", s.Counts)
	}
}

func TestTravelPolicySweep(t *testing.T) {
	t.Parallel()
	loaded := loadExample(t, "travel-policy", "")
	loaded.Cases = slices.DeleteFunc(loaded.Cases, func(c experiments.LoadedCase) bool { return c.Case.ID != "long-haul-cabin" })
	words := func(n int) matrix.Budget { return matrix.Budget{N: n, Unit: "words"} }
	points, err := runner.Sweep(t.Context(), loaded, runner.Options{Registry: exampleRegistry(t), CacheDir: t.TempDir()},
		runner.Grid{K: []int{2, 3, 14}, Budgets: []matrix.Budget{words(50), words(80), words(400)}})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[[2]int]string{}
	for _, p := range points {
		if len(p.Evaluation.Defects) != 1 {
			t.Errorf("k %d, budget %s: %d defects, want one", p.K, p.Budget, len(p.Evaluation.Defects))
			continue
		}
		seen[[2]int{p.K, p.Budget.N}] = p.Evaluation.Defects[0].Name()
	}
	for at, want := range map[[2]int]string{
		{2, 50}: "retrieve/below-cutoff", {3, 50}: "assemble/budget-cut", {3, 80}: "generate/", {14, 400}: "generate/",
	} {
		if got := seen[at]; !strings.HasPrefix(got, want) {
			t.Errorf("k %d, budget %d words: %q, want %q", at[0], at[1], got, want)
		}
	}
}

// checkLeavePolicy holds the leave policy to what it is there to show: neither the superseded text beside the evidence nor
// the regional one wins.
func checkLeavePolicy(t *testing.T, s *results.Summary) {
	t.Helper()
	i := slices.IndexFunc(s.Cases, func(c results.CaseSummary) bool { return c.ID == "leave-policy-effective-date-014" })
	bundle, err := results.Open(s.Cases[i].Bundle)
	if err != nil {
		t.Fatal(err)
	}
	held := map[matrix.CellID]matrix.Answer{}
	for _, c := range bundle.Evaluation.Cells {
		if c.Scored > 0 {
			held[c.Cell] = c.Held
		}
	}
	for _, cell := range []matrix.CellID{"D/superseded:hr-leave-2024-section-2", "D/distractor:hr-leave-2026-austria", "D/drop-span:hr-leave-2026-section-2"} {
		if held[cell] != matrix.Yes {
			t.Errorf("%s: the expectation holds: %q, want yes", cell, held[cell])
		}
	}
}

// bundleBytes is what must not differ between two runs.
type bundleBytes struct {
	Plan, Features, Evaluation string
	Observed                   string // digest
}

func reopen(t *testing.T, s *results.Summary) map[string]bundleBytes {
	t.Helper()
	out := map[string]bundleBytes{}
	for i := range s.Cases {
		dir := s.Cases[i].Bundle
		bundle, err := results.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		digest, err := bundle.Observations.Digest()
		if err != nil {
			t.Fatal(err)
		}
		if digest != bundle.Evaluation.ObservationDigest {
			t.Errorf("%s: the verdict rests on observations %s, the bundle holds %s", dir, bundle.Evaluation.ObservationDigest, digest)
		}
		if again := evaluateAgain(t, bundle); again != label(&s.Cases[i]) {
			t.Errorf("%s: judged again from the bundle alone it is %q, and was %q", dir, again, label(&s.Cases[i]))
		}
		read := func(name string) string {
			data, err := results.ReadFile(dir, name)
			if err != nil {
				t.Fatal(err)
			}
			return string(data)
		}
		out[s.Cases[i].ID] = bundleBytes{read("plan.json"), read("features.json"), read("evaluation.json"), digest}
	}
	return out
}

// evaluateAgain judges what a bundle holds, with nothing else at hand.
func evaluateAgain(t *testing.T, b *results.Bundle) string {
	t.Helper()
	features, err := verdict.Extract(&b.Experiment, &b.Case, &b.Observations)
	if err != nil {
		t.Fatal(err)
	}
	evaluation, err := verdict.Evaluate(&b.Experiment, &b.Case, &b.Plan, &b.Observations, &features)
	if err != nil {
		t.Fatal(err)
	}
	again := results.Summarise(evaluation, &b.Experiment, &b.Observations, b.Path)
	return label(&again)
}

var (
	fenced = regexp.MustCompile("(?s)```text\n(.*?)```")
	took   = regexp.MustCompile(`in [0-9.]+ s`)
)

// checkReadme keeps the table in an example's README to what the command prints.
func checkReadme(example string) func(*testing.T, *results.Summary) {
	return func(t *testing.T, s *results.Summary) {
		t.Helper()
		readme, err := os.ReadFile(filepath.Join(examples, example, "README.md"))
		if err != nil {
			t.Fatal(err)
		}
		shown := fenced.FindSubmatch(readme)
		if shown == nil {
			t.Fatal("the README has no block that begins with ```text")
		}
		at := *s
		at.Bundles = "culprit-results/20261129T200000Z-k3f9qa"
		var printed bytes.Buffer
		if err := report.Run(&printed, &at, report.Options{}); err != nil {
			t.Fatal(err)
		}
		plain := func(s string) string { return took.ReplaceAllString(s, "in 0.5 s") }
		if diff := cmp.Diff(plain(printed.String()), plain(string(shown[1]))); diff != "" {
			t.Errorf("experiments/examples/%s/README.md shows another table than the command prints (-printed +shown):\n%s\nwhat is printed:\n%s", example, diff, plain(printed.String()))
		}
	}
}
