package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/pinecone-io/go-pinecone/v5/pinecone"

	"github.com/culprit-rag/culprit/adapters"
)

const (
	// most is the most that a query of Pinecone returns.
	most = 10_000
	// slack is how many hits more than the limit are asked for, so that the records of a tie at its edge are known.
	slack = 16
)

// distances are the metrics by their names here.
var distances = map[pinecone.IndexMetric]string{pinecone.Cosine: "cosine", pinecone.Dotproduct: "dot", pinecone.Euclidean: "euclid"}

// scored is a record of a ranking.
type scored struct {
	id    string
	score float64
}

func (s *store) Search(ctx context.Context, req adapters.SearchRequest) (adapters.SearchResponse, error) {
	const op = "search"
	if err := s.fits(req); err != nil {
		return adapters.SearchResponse{}, err
	}
	response := adapters.SearchResponse{LowerIsBetter: s.index.Metric == pinecone.Euclidean, Received: req.Query}
	c := s.conditions(req)
	if c.hopeless {
		return response, nil
	}
	rank := s.query
	if c.limited {
		rank = s.compare
	}
	ranked, err := rank(ctx, req, c)
	if err != nil {
		return response, s.failed(op, err)
	}
	if !c.limited && req.Limit > most && len(ranked) >= most-len(c.without) {
		response.Cap = most
	}
	if req.Threshold != nil {
		worse := func(hit scored) bool { return s.order(hit.score, *req.Threshold) > 0 }
		if end := slices.IndexFunc(ranked, worse); end >= 0 {
			ranked = ranked[:end]
		}
	}
	response.Hits, err = s.hits(ctx, ranked, req.IDsOnly)
	if err != nil {
		return response, s.failed(op, err)
	}
	return response, nil
}

// fits refuses what the index does not have.
func (s *store) fits(req adapters.SearchRequest) error {
	const op = "search"
	switch dimensions := int(*s.index.Dimension); {
	case req.Mode != "dense":
		return fail(op, adapters.KindUnsupported, fmt.Errorf("the plugin has no %q search: it knows nothing of Pinecone's sparse vectors", req.Mode))
	case req.Exact:
		return fail(op, adapters.KindUnsupported, errors.New("an index of Pinecone has no exact search"))
	case req.Limit < 1:
		return fail(op, adapters.KindInvalid, fmt.Errorf("limit %d is not at least 1", req.Limit))
	case len(req.Vector) != dimensions:
		return fail(op, adapters.KindInvalid, fmt.Errorf("the query's vector has %d dimensions, those of index %q have %d", len(req.Vector), s.set.Index, dimensions))
	}
	for _, x := range req.Vector {
		if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
			return fail(op, adapters.KindInvalid, fmt.Errorf("the query's vector holds %v", f))
		}
	}
	return nil
}

// query is the ranking of the index, ties by id. It asks for more than the limit while the limit falls into a tie.
func (s *store) query(ctx context.Context, req adapters.SearchRequest, c conditions) ([]scored, error) {
	admits, err := filter(c.meta)
	if err != nil {
		return nil, fail("search", adapters.KindInvalid, err)
	}
	limit := min(req.Limit, most)
	for asked := min(limit+len(c.without)+slack, most); ; asked = min(2*asked, most) {
		answer, err := s.conn.QueryByVectorValues(ctx, &pinecone.QueryByVectorValuesRequest{
			Vector: req.Vector, TopK: uint32(asked), MetadataFilter: admits, IncludeMetadata: false, //nolint:gosec // at most 10,000
		})
		if err != nil {
			return nil, err
		}
		var ranked []scored
		for _, match := range answer.Matches {
			if match != nil && match.Vector != nil && !c.without[match.Vector.Id] {
				ranked = append(ranked, scored{match.Vector.Id, float64(match.Score)})
			}
		}
		whole := len(answer.Matches) < asked || asked == most
		if whole || len(ranked) > limit && ranked[len(ranked)-1].score != ranked[limit-1].score {
			return s.sorted(ranked, limit), nil
		}
	}
}

// compare ranks the records with some ids, which are fetched and compared here: Pinecone cannot restrict a query to ids.
func (s *store) compare(ctx context.Context, req adapters.SearchRequest, c conditions) ([]scored, error) {
	records, err := s.fetch(ctx, c.only)
	if err != nil {
		return nil, err
	}
	var ranked []scored
	for id, record := range records {
		admitted, err := holds(record.Metadata, c.meta)
		if err != nil {
			return nil, fail("search", adapters.KindInvalid, err)
		}
		if admitted && !c.without[id] && record.Values != nil && len(*record.Values) == len(req.Vector) {
			ranked = append(ranked, scored{id, similarity(s.index.Metric, req.Vector, *record.Values)})
		}
	}
	return s.sorted(ranked, req.Limit), nil
}

func (s *store) sorted(ranked []scored, limit int) []scored {
	slices.SortFunc(ranked, func(a, b scored) int { return cmp.Or(s.order(a.score, b.score), cmp.Compare(a.id, b.id)) })
	return ranked[:min(limit, len(ranked))]
}

// order is positive where a is the worse score.
func (s *store) order(a, b float64) int {
	if s.index.Metric == pinecone.Euclidean {
		return cmp.Compare(a, b)
	}
	return cmp.Compare(b, a)
}

// hits makes hits of a ranking. A record that was deleted in between is left out.
func (s *store) hits(ctx context.Context, ranked []scored, bare bool) ([]adapters.Hit, error) {
	ids := make([]string, len(ranked))
	for i, hit := range ranked {
		ids[i] = hit.id
	}
	records := map[string]*pinecone.Vector{}
	if !bare {
		var err error
		if records, err = s.fetch(ctx, ids); err != nil {
			return nil, err
		}
	}
	hits := []adapters.Hit{}
	for _, hit := range ranked {
		item := adapters.Item{ID: hit.id}
		if !bare {
			record := records[hit.id]
			if record == nil {
				continue
			}
			item = s.item(record, false)
		}
		hits = append(hits, adapters.Hit{Item: item, Rank: len(hits) + 1, Score: &hit.score})
	}
	return hits, nil
}

// similarity is the score that Pinecone gives: for euclidean the square of the distance.
func similarity(metric pinecone.IndexMetric, a, b []float32) float64 {
	var product, lengthA, lengthB, square float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		product, lengthA, lengthB, square = product+x*y, lengthA+x*x, lengthB+y*y, square+(x-y)*(x-y)
	}
	switch {
	case metric == pinecone.Euclidean:
		return square
	case metric == pinecone.Dotproduct:
		return product
	case lengthA == 0 || lengthB == 0:
		return 0
	}
	return product / math.Sqrt(lengthA*lengthB)
}
