package adapters

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
)

// Role is what a backend is used for.
type Role string

// The roles.
const (
	RoleStore     Role = "store"
	RoleEmbedder  Role = "embedder"
	RoleGenerator Role = "generator"
	RoleReranker  Role = "reranker"
	RolePipeline  Role = "service"
)

// Config is what a factory gets. Opening is the first moment that may touch disk or network.
type Config struct {
	Settings json.RawMessage // a JSON object that Schema has accepted
	CacheDir string          // private directory for what can be made again
	Dir      string          // what relative paths in the settings are relative to
	Secrets  *Secrets        // where a backend reads its keys; nil: it has none
	// Documents are the documents that a store with a corpus of its own is filled from; nil where the experiment names none.
	Documents Documents
	// IndexEmbedder is the embedder of the experiment, for a store that makes its own vectors; nil where there is none.
	IndexEmbedder Embedder
	// Progress, where not nil, is called now and then on long work: done of total (0: unknown) things, named by unit.
	Progress func(done, total int, unit string)
}

// Documents is a corpus, already cut into items.
type Documents interface {
	// Digest identifies the content: equal digests, equal items.
	Digest(ctx context.Context) (string, error)
	// Items yields every item in a fixed order; an error ends it.
	Items(ctx context.Context) iter.Seq2[Item, error]
}

// Factory makes the backends of one adapter. A nil Open… means that the adapter does not play that role.
type Factory struct {
	Name   string
	Schema map[Role]json.RawMessage // JSON Schema (2020-12) of the settings, one for each role it plays

	OpenStore     func(ctx context.Context, cfg Config) (VectorStore, error)
	OpenEmbedder  func(ctx context.Context, cfg Config) (Embedder, error)
	OpenGenerator func(ctx context.Context, cfg Config) (Generator, error)
	OpenReranker  func(ctx context.Context, cfg Config) (Reranker, error)
	OpenPipeline  func(ctx context.Context, cfg Config) (Pipeline, error)
}

// Registry names the adapters that are built in. It is a value: cmd fills one, tests make their own.
type Registry struct {
	factories map[string]Factory
}

// NewRegistry returns a registry of these factories; two of one name are an error.
func NewRegistry(factories ...Factory) (*Registry, error) {
	r := &Registry{factories: map[string]Factory{}}
	for _, f := range factories {
		if _, taken := r.factories[f.Name]; taken {
			return nil, fmt.Errorf("adapter %q is registered twice", f.Name)
		}
		r.factories[f.Name] = f
	}
	return r, nil
}

// Schemas returns the settings schemas: role → adapter → JSON Schema.
func (r *Registry) Schemas() map[string]map[string]json.RawMessage {
	out := map[string]map[string]json.RawMessage{}
	for name, f := range r.factories {
		for role, schema := range f.Schema {
			if out[string(role)] == nil {
				out[string(role)] = map[string]json.RawMessage{}
			}
			out[string(role)][name] = schema
		}
	}
	return out
}

// Store opens the named adapter as a store.
func (r *Registry) Store(ctx context.Context, name string, cfg Config) (VectorStore, error) {
	return open(ctx, r.factories[name].OpenStore, name, RoleStore, cfg)
}

// Embedder opens the named adapter as an embedder.
func (r *Registry) Embedder(ctx context.Context, name string, cfg Config) (Embedder, error) {
	return open(ctx, r.factories[name].OpenEmbedder, name, RoleEmbedder, cfg)
}

// Generator opens the named adapter as a generator.
func (r *Registry) Generator(ctx context.Context, name string, cfg Config) (Generator, error) {
	return open(ctx, r.factories[name].OpenGenerator, name, RoleGenerator, cfg)
}

// Reranker opens the named adapter as a reranker.
func (r *Registry) Reranker(ctx context.Context, name string, cfg Config) (Reranker, error) {
	return open(ctx, r.factories[name].OpenReranker, name, RoleReranker, cfg)
}

// Pipeline opens the named adapter as a pipeline.
func (r *Registry) Pipeline(ctx context.Context, name string, cfg Config) (Pipeline, error) {
	return open(ctx, r.factories[name].OpenPipeline, name, RolePipeline, cfg)
}

func open[T io.Closer](ctx context.Context, f func(context.Context, Config) (T, error), name string, role Role, cfg Config) (T, error) {
	var none T
	if f == nil {
		return none, &Error{Adapter: name, Op: "open", Kind: KindUnsupported, Err: fmt.Errorf("no built-in adapter %q serves as %s", name, role)}
	}
	backend, err := f(ctx, cfg)
	if err != nil {
		return none, fmt.Errorf("opening %s %q: %w", role, name, err)
	}
	return backend, nil
}
