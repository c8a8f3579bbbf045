package runner_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/embedded"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

// veiledStore is the embedded store with some of its answers kept back.
type veiledStore struct {
	adapters.VectorStore
	scanStops   bool // after the first item
	countsMore  bool
	hidesVector bool
	inexact     bool
	failsSearch func(adapters.SearchRequest) bool
	restless    bool // another fingerprint each time
	described   atomic.Int64
}

var errVeiled = errors.New("kept back by the test")

func veiled(op string) error {
	return &adapters.Error{Adapter: embedded.Name, Op: op, Kind: adapters.KindPermanent, Err: errVeiled}
}

func (s *veiledStore) Describe(ctx context.Context) (adapters.StoreInfo, error) {
	info, err := s.VectorStore.Describe(ctx)
	if s.restless {
		info.Fingerprint += strings.Repeat("'", int(s.described.Add(1)))
	}
	return info, err
}

func (s *veiledStore) Capabilities() adapters.StoreCapabilities {
	c := s.VectorStore.Capabilities()
	c.Vectors = c.Vectors && !s.hidesVector
	c.Exact = c.Exact && !s.inexact
	return c
}

func (s *veiledStore) Search(ctx context.Context, req adapters.SearchRequest) (adapters.SearchResponse, error) {
	if s.failsSearch != nil && s.failsSearch(req) {
		return adapters.SearchResponse{}, veiled("search")
	}
	return s.VectorStore.Search(ctx, req)
}

func (s *veiledStore) Scan(ctx context.Context, req adapters.ScanRequest, visit func(adapters.Item) error) (adapters.ScanReport, error) {
	seen := 0
	report, err := s.VectorStore.Scan(ctx, req, func(item adapters.Item) error {
		if seen++; s.scanStops && seen > 1 {
			return veiled("scan")
		}
		return visit(item)
	})
	if s.countsMore {
		report.Counted++
	}
	return report, err
}

func veil(t *testing.T, how func(*veiledStore)) *adapters.Registry {
	t.Helper()
	factory := embedded.Factory()
	open := factory.OpenStore
	factory.OpenStore = func(ctx context.Context, cfg adapters.Config) (adapters.VectorStore, error) {
		store, err := open(ctx, cfg)
		if err != nil {
			return nil, err
		}
		v := &veiledStore{VectorStore: store}
		how(v)
		return v, nil
	}
	r, err := adapters.NewRegistry(factory)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const port = `
  store:
    adapter: embedded
    documents:
      - {id: a, text: Boats are counted at sunset., metadata: {kind: rule}}
      - {id: b, text: "The fee, the fee, the fee.", metadata: {kind: rule}}
      - {id: gold, text: In this port the fee is forty crowns., metadata: {kind: tariff}}
`

const portCase = `
cases:
  - {id: c, query: what is the fee, evidence: {required: [{source: gold, span: forty crowns, text: In this port the fee is forty crowns.}]}, claims: [{id: fee, any: [forty crowns]}]}
`

// TestHalfAScanProvesNothing: what is said of a scan that stopped is not what is said of a whole one.
func TestHalfAScanProvesNothing(t *testing.T) {
	t.Parallel()
	r := veil(t, func(s *veiledStore) { s.scanStops = true })
	p := probe(t, "backends:"+port+"    faults: {omit: [gold]}\n  generator: {adapter: embedded}\npipeline: {search: {mode: keyword, k: 1}}"+portCase, r)
	check := checkNamed(t, p, "corpus_hit")
	if check.Result != matrix.Unknown || !strings.Contains(check.Evidence, "in none that was read; ") || !strings.Contains(check.Evidence, "and not all") {
		t.Errorf("corpus_hit is %s: %q", check.Result, check.Evidence)
	}
}

// TestMiscountIsNoRest: a fingerprint that is the same before and after does not say that nothing came or went in between.
func TestMiscountIsNoRest(t *testing.T) {
	t.Parallel()
	text := "backends:" + port + "  generator: {adapter: embedded}\npipeline: {search: {mode: keyword, k: 1}}" + portCase
	p := probe(t, text, veil(t, func(s *veiledStore) { s.countsMore = true }))
	check := checkNamed(t, p, "index_stable")
	if check.Result != matrix.Unknown || !strings.Contains(check.Evidence, "3 items were read, the store counts 4") {
		t.Errorf("index_stable is %s: %q", check.Result, check.Evidence)
	}
}

// TestUnknownIsSaid keeps one observation back and expects that no stage is blamed where it would have decided, and that the
// verdict names it; and that the verdict stands where it does not matter.
func TestUnknownIsSaid(t *testing.T) {
	t.Parallel()
	const keyword = "  generator: {adapter: embedded, min_overlap: 1}\npipeline: {search: {mode: keyword, k: 1}}"
	for _, test := range []struct {
		name, text, expected, missing string
		veil                          func(*veiledStore)
	}{
		{
			name: "the scan stops before the gold", expected: "inconclusive", missing: "index: a complete scan of the store: the scan stopped",
			text: "backends:" + port + "    faults: {omit: [gold]}\n" + keyword + portCase,
			veil: func(s *veiledStore) { s.scanStops = true },
		},
		{
			name: "the scan reads fewer items than are counted", expected: "inconclusive", missing: "index: a complete scan of the store: 2 items were read, the store counts 3",
			text: "backends:" + port + "    faults: {omit: [gold]}\n" + keyword + portCase,
			veil: func(s *veiledStore) { s.countsMore = true },
		},
		{
			name: "the scan stops, and the search returns the gold all the same", expected: "retrieve/below-cutoff",
			text: "backends:" + port + keyword + portCase,
			veil: func(s *veiledStore) { s.scanStops = true },
		},
		{
			name: "the store gives no vectors", expected: "inconclusive", missing: "embed: the stored vectors",
			text: "backends:" + port + "  embedder: {adapter: embedded}\n  generator: {adapter: embedded, min_overlap: 1}\npipeline: {search: {mode: dense, k: 1}}" + portCase,
			veil: func(s *veiledStore) { s.hidesVector = true },
		},
		{
			name: "the store cannot search exactly, and the gold has a rank", expected: "retrieve/below-cutoff",
			text: "backends:" + port + "  embedder: {adapter: embedded}\n  generator: {adapter: embedded, min_overlap: 1}\npipeline: {search: {mode: dense, k: 1}}" + portCase,
			veil: func(s *veiledStore) { s.inexact = true },
		},
		{
			name: "the store cannot search exactly, and the gold is absent", expected: "inconclusive", missing: "retrieve: the same search with an exact search (C/exact)",
			text: "backends:" + port + "    faults: {approximate: [gold]}\n  embedder: {adapter: embedded}\n  generator: {adapter: embedded, min_overlap: 1}\npipeline: {search: {mode: dense, k: 2}}" + portCase,
			veil: func(s *veiledStore) { s.inexact = true },
		},
		{
			name: "the store cannot search exactly, and the gold by itself scores worse than what is passed on", expected: "retrieve/below-cutoff",
			text: "backends:" + port + "    faults: {approximate: [gold]}\n  embedder: {adapter: embedded}\n  generator: {adapter: embedded, min_overlap: 1}\npipeline: {search: {mode: dense, k: 1}}" + portCase,
			veil: func(s *veiledStore) { s.inexact = true },
		},
		{
			name: "the search without the filter fails", expected: "inconclusive", missing: "retrieve: the same search without the filter (C/no-filter)",
			text: "backends:" + port + "  generator: {adapter: embedded, min_overlap: 1}\npipeline: {search: {mode: keyword, k: 2, filter: {kind: rule}}}" + portCase,
			veil: func(s *veiledStore) {
				s.failsSearch = func(r adapters.SearchRequest) bool { return len(r.Filter) == 0 }
			},
		},
		{
			name: "the filter and the threshold both hide the gold", expected: "inconclusive", missing: "retrieve: the search without the filter and the threshold at once",
			text: "backends:" + port + "  generator: {adapter: embedded, min_overlap: 1}\npipeline: {search: {mode: keyword, k: 2, threshold: 50, filter: {kind: rule}}}" + portCase,
		},
		{
			name: "the search of production fails", expected: "environment", missing: "the search failed: kept back by the test; A: 0 of 1 trial scored (permanent)",
			text: "backends:" + port + keyword + portCase,
			veil: func(s *veiledStore) { s.failsSearch = func(adapters.SearchRequest) bool { return true } },
		},
		{
			name: "the index changes during the run", expected: "inconclusive", missing: "index: it changed during the run",
			text: "backends:" + port + keyword + portCase,
			veil: func(s *veiledStore) { s.restless = true },
		},
		{
			name: "the provider blocks B alone", expected: "inconclusive", missing: "generate: B was not scored",
			text: "backends:" + port + `
  generator: {adapter: embedded, min_overlap: 9, provider: [{when: annex, finish: content_filter}]}
pipeline: {search: {mode: keyword, k: 3}}
cases:
  - {id: c, query: what is the fee, evidence: {required: [{source: gold, span: forty crowns, text: "In this port, see the annex, the fee is forty crowns."}]}, claims: [{id: fee, any: [forty crowns]}]}
`,
		},
		{
			name: "the provider fails in one of five trials of A", expected: "inconclusive", missing: "A: 4 of 5 trials scored",
			text: "backends:" + port + `
  generator: {adapter: embedded, min_overlap: 9, deterministic: false, provider: [{error: permanent, times: 1}]}
pipeline: {search: {mode: keyword, k: 3}}
runs: {repeats: 5}
limits: {concurrency: 1}` + portCase,
		},
	} {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			registry := registry(t)
			if test.veil != nil {
				registry = veil(t, test.veil)
			}
			e := runWith(t, written(t, test.text), registry)["c"].Evaluation
			consistent(t, e)
			if got := verdictOf(e); got != test.expected {
				t.Errorf("got %s, want %s\n    %s", got, test.expected, explained(e))
			}
			if missing := strings.Join(e.Missing, "\n"); !strings.Contains(missing, test.missing) {
				t.Errorf("missing %q, want %q", missing, test.missing)
			}
			if e.Outcome == verdict.Inconclusive && len(e.Defects) > 0 {
				t.Errorf("defects %s beside an open question", verdictOf(e))
			}
		})
	}
}
