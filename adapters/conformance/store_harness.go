package conformance

import (
	"slices"
	"time"

	"github.com/culprit-rag/culprit/adapters"
)

// StoreHarness is what a store must bring to be tested. The zero value of a field promises the most; whatever a store
// cannot do or keep must be declared, and what is declared is all that the suite makes allowance for.
type StoreHarness struct {
	// Open returns a store of its own for the caller, filled with the corpus and opened on its main collection. Equal
	// corpora may share what they are filled into. Open cleans up after the test; the suite closes the store.
	//
	// An item without a vector gets none, but whatever a keyword search needs. [FieldKind] tells the metadata that are
	// numbers or booleans. A fingerprint that rests on a sample must see all of two hundred items.
	Open func(t T, c Corpus) adapters.VectorStore
	// Capabilities are those that the store is meant to declare.
	Capabilities adapters.StoreCapabilities
	// Distance is how vectors are compared: "cosine", "dot", "euclid" or "manhattan".
	Distance string
	// Score makes a score of the store out of what Distance says of two vectors (1-x, where the store scores by the distance
	// of the cosine); nil: it is the score.
	Score func(float64) float64
	// LowerIsBetter holds for the scores of a dense search.
	LowerIsBetter bool
	// Tolerance is how far a score may be from the exact one; 0 is 1e-5.
	Tolerance float64
	// ID makes the id of item n, another for each n from 0, for stores that take only ids of a certain form; nil: any text,
	// awkward ones among them.
	ID func(n int) string
	// Other is the store's own name of [OtherCollection]; empty: the same. Every corpus that has the collection has the same
	// items in it.
	Other string
	// TimePrecision is what the store rounds times to; 0: it keeps them as they are.
	TimePrecision time.Duration
	// CannotHold lists the characters that a text in the store cannot hold. The suite's texts are then without them.
	CannotHold string
	// NeedsVectors: every item of the store has a vector, so that the item that is to have none gets one too.
	NeedsVectors bool
	// Types: the store tells a string from a number and a boolean.
	Types bool
	// UnitVectors: the store brings vectors to unit length. Otherwise they must come back bit by bit.
	UnitVectors bool
	// FusionMoves: the scores of a hybrid search depend on its limit and on what it is restricted to, so that a shorter
	// ranking need not be the beginning of a longer one. Which items are found is compared all the same.
	FusionMoves bool
	// EmbedModel is the model that the collection was declared to have when it was filled; empty: none was declared.
	EmbedModel string
	// ModelsUntold: the store cannot say how many items declare which model without being scanned.
	ModelsUntold bool
	// Change makes a collection of its own, filled with the corpus; nil: a collection cannot change while a store is open.
	Change func(t T, c Corpus) Collection
	// Writes lists what the stores that were opened so far have asked their server to change, by the names of the requests,
	// or what is changed in their files. Filling collections does not count. Nil: it cannot be told.
	Writes func() []string
}

// Collection is a collection that can be changed while stores read it. A change is complete, and every store sees it, when
// the method returns.
type Collection interface {
	// Open returns a store of its own for the caller, opened on the collection. The suite closes it.
	Open(t T) adapters.VectorStore
	// Put stores items. One whose id is there already takes the place of the old one, as a whole.
	Put(t T, items ...adapters.Item)
	Delete(t T, ids ...string)
	// SetText changes the text of an item in place; its vector stays as it was.
	SetText(t T, id, text string)
	// SetVector changes the vector of an item in place, and nothing else.
	SetVector(t T, id string, vector []float32)
}

// The kinds of a metadata field.
const (
	KindString  = "string"
	KindNumber  = "number"
	KindBoolean = "boolean"
)

// FieldKind tells what the values of a metadata field of the corpus are. A store that tells types apart is filled with
// numbers and booleans where they are of these kinds; the texts in [adapters.Item] are what JSON writes for them.
func FieldKind(field string) string {
	switch field {
	case "pages", "sizes":
		return KindNumber
	case "signed":
		return KindBoolean
	}
	return KindString
}

func (h *StoreHarness) defaults() {
	if h.Tolerance == 0 {
		h.Tolerance = 1e-5
	}
	if h.Other == "" {
		h.Other = OtherCollection
	}
	if h.Score == nil {
		h.Score = func(x float64) float64 { return x }
	}
}

func (h *StoreHarness) has(mode string) bool { return slices.Contains(h.Capabilities.Modes, mode) }

// need skips the test where the store does not have the modes.
func (h *StoreHarness) need(t T, modes ...string) {
	t.Helper()
	for _, mode := range modes {
		if !h.has(mode) {
			t.Skipf("the store has no %s search", mode)
		}
	}
}

// loose holds where the rankings of a mode depend on how many items are asked for.
func (h *StoreHarness) loose(mode string) bool { return mode == hybrid && h.FusionMoves }
