package adapters_test

import (
	"context"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/adapters"
)

// countingEmbedder answers with so many vectors, whatever it is asked.
type countingEmbedder struct {
	adapters.Embedder
	vectors, calls int
}

func (e *countingEmbedder) Embed(context.Context, adapters.EmbedRequest) (adapters.EmbedResponse, error) {
	e.calls++
	return adapters.EmbedResponse{Vectors: make([][]float32, e.vectors)}, nil
}

func TestEveryTextHasAVector(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		vectors int
		texts   []string
		want    string // "" is no error
	}{
		{2, []string{"a", "b"}, ""},
		{0, nil, ""},
		{1, []string{"a", "b"}, "counted: embed: permanent: 1 vectors for 2 texts"},
		{3, []string{"a", "b"}, "counted: embed: permanent: 3 vectors for 2 texts"},
		{1, nil, "counted: embed: permanent: 1 vectors for 0 texts"},
	} {
		next := countingEmbedder{vectors: tt.vectors}
		resp, err := adapters.WrapEmbedder(&next, adapters.Policy{Name: "counted", Retries: 2}).Embed(t.Context(), adapters.EmbedRequest{Texts: tt.texts})
		switch {
		case tt.want == "" && (err != nil || len(resp.Vectors) != tt.vectors):
			t.Errorf("%d vectors for %d texts: got %d vectors, %v", tt.vectors, len(tt.texts), len(resp.Vectors), err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || resp.Vectors != nil):
			t.Errorf("want %q, got %v with %d vectors", tt.want, err, len(resp.Vectors))
		}
		if next.calls != 1 {
			t.Errorf("%d vectors for %d texts: %d calls, want 1", tt.vectors, len(tt.texts), next.calls)
		}
	}
}
