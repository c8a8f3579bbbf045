package conformance

import (
	"fmt"
	"slices"

	"github.com/culprit-rag/culprit/adapters"
)

// manyItems is more than one page of every store that is known, and more than the usual limits.
const manyItems = 1200

// many reads a collection that does not fit into one answer.
func (s *storeSuite) many(t T, _ adapters.VectorStore) {
	id := s.ID
	if id == nil {
		id = anyID
	}
	c := Corpus{Dimensions: dimensions}
	var all []string
	for n := range manyItems {
		item := adapters.Item{ID: id(n), Text: fmt.Sprintf("Invoice %d of many.", n)}
		if s.has(dense) {
			item.Vector = queryVector(uint64(n))
		}
		all = append(all, item.ID)
		c.Items = append(c.Items, item)
	}
	store := s.Open(t, c)
	defer closeStore(t, store)
	items, report := scan(t, store, adapters.ScanRequest{})
	if diff := s.diffItems(textsOf(c.main()), textsOf(sorted(items))); diff != "" || report.Scanned != manyItems || report.Counted != manyItems {
		t.Errorf("%+v, want %d of each; items (-want +got):\n%s", report, manyItems, diff)
	}
	slices.Reverse(all)
	fetched, err := store.Fetch(t.Context(), adapters.FetchRequest{IDs: all})
	if err != nil {
		t.Fatal(err)
	}
	if len(fetched) != len(all) {
		t.Fatalf("fetch: %d items, want %d", len(fetched), len(all))
	}
	for i, item := range fetched {
		if item.ID != all[i] {
			t.Fatalf("fetch: item %d is %q, want %q", i, item.ID, all[i])
		}
	}
	for _, mode := range s.Capabilities.Modes {
		for _, limit := range []int{1000, 5 * manyItems} {
			req := adapters.SearchRequest{Mode: mode, Query: "invoice", Limit: limit, IDsOnly: true}
			if mode != keyword {
				req.Vector = queryVector(1)
			}
			if got, want := len(search(t, store, req).Hits), min(limit, manyItems); got != want {
				t.Errorf("%s, limit %d: %d hits, want %d", mode, limit, got, want)
			}
		}
	}
}

// textsOf keeps what the items of many are told apart by.
func textsOf(items []adapters.Item) []adapters.Item {
	list := []adapters.Item{}
	for _, item := range items {
		list = append(list, adapters.Item{ID: item.ID, Text: item.Text})
	}
	return list
}
