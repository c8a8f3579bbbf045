package qdrant

import (
	"context"

	"github.com/qdrant/go-client/qdrant"

	"github.com/culprit-rag/culprit/adapters"
)

// depth is how long each ranking of a hybrid search is.
func (s *store) depth(req adapters.SearchRequest) uint64 {
	depth := uint64(max(s.set.Hybrid.Prefetch, req.Limit))
	if s.shape.maxLimit > 0 {
		depth = min(depth, s.shape.maxLimit)
	}
	return depth
}

// hybrid fuses the keyword and the dense ranking. Each is as long as the settings say, or as the limit of the request.
func (s *store) hybrid(points *qdrant.QueryPoints, req adapters.SearchRequest, words *arm, dense arm) query {
	depth := s.depth(req)
	arms := []arm{dense}
	if words != nil {
		arms = []arm{*words, dense}
	}
	if s.set.Hybrid.Fusion == fusionRRF && s.version.before(1, 16) {
		return &clientFusion{store: s, points: points, arms: arms, depth: depth}
	}
	points.Query = qdrant.NewQueryFusion(qdrant.Fusion_DBSF)
	if s.set.Hybrid.Fusion == fusionRRF {
		points.Query = qdrant.NewQueryRRF(&qdrant.Rrf{K: &s.set.Hybrid.RRFK})
	}
	for _, a := range arms {
		points.Prefetch = append(points.Prefetch, &qdrant.PrefetchQuery{Query: a.query, Using: using(a.using), Filter: a.filter, Params: a.params, Limit: &depth})
	}
	return &serverQuery{s, points}
}

// clientFusion is reciprocal rank fusion for servers that cannot be told its constant: both rankings are asked for, and
// fused by the formula that the server has.
type clientFusion struct {
	store  *store
	points *qdrant.QueryPoints // the query without its arms
	arms   []arm
	depth  uint64
}

func (f *clientFusion) run(ctx context.Context, _ uint64) (points []*qdrant.ScoredPoint, complete bool, err error) {
	batch := &qdrant.QueryBatchPoints{CollectionName: f.points.GetCollectionName(), ReadConsistency: f.points.GetReadConsistency(), Timeout: f.store.timeout(ctx)}
	for _, a := range f.arms {
		batch.QueryPoints = append(batch.QueryPoints, &qdrant.QueryPoints{
			CollectionName: f.points.GetCollectionName(), Query: a.query, Using: using(a.using), Filter: a.filter, Params: a.params, Limit: &f.depth,
			WithPayload: f.points.GetWithPayload(), WithVectors: f.points.GetWithVectors(), ShardKeySelector: f.points.GetShardKeySelector(),
		})
	}
	response, err := f.store.grpc.Points().QueryBatch(ctx, batch)
	if err != nil {
		return nil, false, err
	}
	fused := map[string]*qdrant.ScoredPoint{}
	for _, ranking := range response.GetResult() {
		for position, point := range ranking.GetResult() {
			score := 1 / (float32(f.store.set.Hybrid.RRFK) + float32(position))
			if known := fused[idText(point.GetId())]; known != nil {
				known.Score += score
				continue
			}
			point.Score = score
			fused[idText(point.GetId())] = point
			points = append(points, point)
		}
	}
	return points, true, nil
}
