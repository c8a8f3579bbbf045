package qdrant

import (
	"testing"

	"github.com/qdrant/go-client/qdrant"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/adaptertest"
)

// changing is a collection that the suite changes.
type changing struct {
	*filled
	name  string
	items map[string]adapters.Item
}

func (f *filled) changing(c adaptertest.Corpus) adaptertest.Collection {
	m := &changing{f, f.fill(c.Items), map[string]adapters.Item{}}
	for _, item := range c.Items {
		m.items[item.ID] = item
	}
	return m
}

func (m *changing) Open(t *testing.T) adapters.VectorStore {
	t.Helper()
	return m.open(t, m.name)
}

func (m *changing) Put(t *testing.T, items ...adapters.Item) {
	t.Helper()
	for _, item := range items {
		m.items[item.ID] = item
		m.server.Upsert(t, m.name, m.point(t, item))
	}
}

func (m *changing) Delete(t *testing.T, ids ...string) {
	t.Helper()
	m.server.Delete(t, m.name, parseIDs(ids)...)
}

func (m *changing) SetText(t *testing.T, id, text string) {
	t.Helper()
	item := m.items[id]
	item.Text = text
	m.items[id] = item
	m.server.SetPayload(t, m.name, map[string]any{"body": text}, parseIDs([]string{id})...)
}

func (m *changing) SetVector(t *testing.T, id string, vector []float32) {
	t.Helper()
	item := m.items[id]
	item.Vector = vector
	m.items[id] = item
	m.server.SetVectors(t, m.name, parseIDs([]string{id})[0], map[string]*qdrant.Vector{m.vector: qdrant.NewVectorDense(vector)})
}
