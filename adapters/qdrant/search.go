package qdrant

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/qdrant/go-client/qdrant"

	"github.com/culprit-rag/culprit/adapters"
)

const (
	// tieMargin is how many more items are asked for than are wanted: the server orders items of equal scores at random, and
	// which of them come last is decided by id.
	tieMargin = 16
	// tieGrowth is by how much more is asked for where that does not reach past the tie, and tieRounds how often.
	tieGrowth = 8
	tieRounds = 4
)

// Search ranks by the server. Limit, payload and vectors are always asked for, and so is exactness.
func (s *store) Search(ctx context.Context, req adapters.SearchRequest) (adapters.SearchResponse, error) {
	const op = "search"
	if err := s.enter(ctx, op); err != nil {
		return adapters.SearchResponse{}, err
	}
	if err := s.checkRequest(req); err != nil {
		return adapters.SearchResponse{}, err
	}
	response := adapters.SearchResponse{
		Received: req.Query, Exact: req.Exact || req.Mode == modeKeyword, // a sparse vector's index is exact
		LowerIsBetter: req.Mode == modeDense && s.shape.lowerIsBetter(),
	}
	if most := s.shape.maxLimit; most > 0 && uint64(req.Limit) > most {
		req.Limit, response.Cap = int(most), int(most)
	}
	filter, err := s.filter(req.Filter, onlyOf(req))
	if errors.Is(err, errNothing) {
		return response, nil
	}
	if err != nil {
		return adapters.SearchResponse{}, invalid(op, "%w", err)
	}
	points, err := s.rank(ctx, req, filter, response.LowerIsBetter)
	var items map[string]adapters.Item
	if tooLarge(err) && !req.IDsOnly { // the ranking alone, and what it ranks a few at a time
		lean := req
		lean.IDsOnly = true
		if points, err = s.rank(ctx, lean, filter, response.LowerIsBetter); err == nil {
			items, err = s.largeItems(ctx, points)
		}
	}
	if err != nil {
		return adapters.SearchResponse{}, s.failed(ctx, op, err)
	}
	for i, point := range points {
		hit := adapters.Hit{Rank: i + 1}
		if items != nil {
			hit.Item = items[idText(point.GetId())]
		} else {
			hit.Item = s.set.Fields.item(idText(point.GetId()), point.GetPayload())
		}
		score := float64(point.GetScore()) + 0 // no negative zero
		hit.Score = &score
		response.Hits = append(response.Hits, hit)
	}
	return response, nil
}

// largeItems reads items whose payloads are too much for one answer. Beyond what one answer may hold their texts are left out:
// nobody reads hundreds of them, and a scan has seen each.
func (s *store) largeItems(ctx context.Context, points []*qdrant.ScoredPoint) (map[string]adapters.Item, error) {
	ids := make([]*qdrant.PointId, len(points))
	items := map[string]adapters.Item{}
	for i, point := range points {
		ids[i] = point.GetId()
		items[idText(ids[i])] = adapters.Item{ID: idText(ids[i])} // one that is deleted meanwhile is nothing more
	}
	bytes := 0
	err := s.points(ctx, ids, s.withVectors(false), func(point *qdrant.RetrievedPoint) bool {
		item := s.item(point, false)
		if bytes += len(item.Text); bytes > maxMessage {
			item.Text = ""
		}
		items[item.ID] = item
		return true
	})
	return items, err
}

// onlyOf returns the ids that the server itself restricts the search to. The scores of a fusion depend on what else is
// ranked, so a hybrid search is restricted here, afterwards.
func onlyOf(req adapters.SearchRequest) []string {
	if req.Mode == modeHybrid {
		return nil
	}
	return req.Only
}

func (s *store) checkRequest(req adapters.SearchRequest) error {
	const op = "search"
	if modes := s.Capabilities().Modes; !slices.Contains(modes, req.Mode) {
		return fail(op, adapters.KindUnsupported, fmt.Errorf("mode %q is none of %q: backends.store.vector and backends.store.keyword decide which there are", req.Mode, modes))
	}
	if req.Exact && s.shape.noExact {
		return fail(op, adapters.KindUnsupported, fmt.Errorf("the strict mode of collection %q allows no exact search", s.set.Collection))
	}
	if req.Limit < 1 {
		return invalid(op, "limit %d is below 1", req.Limit)
	}
	if req.Mode == modeKeyword {
		return nil
	}
	if want := int(s.shape.dense.GetSize()); len(req.Vector) != want {
		return invalid(op, "the query's vector has %d dimensions, and vector %q of collection %q has %d: check the embedder's model and dimensions, and backends.store.vector", len(req.Vector), s.set.Vector, s.set.Collection, want)
	}
	for i, x := range req.Vector {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return invalid(op, "number %d of the query's vector is %v", i, x)
		}
	}
	return nil
}

// rank returns the ranking of the request: sorted, cut to the limit, ties by id.
func (s *store) rank(ctx context.Context, req adapters.SearchRequest, filter *qdrant.Filter, lowerIsBetter bool) ([]*qdrant.ScoredPoint, error) {
	query, err := s.query(req, filter)
	if err != nil || query == nil {
		return nil, err
	}
	for ask, round := s.first(req), 1; ; ask, round = ask*tieGrowth, round+1 {
		if s.shape.maxLimit > 0 {
			ask = min(ask, s.shape.maxLimit)
		}
		points, complete, err := query.run(ctx, ask)
		if err != nil {
			return nil, err
		}
		points = tidy(points, req, lowerIsBetter)
		decided := len(points) > req.Limit && points[req.Limit-1].GetScore() != points[len(points)-1].GetScore()
		if complete || decided || round == tieRounds || req.Only != nil || ask == s.shape.maxLimit {
			return points[:min(len(points), req.Limit)], nil
		}
	}
}

// first is the limit that is sent first. A hybrid search that is restricted here needs all that is fused.
func (s *store) first(req adapters.SearchRequest) uint64 {
	switch {
	case req.Only == nil:
		return uint64(req.Limit) + tieMargin
	case req.Mode == modeHybrid:
		return 2 * s.depth(req)
	}
	return max(uint64(req.Limit), uint64(len(req.Only)))
}

// tidy sorts the points by score and id, and leaves out what is no hit: scores that are no numbers, those beyond the
// threshold, and what the request excludes.
func tidy(points []*qdrant.ScoredPoint, req adapters.SearchRequest, lowerIsBetter bool) []*qdrant.ScoredPoint {
	only := map[string]bool{}
	for _, id := range parseIDs(req.Only) {
		only[idText(id)] = true
	}
	direction := float32(1)
	if lowerIsBetter {
		direction = -1
	}
	points = slices.DeleteFunc(points, func(p *qdrant.ScoredPoint) bool {
		score := float64(p.GetScore())
		return math.IsNaN(score) || math.IsInf(score, 0) ||
			req.Threshold != nil && float64(direction)*(score-*req.Threshold) < 0 ||
			req.Only != nil && !only[idText(p.GetId())]
	})
	slices.SortFunc(points, func(a, b *qdrant.ScoredPoint) int {
		return cmp.Or(cmp.Compare(direction*b.GetScore(), direction*a.GetScore()), cmp.Compare(idText(a.GetId()), idText(b.GetId())))
	})
	return slices.CompactFunc(points, func(a, b *qdrant.ScoredPoint) bool { return idText(a.GetId()) == idText(b.GetId()) })
}
