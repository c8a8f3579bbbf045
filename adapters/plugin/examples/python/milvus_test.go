package python_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/adaptertest"
	"github.com/culprit-rag/culprit/adapters/conformance"
	"github.com/culprit-rag/culprit/adapters/plugin"
	"github.com/culprit-rag/culprit/adapters/pythontest"
)

const (
	token         = "reader:secret" // the engine tells the plugin's calls by it
	declaredModel = "model-of-the-collection"
)

// fieldMap is how the suite's items are laid out in rows.
var fieldMap = map[string]any{
	"text": "body", "source": "doc_id", "revision": "edition_of_doc", "access": "groups", "indexed_at": "indexed", "updated_at": "changed",
	"embed_model": "embedding_model",
}

// engine is a Milvus Lite server with collections that the test makes.
type engine struct {
	python  string
	address string // of Milvus's own API
	door    string // of the program that fills it
}

func startEngine(t *testing.T) *engine {
	t.Helper()
	e := &engine{python: install(t, "milvus-plugin", "", "requirements-milvus.txt", "testdata/requirements-engine.txt")}
	p, err := pythontest.Start(context.WithoutCancel(t.Context()), e.python, os.DirFS("testdata"), "milvus_engine.py", nil,
		func(dir string) ([]string, error) { return []string{dir + "/data"}, nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := p.Close(); err != nil {
			t.Errorf("stopping the engine: %v", err)
		}
	})
	e.address, e.door, _ = strings.Cut(p.Ready, " ")
	return e
}

// ask lets the engine's door do something, and decodes its answer into answer, if that is not nil.
func (e *engine) ask(t testing.TB, what string, given map[string]any, answer any) {
	t.Helper()
	body, err := json.Marshal(given)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.Post("http://"+e.door+"/"+what, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s %v", what, response.StatusCode, text, err)
	}
	if answer != nil {
		if err := json.Unmarshal(text, answer); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
}

func (e *engine) settings(collection string, more map[string]any) map[string]any {
	settings := map[string]any{"uri": "http://" + e.address, "token_env": "MILVUS_TOKEN", "collection": collection, "fields": fieldMap}
	for key, value := range more {
		settings[key] = value
	}
	return settings
}

func (e *engine) open(t testing.TB, settings map[string]any) (adapters.VectorStore, error) {
	t.Helper()
	return plugin.Factory().OpenStore(t.Context(), config(t.(*testing.T), e.python, "milvus_store.py", settings, map[string]any{"env": []string{"MILVUS_TOKEN"}}))
}

// variant is one kind of collection.
type variant struct {
	metric, index string
	metadata      bool // in a JSON field, and not in dynamic ones
	keyword       bool
	settings      map[string]any
	harness       adaptertest.StoreHarness
}

func TestStore(t *testing.T) {
	e := startEngine(t)
	all := adapters.StoreCapabilities{
		Modes: []string{"keyword", "dense", "hybrid"}, Exact: true, Threshold: true, Filter: true, Vectors: true, Collections: true, Only: true,
	}
	square := func(x float64) float64 { return x * x }
	jsonFields := map[string]any{"metadata": "metadata"}
	for key, value := range fieldMap {
		jsonFields[key] = value
	}
	for name, v := range map[string]variant{
		"cosine, flat, dynamic fields": {
			metric: "COSINE", index: "FLAT", keyword: true, harness: adaptertest.StoreHarness{Capabilities: all, Distance: "cosine"},
		},
		"euclid, a graph, a JSON field": {
			metric: "L2", index: "HNSW", keyword: true, metadata: true,
			settings: map[string]any{"fields": jsonFields, "page": 50, "search_params": map[string]any{"ef": 400}},
			harness:  adaptertest.StoreHarness{Capabilities: all, Distance: "euclid", LowerIsBetter: true, Score: square},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &filled{engine: e, variant: v, t: t, collections: map[string]string{}}
			f.other = f.make()
			h := v.harness
			h.Other, h.Types, h.EmbedModel, h.ModelsUntold, h.NeedsVectors, h.FusionMoves = f.other, true, declaredModel, true, true, true
			h.TimePrecision = time.Microsecond
			h.Open = func(t *testing.T, c adaptertest.Corpus) adapters.VectorStore {
				t.Helper()
				return f.store(t, f.collection(c))
			}
			h.Change = func(t *testing.T, c adaptertest.Corpus) adaptertest.Collection {
				t.Helper()
				return f.changing(c)
			}
			h.Writes = f.writes
			adaptertest.TestVectorStore(t, h)
		})
	}
	t.Run("settings that do not fit", e.refusals)
	t.Run("a collection without keywords, by the dot product", e.denseAlone)
	t.Run("the fixture of the test command", e.fixture)
}

// filled are the collections of one run of the suite.
type filled struct {
	*engine
	variant

	t     *testing.T
	other string

	mu          sync.Mutex
	collections map[string]string // digest of a corpus → collection
}

func (f *filled) make() string {
	name := "c_" + strings.ToLower(rand.Text()[:10])
	f.ask(f.t, "create", map[string]any{
		"name": name, "metric": f.metric, "index": f.index, "dim": 24, "json_metadata": f.metadata, "bm25": f.keyword, "model": declaredModel,
	}, nil)
	return name
}

func (f *filled) put(name string, items []adapters.Item) {
	rows := make([]map[string]any, len(items))
	for i, item := range items {
		rows[i] = f.row(item)
	}
	f.ask(f.t, "put", map[string]any{"name": name, "rows": rows}, nil)
}

func (f *filled) collection(c adaptertest.Corpus) string {
	data, err := json.Marshal(c)
	if err != nil {
		f.t.Fatal(err)
	}
	digest := fmt.Sprintf("%x", sha256.Sum256(data))
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.collections[digest] == "" {
		f.collections[digest] = f.make()
		f.put(f.collections[digest], f.of(c, ""))
	}
	f.put(f.other, f.of(c, adaptertest.OtherCollection))
	return f.collections[digest]
}

func (f *filled) of(c adaptertest.Corpus, collection string) []adapters.Item {
	return slices.DeleteFunc(slices.Clone(c.Items), func(item adapters.Item) bool { return item.Collection != collection })
}

// row lays an item out.
func (f *filled) row(item adapters.Item) map[string]any {
	row := map[string]any{"key": item.ID, "body": item.Text, "dense": item.Vector}
	for field, value := range map[string]string{"doc_id": item.Source, "edition_of_doc": item.Revision, "embedding_model": item.EmbedModel} {
		row[field] = nil
		if value != "" {
			row[field] = value
		}
	}
	row["groups"], row["indexed"], row["changed"] = nil, nil, nil
	if len(item.Access) > 0 {
		row["groups"] = item.Access
	}
	if !item.IndexedAt.IsZero() {
		row["indexed"], row["changed"] = item.IndexedAt.Format(time.RFC3339Nano), item.UpdatedAt.Format("2006-01-02 15:04:05.999999999")
	}
	into := row
	if f.metadata {
		into = map[string]any{}
		row["metadata"] = into
	}
	for field, values := range item.Metadata {
		typed := anys(field, values)
		into[field] = typed
		if len(typed) == 1 {
			into[field] = typed[0]
		}
	}
	return row
}

// anys gives values the types that the suite says a field has.
func anys(field string, values []string) []any {
	list := make([]any, len(values))
	for i, value := range values {
		list[i] = value
		switch adaptertest.FieldKind(field) {
		case adaptertest.KindNumber:
			list[i] = json.Number(value)
		case adaptertest.KindBoolean:
			list[i], _ = strconv.ParseBool(value)
		}
	}
	return list
}

func (f *filled) store(t *testing.T, collection string) adapters.VectorStore {
	t.Helper()
	store, err := f.open(t, f.engine.settings(collection, f.variant.settings))
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// writes lists the calls of the plugin that are not known to read.
func (f *filled) writes() []string {
	var called []string
	f.ask(f.t, "calls", map[string]any{}, &called)
	if len(called) == 0 {
		return []string{"nothing was called at all"}
	}
	return slices.DeleteFunc(called, func(method string) bool {
		return slices.Contains([]string{
			"Connect", "GetVersion", "DescribeCollection", "ShowCollections", "DescribeIndex", "Query", "Search", "HybridSearch",
		}, method)
	})
}

func (f *filled) changing(c adaptertest.Corpus) adaptertest.Collection {
	name := f.make()
	f.put(name, f.of(c, ""))
	return changing{f, name}
}

// changing is a collection that changes while it is read.
type changing struct {
	*filled

	name string
}

func (c changing) Open(t *testing.T) adapters.VectorStore { t.Helper(); return c.store(t, c.name) }

func (c changing) Put(t *testing.T, items ...adapters.Item) {
	t.Helper()
	c.put(c.name, items)
}

func (c changing) Delete(t *testing.T, ids ...string) {
	t.Helper()
	c.ask(t, "delete", map[string]any{"name": c.name, "keys": ids}, nil)
}

func (c changing) SetText(t *testing.T, id, text string) {
	t.Helper()
	c.ask(t, "change", map[string]any{"name": c.name, "row": map[string]any{"key": id, "body": text}}, nil)
}

func (c changing) SetVector(t *testing.T, id string, vector []float32) {
	t.Helper()
	c.ask(t, "change", map[string]any{"name": c.name, "row": map[string]any{"key": id, "dense": vector}}, nil)
}

func (e *engine) refusals(t *testing.T) {
	e.ask(t, "create", map[string]any{"name": "plain", "metric": "COSINE", "index": "FLAT", "dim": 24, "json_metadata": true, "bm25": false, "model": ""}, nil)
	e.ask(t, "alias", map[string]any{"name": "plain", "alias": "nightly"}, nil)
	for name, tt := range map[string]struct {
		change map[string]any
		kind   adapters.Kind
		want   string
	}{
		"no such collection": {map[string]any{"collection": "nowhere"}, adapters.KindNotFound, "nowhere"},
		"no such vector":     {map[string]any{"vector": "sparse"}, adapters.KindInvalid, "setting vector"},
		"no such text":       {map[string]any{"fields": map[string]any{"text": "chunk"}}, adapters.KindInvalid, "setting fields.text"},
		"no server":          {map[string]any{"uri": "http://127.0.0.1:1"}, adapters.KindTransient, "127.0.0.1:1"},
		"a file":             {map[string]any{"uri": "data.db"}, adapters.KindInvalid, "uri"},
		"no token":           {map[string]any{"token_env": ""}, adapters.KindInvalid, "token_env"},
		"another token":      {map[string]any{"token_env": "HOME"}, adapters.KindInvalid, "HOME"},
	} {
		t.Run(name, func(t *testing.T) {
			store, err := e.open(t, e.settings("plain", tt.change))
			if err == nil {
				_ = store.Close()
			}
			if adapters.KindOf(err) != tt.kind || !strings.Contains(fmt.Sprint(err), tt.want) {
				t.Errorf("%v of kind %q, want kind %q and %q", err, adapters.KindOf(err), tt.kind, tt.want)
			}
			if strings.Contains(fmt.Sprint(err), "secret") {
				t.Errorf("%v shows the token", err)
			}
		})
	}
	store, err := e.open(t, e.settings("nightly", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	info, err := store.Describe(t.Context())
	if err != nil || info.Collection != "plain" || !slices.ContainsFunc(info.Notes, func(n string) bool { return strings.Contains(n, "alias of plain") }) {
		t.Errorf("an alias is described as %q with the notes %q, %v", info.Collection, info.Notes, err)
	}
}

func (e *engine) denseAlone(t *testing.T) {
	e.ask(t, "create", map[string]any{"name": "dots", "metric": "IP", "index": "HNSW", "dim": 2, "json_metadata": false, "bm25": false, "model": ""}, nil)
	e.ask(t, "put", map[string]any{"name": "dots", "rows": []map[string]any{
		{"key": "short", "body": "x", "dense": []float32{1, 0}}, {"key": "long", "body": "y", "dense": []float32{3, 4}},
	}}, nil)
	store, err := e.open(t, e.settings("dots", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if modes := store.Capabilities().Modes; !slices.Equal(modes, []string{"dense"}) {
		t.Errorf("modes %q, want dense alone", modes)
	}
	for _, exact := range []bool{false, true} {
		response, err := store.Search(t.Context(), adapters.SearchRequest{Mode: "dense", Vector: []float32{2, 0}, Limit: 2, Exact: exact})
		if err != nil || len(response.Hits) != 2 || response.Hits[0].ID != "long" || *response.Hits[0].Score != 6 || *response.Hits[1].Score != 2 || response.LowerIsBetter {
			t.Errorf("exact %t: %+v, %v", exact, response, err)
		}
	}
}

// fixture fills a collection as authors do who run culprit plugin test.
func (e *engine) fixture(t *testing.T) {
	var text bytes.Buffer
	corpus, err := conformance.Allowances{NeedsVectors: true}.Corpus()
	if err != nil {
		t.Fatal(err)
	}
	if err := corpus.WriteJSONL(&text); err != nil {
		t.Fatal(err)
	}
	fill := exec.CommandContext(t.Context(), e.python, "-B", "milvus_fixture.py", "http://"+e.address, "fixture")
	fill.Stdin, fill.Env = &text, append(os.Environ(), "MILVUS_TOKEN=door:door")
	if out, err := fill.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var settings map[string]any
	data, err := os.ReadFile("milvus_fixture.settings.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &settings); err != nil {
		t.Fatal(err)
	}
	settings["uri"] = "http://" + e.address
	store, err := e.open(t, settings)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	info, err := store.Describe(t.Context())
	if err != nil || info.Count != 195 || !slices.Contains(info.Collections, "other") {
		t.Errorf("%d items, collections %q, %v, want 195 items and another collection", info.Count, info.Collections, err)
	}
}
