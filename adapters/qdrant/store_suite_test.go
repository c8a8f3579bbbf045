package qdrant

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/adaptertest"
	"github.com/culprit-rag/culprit/adapters/qdrant/bm25"
	"github.com/culprit-rag/culprit/adapters/qdrant/qdranttest"
)

// fieldMap is how the suite's items are laid out in payloads.
const fieldMap = `{"text": "body", "source": "doc.id", "revision": "doc.revision", "access": "groups",
	"indexed_at": "indexed_at", "updated_at": "updated_at", "embed_model": "embedding_model"}`

// declaredModel is what the collections' metadata say.
const declaredModel = "model-of-the-collection"

// variant is one kind of collection, with the settings to read it by.
type variant struct {
	server   qdranttest.Options
	distance qdrant.Distance
	vector   string
	shards   uint32 // 0: one
	numbers  bool   // some ids are numbers
	indexed  bool   // the fields that are filtered and counted by have an index
	settings string
	harness  adaptertest.StoreHarness
}

func TestStoreSuite(t *testing.T) {
	t.Parallel()
	everything := adapters.StoreCapabilities{
		Modes: []string{modeKeyword, modeDense, modeHybrid}, Exact: true, Threshold: true, Filter: true, Vectors: true, Collections: true, Only: true,
	}
	denseOnly := everything
	denseOnly.Modes = []string{modeDense}
	for name, v := range map[string]variant{
		"unnamed cosine, indexes": {
			distance: qdrant.Distance_Cosine, indexed: true,
			settings: `"keyword": {"vector": "bm25"}, "hybrid": {"prefetch": 2000}`,
			harness:  adaptertest.StoreHarness{Capabilities: everything, Distance: "cosine", UnitVectors: true},
		},
		"named dot, an old server": { // fusion is Culprit's, and vectors come in the old form
			server: qdranttest.Options{Wire: "data", Version: "1.15.3"}, distance: qdrant.Distance_Dot, vector: "dense", numbers: true,
			settings: `"vector": "dense", "keyword": {"vector": "bm25", "encoder": "server"}, "page": 50`,
			harness:  adaptertest.StoreHarness{Capabilities: everything, Distance: "dot", FusionMoves: true},
		},
		"named cosine, dbsf, shards": { // the engine server has one shard whatever it is asked for
			distance: qdrant.Distance_Cosine, vector: "dense", shards: 3,
			settings: `"vector": "dense", "keyword": {"vector": "bm25"}, "hybrid": {"fusion": "dbsf"}`,
			harness:  adaptertest.StoreHarness{Capabilities: everything, Distance: "cosine", UnitVectors: true, FusionMoves: true},
		},
		"euclid, dense alone": {
			distance: qdrant.Distance_Euclid, vector: "dense", numbers: true, indexed: true, settings: `"vector": "dense"`,
			harness: adaptertest.StoreHarness{Capabilities: denseOnly, Distance: "euclid", LowerIsBetter: true},
		},
		"unnamed manhattan": {
			distance: qdrant.Distance_Manhattan, settings: `"keyword": {"vector": "bm25"}, "hybrid": {"prefetch": 2000}`,
			harness: adaptertest.StoreHarness{Capabilities: everything, Distance: "manhattan", LowerIsBetter: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v.run(t)
		})
	}
}

func (v variant) run(t *testing.T) {
	t.Helper()
	f := &filled{variant: v, t: t, collections: map[string]string{}}
	f.server = sharedServer(t)
	if v.server != (qdranttest.Options{}) {
		f.server = qdranttest.Start(t, v.server)
	}
	f.other = f.fill(nil)
	h := v.harness
	h.ID, h.Other, h.Types, h.EmbedModel, h.ModelsUntold = v.id, f.other, true, declaredModel, !v.indexed
	h.Open = func(t *testing.T, c adaptertest.Corpus) adapters.VectorStore {
		t.Helper()
		return f.open(t, f.collection(c))
	}
	h.Change = func(t *testing.T, c adaptertest.Corpus) adaptertest.Collection {
		t.Helper()
		return f.changing(c)
	}
	h.Writes = f.writes
	adaptertest.TestVectorStore(t, h)
}

// id makes ids whose order is not that of n.
func (v variant) id(n int) string {
	if v.numbers && n%2 == 0 {
		return strconv.Itoa((n*7919 + 13) % 1_000_003)
	}
	sum := sha256.Sum256([]byte(strconv.Itoa(n)))
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// filled are the collections of one run of the suite.
type filled struct {
	variant

	t      *testing.T // they live as long as this one
	server *qdranttest.Server
	other  string

	mu          sync.Mutex        // guards what follows
	collections map[string]string // digest of a corpus → collection
	called      []string          // methods that stores have called
}

// collection returns a collection with the corpus, the same one for equal corpora.
func (f *filled) collection(c adaptertest.Corpus) string {
	data, err := json.Marshal(c)
	if err != nil {
		f.t.Fatal(err)
	}
	digest := fmt.Sprintf("%x", sha256.Sum256(data))
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.collections[digest] == "" {
		f.collections[digest] = f.fill(c.Items)
	}
	f.others(c.Items)
	return f.collections[digest]
}

// others fills the other collection; every corpus has the same items for it.
func (f *filled) others(items []adapters.Item) {
	var points []*qdrant.PointStruct
	for _, item := range items {
		if item.Collection != "" {
			points = append(points, f.point(f.t, item))
		}
	}
	f.server.Upsert(f.t, f.other, points...)
}

// fill makes a collection of the items that belong to the main one.
func (f *filled) fill(items []adapters.Item) string {
	modifier := qdrant.Modifier_Idf
	if f.shards > 0 { // each shard counts for itself how rare a word is, so that equal texts would score differently
		modifier = qdrant.Modifier_None
	}
	c := qdranttest.Collection{
		Name:     f.server.Name(f.t),
		Vectors:  map[string]*qdrant.VectorParams{f.vector: {Size: 24, Distance: f.distance}},
		Sparse:   map[string]*qdrant.SparseVectorParams{"bm25": {Modifier: &modifier}},
		Metadata: map[string]any{"embedding_model": declaredModel}, Shards: f.shards,
	}
	if f.indexed {
		c.Indexes = map[string]qdrant.FieldType{
			"embedding_model": qdrant.FieldType_FieldTypeKeyword, "tenant": qdrant.FieldType_FieldTypeKeyword, "groups": qdrant.FieldType_FieldTypeKeyword,
			"doc.id": qdrant.FieldType_FieldTypeKeyword, "pages": qdrant.FieldType_FieldTypeFloat, "signed": qdrant.FieldType_FieldTypeBool,
			"body": qdrant.FieldType_FieldTypeText,
		}
	}
	f.server.Create(f.t, c)
	var points []*qdrant.PointStruct
	for _, item := range items {
		if item.Collection == "" {
			points = append(points, f.point(f.t, item))
		}
	}
	f.server.Upsert(f.t, c.Name, points...)
	return c.Name
}

// point lays an item out as a point.
func (f *filled) point(tb testing.TB, item adapters.Item) *qdrant.PointStruct {
	tb.Helper()
	payload := map[string]any{"body": item.Text}
	doc := map[string]any{}
	set := func(in map[string]any, key, value string) {
		if value != "" {
			in[key] = value
		}
	}
	set(doc, "id", item.Source)
	set(doc, "revision", item.Revision)
	if len(doc) > 0 {
		payload["doc"] = doc
	}
	set(payload, "embedding_model", item.EmbedModel)
	if len(item.Access) > 0 {
		payload["groups"] = anys("", item.Access)
	}
	if !item.IndexedAt.IsZero() {
		payload["indexed_at"], payload["updated_at"] = item.IndexedAt.Format(time.RFC3339Nano), item.UpdatedAt.Format("2006-01-02 15:04:05.999999999")
	}
	for key, values := range item.Metadata {
		payload[key] = anys(key, values)
		if len(values) == 1 {
			payload[key] = anys(key, values)[0]
		}
	}
	id, ok := parseID(item.ID)
	if !ok {
		tb.Fatalf("%q is no id", item.ID)
	}
	encoder, err := bm25.New(languageEnglish)
	if err != nil {
		tb.Fatal(err)
	}
	indices, values := encoder.Passage(item.Text)
	vectors := map[string]*qdrant.Vector{"bm25": qdrant.NewVectorSparse(indices, values)}
	if item.Vector != nil {
		vectors[f.vector] = qdrant.NewVectorDense(item.Vector)
	}
	return &qdrant.PointStruct{Id: id, Vectors: qdrant.NewVectorsMap(vectors), Payload: qdrant.NewValueMap(payload)}
}

// anys gives values the types that the suite says a field has.
func anys(field string, values []string) []any {
	list := make([]any, len(values))
	for i, value := range values {
		list[i] = value
		switch adaptertest.FieldKind(field) {
		case adaptertest.KindNumber:
			if n, err := strconv.ParseInt(value, 10, 64); err == nil {
				list[i] = n
			} else if x, err := strconv.ParseFloat(value, 64); err == nil {
				list[i] = x
			}
		case adaptertest.KindBoolean:
			list[i] = value == "true"
		}
	}
	return list
}

func (f *filled) open(tb testing.TB, collection string) adapters.VectorStore {
	tb.Helper()
	record := func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
		f.mu.Lock()
		f.called = append(f.called, method)
		f.mu.Unlock()
		return invoke(ctx, method, req, reply, conn, options...)
	}
	s, err := open(tb.Context(), adapters.Config{Settings: settingsFor(f.server, collection, `"fields": `+fieldMap+`, `+f.settings), Secrets: secretsOf(f.server)},
		grpc.WithChainUnaryInterceptor(record))
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// writes lists the calls that are not known to read.
func (f *filled) writes() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.called) == 0 {
		return []string{"nothing was called at all"}
	}
	slices.Sort(f.called)
	return slices.DeleteFunc(slices.Compact(slices.Clone(f.called)), func(method string) bool {
		switch method[strings.LastIndex(method, "/")+1:] {
		case "Get", "List", "ListAliases", "HealthCheck", "Query", "QueryBatch", "Scroll", "Count", "Facet":
			return true
		}
		return false
	})
}

// settingsFor are settings of a store on the server, with more of them between the braces.
func settingsFor(s *qdranttest.Server, collection, more string) json.RawMessage {
	text := fmt.Sprintf(`"address": %q, "collection": %q`, s.Address, collection)
	if s.APIKey != "" {
		text += `, "api_key_env": "KEY"`
	}
	if more != "" {
		text += ", " + more
	}
	return json.RawMessage("{" + text + "}")
}

func secretsOf(s *qdranttest.Server) *adapters.Secrets {
	return &adapters.Secrets{Env: func(name string) (string, bool) { return s.APIKey, name == "KEY" }}
}
