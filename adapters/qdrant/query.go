package qdrant

import (
	"context"
	"math"

	"github.com/qdrant/go-client/qdrant"

	"github.com/culprit-rag/culprit/adapters"
)

// query is a search that is ready to be sent, with any limit. complete: a higher limit brings no more.
type query interface {
	run(ctx context.Context, limit uint64) (points []*qdrant.ScoredPoint, complete bool, err error)
}

// query makes the query of a request; nil finds nothing.
func (s *store) query(req adapters.SearchRequest, filter *qdrant.Filter) (query, error) {
	points := &qdrant.QueryPoints{
		CollectionName: s.set.Collection, WithPayload: qdrant.NewWithPayload(!req.IDsOnly), WithVectors: qdrant.NewWithVectors(false),
		ReadConsistency: s.set.ReadConsistency.value, ShardKeySelector: s.set.ShardKey.selector(),
	}
	dense := arm{using: s.set.Vector, filter: filter, params: s.params(req.Exact)}
	if req.Mode != modeKeyword {
		dense.query = qdrant.NewQueryDense(req.Vector)
	}
	if req.Mode == modeDense {
		return s.single(points, dense, s.serverThreshold(req)), nil
	}
	words := s.keywordArm(req.Query, filter)
	switch {
	case req.Mode == modeHybrid:
		return s.hybrid(points, req, words, dense), nil
	case words == nil:
		return nil, nil //nolint:nilnil // a query without a word finds nothing
	}
	return s.single(points, *words, s.serverThreshold(req)), nil
}

// arm is one ranking: the only one, or one of those that are fused.
type arm struct {
	query  *qdrant.Query
	using  string
	filter *qdrant.Filter
	params *qdrant.SearchParams
}

// keywordArm is the ranking by words; nil where the query has none that counts.
func (s *store) keywordArm(text string, filter *qdrant.Filter) *arm {
	// Exact changes nothing for a sparse vector, but on many shards a search that is not may return too few.
	a := &arm{using: s.set.Keyword.Vector, filter: filter, params: &qdrant.SearchParams{Exact: qdrant.PtrOf(!s.shape.noExact)}}
	if s.encoder == nil {
		a.query = qdrant.NewQueryDocument(s.document(text))
		return a
	}
	indices, values := s.encoder.Query(text)
	if len(indices) == 0 {
		return nil
	}
	a.query = qdrant.NewQuerySparse(indices, values)
	return a
}

func (s *store) document(text string) *qdrant.Document {
	d := &qdrant.Document{Text: text, Model: s.set.Keyword.Model}
	if d.GetModel() == serverModel && s.set.Keyword.Language != languageNone {
		d.Options = map[string]*qdrant.Value{"language": qdrant.NewValueString(s.set.Keyword.Language)}
	}
	return d
}

// params say how a dense search is made. The numbers of a quantization are an approximation too.
func (s *store) params(exact bool) *qdrant.SearchParams {
	p := &qdrant.SearchParams{Exact: &exact}
	if exact {
		p.Quantization = &qdrant.QuantizationSearchParams{Ignore: qdrant.PtrOf(true)}
		return p
	}
	if s.set.HNSWEf > 0 {
		p.HnswEf = &s.set.HNSWEf
	}
	p.IndexedOnly = &s.set.IndexedOnly
	return p
}

// serverThreshold spares the answer what lies beyond the threshold. The server compares numbers of 32 bits, so it gets one
// that lets a little more through; what is cut in the end is cut here.
func (s *store) serverThreshold(req adapters.SearchRequest) *float32 {
	if req.Threshold == nil {
		return nil
	}
	beyond := math.Inf(-1)
	if req.Mode == modeDense && s.shape.lowerIsBetter() {
		beyond = math.Inf(1)
	}
	t := math.Nextafter32(float32(*req.Threshold), float32(beyond))
	return &t
}

// single is a search by one ranking.
func (s *store) single(points *qdrant.QueryPoints, a arm, threshold *float32) query {
	points.Query, points.Using, points.Filter, points.Params, points.ScoreThreshold = a.query, using(a.using), a.filter, a.params, threshold
	return &serverQuery{s, points}
}

// using names a vector; the unnamed one is not named.
func using(name string) *string {
	if name == "" {
		return nil
	}
	return &name
}

// serverQuery is a search that the server makes in one call.
type serverQuery struct {
	store  *store
	points *qdrant.QueryPoints
}

func (q *serverQuery) run(ctx context.Context, limit uint64) (points []*qdrant.ScoredPoint, complete bool, err error) {
	q.points.Limit, q.points.Timeout = &limit, q.store.timeout(ctx)
	response, err := q.store.grpc.Points().Query(ctx, q.points)
	return response.GetResult(), uint64(len(response.GetResult())) < limit, err
}
