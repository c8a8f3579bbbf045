package runner_test

import (
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/embedded"
	"github.com/culprit-rag/culprit/adapters/openai"
	"github.com/culprit-rag/culprit/adapters/remote"
	"github.com/culprit-rag/culprit/adapters/weaviate/weaviatetest"
	"github.com/culprit-rag/culprit/experiments"
	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/results"
	"github.com/culprit-rag/culprit/runner"
)

var update = flag.Bool("update", false, "write the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(weaviatetest.Main{M: m}) }

func registry(t *testing.T) *adapters.Registry {
	t.Helper()
	r, err := adapters.NewRegistry(embedded.Factory(), openai.Factory(), remote.Factory())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// change is one way to load a file: a profile, overrides, or both.
type change struct {
	profile string
	set     []string
}

func load(t *testing.T, file string, c change) *experiments.Loaded {
	t.Helper()
	loaded, err := experiments.Load(file, experiments.Options{Schemas: registry(t).Schemas(), Profile: c.profile, Set: c.set})
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return loaded
}

// run runs a loaded experiment into a folder of its own, and returns its bundles by case. Each bundle is opened again, and
// judging it again must give the same bytes.
func run(t *testing.T, loaded *experiments.Loaded) map[string]*results.Bundle {
	t.Helper()
	return runWith(t, loaded, registry(t))
}

func runWith(t *testing.T, loaded *experiments.Loaded, registry *adapters.Registry) map[string]*results.Bundle {
	t.Helper()
	summary, err := runner.Run(t.Context(), loaded, runner.Options{Registry: registry, Out: t.TempDir(), CacheDir: t.TempDir()})
	if err != nil {
		t.Fatalf("%s: %v", loaded.Path, err)
	}
	bundles := map[string]*results.Bundle{}
	for _, c := range summary.Cases {
		bundle, err := results.Open(c.Bundle)
		if err != nil {
			t.Fatal(err)
		}
		judgeAgain(t, bundle)
		verified(t, c.Bundle)
		asPublished(t, c.Bundle)
		bundles[c.ID] = bundle
	}
	return bundles
}

func judgeAgain(t *testing.T, b *results.Bundle) {
	t.Helper()
	features, err := verdict.Extract(&b.Experiment, &b.Case, &b.Observations)
	if err != nil {
		t.Fatal(err)
	}
	evaluation, err := verdict.Evaluate(&b.Experiment, &b.Case, &b.Plan, &b.Observations, &features)
	if err != nil {
		t.Fatal(err)
	}
	if kept, again := encoded(t, b.Evaluation), encoded(t, evaluation); kept != again {
		t.Errorf("case %s: judged again from its bundle:\n%s\nwant:\n%s", b.Case.ID, again, kept)
	}
}

// verified holds a bundle to its seal, and to itself.
func verified(t *testing.T, path string) {
	t.Helper()
	v := results.Verify(path, results.Policy{})
	for _, p := range v.Problems {
		t.Errorf("%s: %s: %s", path, p.Step, p)
	}
	if v.State != results.StateIntact || !v.Derived || v.InDoubt > 0 {
		t.Errorf("%s: %+v", path, v)
	}
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// verdictOf writes a verdict as the tag "expected" does: the defects, or the outcome with its qualifier.
func verdictOf(e verdict.Evaluation) string {
	var names []string
	for _, d := range e.Defects {
		names = append(names, d.Name())
	}
	if len(names) > 0 {
		return strings.Join(names, ", ")
	}
	if e.Qualifier != "" {
		return string(e.Outcome) + "/" + e.Qualifier
	}
	return string(e.Outcome)
}

// explained is what a failing comparison shows of a verdict.
func explained(e verdict.Evaluation) string {
	lines := []string{string(e.Outcome) + ": " + e.Summary, e.Story}
	for _, d := range e.Defects {
		lines = append(lines, d.Name()+": "+strings.Join(d.Evidence, " | "))
	}
	for _, m := range e.Missing {
		lines = append(lines, "missing: "+m)
	}
	for _, f := range e.Findings {
		lines = append(lines, "finding: "+f)
	}
	for _, c := range e.Cells {
		lines = append(lines, encodedLine(c))
	}
	return strings.Join(lines, "\n    ")
}

func encodedLine(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// consistent holds every verdict to what must be true of all of them.
func consistent(t *testing.T, e verdict.Evaluation) {
	t.Helper()
	if (e.Outcome == verdict.Fail || e.Outcome == verdict.InvalidFixture) != (len(e.Defects) > 0) {
		t.Errorf("case %s: outcome %s with %d defects", e.Case, e.Outcome, len(e.Defects))
	}
	if (e.Outcome == verdict.Inconclusive || e.Outcome == verdict.Environment) != (len(e.Missing) > 0) {
		t.Errorf("case %s: outcome %s, missing %q", e.Case, e.Outcome, e.Missing)
	}
	for _, d := range e.Defects {
		if len(d.Evidence) == 0 || d.Decided == "" || d.TryFirst == "" || d.Wasted == "" || d.Grade == "" {
			t.Errorf("case %s: defect %s lacks evidence or advice: %+v", e.Case, d.Name(), d)
		}
		i := slices.IndexFunc(e.Stages, func(s verdict.StageState) bool { return s.Stage == d.Stage })
		if i < 0 || e.Stages[i].State != verdict.Broken {
			t.Errorf("case %s: stage %s has a defect and is not broken", e.Case, d.Stage)
		}
	}
	for _, s := range e.Stages {
		if s.State == verdict.Clear && s.Tested == "" || s.State == verdict.Unobserved && s.Tested == "" {
			t.Errorf("case %s: stage %s is %s and does not say why", e.Case, s.Stage, s.State)
		}
	}
	for _, c := range e.Cells {
		if c.Planned != c.Scored+c.Unscored+c.Failed+c.NotRun {
			t.Errorf("case %s: cell %s does not add up: %+v", e.Case, c.Cell, c)
		}
	}
	if e.Summary == "" || e.Story == "" {
		t.Errorf("case %s: no summary or no story", e.Case)
	}
}

func compareGolden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not what the tests say now; run them with -update\ngot:\n%s", file, got)
	}
}
