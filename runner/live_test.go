package runner_test

import (
	"crypto/sha256"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	qdrantclient "github.com/qdrant/go-client/qdrant"
	"github.com/weaviate/weaviate/entities/models"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/embedded"
	"github.com/culprit-rag/culprit/adapters/qdrant"
	"github.com/culprit-rag/culprit/adapters/qdrant/bm25"
	"github.com/culprit-rag/culprit/adapters/qdrant/qdranttest"
	"github.com/culprit-rag/culprit/adapters/weaviate"
	"github.com/culprit-rag/culprit/adapters/weaviate/weaviatetest"
	"github.com/culprit-rag/culprit/experiments"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/runner"
)

// liveStore is a real engine that a test fills with what a broken ingestion would have left there.
type liveStore interface {
	adapter() string
	// fill makes a collection of these items, whose vectors are compared by the distance, and returns the settings to read it.
	fill(t *testing.T, items []adapters.Item, distance string) map[string]any
}

// liveStores starts both engines.
func liveStores(t *testing.T) []liveStore {
	t.Helper()
	return []liveStore{liveQdrant{startQdrant(t)}, liveWeaviate{startWeaviate(t)}}
}

func startQdrant(t *testing.T) *qdranttest.Server {
	t.Helper()
	return qdranttest.Start(t, qdranttest.Options{})
}

func startWeaviate(t *testing.T) weaviatetest.Server {
	t.Helper()
	return weaviatetest.Shared(t)
}

func liveRegistry(t *testing.T) *adapters.Registry {
	t.Helper()
	r, err := adapters.NewRegistry(embedded.Factory(), qdrant.Factory(), weaviate.Factory())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// pointID is an id of the form that both engines take.
func pointID(id string) string {
	sum := sha256.Sum256([]byte(id))
	u, err := uuid.FromBytes(sum[:16])
	if err != nil {
		panic(err) // sixteen bytes always are one
	}
	return u.String()
}

// liveFields maps the fields that fill writes.
var liveFields = map[string]any{
	"text": "body", "source": "doc", "revision": "revision", "access": "groups", "indexed_at": "indexed_at", "updated_at": "updated_at", "embed_model": "embed_model",
}

// payload is what is stored of an item beside its vector.
func payload(item *adapters.Item) map[string]any {
	out := map[string]any{"body": item.Text}
	set := func(name, value string) {
		if value != "" {
			out[name] = value
		}
	}
	source := item.Source
	if source == "" {
		source = item.ID
	}
	set("doc", source)
	set("revision", item.Revision)
	set("embed_model", item.EmbedModel)
	for name, at := range map[string]time.Time{"indexed_at": item.IndexedAt, "updated_at": item.UpdatedAt} {
		if !at.IsZero() {
			out[name] = at.Format(time.RFC3339)
		}
	}
	for name, values := range item.Metadata {
		out[name] = values[0]
	}
	return out
}

func dimensionsOf(items []adapters.Item) int {
	for i := range items {
		if n := len(items[i].Vector); n > 0 {
			return n
		}
	}
	return 0
}

type liveQdrant struct{ server *qdranttest.Server }

func (liveQdrant) adapter() string { return "qdrant" }

func (q liveQdrant) fill(t *testing.T, items []adapters.Item, distance string) map[string]any {
	t.Helper()
	return q.fillWith(t, items, distance, nil)
}

// fillThin makes a graph of the fewest edges, which every search goes through.
func (q liveQdrant) fillThin(t *testing.T, items []adapters.Item) map[string]any {
	t.Helper()
	settings := q.fillWith(t, items, "cosine", &qdrantclient.HnswConfigDiff{
		M: qdrantclient.PtrOf(uint64(4)), EfConstruct: qdrantclient.PtrOf(uint64(4)), FullScanThreshold: qdrantclient.PtrOf(uint64(1)),
	})
	q.server.WaitIndexed(t, settings["collection"].(string), uint64(len(items))) //nolint:forcetypeassert // it was set as one
	settings["hnsw_ef"] = 1
	return settings
}

func (q liveQdrant) fillWith(t *testing.T, items []adapters.Item, distance string, graph *qdrantclient.HnswConfigDiff) map[string]any {
	t.Helper()
	words, err := bm25.New("english")
	if err != nil {
		t.Fatal(err)
	}
	collection := qdranttest.Collection{
		Name: q.server.Name(t), HNSW: graph, IndexAll: graph != nil,
		Sparse: map[string]*qdrantclient.SparseVectorParams{"words": {Modifier: qdrantclient.Modifier_Idf.Enum()}},
	}
	settings := map[string]any{"address": q.server.Address, "collection": collection.Name, "fields": liveFields, "keyword": map[string]any{"vector": "words"}}
	if n := dimensionsOf(items); n > 0 {
		kind := map[string]qdrantclient.Distance{"cosine": qdrantclient.Distance_Cosine, "dot": qdrantclient.Distance_Dot}[distance]
		collection.Vectors = map[string]*qdrantclient.VectorParams{"dense": {Size: uint64(n), Distance: kind}}
		settings["vector"] = "dense"
	}
	q.server.Create(t, collection)
	var points []*qdrantclient.PointStruct
	for i := range items {
		item := &items[i]
		fields := payload(item)
		if len(item.Access) > 0 {
			list := make([]any, len(item.Access))
			for i, group := range item.Access {
				list[i] = group
			}
			fields["groups"] = list
		}
		vectors := map[string]*qdrantclient.Vector{"words": qdrantclient.NewVectorSparse(words.Passage(item.Text))}
		if item.Vector != nil {
			vectors["dense"] = qdrantclient.NewVectorDense(item.Vector)
		}
		points = append(points, &qdrantclient.PointStruct{
			Id: qdrantclient.NewIDUUID(pointID(item.ID)), Payload: qdrantclient.NewValueMap(fields), Vectors: qdrantclient.NewVectorsMap(vectors),
		})
	}
	q.server.Upsert(t, collection.Name, points...)
	return settings
}

type liveWeaviate struct{ server weaviatetest.Server }

func (liveWeaviate) adapter() string { return "weaviate" }

func (w liveWeaviate) fill(t *testing.T, items []adapters.Item, distance string) map[string]any {
	t.Helper()
	return w.fillWith(t, items, func(class *models.Class) { class.VectorIndexConfig = map[string]any{"distance": distance} })
}

func (w liveWeaviate) fillThin(t *testing.T, items []adapters.Item) map[string]any {
	t.Helper()
	return w.fillWith(t, items, func(class *models.Class) {
		class.VectorIndexConfig = map[string]any{"distance": "cosine", "maxConnections": 4, "efConstruction": 4, "ef": 4}
	})
}

func (w liveWeaviate) fillWith(t *testing.T, items []adapters.Item, change func(*models.Class)) map[string]any {
	t.Helper()
	name := weaviatetest.ClassName(t)
	properties := []*models.Property{
		weaviatetest.Text("body", "word"), weaviatetest.Text("doc", "field"), weaviatetest.Text("revision", "field"), weaviatetest.Texts("groups", "field"),
		weaviatetest.Property("indexed_at", "date"), weaviatetest.Property("updated_at", "date"), weaviatetest.Text("embed_model", "field"),
	}
	fields := map[string]bool{}
	for i := range items {
		for field := range items[i].Metadata {
			fields[field] = true
		}
	}
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		properties = append(properties, weaviatetest.Text(field, "field"))
	}
	class := weaviatetest.Unnamed(name, "", properties...)
	change(class)
	w.server.Create(t, class)
	var objects []*models.Object
	for i := range items {
		item := &items[i]
		stored := payload(item)
		if len(item.Access) > 0 {
			stored["groups"] = item.Access
		}
		objects = append(objects, weaviatetest.Object(name, pointID(item.ID), stored, item.Vector))
	}
	w.server.Insert(t, objects...)
	return map[string]any{"address": w.server.Address, "collection": name, "fields": liveFields}
}

// transplant writes what the embedded store of an experiment holds, broken as it may be, into a live store, and makes the
// experiment read it there. What is in other collections goes into collections of their own.
func transplant(t *testing.T, l *experiments.Loaded, live liveStore) {
	t.Helper()
	e := &l.Experiment
	registry := registry(t)
	cfg := adapters.Config{Settings: e.Backends.Store.Settings, CacheDir: t.TempDir(), Dir: l.Dir}
	if spec := e.Backends.Embedder; spec != nil {
		embedder, err := registry.Embedder(t.Context(), spec.Adapter, adapters.Config{Settings: spec.Settings})
		if err != nil {
			t.Fatal(err)
		}
		defer embedder.Close()
		cfg.IndexEmbedder = embedder
	}
	if l.Documents != nil {
		cfg.Documents = runner.Corpus(l.Documents)
	}
	store, err := registry.Store(t.Context(), spec(e).Adapter, cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	info, err := store.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, collection := range info.Collections {
		if collection != info.Collection {
			live.fill(t, itemsOf(t, store, collection), "cosine")
		}
	}
	distance := info.Distance
	if distance == "" {
		distance = "cosine"
	}
	items := itemsOf(t, store, "")
	settings := live.fill(t, items, distance)
	renameGold(l, items)
	raw, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	e.Backends.Store = &matrix.Backend{Adapter: live.adapter(), Settings: raw}
	// The index declares nothing there: what it was built for is pinned.
	if e.Pins.Index.QueryPrefix == nil {
		e.Pins.Index.QueryPrefix = info.QueryPrefix
	}
	if e.Pins.Index.PassagePrefix == nil {
		e.Pins.Index.PassagePrefix = info.PassagePrefix
	}
	if e.Pins.Index.EmbedModel == "" {
		e.Pins.Index.EmbedModel = info.EmbedModel
	}
	// They are what should be there; comparing with them would name every defect of the index "stale".
	l.Documents = nil
}

// renameGold lets the cases name items by the ids that they have in a live store, where they name them by id.
func renameGold(l *experiments.Loaded, items []adapters.Item) {
	rename := func(source *string) {
		if !slices.ContainsFunc(items, func(i adapters.Item) bool { return i.Source == *source }) {
			*source = pointID(*source)
		}
	}
	for i := range l.Cases {
		evidence := &l.Cases[i].Case.Evidence
		for j := range evidence.Required {
			for k := range evidence.Required[j].AnyOf {
				rename(&evidence.Required[j].AnyOf[k].Source)
			}
		}
		for j := range evidence.Distractors {
			rename(&evidence.Distractors[j].Source)
		}
		for _, claim := range l.Cases[i].Case.Claims {
			for j := range claim.Cites {
				rename(&claim.Cites[j])
			}
		}
	}
}

func spec(e *matrix.Experiment) *matrix.Backend { return e.Backends.Store }

func itemsOf(t *testing.T, store adapters.VectorStore, collection string) []adapters.Item {
	t.Helper()
	var items []adapters.Item
	_, err := store.Scan(t.Context(), adapters.ScanRequest{Collection: collection, Vectors: store.Capabilities().Vectors}, func(item adapters.Item) error {
		items = append(items, item)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return items
}

// TestLabelsInLiveStores puts every switched defect of the stages up to the search into both live stores, and expects the label
// that the embedded store gets. A defect that is one of the embedded engine's own behaviour has a test of its own.
func TestLabelsInLiveStores(t *testing.T) {
	t.Parallel()
	stages := []string{"index/", "embed/", "retrieve/", "access/"}
	named := map[string]bool{}
	for _, live := range liveStores(t) {
		for _, s := range switches() {
			upToSearch := slices.ContainsFunc(stages, func(stage string) bool { return strings.HasPrefix(s.expected, stage) })
			if !upToSearch || slices.ContainsFunc(s.set, engineFault) {
				continue
			}
			named[s.expected] = true
			t.Run(live.adapter()+"/"+s.file+"/"+strings.ReplaceAll(s.name, " ", "-"), func(t *testing.T) {
				loaded := load(t, "testdata/switches/"+s.file+".yaml", change{set: s.set})
				transplant(t, loaded, live)
				id := s.caseID
				if id == "" {
					id = loaded.Cases[0].Case.ID
				}
				e := runWith(t, loaded, liveRegistry(t))[id].Evaluation
				consistent(t, e)
				t.Logf("%s: %s", verdictOf(e), e.Summary)
				if got := verdictOf(e); got != s.expected {
					t.Errorf("got %s, want %s\n    %s", got, s.expected, explained(e))
				}
			})
		}
	}
	for _, label := range []string{
		"index/missing", "index/partial", "index/overwritten", "index/stale", "index/wrong-collection", "index/ghost",
		"embed/model-mismatch", "embed/dimension-mismatch", "embed/mixed-models", "embed/prefix-mismatch", "embed/zero-vector", "embed/vectors-misassigned",
		"embed/input-truncated", "retrieve/below-threshold", "retrieve/filtered-out", "retrieve/below-cutoff", "retrieve/query-altered", "retrieve/crowded-out",
		"access/leak",
	} {
		if !named[label] {
			t.Errorf("no switch provokes %s in a live store", label)
		}
	}
}

// engineFault reports whether a setting changes how the embedded engine answers and not what it holds, or names items by ids
// that they have there.
func engineFault(set string) bool {
	for _, fault := range []string{"faults.approximate", "faults.filter", "faults.late", "store.keyword", "pipeline.faults"} {
		if strings.Contains(set, fault) {
			return true
		}
	}
	return false
}

// TestHealthyTwinsInLiveStores runs the experiments with nothing broken on both live stores.
func TestHealthyTwinsInLiveStores(t *testing.T) {
	t.Parallel()
	for _, live := range liveStores(t) {
		for _, file := range []string{"keyword", "dense", "flood", "tenants", "order"} {
			t.Run(live.adapter()+"/"+file, func(t *testing.T) {
				loaded := load(t, "testdata/switches/"+file+".yaml", change{})
				transplant(t, loaded, live)
				for id, b := range runWith(t, loaded, liveRegistry(t)) {
					if got := verdictOf(b.Evaluation); got != "pass" {
						t.Errorf("case %s: got %s, want pass\n    %s", id, got, explained(b.Evaluation))
					}
				}
			})
		}
	}
}
