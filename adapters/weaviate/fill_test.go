package weaviate

import (
	"encoding/json"
	"maps"
	"testing"
	"time"

	"github.com/weaviate/weaviate/entities/models"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/adaptertest"
	"github.com/culprit-rag/culprit/adapters/weaviate/weaviatetest"
)

// settings of a store in tests.
type settings map[string]any

func (s settings) with(more settings) settings {
	all := maps.Clone(s)
	maps.Copy(all, more)
	return all
}

// on are the settings of a store on a class of the server, with all fields mapped as fill writes them.
func on(server weaviatetest.Server, class string) settings {
	return settings{
		"address": server.Address, "collection": class,
		"fields": settings{
			"text": "body", "source": "doc", "revision": "revision", "access": "groups", "indexed_at": "indexed_at", "updated_at": "updated_at",
			"embed_model": "embed_model",
		},
	}
}

// config is what a factory gets; the key, where there is one, is in the environment.
func config(t testing.TB, s settings, key string) adapters.Config {
	t.Helper()
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return adapters.Config{Settings: raw, Secrets: &adapters.Secrets{Env: func(string) (string, bool) { return key, key != "" }}}
}

// mustOpen opens a store, which the caller closes.
func mustOpen(t testing.TB, server weaviatetest.Server, s settings) adapters.VectorStore {
	t.Helper()
	if server.Key != "" {
		s = s.with(settings{"api_key_env": "KEY"})
	}
	store, err := Factory().OpenStore(t.Context(), config(t, s, server.Key))
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// opened is a store that the test closes.
func opened(t testing.TB, server weaviatetest.Server, s settings) *store {
	t.Helper()
	opened := mustOpen(t, server, s)
	t.Cleanup(func() { opened.Close() })
	return opened.(*store) //nolint:forcetypeassert // the factory makes nothing else
}

// properties are those of the items of the suite.
func properties(tokenization string) []*models.Property {
	return []*models.Property{
		weaviatetest.Text("body", "word"),
		weaviatetest.Text("doc", tokenization),
		weaviatetest.Text("revision", tokenization),
		weaviatetest.Texts("groups", tokenization),
		weaviatetest.Property("indexed_at", "date"),
		weaviatetest.Property("updated_at", "date"),
		weaviatetest.Text("embed_model", "field"),
		weaviatetest.Text("tenant", tokenization),
		weaviatetest.Text("status", tokenization),
		weaviatetest.Texts("tag", tokenization),
		weaviatetest.Texts("lines", tokenization),
		weaviatetest.Text("edition", tokenization),
		weaviatetest.Property("pages", "number"),
		weaviatetest.Property("sizes", "number[]"),
		weaviatetest.Property("signed", "boolean"),
	}
}

// lists are the metadata that an item has several values of.
var lists = map[string]bool{"tag": true, "lines": true, "sizes": true}

// stored are the values of a metadata field as they are stored.
func stored(name string, values []string) any {
	var list []any
	for _, text := range values {
		var v any = text
		if adaptertest.FieldKind(name) != adaptertest.KindString {
			if err := json.Unmarshal([]byte(text), &v); err != nil {
				panic(err) // the suite writes them as JSON does
			}
		}
		list = append(list, v)
	}
	if lists[name] {
		return list
	}
	return list[0]
}

// objectOfItem is the object of an item. The vector has the name, where that is not empty.
func objectOfItem(class string, item adapters.Item, vector string) *models.Object {
	props := map[string]any{"body": item.Text}
	set := func(name, value string) {
		if value != "" {
			props[name] = value
		}
	}
	set("doc", item.Source)
	set("revision", item.Revision)
	set("embed_model", item.EmbedModel)
	if !item.IndexedAt.IsZero() {
		props["indexed_at"] = item.IndexedAt.Format(time.RFC3339Nano)
	}
	if !item.UpdatedAt.IsZero() {
		props["updated_at"] = item.UpdatedAt.Format(time.RFC3339Nano)
	}
	if len(item.Access) > 0 {
		props["groups"] = item.Access
	}
	for name, values := range item.Metadata {
		props[name] = stored(name, values)
	}
	o := weaviatetest.Object(class, item.ID, props, nil)
	switch {
	case vector == "":
		o.Vector = item.Vector
	case item.Vector != nil:
		o.Vectors = models.Vectors{vector: models.Vector(item.Vector)}
	}
	return o
}
