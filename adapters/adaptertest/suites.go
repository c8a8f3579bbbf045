package adaptertest

import (
	"testing"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/conformance"
)

// What a harness is made of is that of package conformance.
type (
	// Corpus is what a store under test is filled with.
	Corpus = conformance.Corpus
	// Harness is what the suites for models need of a backend.
	Harness[B interface{ Close() error }] = conformance.Harness[B]
	// EmbedderHarness is what an embedder must bring to be tested.
	EmbedderHarness = conformance.EmbedderHarness
	// GeneratorHarness is what a generator must bring to be tested.
	GeneratorHarness = conformance.GeneratorHarness
	// RerankerHarness is what a reranker must bring to be tested.
	RerankerHarness = conformance.RerankerHarness
	// PipelineHarness is what a pipeline must bring to be tested.
	PipelineHarness = conformance.PipelineHarness
)

// The names of package conformance that harnesses use.
const (
	RareWord        = conformance.RareWord
	OtherCollection = conformance.OtherCollection
	KindString      = conformance.KindString
	KindNumber      = conformance.KindNumber
	KindBoolean     = conformance.KindBoolean
)

// ErrCannot is returned by a harness for what it cannot provoke.
var ErrCannot = conformance.ErrCannot

// NewCorpus returns about two hundred items, always the same. With id nil the ids are any text.
func NewCorpus(id func(n int) string) Corpus { return conformance.NewCorpus(id) }

// FieldKind tells what the values of a metadata field of the corpus are.
func FieldKind(field string) string { return conformance.FieldKind(field) }

// TestEmbedder holds an embedder to the contract of [adapters.Embedder].
func TestEmbedder(t *testing.T, h EmbedderHarness) {
	t.Helper()
	conformance.Embedder(of{t}, h)
}

// TestGenerator holds a generator to the contract of [adapters.Generator].
func TestGenerator(t *testing.T, h GeneratorHarness) {
	t.Helper()
	conformance.Generator(of{t}, h)
}

// TestReranker holds a reranker to the contract of [adapters.Reranker].
func TestReranker(t *testing.T, h RerankerHarness) {
	t.Helper()
	conformance.Reranker(of{t}, h)
}

// TestPipeline holds a pipeline to the contract of [adapters.Pipeline].
func TestPipeline(t *testing.T, h PipelineHarness) {
	t.Helper()
	conformance.Pipeline(of{t}, h)
}

// of is a test as the suites see it.
type of struct{ *testing.T }

func (t of) Run(name string, f func(conformance.T)) bool {
	return t.T.Run(name, func(t *testing.T) { f(of{t}) })
}

// test is the way back: whoever fills a store under test gets the test itself.
func test(t conformance.T) *testing.T {
	if t, ok := t.(of); ok {
		return t.T
	}
	panic("a suite hands out another T than it got")
}

// TestVectorStore holds a store to the contract of [adapters.VectorStore].
func TestVectorStore(t *testing.T, h StoreHarness) {
	t.Helper()
	inner := conformance.StoreHarness{
		Open:         func(t conformance.T, c Corpus) adapters.VectorStore { return h.Open(test(t), c) },
		Capabilities: h.Capabilities, Distance: h.Distance, Score: h.Score, LowerIsBetter: h.LowerIsBetter, Tolerance: h.Tolerance, ID: h.ID,
		Other: h.Other, TimePrecision: h.TimePrecision, CannotHold: h.CannotHold, NeedsVectors: h.NeedsVectors, Types: h.Types, UnitVectors: h.UnitVectors,
		FusionMoves: h.FusionMoves, EmbedModel: h.EmbedModel, ModelsUntold: h.ModelsUntold, Writes: h.Writes,
	}
	if h.Change != nil {
		inner.Change = func(t conformance.T, c Corpus) conformance.Collection { return changing{h.Change(test(t), c)} }
	}
	conformance.Store(of{t}, inner)
}

// changing is a collection as the suite sees it.
type changing struct{ Collection }

func (c changing) Open(t conformance.T) adapters.VectorStore { return c.Collection.Open(test(t)) }

func (c changing) Put(t conformance.T, items ...adapters.Item) { c.Collection.Put(test(t), items...) }

func (c changing) Delete(t conformance.T, ids ...string) { c.Collection.Delete(test(t), ids...) }

func (c changing) SetText(t conformance.T, id, text string) { c.Collection.SetText(test(t), id, text) }

func (c changing) SetVector(t conformance.T, id string, v []float32) {
	c.Collection.SetVector(test(t), id, v)
}
