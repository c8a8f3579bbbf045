// Package embedded is the adapter that needs nothing: a store in one SQLite file, a hashing embedder, a generator that
// copies sentences out of its prompt, and a reranker that counts shared words. All of it is deterministic.
//
// It is what a new user starts with and what tests and demos stand on. Each defect that a real backend may have can be
// switched on in the settings, one switch for one defect; the settings' JSON Schemas, next to this file, describe them all.
// Start from [Factory].
package embedded

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/culprit-rag/culprit/adapters"
)

// Name is the adapter's name in experiments.
const Name = "embedded"

var (
	//go:embed embedder.schema.json
	embedderSchema []byte
	//go:embed generator.schema.json
	generatorSchema []byte
	//go:embed reranker.schema.json
	rerankerSchema []byte
)

// Factory opens the embedded backends.
func Factory() adapters.Factory {
	return adapters.Factory{
		Name: Name,
		Schema: map[adapters.Role]json.RawMessage{
			adapters.RoleStore:     storeSchema,
			adapters.RoleEmbedder:  embedderSchema,
			adapters.RoleGenerator: generatorSchema,
			adapters.RoleReranker:  rerankerSchema,
		},
		OpenStore:     openStore,
		OpenEmbedder:  openEmbedder,
		OpenGenerator: openGenerator,
		OpenReranker:  openReranker,
	}
}

// decodeSettings reads the settings over the defaults that are already in into.
func decodeSettings(settings json.RawMessage, into any) error {
	if len(settings) == 0 {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(settings))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return fail("open", adapters.KindInvalid, fmt.Errorf("reading the settings: %w", err))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return invalid("open", "the settings go on after their JSON object")
	}
	return nil
}

func fail(op string, kind adapters.Kind, err error) error {
	return adapters.NewError(Name, op, kind, err)
}

func invalid(op, format string, args ...any) error {
	return fail(op, adapters.KindInvalid, fmt.Errorf(format, args...))
}

// life is what the backends without files of their own share: they can be closed, and then refuse.
type life struct{ closed atomic.Bool }

// Close ends the backend. It may be called again.
func (l *life) Close() error {
	l.closed.Store(true)
	return nil
}

// enter is the first thing that a method does.
func (l *life) enter(ctx context.Context, op string) error {
	if l.closed.Load() {
		return fail(op, adapters.KindPermanent, adapters.ErrClosed)
	}
	if err := ctx.Err(); err != nil {
		return fail(op, adapters.KindCanceled, err)
	}
	return nil
}
