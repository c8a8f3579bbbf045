package weaviate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/weaviate/weaviate/entities/models"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/weaviate/weaviatetest"
)

func idsOf(hits []adapters.Hit) []string {
	var ids []string
	for _, hit := range hits {
		ids = append(ids, hit.ID)
	}
	return ids
}

// TestExactOnAQuantizedIndex: one bit for each number tells none of these vectors from another.
func TestExactOnAQuantizedIndex(t *testing.T) {
	t.Parallel()
	server := weaviatetest.Shared(t)
	class := weaviatetest.ClassName(t)
	schema := weaviatetest.Unnamed(class, "cosine", properties("word")...)
	schema.VectorIndexConfig = map[string]any{"distance": "cosine", "bq": map[string]any{"enabled": true, "rescoreLimit": 1}}
	filled(t, server, schema, 300)
	s := opened(t, server, on(server, class))
	var want []string
	for n := range 20 {
		want = append(want, weaviatetest.ID(n))
	}
	response, err := s.Search(t.Context(), adapters.SearchRequest{Mode: modeDense, Vector: []float32{1, 0}, Limit: 20, Exact: true})
	if got := idsOf(response.Hits); err != nil || !response.Exact || !slices.Equal(got, want) {
		t.Errorf("exact: %t, %q, %v, want %q", response.Exact, got, err, want)
	}
	info, err := s.Describe(t.Context())
	if err != nil || !strings.Contains(strings.Join(info.Notes, " "), "bq") {
		t.Errorf("the notes %q do not tell the quantization, %v", info.Notes, err)
	}
}

// TestExactKeywordsInMemory: of what is not in segments yet, 1.35.2 loses the best where few are asked for.
func TestExactKeywordsInMemory(t *testing.T) {
	t.Parallel()
	server := weaviatetest.Start(t, weaviatetest.Options{Env: []string{"PERSISTENCE_MEMTABLES_FLUSH_DIRTY_AFTER_SECONDS=600"}})
	class := weaviatetest.ClassName(t)
	server.Create(t, weaviatetest.Unnamed(class, "cosine", properties("word")...))
	random := rand.New(rand.NewPCG(3, 5))
	words := strings.Fields("invoice payment holiday parental leave policy travel train flight hotel receipt laptop security badge office room")
	var objects []*models.Object
	for n := range 195 {
		text := ""
		for range 6 + random.IntN(10) {
			text += words[random.IntN(len(words))] + " "
		}
		if n == 40 || n == 140 {
			text += "zyzzyva"
		}
		objects = append(objects, weaviatetest.Object(class, weaviatetest.ID(n), map[string]any{"body": text}, []float32{1, 2}))
	}
	server.Insert(t, objects...)
	s := opened(t, server, on(server, class))
	search := func(limit int) []string {
		t.Helper()
		response, err := s.Search(t.Context(), adapters.SearchRequest{Mode: modeKeyword, Query: "invoice zyzzyva", Limit: limit, Exact: true})
		if err != nil || !response.Exact {
			t.Fatalf("limit %d: exact %t, %v", limit, response.Exact, err)
		}
		return idsOf(response.Hits)
	}
	full := search(1000)
	if best := full[:2]; !slices.Contains(best, weaviatetest.ID(40)) || !slices.Contains(best, weaviatetest.ID(140)) {
		t.Fatalf("the best are %q", best)
	}
	for _, limit := range []int{1, 2, 10} {
		if got := search(limit); !slices.Equal(got, full[:limit]) {
			t.Errorf("limit %d: %q, want %q", limit, got, full[:limit])
		}
	}
	info, err := s.Describe(t.Context())
	if want := fmt.Sprintf("%d of %d objects are not in segments", len(objects), len(objects)); err != nil || !strings.Contains(strings.Join(info.Notes, " "), want) {
		t.Errorf("the notes %q lack %q, %v", info.Notes, want, err)
	}
}
