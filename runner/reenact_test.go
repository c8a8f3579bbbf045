package runner_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/embedded"
	"github.com/culprit-rag/culprit/adapters/remote"
	"github.com/culprit-rag/culprit/experiments"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/results"
	"github.com/culprit-rag/culprit/runner"
)

// sealed runs an experiment and returns the paths of its bundles.
func sealed(t *testing.T, loaded *experiments.Loaded, registry *adapters.Registry) (paths []string) {
	t.Helper()
	summary, err := runner.Run(t.Context(), loaded, runner.Options{Registry: registry, Out: t.TempDir(), CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range summary.Cases {
		paths = append(paths, c.Bundle)
	}
	return paths
}

// unopened is a registry of which no backend may be opened.
func unopened(t *testing.T) *adapters.Registry {
	t.Helper()
	factories := []adapters.Factory{embedded.Factory(), remote.Factory()}
	refuse := func(role, name string) error {
		t.Errorf("the %s %q was opened", role, name)
		return errors.New("not here")
	}
	for i := range factories {
		f := &factories[i]
		if f.OpenStore != nil {
			f.OpenStore = func(context.Context, adapters.Config) (adapters.VectorStore, error) {
				return nil, refuse("store", f.Name)
			}
		}
		if f.OpenEmbedder != nil {
			f.OpenEmbedder = func(context.Context, adapters.Config) (adapters.Embedder, error) {
				return nil, refuse("embedder", f.Name)
			}
		}
		if f.OpenGenerator != nil {
			f.OpenGenerator = func(context.Context, adapters.Config) (adapters.Generator, error) {
				return nil, refuse("generator", f.Name)
			}
		}
		if f.OpenReranker != nil {
			f.OpenReranker = func(context.Context, adapters.Config) (adapters.Reranker, error) {
				return nil, refuse("reranker", f.Name)
			}
		}
		if f.OpenPipeline != nil {
			f.OpenPipeline = func(context.Context, adapters.Config) (adapters.Pipeline, error) {
				return nil, refuse("service", f.Name)
			}
		}
	}
	r, err := adapters.NewRegistry(factories...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// servedFees is an experiment of a service, which a test holds against its own store.
func servedFees(url string) string {
	return fmt.Sprintf(`backends:
  service: {adapter: remote, url: %q}
  store:
    adapter: embedded
    documents:
      - {id: fee, text: %s}
      - {id: crane-fee, text: %s}
      - {id: lunch, text: %s}
  generator: {adapter: embedded}
pipeline: {search: {mode: keyword, k: 1}}
runs: {repeats: 2}
cases:
  - id: c
    query: What is the mooring fee for one night?
    evidence: {required: [{source: fee, span: 60 crowns}]}
    claims: [{id: fee, any: [60 crowns]}]
`, url+"/ask", berthText("fee"), berthText("crane-fee"), berthText("lunch"))
}

// A bundle in place of every backend gives the bundle again: the same plan, observations, features and evaluation. No backend is opened;
// those that were there have gone.
func TestReenact(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]func(t *testing.T) []string{
		"deterministic": func(t *testing.T) []string {
			return sealed(t, loadExample(t, "travel-policy", ""), exampleRegistry(t))
		},
		"every boundary": func(t *testing.T) []string {
			return sealed(t, loadExample(t, "handbook", ""), exampleRegistry(t))
		},
		"the whole store before and after": func(t *testing.T) []string {
			return sealed(t, written(t, fees+"checks: {fingerprint: complete}\n"), registry(t))
		},
		"among items of the store": func(t *testing.T) []string {
			return sealed(t, loadExample(t, "handbook", "", "runs.noise=[1, 2]"), exampleRegistry(t))
		},
		"auto": func(t *testing.T) []string {
			return sealed(t, written(t, flipping(fees, "0.3")+"runs: {repeats: auto}\n"), registry(t))
		},
		"service": func(t *testing.T) []string {
			service := httptest.NewServer(berths{"crane lift", []string{"crane-fee"}})
			defer service.Close()
			return sealed(t, written(t, servedFees(service.URL)), registry(t))
		},
		"service that cannot stop": func(t *testing.T) []string {
			service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					fmt.Fprint(w, `{"name": "berths", "version": "3"}`)
					return
				}
				berths{"crane lift", []string{"crane-fee"}}.ServeHTTP(w, r)
			}))
			defer service.Close()
			return sealed(t, written(t, servedFees(service.URL)), registry(t))
		},
		"service that is gone": func(t *testing.T) []string {
			service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					fmt.Fprint(w, `{"context":true,"retrieval":true}`)
					return
				}
				http.Error(w, "gone", http.StatusGone)
			}))
			defer service.Close()
			return sealed(t, written(t, servedFees(service.URL)), registry(t))
		},
		"repeated": func(t *testing.T) []string { return golden(t, "repeated") },
		"judge":    func(t *testing.T) []string { return golden(t, "judge") },
		"rewrite":  func(t *testing.T) []string { return golden(t, "rewrite") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, path := range of(t) {
				recording, now := reenacted(t, path)
				was, is := recording.Manifest.Digests, now.Manifest.Digests
				if was != is {
					t.Errorf("case %s:\ngot  %+v\nwant %+v", recording.Case.ID, is, was)
				}
				replay, err := recording.Reenacted(now)
				if err != nil || !replay.Same {
					t.Errorf("case %s: %q differ: %+v, error %v", recording.Case.ID, replay.Differ, replay.Changes, err)
				}
				marked(t, recording, now)
			}
		})
	}
}

func golden(t *testing.T, name string) []string {
	t.Helper()
	loaded, registry := goldenBundles[name](t)
	return sealed(t, loaded, registry)
}

// reenacted enacts a bundle again, and returns what came of it.
func reenacted(t *testing.T, path string) (*results.Recording, *results.Bundle) {
	t.Helper()
	recording, err := results.OpenRecording(path)
	if err != nil {
		t.Fatal(err)
	}
	summary, err := runner.Reenact(t.Context(), recording, runner.Options{Registry: unopened(t), Out: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	now, err := results.Open(summary.Cases[0].Bundle)
	if err != nil {
		t.Fatal(err)
	}
	verified(t, now.Path)
	asPublished(t, now.Path)
	return recording, now
}

// marked holds a bundle that was made of a recording to saying so everywhere.
func marked(t *testing.T, recording *results.Recording, now *results.Bundle) {
	t.Helper()
	if of := now.Environment.ReenactedOf; of != recording.ManifestDigest {
		t.Errorf("its environment says that it is re-enacted of %q, and not of %q", of, recording.ManifestDigest)
	}
	for i := range now.Observations.Retrievals {
		if r := &now.Observations.Retrievals[i]; recording.Past(r.CallKey) != nil && !r.FromJournal {
			t.Errorf("the retrieval of %s looks as if it was made", r.Cell)
		}
	}
	for i := range now.Observations.Trials {
		if tr := &now.Observations.Trials[i]; tr.Attempts > 0 && !tr.FromJournal {
			t.Errorf("trial %d of %s looks as if it was made", tr.Rep, tr.Cell)
		}
	}
	for i := range now.Observations.Judgements {
		if j := &now.Observations.Judgements[i]; j.Attempts > 0 && !j.FromJournal {
			t.Errorf("judgement %s of %s looks as if it was made", j.Kind, j.Cell)
		}
	}
	journal, err := results.ReadJournal(now.Path)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range journal.Records {
		if r.CallKey != "" && r.From != recording.Manifest.ExecID {
			t.Errorf("the journal has call %s of %q", r.CallKey, r.From)
		}
	}
	out := filepath.Dir(filepath.Dir(now.Path))
	ledger, err := results.ReadLedger(out)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := ledger.Records[0], ledger.Records[1]
	if begin.ReenactedOf != recording.ManifestDigest || end.Type != results.LedgerEnd || end.Calls != 0 || end.Bundles != 1 {
		t.Errorf("the ledger says %+v", ledger.Records)
	}
	if s, err := results.ReadSummary(out, now.Manifest.ExecID); err != nil || s.ReenactedOf != recording.ManifestDigest {
		t.Errorf("the summary says that it is re-enacted of %q: %v", s.ReenactedOf, err)
	}
	if entries, err := os.ReadDir(filepath.Join(out, ".work")); err == nil && len(entries) > 0 {
		t.Errorf("unfinished work is left: %v", entries)
	}
}

// A call that the bundle does not hold ends it, and is named. Nothing is sealed.
func TestReenactMisses(t *testing.T) {
	t.Parallel()
	judged, rewritten := golden(t, "judge")[0], golden(t, "rewrite")[0]
	for name, of := range map[string]struct {
		path string
		take func(*results.Recording) (key string)
	}{
		"trial": {judged, func(r *results.Recording) string {
			i := slices.IndexFunc(r.Observations.Trials, func(t matrix.Trial) bool { return t.Cell == matrix.CellB && t.Attempts > 0 })
			key := r.Observations.Trials[i].CallKey
			r.Observations.Trials = slices.Delete(r.Observations.Trials, i, i+1)
			return key
		}},
		"retrieval": {judged, func(r *results.Recording) string {
			key := r.Observations.Retrievals[0].CallKey
			r.Observations.Retrievals = r.Observations.Retrievals[1:]
			return key
		}},
		"judgement": {judged, func(r *results.Recording) string {
			i := slices.IndexFunc(r.Observations.Judgements, func(j matrix.Judgement) bool { return j.SameAs == "" })
			key := r.Observations.Judgements[i].CallKey
			r.Observations.Judgements = slices.Delete(r.Observations.Judgements, i, i+1)
			return key
		}},
		"rewriting": {rewritten, func(r *results.Recording) string {
			key := r.Observations.Rewriting.CallKey
			r.Observations.Rewriting = nil
			return key
		}},
		"another prompt": {judged, func(r *results.Recording) string {
			r.Experiment.Pipeline.Prompt.User = "Otherwise: " + r.Experiment.Pipeline.Prompt.User
			return "generate of cell"
		}},
		"a search of another depth": {judged, func(r *results.Recording) string {
			r.Experiment.Pipeline.Search.Depth += 7
			return `retrieve of cell "C"`
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			recording, err := results.OpenRecording(of.path)
			if err != nil {
				t.Fatal(err)
			}
			key, out := of.take(recording), t.TempDir()
			_, err = runner.Reenact(t.Context(), recording, runner.Options{Registry: unopened(t), Out: out})
			if !errors.Is(err, runner.ErrNotRecorded) || !strings.Contains(err.Error(), key) || adapters.KindOf(err) != adapters.KindNotFound {
				t.Errorf("got %v, want an error that names %s", err, key)
			}
			if bundles, err := results.FindBundles(out, out); !errors.Is(err, results.ErrNotFound) {
				t.Errorf("%q: %v", bundles, err)
			}
		})
	}
}

// TestReenactRefusesForgery: a bundle of elsewhere whose experiment no loader would let through ends with an error, and at once.
func TestReenactRefusesForgery(t *testing.T) {
	t.Parallel()
	loaded := writtenFor(t, fees, registry(t))
	path := sealed(t, loaded, registry(t))[0]
	for name, test := range map[string]struct {
		forge func(e *matrix.Experiment)
		want  string
	}{
		"nothing at once":    {func(e *matrix.Experiment) { e.Limits.Concurrency = 0 }, "limits.concurrency is 0"},
		"too much at once":   {func(e *matrix.Experiment) { e.Limits.Concurrency = 2_000_000_000 }, "limits.concurrency is 2000000000"},
		"nobody is asked":    {func(e *matrix.Experiment) { e.Backends.Generator = nil }, "neither backends.generator nor"},
		"nothing was forged": {func(*matrix.Experiment) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			recording, err := results.OpenRecording(path)
			if err != nil {
				t.Fatal(err)
			}
			test.forge(&recording.Experiment)
			_, err = runner.Reenact(t.Context(), recording, runner.Options{Out: t.TempDir(), CacheDir: t.TempDir()})
			if got := fmt.Sprint(err); test.want == "" && err != nil || !strings.Contains(got, test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}
