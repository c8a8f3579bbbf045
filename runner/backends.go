package runner

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/experiments"
	"github.com/culprit-rag/culprit/matrix"
)

// backends are the opened and wrapped backends of one experiment, with what they declare.
type backends struct {
	store     adapters.VectorStore
	embedder  adapters.Embedder // nil where the experiment names none
	generator adapters.Generator
	reranker  adapters.Reranker  // nil where the experiment names none
	pipeline  adapters.Pipeline  // nil where Culprit composes the pipeline itself
	judge     adapters.Generator // nil where nothing is asked of one

	storeInfo     adapters.StoreInfo
	embedderInfo  adapters.EmbedderInfo
	generatorInfo adapters.GeneratorInfo
	rerankerInfo  adapters.RerankerInfo
	pipelineInfo  adapters.PipelineInfo
	judgeInfo     adapters.GeneratorInfo

	ledger *ledger
	says   []string // what is to be known of how the store was filled
}

// open opens every backend that the experiment names and asks each what it is; with searchOnly those that a search needs. On an
// error everything that was opened is closed again.
func open(ctx context.Context, l *experiments.Loaded, o Options, searchOnly bool) (_ *backends, err error) {
	ledger, err := newLedger(&l.Experiment, o.shared)
	if err != nil {
		return nil, err
	}
	b := &backends{ledger: ledger}
	if o.recording != nil {
		b.enact(o.recording)
		return b, nil
	}
	defer func() {
		if over := ledger.overBudget(err); over != nil {
			err = fmt.Errorf("embedding the documents for the store: %w", over)
		}
		if err != nil {
			err = o.Secrets.Redactor().Error(errors.Join(err, b.Close()))
		}
	}()
	e := &l.Experiment
	config := func(backend *matrix.Backend) adapters.Config { return config(backend, l, o) }
	policy := func(role string, backend *matrix.Backend) adapters.Policy {
		return ledger.policy(role, backend, o.Secrets.Redactor())
	}
	if b.embedder, err = openEmbedder(ctx, l, o, ledger); err != nil {
		return nil, err
	}
	if b.embedder != nil {
		if b.embedderInfo, err = b.embedder.Describe(ctx); err != nil {
			return nil, fmt.Errorf("asking the embedder what it is: %w", err)
		}
	}
	if err := b.openStore(ctx, l, o, config, policy); err != nil {
		return nil, err
	}
	switch {
	case searchOnly && e.Backends.Store == nil: // whose search is left
		return b, b.openPipeline(ctx, e, o, config, policy)
	case searchOnly && e.Pipeline.Rewrite == nil:
		return b, nil
	}
	if spec := e.Backends.Generator; spec != nil {
		generator, err := o.Registry.Generator(ctx, spec.Adapter, config(spec))
		if err != nil {
			return nil, err
		}
		b.generator = adapters.WrapGenerator(generator, policy(matrix.RoleGenerator, spec))
		if b.generatorInfo, err = b.generator.Describe(ctx); err != nil {
			return nil, fmt.Errorf("asking the generator what it is: %w", err)
		}
	}
	if err := b.openPipeline(ctx, e, o, config, policy); err != nil {
		return nil, err
	}
	if err := checkForm(e, b.generatorInfo); err != nil {
		return nil, err
	}
	if spec := e.Backends.Reranker; spec != nil {
		reranker, err := o.Registry.Reranker(ctx, spec.Adapter, config(spec))
		if err != nil {
			return nil, err
		}
		b.reranker = adapters.WrapReranker(reranker, policy(matrix.RoleReranker, spec))
		if b.rerankerInfo, err = b.reranker.Describe(ctx); err != nil {
			return nil, fmt.Errorf("asking the reranker what it is: %w", err)
		}
	}
	if b.judge, b.judgeInfo, err = openJudge(ctx, l, o, ledger); err != nil {
		return nil, err
	}
	return b, nil
}

// openStore opens the store, or what stands for one where the experiment declares none.
func (b *backends) openStore(ctx context.Context, l *experiments.Loaded, o Options, config func(*matrix.Backend) adapters.Config, policy func(string, *matrix.Backend) adapters.Policy) error {
	spec := l.Experiment.Backends.Store
	if spec == nil {
		b.store = noStore{}
		return nil
	}
	cfg := config(spec)
	cfg.IndexEmbedder, cfg.Documents = b.embedder, Documents(l)
	var kept *keptVectors
	if by := l.Experiment.Backends.Embedder; !by.Free() && o.CacheDir != "" {
		kept = newKept(o.CacheDir, b.embedderInfo)
		kept.anew = o.Fresh
		cfg.IndexEmbedder = &indexEmbedder{b.embedder, kept, TextsPerCall(by)}
	}
	store, err := o.Registry.Store(ctx, spec.Adapter, cfg)
	if err != nil && kept != nil && kept.changed { // of what is answered now alone, of which nothing is asked again
		kept.changed = false
		store, err = o.Registry.Store(ctx, spec.Adapter, cfg)
	}
	if failed := b.indexed(kept, err == nil); failed != nil && err == nil {
		err = errors.Join(failed, store.Close())
	}
	if err != nil && o.found != nil { // one that lives here may have to be made again, by a model that does not
		store, err = &silentStore{found: o.found}, nil
	}
	if err != nil {
		return err
	}
	b.store = adapters.WrapStore(store, policy(matrix.RoleStore, spec))
	if mode, modes := l.Experiment.Pipeline.Search.Mode, store.Capabilities().Modes; len(modes) > 0 && !slices.Contains(modes, mode) {
		return &adapters.Error{Adapter: spec.Adapter, Op: "open", Kind: adapters.KindInvalid, Err: fmt.Errorf(
			"pipeline.search.mode is %q, and the store is set up for %s: change the mode, or say in backends.store how to search by it", mode, strings.Join(modes, ", "))}
	}
	if b.storeInfo, err = b.store.Describe(ctx); err != nil {
		return fmt.Errorf("asking the store what it is: %w", err)
	}
	return nil
}

func config(backend *matrix.Backend, l *experiments.Loaded, o Options) adapters.Config {
	return adapters.Config{Settings: backend.Settings, CacheDir: o.CacheDir, Dir: l.Dir, Secrets: o.Secrets, Timeout: time.Duration(l.Experiment.Limits.Timeout), Progress: o.Progress.storeProgress()}
}

// OpenEmbedder opens the embedder of an experiment as a run does, with its limits; nil where it names none.
func OpenEmbedder(ctx context.Context, l *experiments.Loaded, o Options) (adapters.Embedder, error) {
	ledger, err := newLedger(&l.Experiment, o.shared)
	if err != nil {
		return nil, err
	}
	return openEmbedder(ctx, l, o, ledger)
}

func openEmbedder(ctx context.Context, l *experiments.Loaded, o Options, ledger *ledger) (adapters.Embedder, error) {
	spec := l.Experiment.Backends.Embedder
	if spec == nil {
		return nil, nil
	}
	embedder, err := o.Registry.Embedder(ctx, spec.Adapter, config(spec, l, o))
	if err != nil {
		return nil, err
	}
	return adapters.WrapEmbedder(keepingEmbedder{embedder}, ledger.policy(matrix.RoleEmbedder, spec, o.Secrets.Redactor())), nil
}

// Close closes what was opened.
func (b *backends) Close() error {
	var errs []error
	if b.store != nil {
		errs = append(errs, b.store.Close())
	}
	if b.embedder != nil {
		errs = append(errs, b.embedder.Close())
	}
	if b.generator != nil {
		errs = append(errs, b.generator.Close())
	}
	if b.reranker != nil {
		errs = append(errs, b.reranker.Close())
	}
	if b.pipeline != nil {
		errs = append(errs, b.pipeline.Close())
	}
	if b.judge != nil {
		errs = append(errs, b.judge.Close())
	}
	return errors.Join(errs...)
}

// Documents returns what an experiment's store is filled from, nil where it names none.
func Documents(l *experiments.Loaded) adapters.Documents {
	if l.Documents == nil {
		return nil
	}
	return corpus{l.Documents}
}

// corpus hands an experiment's documents to a store.
type corpus struct{ set *experiments.DocumentSet }

func (c corpus) Digest(ctx context.Context) (string, error) { return c.set.Digest(ctx) }

func (c corpus) Items(ctx context.Context) iter.Seq2[adapters.Item, error] {
	return func(yield func(adapters.Item, error) bool) {
		for d, err := range c.set.Documents(ctx) {
			item := adapters.Item{
				ID: d.ID, Source: d.Source, Revision: d.Revision, Text: d.Text, Access: d.Access, Metadata: d.Metadata,
				EmbedModel: d.EmbedModel, Collection: d.Collection, IndexedAt: d.IndexedAt, UpdatedAt: d.UpdatedAt, Vector: d.Vector,
			}
			if !yield(item, err) || err != nil {
				return
			}
		}
	}
}

// conditions turns a resolved filter into the store's form.
func conditions(f matrix.Filter) []adapters.Condition {
	out := make([]adapters.Condition, 0, len(f))
	for _, c := range f {
		out = append(out, adapters.Condition(c))
	}
	return out
}

func callError(err error) *matrix.CallError {
	return &matrix.CallError{Kind: string(adapters.KindOf(err)), Message: err.Error()}
}
