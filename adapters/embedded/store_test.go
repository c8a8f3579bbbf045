package embedded

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/culprit-rag/culprit/adapters"
)

// corpus is a fixed list of documents.
type corpus []adapters.Item

func (c corpus) Digest(context.Context) (string, error) {
	text, err := json.Marshal(c)
	return fmt.Sprintf("%x", sha256.Sum256(text)), err
}

func (c corpus) Items(context.Context) iter.Seq2[adapters.Item, error] {
	return func(yield func(adapters.Item, error) bool) {
		for _, item := range c {
			if !yield(item, nil) {
				return
			}
		}
	}
}

func (c corpus) clone() corpus { return slices.Clone(c) }

func open(t *testing.T, dir, settings string, documents corpus, embedder adapters.Embedder) (*store, error) {
	t.Helper()
	s, err := openStore(t.Context(), adapters.Config{
		Settings: json.RawMessage(settings), Documents: documents, IndexEmbedder: embedder, CacheDir: dir,
	})
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing the store: %v", err)
		}
	})
	return s.(*store), nil
}

func mustOpen(t *testing.T, dir, settings string, documents corpus, embedder adapters.Embedder) *store {
	t.Helper()
	s, err := open(t, dir, settings, documents, embedder)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
