package conformance

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/culprit-rag/culprit/adapters"
)

// Allowances is what an author declares of a backend that is tested without Go: the fields of the harnesses that neither the
// capabilities nor Describe tell. The zero value makes no allowance.
type Allowances struct {
	IDs           string  `json:"ids"`            // the form of ids that the store takes: "any" (or empty), "number" or "uuid"
	CannotHold    string  `json:"cannot_hold"`    // characters that a text in the store cannot hold
	NeedsVectors  bool    `json:"needs_vectors"`  // every item has a vector
	Other         string  `json:"other"`          // the store's name of the collection "other"
	TimePrecision string  `json:"time_precision"` // what times are rounded to, such as "1s"
	Types         bool    `json:"types"`          // the store tells a string from a number and a boolean
	UnitVectors   bool    `json:"unit_vectors"`   // the store brings vectors to unit length
	FusionMoves   bool    `json:"fusion_moves"`   // hybrid scores depend on the limit
	LowerIsBetter bool    `json:"lower_is_better"`
	Tolerance     float64 `json:"tolerance"` // of scores; of vectors, where an embedder computes them anew

	Unit      bool `json:"unit"`       // an embedder's vectors have unit length
	MaxTokens int  `json:"max_tokens"` // an embedder's input limit, where it reports what it cuts
	MaxWords  int  `json:"max_words"`  // a reranker's input limit, where it reports what it cuts
	Reads     bool `json:"reads"`      // a generator copies answers out of its context, as a test double does
}

// ids returns the maker of ids.
func (a Allowances) ids() (func(n int) string, error) {
	switch a.IDs {
	case "", "any":
		return nil, nil
	case "number":
		return func(n int) string { return strconv.Itoa(n*77%corpusSize + n/corpusSize*corpusSize + 1) }, nil
	case "uuid":
		return func(n int) string { return fmt.Sprintf("%08x-0000-4000-8000-%012x", n*77%corpusSize, n) }, nil
	}
	return nil, fmt.Errorf("ids: %q is none of any, number, uuid", a.IDs)
}

// Corpus returns what a store with these allowances is filled with.
func (a Allowances) Corpus() (Corpus, error) {
	ids, err := a.ids()
	return NewCorpus(ids).without(a.CannotHold).needing(a.NeedsVectors), err
}

// Store returns the harness of a store that declares and describes itself so; open opens it filled with a corpus.
func (a Allowances) Store(can adapters.StoreCapabilities, info adapters.StoreInfo, open func(T, Corpus) adapters.VectorStore) (StoreHarness, error) {
	ids, err := a.ids()
	if err != nil {
		return StoreHarness{}, err
	}
	h := StoreHarness{
		Open: open, Capabilities: can, Distance: info.Distance, LowerIsBetter: a.LowerIsBetter || info.Distance == "euclid" || info.Distance == "manhattan",
		Tolerance: a.Tolerance, ID: ids, Other: a.Other, CannotHold: a.CannotHold, NeedsVectors: a.NeedsVectors, Types: a.Types, UnitVectors: a.UnitVectors,
		FusionMoves: a.FusionMoves, EmbedModel: info.EmbedModel, ModelsUntold: info.DeclaredPerItem == nil,
	}
	if a.TimePrecision != "" {
		if h.TimePrecision, err = time.ParseDuration(a.TimePrecision); err != nil {
			return StoreHarness{}, fmt.Errorf("time_precision: %w", err)
		}
	}
	return h, nil
}

// line is an item of a fixture.
type line struct {
	ID         string                       `json:"id"`
	Source     string                       `json:"source,omitempty"`
	Revision   string                       `json:"revision,omitempty"`
	Text       string                       `json:"text"`
	Access     []string                     `json:"access,omitempty"`
	Metadata   map[string][]json.RawMessage `json:"metadata,omitempty"`
	EmbedModel string                       `json:"embed_model,omitempty"`
	Collection string                       `json:"collection,omitempty"`
	IndexedAt  time.Time                    `json:"indexed_at,omitzero"`
	UpdatedAt  time.Time                    `json:"updated_at,omitzero"`
	Vector     []float32                    `json:"vector,omitempty"`
}

// WriteJSONL writes the corpus for a store to be filled with: one JSON object on a line for each item. Values of metadata are numbers
// and booleans where they are meant to be.
func (c Corpus) WriteJSONL(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, item := range c.Items {
		l := line{
			ID: item.ID, Source: item.Source, Revision: item.Revision, Text: item.Text, Access: item.Access, EmbedModel: item.EmbedModel,
			Collection: item.Collection, IndexedAt: item.IndexedAt, UpdatedAt: item.UpdatedAt, Vector: item.Vector,
		}
		for field, values := range item.Metadata {
			if l.Metadata == nil {
				l.Metadata = map[string][]json.RawMessage{}
			}
			for _, value := range values {
				raw := json.RawMessage(value)
				if FieldKind(field) == KindString {
					quoted, err := json.Marshal(value)
					if err != nil {
						return err
					}
					raw = quoted
				}
				l.Metadata[field] = append(l.Metadata[field], raw)
			}
		}
		if err := enc.Encode(l); err != nil {
			return err
		}
	}
	return nil
}
