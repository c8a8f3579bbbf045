package loader

import (
	"bytes"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/qdrant/go-client/qdrant"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/qdrant/qdranttest"
	"github.com/culprit-rag/culprit/adapters/weaviate/weaviatetest"
)

// post sends JSON to the REST interface of a Weaviate.
func post(t *testing.T, s store, path, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.address+path, bytes.NewBufferString(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if s.key != "" {
		req.Header.Set("Authorization", "Bearer "+s.key)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("POST %s: %s", path, resp.Status)
	}
}

// seed makes a collection with one item as somebody else would.
func seed(t *testing.T, s store) {
	t.Helper()
	if s.adapter == "weaviate" {
		post(t, s, "/v1/schema", `{"class": "`+s.collection+`", "description": "{\"embed_model\": \"theirs\"}", "vectorizer": "none"}`)
		post(t, s, "/v1/objects", `{"class": "`+s.collection+`", "id": "00000000-0000-4000-8000-000000000001", "properties": {"`+documentField+`": "theirs"}}`)
		return
	}
	server := &qdranttest.Server{Address: s.address, APIKey: s.key}
	server.Create(t, qdranttest.Collection{
		Name: s.collection, Vectors: map[string]*qdrant.VectorParams{"": {Size: 64, Distance: qdrant.Distance_Cosine}},
		Metadata: map[string]any{"embed_model": "theirs", metadataMark: "{}"},
	})
	server.Upsert(t, s.collection, &qdrant.PointStruct{
		Id: qdrant.NewIDNum(1), Vectors: qdrant.NewVectors(make([]float32, 64)...), Payload: qdrant.NewValueMap(map[string]any{documentField: "theirs"}),
	})
}

func TestLoadRefusesWhatItDidNotMake(t *testing.T) {
	eachStore(t, func(t *testing.T, s store) {
		seed(t, s)
		job := s.job(t, corpus(3))
		wantError(t, job, "refused", `"`+s.collection+`" was not made by culprit load`, "backends.store.collection")
		job.Recreate = true
		wantError(t, job, "refused", `"`+s.collection+`" was not made by culprit load`, "neither written nor deleted")
		if diff := cmp.Diff([]string{"theirs"}, sortedKeys(contents(t, s))); diff != "" {
			t.Errorf("what the collection holds (-want +got):\n%s", diff)
		}
	})
}

func TestLoadRefusesAnAlias(t *testing.T) {
	s := store{"weaviate", "", "", weaviateCollection(t)}
	server := weaviatetest.Shared(t)
	s.address, s.key = server.Address, server.Key
	mustLoad(t, s.job(t, corpus(3)))
	post(t, s, "/v1/aliases", `{"alias": "Alias`+s.collection+`", "class": "`+s.collection+`"}`)
	job := s.job(t, corpus(4), map[string]any{"collection": "Alias" + s.collection})
	job.Recreate = true
	wantError(t, job, "refused", `"Alias`+s.collection+`" is another name of "`+s.collection+`"`, "backends.store.collection: "+s.collection)
	if n := len(contents(t, s)); n != 3 {
		t.Errorf("the collection behind the alias holds %d items", n)
	}
}

func TestLoadSeesThatItemsWereAdded(t *testing.T) {
	eachStore(t, func(t *testing.T, s store) {
		mustLoad(t, s.job(t, corpus(3)))
		if s.adapter == "weaviate" {
			post(t, s, "/v1/objects", `{"class": "`+s.collection+`", "properties": {"`+documentField+`": "theirs"}}`)
		} else {
			(&qdranttest.Server{Address: s.address, APIKey: s.key}).Upsert(t, s.collection, &qdrant.PointStruct{Id: qdrant.NewIDNum(1), Vectors: qdrant.NewVectors(make([]float32, 64)...)})
		}
		wantError(t, s.job(t, corpus(3)), "refused", "it was filled with 3 items and now holds 4", "--recreate")
	})
}

func TestLoadWithoutTheRightKey(t *testing.T) {
	qdrantServer := func(t *testing.T) store {
		server := qdranttest.Start(t, qdranttest.Options{APIKey: "the-right-key"})
		return store{"qdrant", server.Address, "the-right-key", server.Name(t)}
	}
	weaviateServer := func(t *testing.T) store {
		server := weaviatetest.Start(t, weaviatetest.Options{Keys: true})
		return store{"weaviate", server.Address, server.Key, "Load"}
	}
	for name, start := range map[string]func(*testing.T) store{"qdrant": qdrantServer, "weaviate": weaviateServer} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			keys := map[string]string{"wrong": "not-the-key-at-all", "none": ""}
			if name == "weaviate" {
				keys["one that may only read"] = weaviatetest.ReadOnlyKey
			}
			for what, key := range keys {
				bad := s
				bad.key = key
				job := bad.job(t, corpus(3))
				wantError(t, job, adapters.KindUnauthorised, "backends.store.api_key_env", "missing, wrong, or may not write")
				if _, err := Load(t.Context(), job); key != "" && strings.Contains(err.Error(), key) {
					t.Errorf("%s: the error holds the key: %v", what, err)
				}
			}
			if r := mustLoad(t, s.job(t, corpus(3))); r.Written != 3 {
				t.Errorf("with the right key: %+v", r)
			}
		})
	}
}

func TestLoadOverTLS(t *testing.T) {
	server := qdranttest.Start(t, qdranttest.Options{TLS: true})
	s := store{"qdrant", server.Address, "", server.Name(t)}
	wantError(t, s.job(t, corpus(3)), adapters.KindTransient, "backends.store.tls must be as the server is")
	wantError(t, s.job(t, corpus(3), map[string]any{"tls": true}), adapters.KindTransient, "certificate")
	if r := mustLoad(t, s.job(t, corpus(3), map[string]any{"tls": map[string]string{"ca_file": server.CAFile}})); r.Written != 3 {
		t.Errorf("%+v", r)
	}
}

func TestLoadFromWhereNothingAnswers(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := l.Addr().String()
	l.Close()
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	other := web.Listener.Addr().String()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	for _, tt := range []struct {
		name string
		s    store
		also map[string]any
		kind adapters.Kind
		want []string
	}{
		{"qdrant, nobody", store{"qdrant", nobody, "", "docs"}, nil, adapters.KindTransient, []string{"nothing that speaks gRPC answers at backends.store.address " + nobody, "6334"}},
		{"qdrant, an HTTP port", store{"qdrant", other, "", "docs"}, nil, adapters.KindTransient, []string{"nothing that speaks gRPC answers at backends.store.address " + other}},
		{"weaviate, nobody", store{"weaviate", nobody, "", "Docs"}, nil, adapters.KindTransient, []string{"no Weaviate answers at backends.store.address " + nobody, "8080"}},
		{"weaviate, another server", store{"weaviate", other, "", "Docs"}, nil, adapters.KindPermanent, []string{"asking the server what it is", "backends.store.address " + other}},
		{"weaviate, no TLS to one with", store{"weaviate", secure.Listener.Addr().String(), "", "Docs"}, nil, adapters.KindPermanent, []string{"backends.store.tls: true"}},
		{"weaviate, TLS to one without", store{"weaviate", other, "", "Docs"}, map[string]any{"tls": true}, adapters.KindPermanent, []string{"backends.store.tls: false"}},
	} {
		t.Run(tt.name, func(t *testing.T) { wantError(t, tt.s.job(t, corpus(1), tt.also), tt.kind, tt.want...) })
	}
}

func TestLoadRefusesBadSettingsAndDocuments(t *testing.T) {
	with := func(change func(documents)) documents {
		docs := corpus(3)
		change(docs)
		return docs
	}
	qdrantStore, weaviateStore := store{"qdrant", "127.0.0.1:1", "", "docs"}, store{"weaviate", "127.0.0.1:1", "", "Docs"}
	empty := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		s    store
		docs adapters.Documents
		also map[string]any
		kind adapters.Kind
		want []string
	}{
		{"no documents", qdrantStore, nil, nil, "refused", []string{"backends.store.documents is missing"}},
		{"no items", qdrantStore, documents{}, nil, "refused", []string{"the documents hold no item"}},
		{"no loader", store{"pinecone", "127.0.0.1:1", "", "docs"}, corpus(1), nil, "refused", []string{`"pinecone" has no loader`, "qdrant or weaviate"}},
		{"no collection", qdrantStore, corpus(1), map[string]any{"collection": ""}, adapters.KindInvalid, []string{"backends.store.collection is missing"}},
		{"no address", qdrantStore, corpus(1), map[string]any{"address": ""}, adapters.KindInvalid, []string{"backends.store.address is missing"}},
		{"an address that is none", weaviateStore, corpus(1), map[string]any{"address": "localhost"}, adapters.KindInvalid, []string{"backends.store.address", "host:port"}},
		{"a key that is not set", qdrantStore, corpus(1), map[string]any{"api_key_env": "NO_SUCH_VARIABLE"}, adapters.KindInvalid, []string{"backends.store.api_key_env", `"NO_SUCH_VARIABLE"`}},
		{"an empty key file", qdrantStore, corpus(1), map[string]any{"api_key_file": empty}, adapters.KindInvalid, []string{"backends.store.api_key_file", "is empty"}},
		{"an authority that is none", qdrantStore, corpus(1), map[string]any{"tls": map[string]string{"ca_file": empty}}, adapters.KindInvalid, []string{"backends.store.tls.ca_file", "no certificate in PEM"}},
		{"a class of Weaviate in small letters", weaviateStore, corpus(1), map[string]any{"collection": "docs"}, adapters.KindInvalid, []string{`backends.store.collection "docs"`, "a capital letter"}},
		{"a property in capital letters", weaviateStore, corpus(1), map[string]any{"fields": map[string]string{"text": "Body"}}, adapters.KindInvalid, []string{"backends.store.fields.text", `"Body"`, "small letter"}},
		{"two fields of one name", qdrantStore, corpus(1), map[string]any{"fields": map[string]string{"text": "a", "source": "a"}}, adapters.KindInvalid, []string{"backends.store.fields.", `"a"`, "has already"}},
		{"a path", qdrantStore, corpus(1), map[string]any{"fields": map[string]string{"text": "a.b"}}, adapters.KindInvalid, []string{"backends.store.fields.text", `"a.b"`, "path"}},
		{"another model of sparse vectors", qdrantStore, corpus(1), map[string]any{"keyword": map[string]string{"vector": "s", "encoder": "server", "model": "splade"}}, adapters.KindInvalid, []string{"backends.store.keyword.model", `"splade"`}},
		{"a language that is none", qdrantStore, corpus(1), map[string]any{"keyword": map[string]string{"vector": "s", "language": "klingon"}}, adapters.KindInvalid, []string{"backends.store.keyword.language", "klingon"}},
		{
			"metadata with the name of a field", qdrantStore, with(func(d documents) { d[1].Metadata["doc"] = []string{"x"} }), nil, "refused",
			[]string{`metadata "doc" of document "guide.md#1"`, "backends.store.fields.source", "rename"},
		},
		{
			"metadata that Weaviate keeps for itself", weaviateStore, with(func(d documents) { d[1].Metadata["id"] = []string{"x"} }), nil, "refused",
			[]string{`metadata "id" of document "guide.md#1"`, "keeps for itself"},
		},
		{
			"another collection", qdrantStore, with(func(d documents) { d[2].Collection = "drafts" }), nil, "refused",
			[]string{`document "guide.md#2" belongs to collection "drafts"`, "backends.store.collection"},
		},
		{
			"a vector of another length", qdrantStore, with(func(d documents) { d[2].Vector = []float32{1, 2} }), nil, "refused",
			[]string{`the vector of document "guide.md#2" has 2 dimensions`, "backends.embedder have 64"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) { wantError(t, tt.s.job(t, tt.docs, tt.also), tt.kind, tt.want...) })
	}
}
