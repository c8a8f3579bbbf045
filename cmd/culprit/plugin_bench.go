package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/conformance"
	"github.com/culprit-rag/culprit/adapters/plugin"
)

// fixtureMark stands in the settings of a store where the path of its items belongs.
const fixtureMark = "{fixture}"

// pluginBench opens the plugin under test, as often as the suites ask for it.
type pluginBench struct {
	app      *app
	options  pluginOptions
	allow    conformance.Allowances
	settings string
	dir      string // for fixtures and caches
	files    int
}

// config is that of the plugin adapter in an experiment whose folder is the working directory.
func (b *pluginBench) config(settings string) adapters.Config {
	env := b.options.env
	if env == nil {
		env = []string{}
	}
	all, err := json.Marshal(map[string]any{
		"path": b.options.command[0], "args": b.options.command[1:], "env": env, "settings": json.RawMessage(settings),
		"start_timeout": b.options.timeout.String(),
	})
	if err != nil {
		all = []byte(`{}`) // cannot be: the settings are valid JSON
	}
	here, err := os.Getwd()
	if err != nil {
		here = "."
	}
	return adapters.Config{Settings: all, Dir: here, CacheDir: b.dir, Secrets: b.app.secrets()}
}

// policy keeps a call that hangs from holding up the suite.
func (b *pluginBench) policy() adapters.Policy {
	return adapters.Policy{Name: plugin.Name, Timeout: b.options.timeout}
}

// run runs the suite of one role.
func (b *pluginBench) run(ctx context.Context, role adapters.Role) ([]conformance.Outcome, error) {
	factory := plugin.Factory()
	switch role {
	case adapters.RoleStore:
		return b.store(ctx, factory)
	case adapters.RoleEmbedder:
		h := opening(b, factory.OpenEmbedder, adapters.WrapEmbedder)
		return suite(ctx, h.Open, func(t conformance.T) { //nolint:contextcheck // a part has the context of its T
			conformance.Embedder(t, conformance.EmbedderHarness{Harness: h, Unit: b.allow.Unit, Tolerance: b.allow.Tolerance, MaxTokens: b.allow.MaxTokens})
		})
	case adapters.RoleGenerator:
		h := opening(b, factory.OpenGenerator, adapters.WrapGenerator)
		return suite(ctx, h.Open, func(t conformance.T) { //nolint:contextcheck // a part has the context of its T
			conformance.Generator(t, conformance.GeneratorHarness{Harness: h, Reads: b.allow.Reads})
		})
	case adapters.RoleReranker:
		h := opening(b, factory.OpenReranker, adapters.WrapReranker)
		return suite(ctx, h.Open, func(t conformance.T) { //nolint:contextcheck // a part has the context of its T
			conformance.Reranker(t, conformance.RerankerHarness{Harness: h, MaxWords: b.allow.MaxWords})
		})
	}
	return nil, usage("the plugin serves as %q, which is no role", role)
}

// suite runs a suite where the backend can be opened at all: an error of that is told once.
func suite[B interface{ Close() error }](ctx context.Context, open func(context.Context) (B, error), run func(conformance.T)) ([]conformance.Outcome, error) {
	backend, err := open(ctx)
	if err == nil {
		err = backend.Close()
	}
	if err != nil {
		return nil, err
	}
	return conformance.Run(ctx, run), nil
}

func opening[B interface{ Close() error }](b *pluginBench, open func(context.Context, adapters.Config) (B, error), wrap func(B, adapters.Policy) B) conformance.Harness[B] {
	return conformance.Harness[B]{Open: func(ctx context.Context) (B, error) {
		backend, err := open(ctx, b.config(b.settings))
		if err != nil {
			return backend, err
		}
		return wrap(backend, b.policy()), nil
	}}
}

// store runs the suite of a store. What it is expected to do is what it declares and describes.
func (b *pluginBench) store(ctx context.Context, factory adapters.Factory) ([]conformance.Outcome, error) {
	corpus, err := b.allow.Corpus()
	if err != nil {
		return nil, usage("--allow: %w", err)
	}
	open := func(ctx context.Context, c conformance.Corpus) (adapters.VectorStore, error) {
		settings, err := b.filled(c)
		if err != nil {
			return nil, err
		}
		store, err := factory.OpenStore(ctx, b.config(settings))
		if err != nil {
			return nil, err
		}
		return adapters.WrapStore(store, b.policy()), nil
	}
	first, err := open(ctx, corpus)
	if err != nil {
		return nil, err
	}
	info, err := first.Describe(ctx)
	can := first.Capabilities()
	if closed := first.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, err
	}
	standard, err := digest(corpus)
	if err != nil {
		return nil, err
	}
	harness, err := b.allow.Store(can, info, func(t conformance.T, c conformance.Corpus) adapters.VectorStore { //nolint:contextcheck // the same
		if sum, err := digest(c); err != nil || sum != standard && !strings.Contains(b.settings, fixtureMark) {
			t.Skip("it needs other items: write " + fixtureMark + " in --settings where the plugin is told the file of its items")
		}
		store, err := open(t.Context(), c)
		if err != nil {
			t.Fatal("opening:", err)
		}
		return store
	})
	if err != nil {
		return nil, usage("--allow: %w", err)
	}
	return conformance.Run(ctx, func(t conformance.T) { conformance.Store(t, harness) }), nil
}

func digest(c conformance.Corpus) (string, error) {
	var text strings.Builder
	err := c.WriteJSONL(&text)
	return text.String(), err
}

// filled returns the settings of a store that holds the corpus.
func (b *pluginBench) filled(c conformance.Corpus) (string, error) {
	if !strings.Contains(b.settings, fixtureMark) {
		return b.settings, nil
	}
	text, err := digest(c)
	if err != nil {
		return "", err
	}
	b.files++
	path := filepath.Join(b.dir, fmt.Sprintf("fixture-%d.jsonl", b.files))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", err
	}
	quoted, err := json.Marshal(path)
	if err != nil {
		return "", err
	}
	return strings.ReplaceAll(b.settings, fixtureMark, strings.Trim(string(quoted), `"`)), nil
}
