package weaviate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weaviate/weaviate/entities/models"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/weaviate/weaviatetest"
)

// filled makes a class of n objects, whose vectors turn away from [1 0] more and more.
func filled(t testing.TB, server weaviatetest.Server, class *models.Class, n int) {
	t.Helper()
	server.Create(t, class)
	var objects []*models.Object
	for i := range n {
		objects = append(objects, weaviatetest.Object(class.Class, weaviatetest.ID(i),
			map[string]any{"body": fmt.Sprintf("invoice %d", i), "status": fmt.Sprintf("step %d", i%3)}, []float32{float32(n - i), float32(i)}))
	}
	server.Insert(t, objects...)
}

func TestEmptyClass(t *testing.T) {
	t.Parallel()
	server := weaviatetest.Shared(t)
	class := weaviatetest.ClassName(t)
	declared := weaviatetest.Unnamed(class, "cosine", properties("word")...)
	declared.Description = `{"embed_model":"suite-model","dimensions":4,"query_prefix":"query: ","passage_prefix":"","revision":"7"}`
	server.Create(t, declared)
	s := opened(t, server, on(server, class))
	info, err := s.Describe(t.Context())
	if err != nil || info.Count != 0 || info.EmbedModel != "suite-model" || info.Dimensions != 4 || info.QueryPrefix == nil || *info.QueryPrefix != "query: " || info.Revision != "7" {
		t.Errorf("%+v, %v: not what the description declares", info, err)
	}
	_, err = s.Search(t.Context(), adapters.SearchRequest{Mode: modeDense, Vector: []float32{1, 0}, Limit: 3})
	wantError(t, err, adapters.KindInvalid, "2 dimensions", "have 4")
}

func TestAlias(t *testing.T) {
	t.Parallel()
	server := weaviatetest.Shared(t)
	first, second := weaviatetest.ClassName(t), weaviatetest.ClassName(t)
	filled(t, server, weaviatetest.Unnamed(first, "cosine", properties("word")...), 3)
	filled(t, server, weaviatetest.Unnamed(second, "cosine", properties("word")...), 5)
	alias := "Alias" + first
	server.Alias(t, alias, first)
	s := opened(t, server, on(server, alias))
	before, err := s.Describe(t.Context())
	if err != nil || before.Collection != first || before.Count != 3 || !strings.Contains(strings.Join(before.Notes, " "), alias) {
		t.Errorf("%+v, %v", before, err)
	}
	if report, err := scanAll(t.Context(), s, func(item adapters.Item) error {
		if item.Collection != "" {
			t.Errorf("an item of collection %q", item.Collection)
		}
		return nil
	}); err != nil || report.Scanned != 3 {
		t.Errorf("%+v, %v", report, err)
	}
	server.Alias(t, alias, second)
	after, err := s.Describe(t.Context())
	if err != nil || after.Collection != second || after.Count != 5 || after.Fingerprint == before.Fingerprint {
		t.Errorf("after the alias has moved: %+v, %v", after, err)
	}
}

// TestManyShards reads a class that is spread over shards: each object once, by id.
func TestManyShards(t *testing.T) {
	t.Parallel()
	server := weaviatetest.Shared(t)
	class := weaviatetest.ClassName(t)
	filled(t, server, weaviatetest.Shards(weaviatetest.Unnamed(class, "cosine", properties("word")...), 3), 700)
	s := opened(t, server, on(server, class).with(settings{"page_size": 100}))
	var ids []string
	report, err := scanAll(t.Context(), s, func(item adapters.Item) error { ids = append(ids, item.ID); return nil })
	if err != nil || report.Scanned != 700 || report.Counted != 700 || !slices.IsSorted(ids) {
		t.Errorf("%+v, %v, by id: %t", report, err, slices.IsSorted(ids))
	}
}

// TestFiltersByWords: a filter on a property of words admits too much on the server, and what is left may not be too little.
func TestFiltersByWords(t *testing.T) {
	t.Parallel()
	server := weaviatetest.Shared(t)
	class := weaviatetest.ClassName(t)
	server.Create(t, weaviatetest.Unnamed(class, "cosine", properties("word")...))
	var objects []*models.Object
	for n := range 200 { // the ones that the server admits as well are all nearer
		status := "final draft"
		if n >= 190 {
			status = "draft final"
		}
		objects = append(objects, weaviatetest.Object(class, weaviatetest.ID(n), map[string]any{"body": "x", "status": status}, []float32{200, float32(n)}))
	}
	server.Insert(t, objects...)
	asServed, err := opened(t, server, on(server, class)).Search(t.Context(), adapters.SearchRequest{
		Mode: modeDense, Vector: []float32{1, 0}, Limit: 5, Filter: []adapters.Condition{{Field: "status", AnyOf: []string{"draft final"}}},
	})
	if err != nil || len(asServed.Hits) != 5 || asServed.Hits[0].ID != weaviatetest.ID(0) {
		t.Errorf("as the server filters: %+v, %v; want what production gets", asServed.Hits, err)
	}
	s := opened(t, server, on(server, class).with(settings{"filter": filterChecked}))
	for _, filter := range []adapters.Condition{
		{Field: "status", AnyOf: []string{"draft final"}},
		{Field: "status", AnyOf: []string{"final draft"}, Not: true},
		{Field: "status", AnyOf: []string{"draft final", "the", "?!", "\xff"}},
	} {
		response, err := s.Search(t.Context(), adapters.SearchRequest{Mode: modeDense, Vector: []float32{1, 0}, Limit: 5, Filter: []adapters.Condition{filter}})
		if err != nil || len(response.Hits) != 5 || response.Hits[0].ID != weaviatetest.ID(190) || response.Cap != 0 {
			t.Errorf("%+v: %d hits, %v", filter, len(response.Hits), err)
		}
	}
}

// TestServerLimit asks a server for more than it returns.
func TestServerLimit(t *testing.T) {
	t.Parallel()
	server := weaviatetest.Start(t, weaviatetest.Options{Env: []string{"QUERY_MAXIMUM_RESULTS=120"}})
	class := weaviatetest.ClassName(t)
	filled(t, server, weaviatetest.Unnamed(class, "cosine", properties("word")...), 300)
	s := opened(t, server, on(server, class).with(settings{"page_size": 100}))
	for _, test := range []struct {
		limit, hits, capped int
	}{{100, 100, 0}, {120, 120, 0}, {121, 120, 120}, {500, 120, 120}} {
		response, err := s.Search(t.Context(), adapters.SearchRequest{Mode: modeDense, Vector: []float32{1, 0}, Limit: test.limit})
		if err != nil || len(response.Hits) != test.hits || response.Cap != test.capped {
			t.Errorf("limit %d: %d hits, cap %d, %v, want %d and %d", test.limit, len(response.Hits), response.Cap, err, test.hits, test.capped)
		}
	}
	// What the server cannot narrow down for us is compared here, whatever it returns at most.
	response, err := s.Search(t.Context(), adapters.SearchRequest{
		Mode: modeDense, Vector: []float32{0, 1}, Limit: 90, Filter: []adapters.Condition{{Field: "status", AnyOf: []string{"step 1", "step 2"}, Not: true}},
	})
	if err != nil || len(response.Hits) != 90 || response.Cap != 0 || response.Hits[0].ID != weaviatetest.ID(297) {
		t.Errorf("%d hits, cap %d, %v", len(response.Hits), response.Cap, err)
	}
}

// TestExactWithoutTheServer compares the stored vectors here, for indexes that the server does not search in full.
func TestExactWithoutTheServer(t *testing.T) {
	t.Parallel()
	server := weaviatetest.Shared(t)
	for _, distance := range []string{"cosine", "dot", "l2-squared", "manhattan"} {
		class := weaviatetest.ClassName(t)
		schema := weaviatetest.Unnamed(class, distance, properties("word")...)
		filled(t, server, schema, 80)
		s := opened(t, server, on(server, class))
		req := adapters.SearchRequest{Mode: modeDense, Vector: []float32{3, 1}, Limit: 30, Exact: true}
		flat, err := s.Search(t.Context(), req)
		if err != nil || !flat.Exact {
			t.Fatalf("%s: exact %t, %v", distance, flat.Exact, err)
		}
		index := s.class.vectors[""]
		index.cutoff = 10
		s.class.vectors[""] = index
		here, err := s.Search(t.Context(), req)
		if err != nil || !here.Exact || len(here.Hits) != len(flat.Hits) || here.LowerIsBetter != flat.LowerIsBetter {
			t.Fatalf("%s: %d hits, exact %t, %v, want %d", distance, len(here.Hits), here.Exact, err, len(flat.Hits))
		}
		for i := range here.Hits {
			if a, b := *here.Hits[i].Score, *flat.Hits[i].Score; a-b > 1e-3 || b-a > 1e-3 {
				t.Errorf("%s, rank %d: score %v, and %v from the server", distance, i+1, a, b)
			}
		}
	}
}

// TestOtherVectorsAreInNobodysWay: many vectors for one object break the official client's list of objects.
func TestOtherVectorsAreInNobodysWay(t *testing.T) {
	t.Parallel()
	server := weaviatetest.Shared(t)
	class := weaviatetest.ClassName(t)
	schema := weaviatetest.Named(class, map[string]string{"title": "cosine"}, properties("word")...)
	schema.VectorConfig["tokens"] = models.VectorConfig{
		Vectorizer: map[string]any{"none": map[string]any{}}, VectorIndexType: "hnsw",
		VectorIndexConfig: map[string]any{"distance": "cosine", "multivector": map[string]any{"enabled": true}},
	}
	server.Create(t, schema)
	server.Raw(t, "POST", "/v1/objects", map[string]any{
		"class": class, "id": weaviatetest.ID(1), "properties": map[string]any{"body": "x"},
		"vectors": map[string]any{"title": []float32{3, 4}, "tokens": [][]float32{{1, 0}, {0, 1}}},
	})
	wantError(t, opening(t, on(server, class).with(settings{"vector": "tokens"}), server.Key), adapters.KindInvalid, `"tokens"`, "backends.store.vector")
	s := opened(t, server, on(server, class).with(settings{"vector": "title"}))
	var scanned []adapters.Item
	_, err := s.Scan(t.Context(), adapters.ScanRequest{Vectors: true}, func(item adapters.Item) error { scanned = append(scanned, item); return nil })
	if err != nil || len(scanned) != 1 || !slices.Equal(scanned[0].Vector, []float32{3, 4}) {
		t.Errorf("scanned %+v, %v", scanned, err)
	}
	fetched, err := s.Fetch(t.Context(), adapters.FetchRequest{IDs: []string{weaviatetest.ID(1)}, Vectors: true})
	if err != nil || len(fetched) != 1 || !slices.Equal(fetched[0].Vector, []float32{3, 4}) {
		t.Errorf("fetched %+v, %v", fetched, err)
	}
}
