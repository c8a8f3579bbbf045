package adaptertest_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/adaptertest"
	"github.com/culprit-rag/culprit/adapters/embedded"
)

// broken is a good store but for one thing.
type broken struct {
	adapters.VectorStore

	search func(ctx context.Context, req adapters.SearchRequest, next searchFunc) (adapters.SearchResponse, error)
	scan   func(ctx context.Context, req adapters.ScanRequest, visit func(adapters.Item) error, next scanFunc) (adapters.ScanReport, error)
	fetch  func(ctx context.Context, req adapters.FetchRequest, next fetchFunc) ([]adapters.Item, error)
	tells  func(*adapters.StoreInfo)
	close  func() error
}

type (
	searchFunc func(context.Context, adapters.SearchRequest) (adapters.SearchResponse, error)
	scanFunc   func(context.Context, adapters.ScanRequest, func(adapters.Item) error) (adapters.ScanReport, error)
	fetchFunc  func(context.Context, adapters.FetchRequest) ([]adapters.Item, error)
)

func (b *broken) Search(ctx context.Context, req adapters.SearchRequest) (adapters.SearchResponse, error) {
	if b.search == nil {
		return b.VectorStore.Search(ctx, req)
	}
	return b.search(ctx, req, b.VectorStore.Search)
}

func (b *broken) Scan(ctx context.Context, req adapters.ScanRequest, visit func(adapters.Item) error) (adapters.ScanReport, error) {
	if b.scan == nil {
		return b.VectorStore.Scan(ctx, req, visit)
	}
	return b.scan(ctx, req, visit, b.VectorStore.Scan)
}

func (b *broken) Fetch(ctx context.Context, req adapters.FetchRequest) ([]adapters.Item, error) {
	if b.fetch == nil {
		return b.VectorStore.Fetch(ctx, req)
	}
	return b.fetch(ctx, req, b.VectorStore.Fetch)
}

func (b *broken) Describe(ctx context.Context) (adapters.StoreInfo, error) {
	info, err := b.VectorStore.Describe(ctx)
	if err == nil && b.tells != nil {
		b.tells(&info)
	}
	return info, err
}

func (b *broken) Close() error {
	if b.close == nil {
		return b.VectorStore.Close()
	}
	return b.close()
}

// afterwards breaks a store by what it does with the hits.
func afterwards(change func([]adapters.Hit) []adapters.Hit) broken {
	return broken{search: func(ctx context.Context, req adapters.SearchRequest, next searchFunc) (adapters.SearchResponse, error) {
		response, err := next(ctx, req)
		response.Hits = change(response.Hits)
		return response, err
	}}
}

// before breaks a store by what it does with the request.
func before(change func(*adapters.SearchRequest)) broken {
	return broken{search: func(ctx context.Context, req adapters.SearchRequest, next searchFunc) (adapters.SearchResponse, error) {
		change(&req)
		return next(ctx, req)
	}}
}

// each breaks a scan by what it does with the items.
func each(change func(adapters.Item, func(adapters.Item) error) error) broken {
	return broken{scan: func(ctx context.Context, req adapters.ScanRequest, visit func(adapters.Item) error, next scanFunc) (adapters.ScanReport, error) {
		return next(ctx, req, func(item adapters.Item) error { return change(item, visit) })
	}}
}

// defects maps a defect to the subtest that must find it.
var defects = map[string]struct {
	finder string
	store  broken
}{
	"loses the last hit": {"the dense ranking", afterwards(func(h []adapters.Hit) []adapters.Hit { return h[:max(0, len(h)-1)] })},
	"returns a hit twice": {"a keyword ranking", afterwards(func(h []adapters.Hit) []adapters.Hit {
		return append(h, h[:min(1, len(h))]...)
	})},
	"turns ties round": {"ties are ordered", afterwards(func(h []adapters.Hit) []adapters.Hit {
		slices.SortStableFunc(h, func(a, b adapters.Hit) int {
			return cmp.Or(cmp.Compare(*b.Score, *a.Score), cmp.Compare(b.ID, a.ID))
		})
		return h
	})},
	"ranks from 0": {"a limit is kept", afterwards(func(h []adapters.Hit) []adapters.Hit {
		for i := range h {
			h[i].Rank = i
		}
		return h
	})},
	"scores NaN": {"a hybrid ranking", afterwards(func(h []adapters.Hit) []adapters.Hit {
		nan := math.NaN()
		for i := range h {
			h[i].Score = &nan
		}
		return h
	})},
	"ignores filters":         {"filters", before(func(r *adapters.SearchRequest) { r.Filter = nil })},
	"ignores thresholds":      {"a threshold", before(func(r *adapters.SearchRequest) { r.Threshold = nil })},
	"ignores ids":             {"a search restricted", before(func(r *adapters.SearchRequest) { r.Only = nil })},
	"ignores a wrong limit":   {"wrong arguments", before(func(r *adapters.SearchRequest) { r.Limit = max(r.Limit, 1) })},
	"changes the query":       {"a keyword ranking", before(func(r *adapters.SearchRequest) { r.Query = strings.ToLower(r.Query) })},
	"answers an unknown mode": {"abilities that are not declared", before(func(r *adapters.SearchRequest) { r.Mode = cmp.Or(r.Mode, "keyword") })},
	"ignores the context": {"a cancelled context", broken{search: func(_ context.Context, req adapters.SearchRequest, next searchFunc) (adapters.SearchResponse, error) {
		return next(context.Background(), req)
	}}},
	"ignores the deadline": {"a passed deadline", broken{fetch: func(_ context.Context, req adapters.FetchRequest, next fetchFunc) ([]adapters.Item, error) {
		return next(context.Background(), req)
	}}},
	"trims texts": {"a scan proves", each(func(item adapters.Item, visit func(adapters.Item) error) error {
		item.Text = strings.TrimSpace(strings.ToValidUTF8(item.Text[:min(len(item.Text), 8192)], ""))
		return visit(item)
	})},
	"skips an item": {"a scan is complete", each(func(item adapters.Item, visit func(adapters.Item) error) error {
		if item.ID == "item-077" {
			return nil
		}
		return visit(item)
	})},
	"visits twice": {"a scan is complete", each(func(item adapters.Item, visit func(adapters.Item) error) error {
		if err := visit(item); err != nil {
			return err
		}
		return visit(item)
	})},
	"hides the error of visit": {"an error of visit", each(func(item adapters.Item, visit func(adapters.Item) error) error {
		_ = visit(item)
		return nil
	})},
	"fetches in its own order": {"fetch keeps", broken{fetch: func(ctx context.Context, req adapters.FetchRequest, next fetchFunc) ([]adapters.Item, error) {
		req.IDs = slices.Sorted(slices.Values(req.IDs))
		return next(ctx, req)
	}}},
	"loses vectors": {"vectors come back", broken{fetch: func(ctx context.Context, req adapters.FetchRequest, next fetchFunc) ([]adapters.Item, error) {
		req.Vectors = false
		return next(ctx, req)
	}}},
	"counts wrongly":             {"Describe tells", broken{tells: func(i *adapters.StoreInfo) { i.Count++ }}},
	"has a constant fingerprint": {"the fingerprint", broken{tells: func(i *adapters.StoreInfo) { i.Fingerprint = "1" }}},
	"stays open":                 {"Close may be called", broken{close: func() error { return nil }}},
}

const chosen = "ADAPTERTEST_DEFECT"

// TestDefectsAreFound breaks a good store in one way after the other: a suite that cannot fail proves nothing.
func TestDefectsAreFound(t *testing.T) {
	t.Parallel()
	for name, defect := range defects {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, test := range []struct {
				defect string
				fails  bool
			}{{name, true}, {"none", false}} {
				command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBrokenStore$/^"+strings.ReplaceAll(defect.finder, " ", "_"))
				command.Env = append(os.Environ(), chosen+"="+test.defect)
				out, err := command.CombinedOutput()
				if strings.Contains(string(out), "no tests to run") {
					t.Fatalf("no subtest begins with %q", defect.finder)
				}
				if failed := err != nil && strings.Contains(string(out), "--- FAIL: TestBrokenStore/"); failed != test.fails {
					t.Errorf("defect %q: %q fails: %t (%v), want %t\n%s", test.defect, defect.finder, failed, err, test.fails, out)
				}
			}
		})
	}
}

// TestBrokenStore runs the suite on the defect that TestDefectsAreFound has chosen.
func TestBrokenStore(t *testing.T) {
	name := os.Getenv(chosen)
	if name == "" {
		t.Skip("no defect is chosen")
	}
	defect := defects[name]
	dir := t.TempDir()
	adaptertest.TestVectorStore(t, adaptertest.StoreHarness{
		Distance: "cosine",
		Capabilities: adapters.StoreCapabilities{
			Modes: []string{"keyword", "dense", "hybrid"}, Exact: true, Threshold: true, Filter: true, Vectors: true, Collections: true, Only: true, Local: true,
		},
		Open: func(t *testing.T, c adaptertest.Corpus) adapters.VectorStore {
			store, err := embedded.Factory().OpenStore(t.Context(), adapters.Config{Documents: documents(c.Items), CacheDir: dir})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = store.Close() }) // for the defect that leaves it open
			opened := defect.store
			opened.VectorStore = store
			return &opened
		},
	})
}

type documents []adapters.Item

func (d documents) Digest(context.Context) (string, error) {
	text, err := json.Marshal(d)
	return fmt.Sprintf("%x", sha256.Sum256(text)), err
}

func (d documents) Items(context.Context) iter.Seq2[adapters.Item, error] {
	return func(yield func(adapters.Item, error) bool) {
		for _, item := range d {
			if !yield(item, nil) {
				return
			}
		}
	}
}
