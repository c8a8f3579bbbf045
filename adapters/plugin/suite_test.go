package plugin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/adaptertest"
	"github.com/culprit-rag/culprit/adapters/plugin"
)

// The suites that the embedded adapter passes directly must pass across the wire too.

func TestStoreSuite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	adaptertest.TestVectorStore(t, adaptertest.StoreHarness{
		Capabilities: adapters.StoreCapabilities{
			Modes: []string{"keyword", "dense", "hybrid"}, Exact: true, Threshold: true, Filter: true, Vectors: true, Collections: true, Only: true,
		},
		Distance:   "cosine",
		EmbedModel: "hashing",
		Open: func(t *testing.T, c adaptertest.Corpus) adapters.VectorStore {
			t.Helper()
			without := map[string]any{} // the embedder would give a vector to the item that is to have none
			for _, item := range c.Items {
				if item.Vector == nil {
					without[item.ID] = map[string]any{"none": true}
				}
			}
			settings := map[string]any{
				"items": write(t, c.Items), "embedder": map[string]any{"dimensions": 24}, "store": map[string]any{"faults": map[string]any{"vectors": without}},
			}
			cfg := as(t, "embedded", settings)
			cfg.CacheDir = dir
			store, err := openPluginStore(t, cfg)
			if err != nil {
				t.Fatal(err)
			}
			return store
		},
	})
}

// write puts items into a file.
func write(t testing.TB, items any) string {
	t.Helper()
	data, err := json.Marshal(items)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "items.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestEmbedderSuite(t *testing.T) {
	t.Parallel()
	adaptertest.TestEmbedder(t, adaptertest.EmbedderHarness{
		Harness: adaptertest.Harness[adapters.Embedder]{Open: func(ctx context.Context) (adapters.Embedder, error) {
			return plugin.Factory().OpenEmbedder(ctx, as(t, "embedded", map[string]any{"query_prefix": "query: ", "max_tokens": 9}))
		}},
		Unit:      true,
		MaxTokens: 9,
	})
}

func TestGeneratorSuite(t *testing.T) {
	t.Parallel()
	open := func(ctx context.Context, settings string) (adapters.Generator, error) {
		return plugin.Factory().OpenGenerator(ctx, as(t, "embedded", json.RawMessage(settings)))
	}
	adaptertest.TestGenerator(t, adaptertest.GeneratorHarness{
		Harness: adaptertest.Harness[adapters.Generator]{
			Open: func(ctx context.Context) (adapters.Generator, error) { return open(ctx, `{}`) },
			Fail: func(ctx context.Context, kind adapters.Kind) (adapters.Generator, error) {
				switch kind {
				case adapters.KindNotFound, adapters.KindUnsupported, adapters.KindInvalid:
					return nil, adaptertest.ErrCannot
				default:
					return open(ctx, fmt.Sprintf(`{"provider": [{"error": %q}]}`, kind))
				}
			},
		},
		Reads: true,
		Finish: func(ctx context.Context, reason string) (adapters.Generator, error) {
			return open(ctx, fmt.Sprintf(`{"provider": [{"finish": %q}]}`, reason))
		},
	})
}

func TestRerankerSuite(t *testing.T) {
	t.Parallel()
	adaptertest.TestReranker(t, adaptertest.RerankerHarness{
		Harness: adaptertest.Harness[adapters.Reranker]{Open: func(ctx context.Context) (adapters.Reranker, error) {
			return plugin.Factory().OpenReranker(ctx, as(t, "embedded", map[string]any{"max_words": 9, "reports_truncation": true}))
		}},
		MaxWords: 9,
	})
}
