package qdrant

import (
	"context"
	"fmt"

	"github.com/qdrant/go-client/qdrant"

	"github.com/culprit-rag/culprit/adapters"
)

// fetchSize is how many items are asked for at a time.
const fetchSize = 256

// Fetch returns items by id. What is neither a number nor a UUID is no point's id, and is left out.
func (s *store) Fetch(ctx context.Context, req adapters.FetchRequest) ([]adapters.Item, error) {
	const op = "fetch"
	if err := s.enter(ctx, op); err != nil {
		return nil, err
	}
	if req.Vectors && s.shape.dense == nil {
		return nil, fail(op, adapters.KindUnsupported, fmt.Errorf("collection %q has no dense vectors", s.set.Collection))
	}
	items := map[string]adapters.Item{}
	var ids []*qdrant.PointId
	asked := map[string]bool{}
	for _, id := range parseIDs(req.IDs) {
		if text := idText(id); !asked[text] {
			asked[text] = true
			ids = append(ids, id)
		}
	}
	err := s.points(ctx, ids, s.withVectors(req.Vectors), func(point *qdrant.RetrievedPoint) bool {
		item := s.item(point, req.Vectors)
		items[item.ID] = item
		return true
	})
	if err != nil {
		return nil, s.failed(ctx, op, err)
	}
	var list []adapters.Item
	for _, id := range parseIDs(req.IDs) {
		if item, ok := items[idText(id)]; ok {
			list = append(list, item)
		}
	}
	return list, nil
}

// points gets points by id with their payload, fewer at a time where they are large, until visit says that it is enough.
func (s *store) points(ctx context.Context, ids []*qdrant.PointId, vectors *qdrant.WithVectorsSelector, visit func(*qdrant.RetrievedPoint) bool) error {
	for size := fetchSize; len(ids) > 0; {
		n := min(size, len(ids))
		response, err := s.grpc.Points().Get(ctx, &qdrant.GetPoints{
			CollectionName: s.set.Collection, Ids: ids[:n], WithPayload: qdrant.NewWithPayload(true), WithVectors: vectors,
			ReadConsistency: s.set.ReadConsistency.value, ShardKeySelector: s.set.ShardKey.selector(), Timeout: s.timeout(ctx),
		})
		if tooLarge(err) && n > 1 {
			size = max(1, n/4)
			continue
		}
		if err != nil {
			return err
		}
		for _, point := range response.GetResult() {
			if !visit(point) {
				return nil
			}
		}
		ids = ids[n:]
	}
	return nil
}
