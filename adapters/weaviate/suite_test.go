package weaviate

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/weaviate/weaviate/entities/models"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/adaptertest"
	"github.com/culprit-rag/culprit/adapters/weaviate/weaviatetest"
)

// suiteKind is a kind of class that passes the suite.
type suiteKind struct {
	name, distance, vector, filter string
	class                          func(name string) *models.Class
	score                          func(float64) float64
	lower                          bool
}

var suiteKinds = []suiteKind{
	{name: "cosine, a vector without a name, fields as tokens", distance: "cosine", filter: filterServer, class: func(name string) *models.Class {
		return weaviatetest.Unnamed(name, "cosine", properties("field")...)
	}},
	{name: "dot, a vector with a name, words as tokens", distance: "dot", vector: "title", filter: filterChecked, class: func(name string) *models.Class {
		return weaviatetest.Named(name, map[string]string{"title": "dot", "other": "cosine"}, properties("word")...)
	}},
	{
		name: "euclid", distance: "euclid", lower: true, filter: filterChecked, score: func(x float64) float64 { return x * x },
		class: func(name string) *models.Class {
			return weaviatetest.Unnamed(name, "l2-squared", properties("trigram")...)
		},
	},
}

// TestStoreSuite runs the suite on real classes, each of another kind.
func TestStoreSuite(t *testing.T) {
	t.Parallel()
	server := weaviatetest.Shared(t)
	for _, kind := range suiteKinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			seen := record(t, server)
			fill := &filler{server: server, kind: kind, filled: map[string]string{}, front: seen.Address, other: weaviatetest.ClassName(t)}
			adaptertest.TestVectorStore(t, adaptertest.StoreHarness{
				Capabilities:  (&store{}).Capabilities(),
				Distance:      kind.distance,
				Score:         kind.score,
				LowerIsBetter: kind.lower,
				ID:            weaviatetest.ID,
				Other:         fill.other,
				Types:         true,
				Open:          func(_ *testing.T, c adaptertest.Corpus) adapters.VectorStore { return fill.open(t, c) },
				Change: func(_ *testing.T, c adaptertest.Corpus) adaptertest.Collection {
					return &changing{fill: fill, class: fill.fill(t, c)}
				},
				Writes: seen.Writes,
			})
		})
	}
}

// filler fills a class for each corpus, once.
type filler struct {
	server weaviatetest.Server
	front  string // the address that stores use
	kind   suiteKind
	other  string // the class of the items of the other collection

	mu      sync.Mutex
	filled  map[string]string // digest of a corpus → name of its class
	besides bool              // the other class is there
}

func (f *filler) open(t *testing.T, c adaptertest.Corpus) adapters.VectorStore {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	data, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	digest := fmt.Sprintf("%x", sha256.Sum256(data))
	if f.filled[digest] == "" {
		f.filled[digest] = f.fill(t, c)
	}
	return f.store(t, f.filled[digest])
}

func (f *filler) store(t *testing.T, class string) adapters.VectorStore {
	t.Helper()
	through := f.server
	through.Address = f.front
	return mustOpen(t, through, on(through, class).with(settings{"vector": f.kind.vector, "filter": f.kind.filter, "hybrid": settings{"candidates": 1000}}))
}

// fill makes a class of its own for the corpus.
func (f *filler) fill(t *testing.T, c adaptertest.Corpus) (class string) {
	t.Helper()
	class = weaviatetest.ClassName(t)
	f.server.Create(t, f.kind.class(class))
	var here, there []*models.Object
	for _, item := range c.Items {
		if item.Collection == "" {
			here = append(here, objectOfItem(class, item, f.kind.vector))
		} else {
			there = append(there, objectOfItem(f.other, item, f.kind.vector))
		}
	}
	f.server.Insert(t, here...)
	f.server.Settle(t, class, int64(len(here)))
	if len(there) > 0 && !f.besides {
		f.server.Create(t, f.kind.class(f.other))
		f.server.Insert(t, there...)
		f.besides = true
	}
	return class
}

// changing is a class that changes while stores read it.
type changing struct {
	fill  *filler
	class string
}

func (c *changing) Open(t *testing.T) adapters.VectorStore {
	t.Helper()
	return c.fill.store(t, c.class)
}

func (c *changing) Put(t *testing.T, items ...adapters.Item) {
	t.Helper()
	var objects []*models.Object
	for _, item := range items {
		objects = append(objects, objectOfItem(c.class, item, c.fill.kind.vector))
	}
	c.fill.server.Insert(t, objects...)
}

func (c *changing) Delete(t *testing.T, ids ...string) {
	t.Helper()
	c.fill.server.Delete(t, c.class, "", ids...)
}

func (c *changing) SetText(t *testing.T, id, text string) {
	t.Helper()
	c.fill.server.Update(t, c.class, "", id, map[string]any{"body": text}, nil)
}

func (c *changing) SetVector(t *testing.T, id string, vector []float32) {
	t.Helper()
	if name := c.fill.kind.vector; name != "" {
		c.fill.server.UpdateVector(t, c.class, "", id, name, vector)
		return
	}
	c.fill.server.Update(t, c.class, "", id, map[string]any{}, vector)
}
