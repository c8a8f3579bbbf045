package plugin_test

import (
	"testing"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/embedded"
	"github.com/culprit-rag/culprit/adapters/plugin"
)

// BenchmarkPluginCall is a rerank of five short texts, in this process and across the wire; the difference is what a plugin costs.
func BenchmarkPluginCall(b *testing.B) {
	req := adapters.RerankRequest{Query: "How long is the leave?", Documents: []string{
		"Leave is 26 weeks.", "Pay is monthly.", "Travel is by train.", "Hotels are booked by the office.", "The office opens at eight.",
	}}
	for _, bm := range []struct {
		name string
		open func(b *testing.B) (adapters.Reranker, error)
	}{
		{"in process", func(b *testing.B) (adapters.Reranker, error) {
			return embedded.Factory().OpenReranker(b.Context(), adapters.Config{Settings: []byte(`{}`)})
		}},
		{"plugin", func(b *testing.B) (adapters.Reranker, error) {
			return plugin.Factory().OpenReranker(b.Context(), as(b, "embedded", map[string]any{}))
		}},
		{"plugin without TLS", func(b *testing.B) (adapters.Reranker, error) {
			return plugin.Factory().OpenReranker(b.Context(), as(b, "embedded", map[string]any{}, setting("mtls", "off")))
		}},
	} {
		b.Run(bm.name, func(b *testing.B) {
			r, err := bm.open(b)
			if err != nil {
				b.Fatal(err)
			}
			defer r.Close()
			for b.Loop() {
				if _, err := r.Rerank(b.Context(), req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
