package qdrant

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/qdrant/bm25"
)

// openTime bounds opening where the settings do not: an address where nothing answers at all would block it.
const openTime = 30 * time.Second

func openStore(ctx context.Context, cfg adapters.Config) (adapters.VectorStore, error) {
	s, err := open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// open connects and reads the collection's configuration once, so that a setting that does not fit it fails here. The
// options of the connection are for tests.
func open(ctx context.Context, cfg adapters.Config, options ...grpc.DialOption) (*store, error) {
	const op = "open"
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(cfg.Timeout, openTime))
	defer cancel()
	set, err := readSettings(cfg.Settings)
	if err != nil {
		return nil, fail(op, adapters.KindInvalid, err)
	}
	s := &store{set: set, plain: !set.TLS.On && set.APIKeyEnv+set.APIKeyFile+set.TokenEnv+set.TokenFile != ""}
	s.pageSize.Store(set.Page)
	if set.Keyword != nil && set.Keyword.Encoder == encoderBM25 {
		if s.encoder, err = bm25.New(set.Keyword.Language); err != nil {
			return nil, invalid(op, "setting backends.store.keyword.language: %w", err)
		}
	}
	if err := s.enter(ctx, op); err != nil {
		return nil, err
	}
	if s.grpc, err = connect(&set, cfg, options...); err != nil {
		return nil, fail(op, adapters.KindInvalid, err)
	}
	if err := s.fit(ctx); err != nil {
		err = s.failed(ctx, op, err)
		_ = s.Close() // it was never used for more
		return nil, err
	}
	return s, nil
}

// fit checks the settings against the server and the collection.
func (s *store) fit(ctx context.Context) error {
	const op = "open"
	health, err := s.grpc.Qdrant().HealthCheck(ctx, &qdrant.HealthCheckRequest{})
	if err != nil {
		return err
	}
	if s.version = parseRelease(health.GetVersion()); s.version.before(1, 10) {
		return fail(op, adapters.KindUnsupported, fmt.Errorf("the server at %q is %s; searches need 1.10 or newer", s.set.Address, s.version))
	}
	info, err := s.info(ctx)
	if status.Code(err) == codes.NotFound {
		return fail(op, adapters.KindNotFound, s.notThere(ctx))
	}
	if err != nil {
		return err
	}
	if err := s.fitVectors(info.GetConfig()); err != nil {
		return err
	}
	return s.fitText(ctx)
}

func (s *store) info(ctx context.Context) (*qdrant.CollectionInfo, error) {
	response, err := s.grpc.Collections().Get(ctx, &qdrant.GetCollectionInfoRequest{CollectionName: s.set.Collection})
	if err != nil {
		return nil, err
	}
	return response.GetResult(), nil
}

// notThere says what there is instead of the collection.
func (s *store) notThere(ctx context.Context) error {
	if aliases, err := s.aliases(ctx); err == nil {
		if target, ok := aliases[s.set.Collection]; ok {
			return fmt.Errorf("%q is an alias of the collection %q, which does not exist: move the alias, or set backends.store.collection to another", s.set.Collection, target)
		}
	}
	names, err := s.collections(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("collection %q does not exist: check backends.store.collection", s.set.Collection)
	case len(names) == 0:
		return fmt.Errorf("collection %q does not exist, nor does any other: check backends.store.collection and backends.store.address", s.set.Collection)
	}
	return fmt.Errorf("collection %q does not exist: set backends.store.collection to one of %s", s.set.Collection, list(names))
}

// collections returns the names of the collections that the key may see.
func (s *store) collections(ctx context.Context) ([]string, error) {
	response, err := s.grpc.Collections().List(ctx, &qdrant.ListCollectionsRequest{})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, collection := range response.GetCollections() {
		names = append(names, collection.GetName())
	}
	slices.Sort(names)
	return names, nil
}

// aliases returns alias → collection.
func (s *store) aliases(ctx context.Context) (map[string]string, error) {
	response, err := s.grpc.Collections().ListAliases(ctx, &qdrant.ListAliasesRequest{})
	if err != nil {
		return nil, err
	}
	aliases := map[string]string{}
	for _, alias := range response.GetAliases() {
		aliases[alias.GetAliasName()] = alias.GetCollectionName()
	}
	return aliases, nil
}

func (s *store) fitVectors(config *qdrant.CollectionConfig) error {
	const op = "open"
	s.shape = shapeOf(config, s.set.Vector)
	sparse := config.GetParams().GetSparseVectorsConfig().GetMap()
	if k := s.set.Keyword; k != nil && len(sparse) == 0 {
		return invalid(op, "collection %q has no sparse vectors, such as the %q of backends.store.keyword.vector: leave backends.store.keyword away", s.set.Collection, k.Vector)
	} else if k != nil && sparse[k.Vector] == nil {
		return invalid(op, "collection %q has no sparse vector %q: set backends.store.keyword.vector to %s", s.set.Collection, k.Vector, choices(sparse))
	}
	dense := denseVectors(config)
	if s.shape.dense == nil && s.set.Vector == "" && len(dense) > 0 {
		return invalid(op, "the vectors of collection %q have names: set backends.store.vector to %s", s.set.Collection, choices(dense))
	}
	if s.shape.dense == nil && (s.set.Vector != "" || len(dense) > 0 || s.set.Keyword == nil) {
		return invalid(op, "collection %q has no vector %q: set backends.store.vector to %s", s.set.Collection, s.set.Vector, choices(dense))
	}
	if s.shape.dense.GetMultivectorConfig() != nil {
		return fail(op, adapters.KindUnsupported, fmt.Errorf("vector %q of collection %q holds several vectors for each item, which cannot be searched here: set backends.store.vector to another", s.set.Vector, s.set.Collection))
	}
	return nil
}

// choices lists the names of vectors.
func choices[V any](vectors map[string]V) string {
	if len(vectors) == 0 {
		return "the name of a vector, of which there is none"
	}
	return "one of " + list(slices.Sorted(maps.Keys(vectors)))
}

// mostNamed is how many names a message lists.
const mostNamed = 20

func list(names []string) string {
	quoted := make([]string, 0, len(names))
	for _, name := range names[:min(len(names), mostNamed)] {
		quoted = append(quoted, fmt.Sprintf("%q", name))
	}
	if more := len(names) - mostNamed; more > 0 {
		quoted = append(quoted, fmt.Sprintf("%d more", more))
	}
	return strings.Join(quoted, ", ")
}
