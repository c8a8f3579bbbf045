package conformance

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/culprit-rag/culprit/adapters"
)

func withoutVector(item adapters.Item) adapters.Item {
	item.Vector = nil
	return item
}

func (s *storeSuite) diffItems(want, got []adapters.Item) string {
	return cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.EquateApproxTime(s.TimePrecision))
}

// sorted returns the items by id, for the order of a scan is the store's own.
func sorted(items []adapters.Item) []adapters.Item {
	return slices.SortedFunc(slices.Values(items), func(a, b adapters.Item) int { return strings.Compare(a.ID, b.ID) })
}

func (s *storeSuite) capabilities(t T, store adapters.VectorStore) {
	if diff := cmp.Diff(s.Capabilities, store.Capabilities()); diff != "" {
		t.Errorf("capabilities (-want +got):\n%s", diff)
	}
}

func (s *storeSuite) unsupported(t T, store adapters.VectorStore) {
	refused := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, adapters.ErrUnsupported) {
			t.Errorf("%s: %v, want an error that is ErrUnsupported", what, err)
		}
	}
	for _, mode := range []string{keyword, dense, hybrid, "no such mode", ""} {
		if !s.has(mode) {
			req := s.request(mode)
			_, err := store.Search(t.Context(), req)
			refused("search mode "+mode, err)
		}
	}
	if len(s.Capabilities.Modes) == 0 {
		return
	}
	zero := 0.0
	with := func(has bool, what string, change func(*adapters.SearchRequest)) {
		t.Helper()
		if has {
			return
		}
		req := s.request(s.Capabilities.Modes[0])
		change(&req)
		_, err := store.Search(t.Context(), req)
		refused(what, err)
	}
	with(s.Capabilities.Exact, "exact", func(r *adapters.SearchRequest) { r.Exact = true })
	with(s.Capabilities.Threshold, "threshold", func(r *adapters.SearchRequest) { r.Threshold = &zero })
	with(s.Capabilities.Filter, "filter", func(r *adapters.SearchRequest) { r.Filter = []adapters.Condition{{Field: "id", AnyOf: []string{"x"}}} })
	with(s.Capabilities.Only, "only", func(r *adapters.SearchRequest) { r.Only = []string{"x"} })
	if !s.Capabilities.Vectors {
		_, err := store.Scan(t.Context(), adapters.ScanRequest{Vectors: true}, func(adapters.Item) error { return nil })
		refused("vectors of a scan", err)
		_, err = store.Fetch(t.Context(), adapters.FetchRequest{IDs: []string{s.main[0].ID}, Vectors: true})
		refused("vectors of a fetch", err)
	}
	if !s.Capabilities.Collections {
		_, err := store.Scan(t.Context(), adapters.ScanRequest{Collection: s.Other}, func(adapters.Item) error { return nil })
		refused("another collection", err)
	}
}

func (s *storeSuite) describe(t T, store adapters.VectorStore) {
	info, err := store.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if info.Engine == "" || info.Collection == "" {
		t.Errorf("engine %q, collection %q: both must be told", info.Engine, info.Collection)
	}
	if info.Count != len(s.main) {
		t.Errorf("count %d, want %d", info.Count, len(s.main))
	}
	if info.Fingerprint == "" || info.FingerprintMisses == "" {
		t.Errorf("fingerprint %q, fingerprint_misses %q: Describe must tell both, what changes with the collection and what that does not see", info.Fingerprint, info.FingerprintMisses)
	}
	if s.has(dense) && (info.Dimensions != dimensions || info.Distance != s.Distance) {
		t.Errorf("%d dimensions, distance %q, want %d and %q", info.Dimensions, info.Distance, dimensions, s.Distance)
	}
	if s.Capabilities.Collections && (!slices.Contains(info.Collections, s.Other) || !slices.Contains(info.Collections, info.Collection)) {
		t.Errorf("collections %q lack %q or %q", info.Collections, info.Collection, s.Other)
	}
	want := map[string]int{}
	for _, item := range s.main {
		want[item.EmbedModel]++
	}
	if s.ModelsUntold {
		want = nil
	}
	if !maps.Equal(info.DeclaredPerItem, want) {
		t.Errorf("models declared per item: %v, want %v", info.DeclaredPerItem, want)
	}
	if info.EmbedModel != s.EmbedModel {
		t.Errorf("model declared for the collection: %q, want %q", info.EmbedModel, s.EmbedModel)
	}
}

func (s *storeSuite) scan(t T, store adapters.VectorStore) {
	var first []string
	for _, vectors := range []bool{false, false, s.Capabilities.Vectors} {
		items, report := scan(t, store, adapters.ScanRequest{Vectors: vectors})
		var order []string
		var got, want []adapters.Item
		for _, item := range items {
			order = append(order, item.ID)
			got = append(got, withoutVector(item))
		}
		for _, item := range s.main {
			want = append(want, withoutVector(item))
		}
		if diff := s.diffItems(want, sorted(got)); diff != "" {
			t.Errorf("items (-want +got):\n%s", diff)
		}
		if report != (adapters.ScanReport{Scanned: len(s.main), Counted: len(s.main)}) {
			t.Errorf("%+v, want %d of each and nothing unread", report, len(s.main))
		}
		if first == nil {
			first = order
		}
		if !slices.Equal(order, first) {
			t.Errorf("another scan has another order (-first +again):\n%s", cmp.Diff(first, order))
		}
	}
}

func (s *storeSuite) visitError(t T, store adapters.VectorStore) {
	stop := errors.New("enough")
	visited := 0
	report, err := store.Scan(t.Context(), adapters.ScanRequest{}, func(adapters.Item) error {
		if visited++; visited == 3 {
			return stop
		}
		return nil
	})
	if err != stop { //nolint:errorlint // it must be returned as it is
		t.Errorf("error %v, want that of visit as it is", err)
	}
	if visited != 3 {
		t.Errorf("visit was called %d times, want 3", visited)
	}
	if report.Scanned == report.Counted {
		t.Errorf("%+v looks like the proof of a whole scan", report)
	}
}

func (s *storeSuite) otherCollections(t T, store adapters.VectorStore) {
	if !s.Capabilities.Collections {
		t.Skip("the store reads one collection only")
	}
	items, report := scan(t, store, adapters.ScanRequest{Collection: s.Other})
	var want []adapters.Item
	for _, item := range s.corpus.collection(OtherCollection) {
		item.Collection = s.Other
		want = append(want, withoutVector(item))
	}
	if diff := s.diffItems(want, sorted(items)); diff != "" {
		t.Errorf("items (-want +got):\n%s", diff)
	}
	if report.Scanned != otherItems || report.Counted != otherItems {
		t.Errorf("%+v, want %d of each", report, otherItems)
	}
	_, err := store.Scan(t.Context(), adapters.ScanRequest{Collection: "no such collection"}, func(adapters.Item) error { return nil })
	if !errors.Is(err, adapters.ErrNotFound) {
		t.Errorf("a collection that does not exist: %v, want an error that is ErrNotFound", err)
	}
	for _, mode := range s.Capabilities.Modes {
		for _, hit := range search(t, store, s.request(mode)).Hits {
			if hit.Collection != "" {
				t.Errorf("%s finds %q of collection %q", mode, hit.ID, hit.Collection)
			}
		}
	}
}

func (s *storeSuite) fetch(t T, store adapters.VectorStore) {
	order := []int{90, 3, 4, 150, 0, 1, 2}
	var ask []string
	var want []adapters.Item
	for _, n := range order {
		ask = append(ask, s.main[n].ID, "no such id "+s.main[n].ID)
		want = append(want, withoutVector(s.main[n]))
	}
	got, err := store.Fetch(t.Context(), adapters.FetchRequest{IDs: ask})
	if err != nil {
		t.Fatal(err)
	}
	if diff := s.diffItems(want, got); diff != "" {
		t.Errorf("items (-want +got):\n%s", diff)
	}
	var every []string
	for _, item := range slices.Backward(s.main) {
		every = append(every, item.ID)
	}
	if got, err = store.Fetch(t.Context(), adapters.FetchRequest{IDs: every}); err != nil || len(got) != len(every) {
		t.Fatalf("fetching all: %d items, %v", len(got), err)
	}
	for i, item := range got {
		if item.ID != every[i] {
			t.Fatalf("item %d is %q, want %q", i, item.ID, every[i])
		}
	}
	for _, none := range [][]string{nil, {"no such id"}} {
		if got, err := store.Fetch(t.Context(), adapters.FetchRequest{IDs: none}); err != nil || len(got) > 0 {
			t.Errorf("fetching %q: %d items, %v, want none", none, len(got), err)
		}
	}
}

func (s *storeSuite) vectors(t T, store adapters.VectorStore) {
	if !s.Capabilities.Vectors {
		t.Skip("the store does not return vectors")
	}
	check := func(how string, items []adapters.Item) {
		t.Helper()
		items = sorted(items)
		if len(items) != len(s.main) {
			t.Errorf("%s: %d items, want %d", how, len(items), len(s.main))
			return
		}
		for i, want := range s.main {
			got := items[i].Vector
			switch {
			case want.Vector == nil:
				if got != nil {
					t.Errorf("%s: %q has a vector and must have none", how, want.ID)
				}
			case len(got) != len(want.Vector):
				t.Errorf("%s: the vector of %q has %d dimensions, want %d", how, want.ID, len(got), len(want.Vector))
			case s.UnitVectors && cosine(got, want.Vector) < 1-s.Tolerance:
				t.Errorf("%s: the vector of %q is another one", how, want.ID)
			case !s.UnitVectors && !slices.Equal(got, want.Vector):
				t.Errorf("%s: the vector of %q is not what was stored, number by number", how, want.ID)
			}
		}
	}
	items, _ := scan(t, store, adapters.ScanRequest{Vectors: true})
	check("scan", items)
	var every []string
	for _, item := range s.main {
		every = append(every, item.ID)
	}
	items, err := store.Fetch(t.Context(), adapters.FetchRequest{IDs: every, Vectors: true})
	if err != nil {
		t.Fatal(err)
	}
	check("fetch", items)
}
