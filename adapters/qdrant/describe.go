package qdrant

import (
	"context"
	"strconv"
	"strings"

	"github.com/qdrant/go-client/qdrant"

	"github.com/culprit-rag/culprit/adapters"
)

// The keys of a collection's metadata that are read. There is no convention that all follow.
var (
	modelKeys    = []string{"embedding_model", "embed_model", "embedding.model", "model"}
	queryKeys    = []string{"query_prefix", "embedding.query_prefix"}
	passageKeys  = []string{"passage_prefix", "document_prefix", "embedding.passage_prefix"}
	revisionKeys = []string{"revision", "index_revision"}
)

// Describe asks the server and the collection for all that is told of them.
func (s *store) Describe(ctx context.Context) (adapters.StoreInfo, error) {
	const op = "describe"
	if err := s.enter(ctx, op); err != nil {
		return adapters.StoreInfo{}, err
	}
	described, err := s.describe(ctx)
	if err != nil {
		return adapters.StoreInfo{}, s.failed(ctx, op, err)
	}
	return described, nil
}

func (s *store) describe(ctx context.Context) (adapters.StoreInfo, error) {
	info, err := s.info(ctx)
	if err != nil {
		return adapters.StoreInfo{}, err
	}
	out := adapters.StoreInfo{Engine: Name, Version: s.version.text, Collection: s.set.Collection, FingerprintMisses: fingerprintMisses}
	if out.Count, err = s.count(ctx, s.set.Collection, nil); err != nil {
		return out, err
	}
	out.Notes = s.notes(info, out.Count)
	s.describeNames(ctx, &out)
	config := info.GetConfig()
	if dense := denseVectors(config)[s.set.Vector]; dense != nil {
		out.Dimensions, out.Distance, out.VectorType = int(dense.GetSize()), strings.ToLower(dense.GetDistance().String()), vectorType(dense)
	}
	declared := func(keys []string) *string {
		for _, key := range keys {
			if text, ok := scalar(lookup(config.GetMetadata(), key)); ok {
				return &text
			}
		}
		return nil
	}
	out.EmbedModel, out.Revision = text(declared(modelKeys)), text(declared(revisionKeys))
	out.QueryPrefix, out.PassagePrefix = declared(queryKeys), declared(passageKeys)
	if out.DeclaredPerItem, err = s.declared(ctx, info, out.Count); err != nil {
		return out, err
	}
	out.Fingerprint, err = s.fingerprint(ctx, info, out.Collection, out.Count)
	return out, err
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func vectorType(p *qdrant.VectorParams) string {
	if p.GetDatatype() == qdrant.Datatype_Default {
		return "float32"
	}
	return strings.ToLower(p.GetDatatype().String())
}

// describeNames resolves an alias and lists the collections. A key that may read one collection alone may do neither.
func (s *store) describeNames(ctx context.Context, out *adapters.StoreInfo) {
	aliases, err := s.aliases(ctx)
	if err != nil {
		out.Notes = append(out.Notes, "The key may not list aliases, so the collection's name may be one.")
	}
	if target, ok := aliases[s.set.Collection]; ok { // an alias wins over a collection of the same name
		out.Collection = target
		out.Notes = append(out.Notes, "\""+s.set.Collection+"\" is an alias of the collection \""+target+"\".")
	}
	if out.Collections, err = s.collections(ctx); err != nil {
		out.Notes = append(out.Notes, "The key may not list collections, so other collections are not looked at.")
	}
}

// mostModels is how many models are told apart.
const mostModels = 1000

// declared counts the items by the model that they declare; nil where the server cannot count them without an index, or
// where none declares one.
func (s *store) declared(ctx context.Context, info *qdrant.CollectionInfo, count int) (map[string]int, error) {
	field := s.set.Fields.EmbedModel
	if field == "" {
		return nil, nil
	}
	path := jsonPath(field)
	if _, indexed := info.GetPayloadSchema()[path]; !indexed || s.version.before(1, 12) {
		return nil, nil
	}
	response, err := s.grpc.Points().Facet(ctx, &qdrant.FacetCounts{
		CollectionName: s.set.Collection, Key: path, Exact: qdrant.PtrOf(true), Limit: qdrant.PtrOf(uint64(mostModels)),
		ReadConsistency: s.set.ReadConsistency.value, ShardKeySelector: s.set.ShardKey.selector(), Timeout: s.timeout(ctx),
	})
	if err != nil {
		return nil, nil //nolint:nilerr // an index of a type that cannot count: the scan counts
	}
	models, sum := map[string]int{}, 0
	for _, hit := range response.GetHits() {
		models[facetText(hit.GetValue())] = int(hit.GetCount())
		sum += int(hit.GetCount())
	}
	if len(models) == 0 || len(models) == mostModels {
		return nil, nil
	}
	if sum != count { // some declare none, or several
		without, err := s.count(ctx, s.set.Collection, &qdrant.Filter{Must: []*qdrant.Condition{qdrant.NewIsEmpty(path)}})
		if err != nil {
			return nil, nil //nolint:nilerr // strict mode: the scan counts
		}
		if without > 0 {
			models[""] += without
		}
	}
	return models, nil
}

func facetText(value *qdrant.FacetValue) string {
	switch kind := value.GetVariant().(type) {
	case *qdrant.FacetValue_IntegerValue:
		return strconv.FormatInt(kind.IntegerValue, 10)
	case *qdrant.FacetValue_BoolValue:
		return strconv.FormatBool(kind.BoolValue)
	}
	return value.GetStringValue()
}
