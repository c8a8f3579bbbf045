package loader

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/embedded"
	"github.com/culprit-rag/culprit/adapters/qdrant/qdranttest"
	"github.com/culprit-rag/culprit/adapters/weaviate/weaviatetest"
)

// documents are a corpus in memory.
type documents []adapters.Item

func (d documents) Digest(context.Context) (string, error) {
	text, err := json.Marshal(d)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

func (d documents) Items(context.Context) iter.Seq2[adapters.Item, error] {
	return func(yield func(adapters.Item, error) bool) {
		for _, item := range d {
			if !yield(item, nil) {
				return
			}
		}
	}
}

// corpus makes n documents of two tenants.
func corpus(n int) documents {
	docs := make(documents, n)
	for i := range docs {
		docs[i] = adapters.Item{
			ID: fmt.Sprintf("guide.md#%d", i), Source: "guide.md", Revision: "2026-07-01", Text: fmt.Sprintf("Paragraph %d of the guide says %d.", i, i*i),
			Access: []string{"staff", "board"}, Metadata: map[string][]string{"tenant": {[]string{"acme", "globex"}[i%2]}, "tags": []string{"a", "b"}[:1+i%2]},
		}
	}
	return docs
}

func openEmbedder(t *testing.T, settings string) adapters.Embedder {
	t.Helper()
	e, err := embedded.Factory().OpenEmbedder(t.Context(), adapters.Config{Settings: json.RawMessage(settings)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// store is a server with a name for a collection of the test's own.
type store struct {
	adapter, address, key, collection string
}

var fieldNames = map[string]string{
	"text": "body", "source": "doc", "revision": "rev", "access": "groups", "indexed_at": "indexed", "updated_at": "updated", "embed_model": "model",
}

// job loads docs into the store, by an embedder of 64 dimensions. Overrides are laid over the settings.
func (s store) job(t *testing.T, docs adapters.Documents, overrides ...map[string]any) Job {
	t.Helper()
	settings := map[string]any{"address": s.address, "collection": s.collection, "fields": fieldNames}
	if s.key != "" {
		t.Setenv("LOADER_TEST_KEY", s.key)
		settings["api_key_env"] = "LOADER_TEST_KEY"
	}
	for _, o := range overrides {
		maps.Copy(settings, o)
	}
	text, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	return Job{
		Adapter: s.adapter, Settings: text, Dir: t.TempDir(), Secrets: &adapters.Secrets{Env: os.LookupEnv}, Documents: docs,
		Embedder: openEmbedder(t, `{"model": "hashing", "dimensions": 64, "passage_prefix": "passage: ", "query_prefix": "query: "}`),
	}
}

// eachStore runs test on both kinds of server.
func eachStore(t *testing.T, test func(t *testing.T, s store)) {
	t.Helper()
	t.Run("qdrant", func(t *testing.T) {
		server := qdranttest.Start(t, qdranttest.Options{})
		s := store{"qdrant", server.Address, server.APIKey, server.Name(t)}
		t.Cleanup(func() { _ = server.Client(t).DeleteCollection(context.Background(), s.collection) }) //nolint:usetesting // the test's own context has ended
		test(t, s)
	})
	t.Run("weaviate", func(t *testing.T) {
		server := weaviatetest.Shared(t)
		test(t, store{"weaviate", server.Address, server.Key, weaviateCollection(t)})
	})
}

func weaviateCollection(t *testing.T) string {
	t.Helper()
	sum := sha256.Sum256([]byte(t.Name() + t.TempDir()))
	return "Load" + hex.EncodeToString(sum[:8])
}

func mustLoad(t *testing.T, job Job) Report {
	t.Helper()
	r, err := Load(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// wantError loads and holds the error against its kind ("refused", or one of adapters) and parts of its text.
func wantError(t *testing.T, job Job, kind adapters.Kind, parts ...string) {
	t.Helper()
	_, err := Load(t.Context(), job)
	if err == nil {
		t.Fatal("the load went through")
	}
	var refused *Refusal
	got := adapters.KindOf(err)
	if errors.As(err, &refused) {
		got = "refused"
	}
	if got != kind {
		t.Errorf("the error is %q, want %q: %v", got, kind, err)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error lacks %q: %v", part, err)
		}
	}
}

// contents returns what the collection holds, by the document's id.
func contents(t *testing.T, s store) map[string]stored {
	t.Helper()
	if s.adapter == "qdrant" {
		return qdrantContents(t, s)
	}
	return weaviateContents(t, s)
}

// stored is an item as the store returns it: each field as a list of texts.
type stored struct {
	id     string
	fields map[string][]string
	vector []float32
}

func stringsOf(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, e := range v {
			out = append(out, stringsOf(e)...)
		}
		return out
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
