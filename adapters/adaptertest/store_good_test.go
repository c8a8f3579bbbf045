package adaptertest_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/adaptertest"
	"github.com/culprit-rag/culprit/adapters/embedded"
)

// abilities are those of the embedded store.
func abilities() adapters.StoreCapabilities {
	return adapters.StoreCapabilities{
		Modes: []string{"keyword", "dense", "hybrid"}, Exact: true, Threshold: true, Filter: true, Vectors: true, Collections: true, Only: true, FilterStatistics: true, Local: true,
	}
}

// plain is a store that needs no allowance: it keeps everything as it is, tells types apart, and its collections can change.
func plain(t *testing.T, defect broken) adaptertest.StoreHarness {
	t.Helper()
	dir := t.TempDir()
	written := []string{}
	openings := 0
	open := func(t *testing.T, items []adapters.Item) adapters.VectorStore {
		return strict{openEmbedded(t, dir, items)}
	}
	spoil := func(store adapters.VectorStore) adapters.VectorStore {
		spoilt := defect
		openings++
		spoilt.VectorStore, spoilt.opening = store, openings
		written = append(written, defect.writes...)
		return &spoilt
	}
	return adaptertest.StoreHarness{
		Distance: "cosine", Types: true, Capabilities: abilities(),
		Open: func(t *testing.T, c adaptertest.Corpus) adapters.VectorStore { return spoil(open(t, c.Items)) },
		Change: func(t *testing.T, c adaptertest.Corpus) adaptertest.Collection {
			return &rebuilt{items: slices.Clone(c.Items), build: open, spoil: spoil}
		},
		Writes: func() []string { return written },
	}
}

func openEmbedded(t *testing.T, dir string, items []adapters.Item) adapters.VectorStore {
	t.Helper()
	store, err := embedded.Factory().OpenStore(t.Context(), adapters.Config{Documents: documents(items), CacheDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() }) // for the defect that leaves it open
	return store
}

// strict tells the types of metadata apart.
type strict struct{ adapters.VectorStore }

func (s strict) Search(ctx context.Context, req adapters.SearchRequest) (adapters.SearchResponse, error) {
	req.Filter = slices.Clone(req.Filter)
	for i, c := range req.Filter {
		if c.Typed != (adaptertest.FieldKind(c.Field) != adaptertest.KindString) {
			req.Filter[i].AnyOf = nil
		}
	}
	return s.VectorStore.Search(ctx, req)
}

// rebuilt is a collection that is built anew with every change.
type rebuilt struct {
	build func(*testing.T, []adapters.Item) adapters.VectorStore
	spoil func(adapters.VectorStore) adapters.VectorStore

	items []adapters.Item

	mu  sync.Mutex
	now adapters.VectorStore // of the items, where it is built
}

func (r *rebuilt) Open(t *testing.T) adapters.VectorStore {
	r.change(t, func() {})
	return r.spoil(follower{r})
}

func (r *rebuilt) change(t *testing.T, how func()) {
	t.Helper()
	how()
	store := r.build(t, r.items)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = store
}

func (r *rebuilt) store() adapters.VectorStore {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

func (r *rebuilt) at(id string) int {
	return slices.IndexFunc(r.items, func(item adapters.Item) bool { return item.ID == id })
}

func (r *rebuilt) Put(t *testing.T, items ...adapters.Item) {
	t.Helper()
	r.change(t, func() {
		for _, item := range items {
			if i := r.at(item.ID); i >= 0 {
				r.items[i] = item
			} else {
				r.items = append(r.items, item)
			}
		}
	})
}

func (r *rebuilt) Delete(t *testing.T, ids ...string) {
	t.Helper()
	r.change(t, func() {
		r.items = slices.DeleteFunc(r.items, func(item adapters.Item) bool { return slices.Contains(ids, item.ID) })
	})
}

func (r *rebuilt) SetText(t *testing.T, id, text string) {
	t.Helper()
	r.change(t, func() { r.items[r.at(id)].Text = text })
}

func (r *rebuilt) SetVector(t *testing.T, id string, vector []float32) {
	t.Helper()
	r.change(t, func() { r.items[r.at(id)].Vector = vector })
}

// follower reads what a collection is at the time of the call. A scan ends on what it began on.
type follower struct{ of *rebuilt }

func (f follower) Describe(ctx context.Context) (adapters.StoreInfo, error) {
	return f.of.store().Describe(ctx)
}

func (f follower) Search(ctx context.Context, req adapters.SearchRequest) (adapters.SearchResponse, error) {
	return f.of.store().Search(ctx, req)
}

func (f follower) Scan(ctx context.Context, req adapters.ScanRequest, visit func(adapters.Item) error) (adapters.ScanReport, error) {
	return f.of.store().Scan(ctx, req, visit)
}

func (f follower) Fetch(ctx context.Context, req adapters.FetchRequest) ([]adapters.Item, error) {
	return f.of.store().Fetch(ctx, req)
}

func (f follower) Capabilities() adapters.StoreCapabilities { return f.of.store().Capabilities() }

func (f follower) Close() error { return nil } // the test closes what was built

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
