package conformance

import (
	"context"
	"fmt"

	"github.com/culprit-rag/culprit/adapters"
)

// The search modes.
const (
	keyword = "keyword"
	dense   = "dense"
	hybrid  = "hybrid"
)

// Store holds a store to the contract of [adapters.VectorStore].
func Store(t T, h StoreHarness) {
	h.defaults()
	c := NewCorpus(h.ID).without(h.CannotHold).needing(h.NeedsVectors)
	suite := &storeSuite{StoreHarness: h, corpus: c, main: c.main()}
	store := h.Open(t, c)
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("closing the store: %v", err)
		}
	})
	for _, sub := range []struct {
		name string
		run  func(T, adapters.VectorStore)
	}{
		{"capabilities are declared as expected", suite.capabilities},
		{"abilities that are not declared are unsupported", suite.unsupported},
		{"Describe tells the truth", suite.describe},
		{"the dense ranking is that of brute force", suite.denseRanking},
		{"ties are ordered by id, every time", suite.ties},
		{"a limit is kept", suite.limits},
		{"a keyword ranking holds only what matches", suite.keywordRanking},
		{"a hybrid ranking is made of both rankings", suite.hybridRanking},
		{"an exact search says so", suite.exact},
		{"a threshold leaves out what is worse", suite.threshold},
		{"a search restricted to ids scores as the full one", suite.only},
		{"hits without their texts are the same hits", suite.idsOnly},
		{"filters", suite.filters},
		{"filters tell types apart", suite.typedFilters},
		{"a tenant sees its own and nothing else", suite.tenants},
		{"strange queries are only words", suite.strangeQueries},
		{"a scan is complete, ordered and exact", suite.scan},
		{"a scan and a search of many pages", suite.many},
		{"a scan proves presence and absence", suite.presence},
		{"an error of visit ends the scan", suite.visitError},
		{"other collections", suite.otherCollections},
		{"fetch keeps the order", suite.fetch},
		{"vectors come back as they were", suite.vectors},
		{"wrong arguments are named", suite.wrongArguments},
		{"a cancelled context stops everything", suite.cancelled},
		{"a passed deadline is a timeout", suite.deadline},
		{"a scan stops when it is cancelled", suite.cancelledScan},
		{"concurrent calls answer as single ones", suite.concurrent},
		{"an empty collection is empty", suite.empty},
		{"Close may be called twice and ends everything", suite.closed},
		{"the fingerprint follows the content", suite.fingerprint},
		{"the fingerprint follows changes in place", suite.changes},
		{"a scan that misses a change shows it", suite.changedScan},
		{"nothing was written", suite.writes}, // the last, for it is about all others
	} {
		t.Run(sub.name, func(t T) { sub.run(t, store) })
	}
}

// storeSuite is one run of the suite.
type storeSuite struct {
	StoreHarness

	corpus Corpus
	main   []adapters.Item // of the collection that is searched, by id
}

// all is a limit above the size of the collection.
const all = 1000

func search(t T, store adapters.VectorStore, req adapters.SearchRequest) adapters.SearchResponse {
	t.Helper()
	response, err := store.Search(t.Context(), req)
	if err != nil {
		t.Fatalf("Search(%s): %v", summary(req), err)
	}
	checkRanking(t, req, response)
	return response
}

func summary(req adapters.SearchRequest) string {
	query := req.Query
	if len(query) > 60 {
		query = query[:60] + "…"
	}
	return fmt.Sprintf("mode %s, query %q, vector of %d, limit %d, filter %v, only %q, threshold %t", req.Mode, query, len(req.Vector), req.Limit, req.Filter, req.Only, req.Threshold != nil)
}

func ids(hits []adapters.Hit) []string {
	list := []string{}
	for _, hit := range hits {
		list = append(list, hit.ID)
	}
	return list
}

func scan(t T, store adapters.VectorStore, req adapters.ScanRequest) ([]adapters.Item, adapters.ScanReport) {
	t.Helper()
	var items []adapters.Item
	report, err := store.Scan(t.Context(), req, func(item adapters.Item) error {
		items = append(items, item)
		return nil
	})
	if err != nil {
		t.Fatalf("Scan: %v", err)
	}
	return items, report
}

// call is one call of each method, for what all of them have in common.
type call struct {
	name string
	do   func(context.Context, adapters.VectorStore) error
}

func (s *storeSuite) calls() []call {
	calls := []call{
		{"Describe", func(ctx context.Context, store adapters.VectorStore) error {
			_, err := store.Describe(ctx)
			return err
		}},
		{"Scan", func(ctx context.Context, store adapters.VectorStore) error {
			_, err := store.Scan(ctx, adapters.ScanRequest{}, func(adapters.Item) error { return nil })
			return err
		}},
		{"Fetch", func(ctx context.Context, store adapters.VectorStore) error {
			_, err := store.Fetch(ctx, adapters.FetchRequest{IDs: []string{s.main[0].ID}})
			return err
		}},
	}
	for _, mode := range s.Capabilities.Modes {
		calls = append(calls, call{"Search " + mode, func(ctx context.Context, store adapters.VectorStore) error {
			_, err := store.Search(ctx, s.request(mode))
			return err
		}})
	}
	return calls
}

// request is a search that finds something in every mode.
func (s *storeSuite) request(mode string) adapters.SearchRequest {
	req := adapters.SearchRequest{Mode: mode, Query: "invoice " + RareWord, Limit: all}
	if mode != keyword {
		req.Vector = queryVector(1)
	}
	return req
}
