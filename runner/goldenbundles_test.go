package runner_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/experiments"
	"github.com/culprit-rag/culprit/results"
	"github.com/culprit-rag/culprit/runner"
)

// flipping is the experiment with a generator that is wrong now and then.
func flipping(text, rate string) string {
	return strings.Replace(text, "spots: [forty crowns]", "spots: [forty crowns], flip: {rate: "+rate+", to: refuse}", 1)
}

// goldenBundles are small and unlike each other. Each is made once, by the version that first had its kind, and kept: later versions
// must verify and replay it for ever (results.TestGoldenBundles).
var goldenBundles = map[string]func(t *testing.T) (*experiments.Loaded, *adapters.Registry){
	"pass": func(t *testing.T) (*experiments.Loaded, *adapters.Registry) { return written(t, fees), registry(t) },
	"index-missing": func(t *testing.T) (*experiments.Loaded, *adapters.Registry) {
		return load(t, "../experiments/cases/IX-03.yaml", change{}), registry(t)
	},
	"noisy": func(t *testing.T) (*experiments.Loaded, *adapters.Registry) {
		return written(t, flipping(fees, "0.3")), registry(t)
	},
	"repeated": func(t *testing.T) (*experiments.Loaded, *adapters.Registry) {
		text := strings.Replace(flipping(fees, "0.6"), "k: 2", "k: 1", 1)
		return written(t, text+"runs: {repeats: 4, perturbations: [drop-span, closed-book]}\n"), registry(t)
	},
	"judge": func(t *testing.T) (*experiments.Loaded, *adapters.Registry) {
		return written(t, judgedFees(everything)), judgedBy(t, &judge{answer: fair})
	},
	"rewrite": func(t *testing.T) (*experiments.Loaded, *adapters.Registry) {
		return load(t, "testdata/switches/rewrite.yaml", change{set: []string{"runs.repeats=1"}}), registry(t)
	},
	"partial": budgeted(7),
	"aborted": budgeted(4),
}

// budgeted ends behind so many calls. What was not made by then is not run.
func budgeted(calls int) func(t *testing.T) (*experiments.Loaded, *adapters.Registry) {
	return func(t *testing.T) (*experiments.Loaded, *adapters.Registry) {
		t.Helper()
		_, registry := newFar(t)
		return writtenFor(t, fmt.Sprintf("%slimits: {concurrency: 1, budget: {calls: %d}}\nruns: {repeats: 2, perturbations: [drop-span, gold-middle]}\n", fees, calls), registry), registry
	}
}

// goldenOf makes the bundle of a golden run. One that its budget has ended is sealed as it is.
func goldenOf(t *testing.T, loaded *experiments.Loaded, registry *adapters.Registry) string {
	t.Helper()
	o := runner.Options{Registry: registry, Out: t.TempDir(), CacheDir: t.TempDir(), Invocation: &results.Invocation{}}
	first := *loaded
	summary, err := runner.Run(t.Context(), &first, o)
	if errors.Is(err, runner.ErrBudget) {
		ids, left := results.Resumable(o.Out)
		if left != nil || len(ids) != 1 {
			t.Fatalf("%v to go on with: %v", ids, left)
		}
		o.Resume = runner.Resuming{Execution: ids[0], Seal: true}
		summary, err = runner.Run(t.Context(), loaded, o)
	}
	if err != nil {
		t.Fatal(err)
	}
	path := summary.Cases[0].Bundle
	if v := results.Verify(path, results.Policy{Partial: true}); v.State != results.StateIntact || !v.Derived {
		t.Errorf("%+v", v)
	}
	return path
}

// TestGoldenBundlesAreThere makes those that are missing with -update, and never writes over one.
func TestGoldenBundlesAreThere(t *testing.T) {
	t.Parallel()
	for name, of := range goldenBundles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			golden := filepath.Join("..", "results", "testdata", "golden", name+".bundle.zip")
			_, err := os.Stat(golden)
			if err == nil {
				return
			}
			if !errors.Is(err, fs.ErrNotExist) || !*update {
				t.Fatalf("%v: make what is missing with -update", err)
			}
			loaded, registry := of(t)
			data, err := os.ReadFile(goldenOf(t, loaded, registry))
			if err == nil {
				err = os.MkdirAll(filepath.Dir(golden), 0o755)
			}
			if err == nil {
				err = os.WriteFile(golden, data, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

// A bundle is small enough to be sent: with fifty trials, each with a context, a prompt and an answer of its own, under 300 kB.
func TestBundleOfFiftyTrials(t *testing.T) {
	t.Parallel()
	loaded := written(t, flipping(fees, "0.5")+"runs: {repeats: 10}\n")
	summary, err := runner.Run(t.Context(), loaded, runner.Options{Registry: registry(t), Out: t.TempDir(), CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	b, err := results.Open(summary.Cases[0].Bundle)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(summary.Cases[0].Bundle)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(b.Observations.Trials); n < 50 || info.Size() >= 300_000 {
		t.Errorf("%d bytes for %d trials", info.Size(), n)
	}
	t.Logf("%d bytes for %d trials", info.Size(), len(b.Observations.Trials))
}
