package adapters

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"regexp"
	"time"
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
	As       string          // what the experiment calls the backend, where that is not its role: "judge"
	CacheDir string          // private directory for what can be made again
	Dir      string          // what relative paths in the settings are relative to
	Secrets  *Secrets        // where a backend reads its keys; nil: it has none
	Timeout  time.Duration   // the most that opening may wait for a server, where the backend asks one; 0: as the adapter has it
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
	// Check returns what opening would refuse in settings that the schema accepts: mistakes joined by errors.Join, where they can be told
	// each with its place (SettingError). It makes no call, starts nothing, and reads no key. Nil: the schema says it all.
	Check func(role Role, cfg Config) error

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

// With returns a registry that has this factory in place of the one of its name.
func (r *Registry) With(f Factory) *Registry {
	with := &Registry{factories: maps.Clone(r.factories)}
	with.factories[f.Name] = f
	return with
}

// SettingError is a mistake in a setting.
type SettingError struct {
	Field        string // of the adapter's settings, such as map.response; "": of all of them
	Line, Column int    // inside the text of the setting, from 1, columns in characters; 0: all of it
	Later        bool   // what is wrong may be put right before a run, such as a program that is still to be built
	Err          error
}

func (e *SettingError) Error() string { return e.Err.Error() }

func (e *SettingError) Unwrap() error { return e.Err }

// Check returns the mistakes in the settings of an adapter that its schema accepts, as far as no call is needed to see them.
func (r *Registry) Check(role Role, name string, cfg Config) []*SettingError {
	check := r.factories[name].Check
	if check == nil {
		return nil
	}
	mistakes := []error{check(role, cfg)}
	if joined, ok := mistakes[0].(interface{ Unwrap() []error }); ok {
		mistakes = joined.Unwrap()
	}
	var out []*SettingError
	for _, err := range mistakes {
		var at *SettingError
		switch {
		case err == nil:
			continue
		case !errors.As(err, &at):
			at = &SettingError{Err: err}
			if m := settingNamed.FindStringSubmatch(err.Error()); m != nil {
				at.Field = m[1]
			}
		}
		out = append(out, at)
	}
	return out
}

// settingNamed is how messages begin that are about one setting.
var settingNamed = regexp.MustCompile(`^setting backends\.[a-z]+\.([a-z_]+(?:\.[a-z_]+)*)`)

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
