package runner_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/embedded"
	"github.com/culprit-rag/culprit/adapters/remote"
	"github.com/culprit-rag/culprit/experiments"
	"github.com/culprit-rag/culprit/results"
	"github.com/culprit-rag/culprit/runner"
)

// far is the embedded adapter, whose models do not run in this process as far as anybody is told. It counts what they are asked, and
// ends the run behind one call, when its answer is there.
type far struct {
	mu    sync.Mutex
	asked map[string]int
	made  int
	endAt int // 0: never
	end   context.CancelFunc
	fails func(answers int) error // of the generator, so many answers so far; nil: none does
}

func (f *far) ask(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked[what]++
}

func (f *far) answered() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.made++; f.made == f.endAt {
		f.end()
	}
}

type farGenerator struct {
	adapters.Generator
	f *far
}

func (g farGenerator) Describe(ctx context.Context) (adapters.GeneratorInfo, error) {
	info, err := g.Generator.Describe(ctx)
	info.Local, info.Deterministic = false, false
	return info, err
}

func (g farGenerator) Generate(ctx context.Context, req adapters.GenerateRequest) (adapters.GenerateResponse, error) {
	defer g.f.answered()
	g.f.ask(fmt.Sprint("generate ", req.Messages, *req.Seed))
	if g.f.fails != nil {
		if err := g.f.fails(g.f.made); err != nil {
			return adapters.GenerateResponse{}, err
		}
	}
	if strings.Contains(req.Messages[0].Text, askForQuery) {
		return adapters.GenerateResponse{Text: "mooring fee harbour", FinishReason: adapters.FinishStop}, nil
	}
	return g.Generator.Generate(ctx, req)
}

type farEmbedder struct {
	adapters.Embedder
	f *far
}

func (e farEmbedder) Describe(ctx context.Context) (adapters.EmbedderInfo, error) {
	info, err := e.Embedder.Describe(ctx)
	info.Local = false
	return info, err
}

func (e farEmbedder) Embed(ctx context.Context, req adapters.EmbedRequest) (adapters.EmbedResponse, error) {
	if req.Purpose == adapters.ForQuery {
		defer e.f.answered()
		e.f.ask(fmt.Sprint("embed ", req.Texts))
	}
	return e.Embedder.Embed(ctx, req)
}

type farReranker struct {
	adapters.Reranker
	f *far
}

func (r farReranker) Describe(ctx context.Context) (adapters.RerankerInfo, error) {
	info, err := r.Reranker.Describe(ctx)
	info.Local = false
	return info, err
}

func (r farReranker) Rerank(ctx context.Context, req adapters.RerankRequest) (adapters.RerankResponse, error) {
	defer r.f.answered()
	r.f.ask(fmt.Sprint("rerank ", req.Query, req.Documents))
	return r.Reranker.Rerank(ctx, req)
}

type farPipeline struct {
	adapters.Pipeline
	f *far
}

func (p farPipeline) Ask(ctx context.Context, req adapters.PipelineRequest) (adapters.Trace, error) {
	defer p.f.answered()
	return p.Pipeline.Ask(ctx, req)
}

func newFar(t *testing.T) (*far, *adapters.Registry) {
	t.Helper()
	far := &far{asked: map[string]int{}}
	f := embedded.Factory()
	generator, embedder, reranker := f.OpenGenerator, f.OpenEmbedder, f.OpenReranker
	judge := &judge{name: "judge-1", answer: fair}
	f.OpenGenerator = func(ctx context.Context, cfg adapters.Config) (adapters.Generator, error) {
		if strings.Contains(string(cfg.Settings), "judge-1") {
			return farGenerator{judge, far}, nil
		}
		g, err := generator(ctx, cfg)
		return farGenerator{g, far}, err
	}
	f.OpenEmbedder = func(ctx context.Context, cfg adapters.Config) (adapters.Embedder, error) {
		e, err := embedder(ctx, cfg)
		return farEmbedder{e, far}, err
	}
	f.OpenReranker = func(ctx context.Context, cfg adapters.Config) (adapters.Reranker, error) {
		r, err := reranker(ctx, cfg)
		return farReranker{r, far}, err
	}
	service := remote.Factory()
	open := service.OpenPipeline
	service.OpenPipeline = func(ctx context.Context, cfg adapters.Config) (adapters.Pipeline, error) {
		p, err := open(ctx, cfg)
		return farPipeline{p, far}, err
	}
	r, err := adapters.NewRegistry(f, service)
	if err != nil {
		t.Fatal(err)
	}
	return far, r
}

// session is one process's part of a run.
func (f *far) session(t *testing.T, loaded *experiments.Loaded, o runner.Options, endAt int) (*results.Summary, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f.made, f.endAt, f.end = 0, endAt, cancel
	copied := *loaded
	copied.Cases = slices.Clone(loaded.Cases)
	o.Invocation = &results.Invocation{}
	return runner.Run(ctx, &copied, o)
}

// TestResumeAsksNobodyTwice ends a run at every so many calls and goes on with it: of a generator that rewrites and answers, an embedder,
// a reranker and a judge, and of a service, nobody is asked anything that was answered before, and the bundles say what those of a run
// that nobody ended say.
func TestResumeAsksNobodyTwice(t *testing.T) {
	t.Parallel()
	models := strings.Replace(judgedFees(everything), "  generator: {", "  reranker: {adapter: embedded}\n  generator: {", 1)
	models = strings.Replace(models, "pipeline: {search: {mode: hybrid, k: 2}}", `pipeline:
  search: {mode: hybrid, k: 1}
  rerank: {top: 1}
  rewrite: {prompt: "Write one search query. {{query}}"}`, 1) + "limits: {concurrency: 1}\nruns: {repeats: 2}\n"
	const asks = `
pipeline: {search: {mode: keyword, k: 1}}
limits: {concurrency: 1}
runs: {repeats: 2}
cases:
  - id: c
    query: What does a berth cost for the night?
    evidence: {required: [{source: fee, span: 60 crowns}]}
    claims: [{id: fee, any: [60 crowns]}]
`
	const store = `
  store:
    adapter: embedded
    documents: [{id: fee, text: What a berth costs for the night is 60 crowns.}, {id: lunch, text: Lunch is at noon.}]
  generator: {adapter: embedded}`
	for name, text := range map[string]string{
		"models":                      models,
		"a service that tells all":    "backends:\n  service: {adapter: remote, url: URL, map: {response: '{answer: .a, candidates: .c, packed: .c}'}}" + store + asks,
		"a service that tells little": "backends:\n  service: {adapter: remote, url: URL, map: {response: '{answer: .a}'}}" + store + asks,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, registry := newFar(t)
			service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					w.WriteHeader(http.StatusNotFound)
					return
				}
				id := r.Header.Get("Idempotency-Key")
				if id == "" {
					t.Error("the service is not told which try it is")
				}
				_, call, _ := strings.Cut(id, "sha256:") // behind the execution, which is another in every run
				f.ask("service " + call)
				fmt.Fprint(w, `{"a":"It is 60 crowns.","c":[{"id":"fee","source":"fee","text":"What a berth costs for the night is 60 crowns."}]}`)
			}))
			t.Cleanup(service.Close)
			loaded := writtenFor(t, strings.ReplaceAll(text, "URL", service.URL+"/ask"), registry)
			o := runner.Options{Registry: registry, Out: t.TempDir(), CacheDir: t.TempDir()}
			whole, err := f.session(t, loaded, o, 0)
			if err != nil {
				t.Fatal(err)
			}
			calls := f.made
			before := shows(t, whole)
			asked := f.asked
			if calls < 8 {
				t.Fatalf("%d calls", calls)
			}
			for every := 3; every <= calls; every += max(1, every/2) { // the shared calls come first
				f.asked, o.Out, o.Resume = map[string]int{}, t.TempDir(), runner.Resuming{}
				sessions, doubts, extra := 0, 0, 0
				var summary *results.Summary
				for err := errors.New("begin"); err != nil; sessions++ {
					if sessions > 2*calls {
						t.Fatalf("every %d: it does not end", every)
					}
					summary, err = f.session(t, loaded, o, every)
					var doubt *runner.InDoubtError
					o.Resume.InDoubt = ""
					switch {
					case err == nil:
					case errors.As(err, &doubt):
						if f.made > 0 {
							t.Errorf("every %d: %d calls were made before anybody was asked", every, f.made)
						}
						doubts += len(doubt.Calls)
						o.Resume.InDoubt = results.InDoubtRetry
					case !errors.Is(err, context.Canceled):
						t.Fatalf("every %d: %v", every, err)
					}
					if ids, _ := results.Resumable(o.Out); len(ids) > 0 {
						o.Resume.Execution = ids[0]
					}
				}
				if every < calls/2 && sessions < 2 {
					t.Errorf("every %d: the run was never ended", every)
				}
				for what, n := range asked {
					if f.asked[what] < n {
						t.Errorf("every %d: asked %d times, and %d times by a run that nobody ended: %s", every, f.asked[what], n, what)
					}
					extra += f.asked[what] - n
				}
				// Each step of a call, such as a search that embeds, searches and reranks, is announced by itself.
				if extra > doubts {
					t.Errorf("every %d: %d calls were made again, and %d were in doubt", every, extra, doubts)
				}
				if diff := cmp.Diff(before, shows(t, summary)); diff != "" {
					t.Errorf("every %d (-undisturbed +resumed):\n%s", every, diff)
				}
			}
		})
	}
}

// shows is what must not depend on how often a run was ended.
func shows(t *testing.T, s *results.Summary) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, c := range s.Cases {
		b, err := results.Open(c.Bundle)
		if err != nil {
			t.Fatal(err)
		}
		judgeAgain(t, b)
		m := b.Manifest
		out[c.ID] = m.Status + encoded(t, m.Digests) + encoded(t, b.Features)
	}
	out["warnings"] = encoded(t, s.Warnings)
	return out
}

// TestResumeOfFailures: who goes on makes a call again that another try may mend, keeps one that failed for good unless told otherwise, and
// asks a backend that refused the key no more.
func TestResumeOfFailures(t *testing.T) {
	t.Parallel()
	text := fees + "limits: {concurrency: 1, retries: 0}\nruns: {repeats: 4, perturbations: none, repairs: false}\n"
	for _, test := range []struct {
		name   string
		kind   adapters.Kind
		retry  bool
		again  bool // the failed call is made again
		answer int  // calls of the generator, of 8
	}{
		{name: "transient", kind: adapters.KindTransient, again: true, answer: 8},
		{name: "for good", kind: adapters.KindPermanent, answer: 8},
		{name: "for good, and made again all the same", kind: adapters.KindPermanent, retry: true, again: true, answer: 8},
		{name: "the key", kind: adapters.KindUnauthorised, answer: 2},
		{name: "the key, and it was mended", kind: adapters.KindUnauthorised, retry: true, again: true, answer: 8},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f, registry := newFar(t)
			loaded := writtenFor(t, text, registry)
			o := runner.Options{Registry: registry, Out: t.TempDir(), CacheDir: t.TempDir()}
			generations := func() (n, most int) {
				for what, times := range f.asked {
					if strings.HasPrefix(what, "generate") {
						n, most = n+1, max(most, times)
					}
				}
				return n, most
			}
			failed := false
			f.fails = func(int) error {
				if n, _ := generations(); n == 2 && !failed {
					failed = true
					f.endAt = f.made + 1 // behind this call
					return adapters.NewError("embedded", "generate", test.kind, errors.New("as scripted"))
				}
				return nil
			}
			if _, err := f.session(t, loaded, o, 0); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			ids, err := results.Resumable(o.Out)
			if err != nil || len(ids) != 1 {
				t.Fatal(ids, err)
			}
			o.Resume = runner.Resuming{Execution: ids[0], RetryFailed: test.retry}
			if _, err := f.session(t, loaded, o, 0); err != nil {
				t.Fatal(err)
			}
			if n, most := generations(); n != test.answer || (most == 2) != test.again {
				t.Errorf("%d prompts were put, one of them up to %d times", n, most)
			}
		})
	}
}
