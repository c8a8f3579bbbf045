package qdrant

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/qdrant/go-client/qdrant"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/qdrant/bm25"
	"github.com/culprit-rag/culprit/adapters/qdrant/qdranttest"
)

func hitIDs(response adapters.SearchResponse) []string {
	var ids []string
	for _, hit := range response.Hits {
		ids = append(ids, hit.ID)
	}
	return ids
}

func mustSearch(t *testing.T, s *store, req adapters.SearchRequest) adapters.SearchResponse {
	t.Helper()
	response, err := s.Search(t.Context(), req)
	if err != nil {
		t.Fatalf("%+v: %v", req, err)
	}
	return response
}

// TestTiesAtTheLimit has more equal items than fit: which of them are hits is decided by id.
func TestTiesAtTheLimit(t *testing.T) {
	t.Parallel()
	server := sharedServer(t)
	name := server.Name(t)
	server.Create(t, qdranttest.Collection{Name: name, Vectors: map[string]*qdrant.VectorParams{"": {Size: 2, Distance: qdrant.Distance_Dot}}})
	var points []*qdrant.PointStruct
	for n := range 300 { // 150 tied below 10 better ones
		vector := qdrant.NewVectors(0, 1)
		if n%2 == 0 {
			vector = qdrant.NewVectors(1, 0)
		}
		if n >= 290 {
			vector = qdrant.NewVectors(float32(n), 0)
		}
		points = append(points, &qdrant.PointStruct{Id: qdrant.NewIDNum(uint64(1000 - n)), Vectors: vector, Payload: qdrant.NewValueMap(map[string]any{"text": "t"})})
	}
	server.Upsert(t, name, points...)
	s := openOn(t, server, name, "")
	full := hitIDs(mustSearch(t, s, adapters.SearchRequest{Mode: modeDense, Vector: []float32{1, 0}, Limit: 300}))
	for _, limit := range []int{5, 10, 11, 20, 100} {
		got := hitIDs(mustSearch(t, s, adapters.SearchRequest{Mode: modeDense, Vector: []float32{1, 0}, Limit: limit}))
		if diff := cmp.Diff(full[:limit], got); diff != "" {
			t.Errorf("limit %d (-want +got):\n%s", limit, diff)
		}
	}
}

func TestStrictMode(t *testing.T) {
	t.Parallel()
	server := sharedServer(t)
	name := server.Name(t)
	server.Create(t, qdranttest.Collection{
		Name: name, Vectors: map[string]*qdrant.VectorParams{"": {Size: 2, Distance: qdrant.Distance_Cosine}},
		Indexes: map[string]qdrant.FieldType{"tenant": qdrant.FieldType_FieldTypeKeyword},
		Strict: &qdrant.StrictModeConfig{
			Enabled: qdrant.PtrOf(true), MaxQueryLimit: qdrant.PtrOf(uint32(20)), UnindexedFilteringRetrieve: qdrant.PtrOf(false),
			SearchAllowExact: qdrant.PtrOf(false),
		},
	})
	var points []*qdrant.PointStruct
	for n := range 50 {
		points = append(points, &qdrant.PointStruct{
			Id: qdrant.NewIDNum(uint64(n)), Vectors: qdrant.NewVectors(float32(n), 1), Payload: qdrant.NewValueMap(map[string]any{"text": "t", "tenant": "acme"}),
		})
	}
	server.Upsert(t, name, points...)
	s := openOn(t, server, name, "")
	req := adapters.SearchRequest{Mode: modeDense, Vector: []float32{1, 0}, Limit: 100}
	if response := mustSearch(t, s, req); len(response.Hits) != 20 || response.Cap != 20 {
		t.Errorf("%d hits, cap %d, want 20 and 20", len(response.Hits), response.Cap)
	}
	req.Limit = 20
	if response := mustSearch(t, s, req); len(response.Hits) != 20 || response.Cap != 0 {
		t.Errorf("%d hits, cap %d, want 20 and none", len(response.Hits), response.Cap)
	}
	req.Filter = []adapters.Condition{{Field: "tenant", AnyOf: []string{"acme"}}}
	if response := mustSearch(t, s, req); len(response.Hits) != 20 {
		t.Errorf("%d hits by an indexed filter, want 20", len(response.Hits))
	}
	req.Filter = []adapters.Condition{{Field: "status", AnyOf: []string{"final"}}}
	_, err := s.Search(t.Context(), req)
	wantError(t, err, adapters.KindInvalid, `"status"`, "Index required")
	if s.Capabilities().Exact {
		t.Error("it declares exact searches, which strict mode forbids")
	}
	if _, report, err := scanAll(t.Context(), s, nil); err != nil || report.Scanned != 50 || report.Counted != 50 {
		t.Errorf("scan: %+v, %v", report, err)
	}
	if info, err := s.Describe(t.Context()); err != nil || !slices.ContainsFunc(info.Notes, func(n string) bool { return strings.Contains(n, "more than 20 items") }) {
		t.Errorf("%q, %v", info.Notes, err)
	}
}

// TestFusionHereIsTheServers compares the fusion that is made for old servers with that of a server that can be told k.
func TestFusionHereIsTheServers(t *testing.T) {
	t.Parallel()
	server := sharedServer(t)
	name := fusionCollection(t, server)
	theirs := openOn(t, server, name, `"keyword": {"vector": "words"}, "hybrid": {"rrf_k": 7, "prefetch": 30}`)
	ours := openOn(t, server, name, `"keyword": {"vector": "words"}, "hybrid": {"rrf_k": 7, "prefetch": 30}`)
	ours.version = parseRelease("1.15.5")
	req := adapters.SearchRequest{Mode: modeHybrid, Query: "alpha beta", Vector: []float32{0.3, 0.7}, Limit: 40}
	a, b := mustSearch(t, theirs, req), mustSearch(t, ours, req)
	if diff := cmp.Diff(a.Hits, b.Hits, cmpopts.EquateApprox(1e-5, 0)); diff != "" || len(a.Hits) < 30 {
		t.Errorf("%d hits (-server +here):\n%s", len(a.Hits), diff)
	}
	if best := *a.Hits[0].Score; best > 2.0/7+1e-6 || best < 1.0/7-1e-6 {
		t.Errorf("the best score %v is none that k = 7 can give", best)
	}
}

// fusionCollection has no ties in either ranking.
func fusionCollection(t *testing.T, server *qdranttest.Server) string {
	t.Helper()
	name := server.Name(t)
	server.Create(t, qdranttest.Collection{
		Name: name, Vectors: map[string]*qdrant.VectorParams{"": {Size: 2, Distance: qdrant.Distance_Dot}}, Sparse: map[string]*qdrant.SparseVectorParams{"words": {}},
	})
	encoder, err := bm25.New(languageEnglish)
	if err != nil {
		t.Fatal(err)
	}
	var points []*qdrant.PointStruct
	for n := range 60 {
		text := "alpha" + strings.Repeat(" filler", n*7%60) + strings.Repeat(" beta", n%3)
		indices, values := encoder.Passage(text)
		points = append(points, &qdrant.PointStruct{
			Id: qdrant.NewIDNum(uint64(n)), Payload: qdrant.NewValueMap(map[string]any{"text": text}),
			Vectors: qdrant.NewVectorsMap(map[string]*qdrant.Vector{"": qdrant.NewVector(float32(n*17%60), float32(n)/100), "words": qdrant.NewVectorSparse(indices, values)}),
		})
	}
	server.Upsert(t, name, points...)
	return name
}

// TestFieldNames filters by names that a path must be made of.
func TestFieldNames(t *testing.T) {
	t.Parallel()
	server := sharedServer(t)
	name := server.Name(t)
	server.Create(t, qdranttest.Collection{Name: name, Vectors: map[string]*qdrant.VectorParams{"": {Size: 2, Distance: qdrant.Distance_Dot}}})
	payload := map[string]any{
		"text": "t", "meta": map[string]any{"lang": "de", "deep": map[string]any{"er": true}}, "a b": "space", "dotted.key": "literal", "größe": "XL",
		"parts": []any{map[string]any{"no": 7}, map[string]any{"no": 8.5}}, "null": nil, "list": []any{}, "large": int64(1)<<60 + 1, "half": 0.5,
	}
	server.Upsert(t, name,
		&qdrant.PointStruct{Id: qdrant.NewIDNum(1), Vectors: qdrant.NewVectors(1, 0), Payload: qdrant.NewValueMap(payload)},
		&qdrant.PointStruct{Id: qdrant.NewIDNum(2), Vectors: qdrant.NewVectors(1, 0), Payload: qdrant.NewValueMap(map[string]any{"text": "u", "large": int64(1) << 60})})
	s := openOn(t, server, name, "")
	items, err := s.Fetch(t.Context(), adapters.FetchRequest{IDs: []string{"1"}})
	if err != nil || len(items) != 1 {
		t.Fatalf("%d items, %v", len(items), err)
	}
	want := map[string][]string{
		"meta.lang": {"de"}, "meta.deep.er": {"true"}, "a b": {"space"}, "dotted.key": {"literal"}, "größe": {"XL"}, "parts[].no": {"7", "8.5"},
		"large": {"1152921504606846977"}, "half": {"0.5"},
	}
	if diff := cmp.Diff(want, items[0].Metadata); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	for field, values := range want { // what is told can be filtered by
		typed := values[0] == "true" || strings.ContainsAny(values[0], "0123456789")
		for _, not := range []bool{false, true} {
			response := mustSearch(t, s, adapters.SearchRequest{
				Mode: modeDense, Vector: []float32{1, 0}, Limit: 5, Filter: []adapters.Condition{{Field: field, AnyOf: values, Typed: typed, Not: not}},
			})
			expect := []string{"1"}
			if not {
				expect = []string{"2"}
			}
			if got := hitIDs(response); !slices.Equal(got, expect) {
				t.Errorf("%s of %q, not %t: %q, want %q", field, values, not, got, expect)
			}
		}
	}
	_, err = s.Search(t.Context(), adapters.SearchRequest{Mode: modeDense, Vector: []float32{1, 0}, Limit: 5, Filter: []adapters.Condition{{Field: `a"b`, AnyOf: []string{"x"}}}})
	wantError(t, err, adapters.KindInvalid, "quotation mark")
	_, err = s.Search(t.Context(), adapters.SearchRequest{Mode: modeDense, Vector: []float32{1, 0}, Limit: 5, Filter: []adapters.Condition{{Field: "half", AnyOf: []string{"much"}, Typed: true}}})
	wantError(t, err, adapters.KindInvalid, `"half"`, `"much"`)
}

func TestIDs(t *testing.T) {
	t.Parallel()
	const uuid = "550e8400-e29b-41d4-a716-446655440000"
	for text, want := range map[string]string{
		"0": "0", "42": "42", "18446744073709551615": "18446744073709551615", uuid: uuid, strings.ToUpper(uuid): uuid, strings.ReplaceAll(uuid, "-", ""): uuid,
		"": "", "-1": "", "1.5": "", "007": "", "18446744073709551616": "", "x": "", uuid[:35]: "", uuid[:35] + "g": "", "no such id " + uuid: "",
	} {
		id, ok := parseID(text)
		if ok != (want != "") || ok && idText(id) != want {
			t.Errorf("%q: %v, %t, want %q", text, id, ok, want)
		}
	}
	order := []*qdrant.PointId{qdrant.NewIDNum(2), qdrant.NewIDNum(10), qdrant.NewID("0" + uuid[1:]), qdrant.NewID(uuid)}
	for i, a := range order {
		for j, b := range order {
			if after(a, b) != (i > j) {
				t.Errorf("after(%v, %v) is %t", a, b, after(a, b))
			}
		}
	}
}

// TestFingerprintOfManyItems changes items inside and outside of the sample.
func TestFingerprintOfManyItems(t *testing.T) {
	t.Parallel()
	server := sharedServer(t)
	name := server.Name(t)
	server.Create(t, qdranttest.Collection{Name: name, Vectors: map[string]*qdrant.VectorParams{"": {Size: 2, Distance: qdrant.Distance_Dot}}})
	point := func(n int, text string) *qdrant.PointStruct {
		return &qdrant.PointStruct{Id: qdrant.NewIDNum(uint64(n)), Vectors: qdrant.NewVectors(float32(n), 1), Payload: qdrant.NewValueMap(map[string]any{"text": text})}
	}
	var points []*qdrant.PointStruct
	for n := range 2000 {
		points = append(points, point(n, fmt.Sprint(n)))
	}
	server.Upsert(t, name, points...)
	s := openOn(t, server, name, "")
	fingerprint := func() string {
		t.Helper()
		info, err := s.Describe(t.Context())
		if err != nil || info.Count < 2000 {
			t.Fatalf("%d items, %v", info.Count, err)
		}
		return info.Fingerprint
	}
	last := fingerprint()
	for _, step := range []struct {
		name   string
		change func()
		seen   bool
	}{
		{"nothing", func() {}, false},
		{"the first item", func() { server.Upsert(t, name, point(0, "changed")) }, true},
		{"an item at another place of the sample", func() { server.Upsert(t, name, point(1010, "changed")) }, true},
		{"an item that is written again as it was", func() { server.Upsert(t, name, point(1010, "changed")) }, true},
		{"an item outside of the sample", func() { server.Upsert(t, name, point(700, "changed")) }, false},
		{"one item more", func() { server.Upsert(t, name, point(5000, "new")) }, true},
		{"an index", func() { server.Index(t, name, "text", qdrant.FieldType_FieldTypeText) }, true},
	} {
		step.change()
		now := fingerprint()
		if (now != last) != step.seen {
			t.Errorf("%s: it changes: %t, want %t", step.name, now != last, step.seen)
		}
		last = now
	}
}
