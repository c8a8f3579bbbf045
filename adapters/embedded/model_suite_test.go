package embedded

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/adaptertest"
)

// wraps are the ways in which each suite is run: a wrapper must keep the contract of what it wraps.
func wraps() map[string]adapters.Policy {
	return map[string]adapters.Policy{
		"bare": {},
		"wrapped": {
			Name: Name, Redact: adapters.NewRedactor("sk-another-secret"), Retries: 2, MaxWait: time.Microsecond,
			Slots: make(chan struct{}, 3), Timeout: time.Minute,
			OnAttempt: func(context.Context, adapters.Attempt) error { return nil },
		},
	}
}

// opens returns a function that opens with these settings, wrapped unless the way is bare.
func opens[B any](way string, settings string, open func(context.Context, adapters.Config) (B, error), wrap func(B, adapters.Policy) B) func(context.Context) (B, error) {
	policy := wraps()[way]
	return func(ctx context.Context) (B, error) {
		backend, err := open(ctx, adapters.Config{Settings: json.RawMessage(settings)})
		if err != nil || way == "bare" {
			return backend, err
		}
		return wrap(backend, policy), nil
	}
}

func TestGeneratorSuite(t *testing.T) {
	t.Parallel()
	for way := range wraps() {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			open := func(ctx context.Context, settings string) (adapters.Generator, error) {
				return opens(way, settings, openGenerator, adapters.WrapGenerator)(ctx)
			}
			adaptertest.TestGenerator(t, adaptertest.GeneratorHarness{
				Harness: adaptertest.Harness[adapters.Generator]{
					Open: opens(way, `{}`, openGenerator, adapters.WrapGenerator),
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
		})
	}
}

func TestEmbedderSuite(t *testing.T) {
	t.Parallel()
	for way := range wraps() {
		for _, tt := range []struct {
			name, settings string
			maxTokens      int
		}{
			{"default", `{}`, 0},
			{"prefixes", `{"dimensions": 64, "query_prefix": "query: ", "passage_prefix": "passage: "}`, 0},
			{"trained prefixes", `{"query_prefix": "query: ", "passage_prefix": "passage: ", "trained_prefixes": ["query: ", "passage: "], "ascii": true}`, 0},
			{"short input", `{"max_tokens": 9}`, 9},
		} {
			t.Run(way+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				adaptertest.TestEmbedder(t, adaptertest.EmbedderHarness{
					Harness:   adaptertest.Harness[adapters.Embedder]{Open: opens(way, tt.settings, openEmbedder, adapters.WrapEmbedder)},
					Unit:      true,
					MaxTokens: tt.maxTokens,
				})
			})
		}
	}
}

func TestRerankerSuite(t *testing.T) {
	t.Parallel()
	for way := range wraps() {
		for _, tt := range []struct {
			name, settings string
			maxWords       int
		}{
			{"default", `{}`, 0},
			{"logits", `{"logits": true}`, 0},
			{"unsorted", `{"unsorted": true}`, 0},
			{"short input", `{"max_words": 9, "reports_truncation": true}`, 9},
		} {
			t.Run(way+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				adaptertest.TestReranker(t, adaptertest.RerankerHarness{
					Harness:  adaptertest.Harness[adapters.Reranker]{Open: opens(way, tt.settings, openReranker, adapters.WrapReranker)},
					MaxWords: tt.maxWords,
				})
			})
		}
	}
}

func TestWrappedStoreSuite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	adaptertest.TestVectorStore(t, adaptertest.StoreHarness{
		Capabilities: adapters.StoreCapabilities{
			Modes: []string{modeKeyword}, Exact: true, Threshold: true, Filter: true, Collections: true, Only: true, FilterStatistics: true, Local: true,
		},
		Open: func(t *testing.T, c adaptertest.Corpus) adapters.VectorStore {
			t.Helper()
			items := corpus(c.Items).clone()
			for i := range items {
				items[i].Vector = nil
			}
			return adapters.WrapStore(mustOpen(t, dir, `{}`, items, nil), wraps()["wrapped"])
		},
	})
}
