package adaptertest_test

import (
	"maps"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/adapters"
)

// defect is one fault of a store and the beginning of the name of the subtest that must find it.
type defect struct {
	finder string
	store  broken
}

// plainDefects are those of a store that is plain otherwise.
func plainDefects() map[string]defect {
	all := map[string]defect{}
	for _, some := range []map[string]defect{searchDefects, filterDefects, readDefects, fetchDefects, changeDefects} {
		maps.Copy(all, some)
	}
	return all
}

// peculiarDefects are those that only a store with peculiarities can have.
var peculiarDefects = map[string]defect{
	"keeps its direction secret": {"the dense ranking", always(func(_ adapters.SearchRequest, r *adapters.SearchResponse) { r.LowerIsBetter = false })},
	"scores by similarity, lowest first": {"the dense ranking", always(func(req adapters.SearchRequest, r *adapters.SearchResponse) {
		if req.Mode == "dense" {
			for i, hit := range r.Hits {
				score := *hit.Score - 1
				r.Hits[i].Score = &score
			}
		}
	})},
	"turns vectors": {"vectors come back", each(func(item adapters.Item, visit func(adapters.Item) error) error {
		slices.Reverse(item.Vector)
		return visit(item)
	})},
	"loses an hour": {"a scan is complete", each(func(item adapters.Item, visit func(adapters.Item) error) error {
		item.IndexedAt = item.IndexedAt.Truncate(3600e9)
		return visit(item)
	})},
	"calls the other collection by another name": {"other collections", each(func(item adapters.Item, visit func(adapters.Item) error) error {
		item.Collection = strings.ToLower(item.Collection)
		return visit(item)
	})},
	"declares no model":             {"Describe tells", broken{tells: func(i *adapters.StoreInfo) { i.DeclaredPerItem = nil }}},
	"tells by halves":               {"Describe tells", broken{tells: func(i *adapters.StoreInfo) { i.EmbedModel = "declared" }}},
	"finds half of a fused ranking": {"a limit is kept", shorterFusion(func(n int) int { return n / 2 })},
	"restricts a fused ranking to more": {"a search restricted", before(func(r *adapters.SearchRequest) {
		if r.Mode == "hybrid" {
			r.Only = nil
		}
	})},
}

func shorterFusion(length func(int) int) broken {
	return always(func(req adapters.SearchRequest, r *adapters.SearchResponse) {
		if req.Mode == "hybrid" && req.Limit < 100 {
			r.Hits = r.Hits[:length(len(r.Hits))]
		}
	})
}
