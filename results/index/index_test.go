package index_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/embedded"
	"github.com/culprit-rag/culprit/adapters/openai"
	"github.com/culprit-rag/culprit/experiments"
	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/results"
	"github.com/culprit-rag/culprit/results/index"
	"github.com/culprit-rag/culprit/runner"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// example runs the travel policy and returns one of its bundles, of a case that fails.
func example(tb testing.TB) *results.Bundle {
	tb.Helper()
	registry, err := adapters.NewRegistry(embedded.Factory(), openai.Factory())
	if err != nil {
		tb.Fatal(err)
	}
	loaded, err := experiments.Load("../../experiments/examples/travel-policy", experiments.Options{Schemas: registry.Schemas()})
	if err != nil {
		tb.Fatal(err)
	}
	loaded.Cases = slices.DeleteFunc(loaded.Cases, func(c experiments.LoadedCase) bool { return c.Case.ID != "long-haul-cabin" })
	summary, err := runner.Run(tb.Context(), loaded, runner.Options{Registry: registry, Out: tb.TempDir(), CacheDir: tb.TempDir()})
	if err != nil {
		tb.Fatal(err)
	}
	b, err := results.Open(summary.Cases[0].Bundle)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// execute makes an execution that holds the bundle under some ids.
func execute(tb testing.TB, out string, of *results.Bundle, ids ...string) *results.Execution {
	tb.Helper()
	e, err := results.NewExecution(out, "travel-policy", time.Date(2026, 11, 29, 20, 0, 0, 0, time.UTC))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := e.Close(); err != nil {
			tb.Error(err)
		}
	})
	for _, id := range ids {
		seal(tb, e, of, id)
	}
	return e
}

func seal(tb testing.TB, e *results.Execution, of *results.Bundle, id string) {
	tb.Helper()
	b := *of
	b.Case.ID, b.Evaluation.Case, b.Plan.Case = id, id, id
	w, err := e.Case(&b.Case, "", "sha256:"+strings.Repeat("0", 64))
	if err == nil {
		err = w.Plan(&b.Plan)
	}
	if err == nil {
		_, err = w.Seal(b)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

func open(tb testing.TB, out string) *index.Index {
	tb.Helper()
	x, err := index.Open(tb.Context(), out, nil)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := x.Close(); err != nil {
			tb.Error(err)
		}
	})
	return x
}

// all is everything that an index holds, by case.
func all(tb testing.TB, x *index.Index) map[string][]results.Entry {
	tb.Helper()
	ids, err := x.Cases(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	held := map[string][]results.Entry{}
	for _, id := range ids {
		if held[id], err = x.Case(tb.Context(), id, 0); err != nil {
			tb.Fatal(err)
		}
	}
	return held
}

// What is found step by step is what is found anew.
func TestIndexFollowsTheFolder(t *testing.T) {
	t.Parallel()
	b, out := example(t), t.TempDir()
	same := func(step string, executions, bundles int) {
		t.Helper()
		stepwise := all(t, open(t, out))
		anew, err := index.Rebuild(t.Context(), out, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer anew.Close()
		if diff := cmp.Diff(all(t, anew), stepwise); diff != "" {
			t.Errorf("%s (-anew +step by step):\n%s", step, diff)
		}
		if n, of, err := anew.Size(t.Context()); err != nil || n != bundles || of != executions {
			t.Errorf("%s: %d bundles of %d executions, %v", step, n, of, err)
		}
	}
	same("an empty folder", 0, 0)
	first := execute(t, out, b, "a", "B/b")
	same("one execution", 1, 2)
	second := execute(t, out, b, "a")
	same("another", 2, 3)
	seal(t, second, b, "c")
	same("a case more", 2, 4)
	if err := os.Remove(filepath.Join(second.Dir(), "a.bundle.zip")); err != nil {
		t.Fatal(err)
	}
	same("a case less", 2, 3)
	if err := os.RemoveAll(first.Dir()); err != nil {
		t.Fatal(err)
	}
	same("an execution less", 1, 1)
	info, err := os.Stat(filepath.Join(out, index.File))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the index is open to others: %v, %v", info.Mode(), err)
	}
}

func TestEntryIsWhatTheBundleSays(t *testing.T) {
	t.Parallel()
	b, out := example(t), t.TempDir()
	first, second := execute(t, out, b, "a"), execute(t, out, b, "a")
	entries, err := open(t, out).Case(t.Context(), "a", 1)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	e := entries[0]
	kept, err := results.Open(e.Bundle)
	if err != nil {
		t.Fatal(err)
	}
	m := kept.Manifest
	want := results.Entry{
		Case: "a", Execution: second.ID(), Bundle: filepath.Join(second.Dir(), "a.bundle.zip"), Created: m.Created, Status: "complete", Manifest: e.Manifest,
		CaseDigest: m.CaseDigest, Pins: m.Digests.Pins, Observation: m.Digests.Observation, Ruleset: m.Evaluator.Ruleset,
		Outcome: verdict.Fail, Defects: []string{"retrieve/below-cutoff"}, Grade: b.Evaluation.Defects[0].Grade, Production: results.Counted{Scored: 1},
	}
	if diff := cmp.Diff(want, e); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	manifest, err := results.ReadBrief(e.Bundle)
	if err != nil || e.Manifest != manifest.ManifestSum {
		t.Errorf("manifest %q, %v", e.Manifest, err)
	}
	of, err := open(t, out).Execution(t.Context(), first.ID())
	if err != nil || len(of) != 1 || of[0].Execution != first.ID() {
		t.Errorf("of the first execution: %+v, %v", of, err)
	}
}

// What is no bundle is told, and the others are found.
func TestIndexTellsWhatItCannotRead(t *testing.T) {
	t.Parallel()
	b, out := example(t), t.TempDir()
	first, second := execute(t, out, b, "a", "b"), execute(t, out, b, "c")
	data, err := os.ReadFile(filepath.Join(second.Dir(), "c.bundle.zip"))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"b": data[:len(data)/2], "c": data, "d": bytes.Replace(data, []byte(`"outcome":"fail"`), []byte(`"outcome":"pass"`), 1)} {
		if err := os.WriteFile(filepath.Join(first.Dir(), name+".bundle.zip"), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	x := open(t, out)
	unread, err := x.Unread(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, u := range unread {
		got = append(got, string(u.Execution)+" "+u.File+" "+u.Why)
	}
	want := []string{"b.bundle.zip ", "c.bundle.zip it is of execution", "d.bundle.zip "}
	if len(got) != len(want) || !slices.EqualFunc(got, want, func(g, w string) bool { return strings.HasPrefix(g, string(first.ID())+" "+w) }) {
		t.Errorf("got %q", got)
	}
	if n, _, err := x.Size(t.Context()); err != nil || n != 2 {
		t.Errorf("%d bundles, %v", n, err)
	}
}

// An index is never needed: one that is damaged, of another format or that cannot be kept is made again.
func TestIndexIsMadeAgain(t *testing.T) {
	t.Parallel()
	b, out := example(t), t.TempDir()
	execute(t, out, b, "a", "b")
	want := all(t, open(t, out))
	path := filepath.Join(out, index.File)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"no database": []byte("hello"), "empty": {}, "cut": whole[:len(whole)/2], "of another format": bytes.Replace(whole, whole[60:64], []byte{0, 0, 0, 99}, 1),
	} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, all(t, open(t, out))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		return // root writes everywhere
	}
	if err := os.Chmod(out, 0o500); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(out, 0o700) //nolint:errcheck // for the removal
	x := open(t, out)
	if diff := cmp.Diff(want, all(t, x)); diff != "" || x.Kept() {
		t.Errorf("in memory, kept %t (-want +got):\n%s", x.Kept(), diff)
	}
}

// The time for one bundle to be read into an index, and to look a case up in it. CULPRIT_BENCH_BUNDLES sets the size.
func BenchmarkIndex(b *testing.B) {
	n := 500
	if set := os.Getenv("CULPRIT_BENCH_BUNDLES"); set != "" {
		if _, err := fmt.Sscan(set, &n); err != nil {
			b.Fatal(err)
		}
	}
	bundle, out := example(b), b.TempDir()
	const perExecution = 100
	for first := 0; first < n; first += perExecution {
		ids := make([]string, min(perExecution, n-first))
		for i := range ids {
			ids[i] = fmt.Sprintf("case-%d", i)
		}
		execute(b, out, bundle, ids...)
	}
	b.Run("rebuild", func(b *testing.B) {
		for b.Loop() {
			x, err := index.Rebuild(b.Context(), out, nil)
			if err != nil {
				b.Fatal(err)
			}
			if err := x.Close(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/bundle")
	})
	b.Run("open-and-look-up", func(b *testing.B) {
		open(b, out) // what was sealed in the last seconds is read once more
		for b.Loop() {
			x, err := index.Open(b.Context(), out, nil)
			if err != nil {
				b.Fatal(err)
			}
			if entries, err := x.Case(b.Context(), "case-7", 20); err != nil || len(entries) == 0 {
				b.Fatal(len(entries), err)
			}
			if err := x.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
