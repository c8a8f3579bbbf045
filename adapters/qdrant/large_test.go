package qdrant

import (
	"fmt"
	"strings"
	"testing"

	"github.com/qdrant/go-client/qdrant"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/qdrant/qdranttest"
)

// TestSearchOfLargePayloads: what is asked for beside the limit, to decide ties, may not fit into one answer. The hits are read
// a few at a time then.
func TestSearchOfLargePayloads(t *testing.T) {
	t.Parallel()
	server := sharedServer(t)
	name := server.Name(t)
	server.Create(t, qdranttest.Collection{Name: name, Vectors: map[string]*qdrant.VectorParams{"dense": {Size: 2, Distance: qdrant.Distance_Dot}}})
	for i := range 8 {
		server.Upsert(t, name, &qdrant.PointStruct{
			Id: qdrant.NewIDNum(uint64(i + 1)), Vectors: qdrant.NewVectorsMap(map[string]*qdrant.Vector{"dense": qdrant.NewVectorDense([]float32{float32(i), 1})}),
			Payload: qdrant.NewValueMap(map[string]any{"text": fmt.Sprintf("%d %s", i+1, strings.Repeat("x", 9<<20)), "source": fmt.Sprintf("s%d", i+1)}),
		})
	}
	s := openOn(t, server, name, `"vector": "dense", "fields": {"text": "text", "source": "source"}`)
	response, err := s.Search(t.Context(), adapters.SearchRequest{Mode: modeDense, Vector: []float32{1, 0}, Limit: 3})
	if err != nil || len(response.Hits) != 3 {
		t.Fatalf("%d hits, %v", len(response.Hits), err)
	}
	for i, hit := range response.Hits {
		if want := fmt.Sprint(8 - i); hit.ID != want || hit.Source != "s"+want || !strings.HasPrefix(hit.Text, want+" ") || len(hit.Text) < 9<<20 {
			t.Errorf("hit %d is %s of %s with %d bytes", i+1, hit.ID, hit.Source, len(hit.Text))
		}
	}
}
