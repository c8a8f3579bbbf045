package weaviate

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/culprit-rag/culprit/adapters"
)

const (
	modeKeyword = "keyword"
	modeDense   = "dense"
	modeHybrid  = "hybrid"
)

// Search returns a ranking. A class with tenants is searched tenant by tenant, and the rankings are merged by score. A
// threshold is applied to the ranking here, which leaves out the same items as the server would.
func (s *store) Search(ctx context.Context, req adapters.SearchRequest) (adapters.SearchResponse, error) {
	ctx, leave, err := s.enter(ctx, "search")
	if err != nil {
		return adapters.SearchResponse{}, err
	}
	defer leave()
	response, err := s.search(ctx, req)
	if err != nil {
		return adapters.SearchResponse{}, s.failure(ctx, "search", err)
	}
	return response, nil
}

func checkSearch(req adapters.SearchRequest) error {
	dense := req.Mode == modeDense || req.Mode == modeHybrid
	switch {
	case !dense && req.Mode != modeKeyword:
		return problemf(adapters.KindUnsupported, "search mode %q: this store has keyword, dense and hybrid", req.Mode)
	case req.Limit < 1:
		return invalid("the limit is %d and must be at least 1", req.Limit)
	case dense && len(req.Vector) == 0:
		return invalid("a %s search needs a vector", req.Mode)
	case dense && !finite(req.Vector):
		return invalid("the query's vector holds a number that is not finite")
	case req.Mode != modeDense && !utf8.ValidString(req.Query):
		return invalid("the query is no valid UTF-8")
	case req.Threshold != nil && math.IsNaN(*req.Threshold):
		return invalid("the threshold is not a number")
	}
	return nil
}

// ranking is a search that is under way: the request and what follows from it.
type ranking struct {
	adapters.SearchRequest

	class   *class
	filter  filter
	where   string // "" admits everything
	names   []string
	lower   bool // scores
	exhaust bool // the whole ranking is compared here, not by the server
}

func (s *store) search(ctx context.Context, req adapters.SearchRequest) (adapters.SearchResponse, error) {
	if err := checkSearch(req); err != nil {
		return adapters.SearchResponse{}, err
	}
	c := s.current()
	index := c.index(s.set.Vector)
	r := ranking{SearchRequest: req, class: c, lower: req.Mode == modeDense && lowerIsBetter(index.distance)}
	response := adapters.SearchResponse{LowerIsBetter: r.lower, Received: req.Query}
	if req.Mode == modeDense {
		response.Received = ""
	}
	var err error
	if r.filter, err = s.filter(c, req.Filter); err != nil {
		return response, err
	}
	if req.Mode != modeDense {
		if err := c.searchable(s.set.Keyword.Fields); err != nil {
			return response, err
		}
	}
	if req.Mode != modeKeyword {
		if err := s.checkDimensions(ctx, c, req.Vector); err != nil {
			return response, err
		}
	}
	nothing := r.filter.nothing || req.Only != nil && len(validIDs(req.Only)) == 0 || req.Mode == modeKeyword && strings.TrimSpace(req.Query) == ""
	if nothing {
		response.Exact = true
		return response, nil
	}
	list, err := s.tenants(ctx, c)
	if err != nil {
		return response, err
	}
	tenants, err := s.choose(c, list, r.filter.tenant)
	if err != nil {
		return response, err
	}
	if response.Exact, err = s.plan(ctx, &r); err != nil {
		return response, err
	}
	parts, err := overTenants(ctx, tenants, func(ctx context.Context, tenant string) (part, error) { return s.rank(ctx, r, tenant) })
	if err != nil {
		return response, s.explainQuery(c, err)
	}
	response.Hits, response.Cap = s.merge(r, parts)
	response.Exact = response.Exact && response.Cap == 0
	return response, nil
}

// plan decides how the ranking is made, and whether it is exact.
func (s *store) plan(ctx context.Context, r *ranking) (exact bool, err error) {
	conditions := slices.Clone(r.filter.where)
	if r.Only != nil && r.Mode != modeHybrid { // the scores of a fusion depend on what is fused
		conditions = append(conditions, byIDs(validIDs(r.Only)))
	}
	exact = r.Exact && r.Mode == modeKeyword
	if r.Exact && r.Mode != modeKeyword {
		flat, err := s.comparesAll(ctx, r.class, len(r.Only))
		if err != nil {
			return false, err
		}
		switch {
		case flat:
			conditions = append(conditions, everything)
			exact = true
		case r.Mode == modeDense:
			r.exhaust, exact = true, true
		}
	}
	r.where = all(conditions)
	r.names = r.filter.reads
	if !r.IDsOnly {
		r.names = r.class.names()
	}
	return exact, nil
}

// part is the ranking of one tenant. The worst of a longer one may be missing where capped is not 0.
type part struct {
	hits   []scored
	capped int
}

type scored struct {
	object

	score float64
}

// rank asks for more until the first Limit of what is admitted are sure: none that is as good is left out.
func (s *store) rank(ctx context.Context, r ranking, tenant string) (part, error) {
	if r.exhaust {
		return s.exhaust(ctx, r, tenant)
	}
	most, n := s.mostResults(), r.Limit
	every := r.Exact && r.Mode == modeKeyword // the server's shortcuts to the best of a keyword ranking are not always right
	if every || n > usualMost {               // a server may set aside room for as many as it is asked for
		count, err := s.count(ctx, r.class, tenant)
		if err != nil {
			return part{}, err
		}
		if n = min(n, max(count, usualMost)); every {
			n = max(n, count)
		}
	}
	n++ // the next one tells whether the last one is in a tie
	if r.Mode == modeHybrid {
		n = max(n, s.set.Hybrid.Candidates)
	}
	for {
		if most > 0 {
			n = min(n, most)
		}
		rows, more, err := s.ask(ctx, r, tenant, n)
		if tooMany(err) {
			if most, err = s.learnMost(ctx, r.class, tenant, n); err == nil {
				continue
			}
		}
		if err != nil {
			return part{}, err
		}
		kept := s.keep(r, rows)
		switch {
		case !more, r.Mode == modeHybrid && r.Only != nil:
			return part{hits: kept}, nil
		case len(kept) >= r.Limit && len(rows) > 0 && r.worse(rows[len(rows)-1].score, kept[r.Limit-1].score):
			return part{hits: kept[:r.Limit]}, nil
		case n == most && r.Mode == modeDense && r.filter.wide:
			return s.exhaust(ctx, r, tenant)
		case n == most:
			return part{hits: kept, capped: most}, nil
		}
		n *= 4
	}
}

// keep returns what is admitted, each object once, in order.
func (s *store) keep(r ranking, rows []scored) []scored {
	var only map[string]bool
	if r.Only != nil {
		only = map[string]bool{}
		for _, id := range r.Only {
			only[id] = true
		}
	}
	seen := map[string]bool{}
	var kept []scored
	for _, row := range rows {
		if seen[row.id] || only != nil && !only[row.id] || !s.admits(r.filter.others, row.object) {
			continue
		}
		seen[row.id] = true
		kept = append(kept, row)
	}
	slices.SortFunc(kept, r.order)
	return kept
}

func (r ranking) worse(a, b float64) bool {
	if r.lower {
		return a > b
	}
	return a < b
}

// order is that of a ranking: best first, ties by id.
func (r ranking) order(a, b scored) int {
	scores := cmp.Compare(b.score, a.score)
	if r.lower {
		scores = -scores
	}
	return cmp.Or(scores, cmp.Compare(a.id, b.id))
}

// merge makes one ranking of those of the tenants. An id that two tenants have is shown once, where it scores better.
func (s *store) merge(r ranking, parts []part) ([]adapters.Hit, int) {
	var found []scored
	capped := 0
	for _, p := range parts {
		found = append(found, p.hits...)
		capped = max(capped, p.capped)
	}
	slices.SortStableFunc(found, r.order)
	seen := map[string]bool{}
	hits := []adapters.Hit{}
	for _, row := range found {
		if len(hits) == r.Limit {
			break
		}
		if seen[row.id] || r.Threshold != nil && r.worse(row.score, *r.Threshold) {
			continue
		}
		seen[row.id] = true
		hit := adapters.Hit{Rank: len(hits) + 1, Score: &row.score}
		if hit.ID = row.id; !r.IDsOnly {
			hit.Item = s.item(r.class, row.object)
		}
		hits = append(hits, hit)
	}
	if len(hits) == r.Limit && capped >= r.Limit {
		capped = 0 // more than was asked for is missing, if anything
	}
	return hits, capped
}

// ask makes one query for n objects, and says whether there may be more.
func (s *store) ask(ctx context.Context, r ranking, tenant string, n int) (list []scored, more bool, err error) {
	var args arguments
	args.add("tenant", tenantArgument(tenant))
	args.add("consistencyLevel", s.consistency(r.class))
	args.add("where", r.where)
	score := "score"
	switch r.Mode {
	case modeDense:
		score = "distance"
		args.add("nearVector", "{vector:"+vectorLiteral(r.Vector)+s.target()+"}")
	case modeKeyword:
		args.add("bm25", s.bm25(r.Query))
	case modeHybrid:
		args.add("hybrid", s.fusion(r.Query, r.Vector))
	}
	args.add("limit", strconv.Itoa(n))
	fields := []string{"id", score}
	if !r.IDsOnly {
		fields = append(fields, "lastUpdateTimeUnix")
	}
	rows, err := s.query(ctx, "Get", r.class.name, document("Get", r.class.name, args, selection(r.names, fields...)))
	if err != nil {
		return nil, false, s.explainVector(r, err)
	}
	distance := r.class.index(s.set.Vector).distance
	for _, row := range rows {
		o, additional, ok := objectOf(row, tenant, s.set.Vector)
		if !ok {
			return nil, false, problemf(adapters.KindPermanent, "the answer to a search holds an object without an id")
		}
		if value, ok := scoreOf(additional[score]); ok {
			if r.Mode == modeDense {
				value = fromDistance(distance, value)
			}
			list = append(list, scored{o, value + 0}) // + 0 makes -0 of nothing
		}
	}
	return list, len(rows) >= n, nil
}

// scoreOf reads a score, which some modes give as text. One that is no number scores nothing.
func scoreOf(v any) (float64, bool) {
	score, ok := v.(float64)
	if text, isText := v.(string); isText {
		var err error
		score, err = strconv.ParseFloat(text, 64)
		ok = err == nil
	}
	return score, ok && !math.IsNaN(score) && !math.IsInf(score, 0)
}

func (s *store) target() string {
	if s.set.Vector == "" {
		return ""
	}
	return ",targetVectors:" + quoteAll([]string{s.set.Vector})
}

func (s *store) bm25(query string) string {
	operator := "" // the server's own is or, which older ones have no name for
	if s.set.Keyword.Operator == operatorAnd {
		operator = ",searchOperator:{operator:And}"
	}
	return "{query:" + quote(query) + ",properties:" + quoteAll(s.set.Keyword.Fields) + operator + "}"
}

func (s *store) fusion(query string, vector []float32) string {
	operator, kind := "", "relativeScoreFusion"
	if s.set.Keyword.Operator == operatorAnd {
		operator = ",bm25SearchOperator:{operator:And}"
	}
	if s.set.Hybrid.Fusion == fusionRanked {
		kind = "rankedFusion"
	}
	return "{query:" + quote(query) + ",vector:" + vectorLiteral(vector) + ",properties:" + quoteAll(s.set.Keyword.Fields) +
		",alpha:" + strconv.FormatFloat(s.set.Hybrid.Alpha, 'f', -1, 64) + ",fusionType:" + kind + operator + s.target() + "}"
}

// consistency is sent only to a class that has it.
func (s *store) consistency(c *class) string {
	if c.replicas > 1 {
		return s.set.Consistency
	}
	return ""
}

// explainVector names both sides where a query's vector does not fit.
func (s *store) explainVector(r ranking, err error) error {
	var known *queryError
	if errors.As(err, &known) && strings.Contains(known.message, "vector lengths don't match") {
		return invalid("the query's vector has %d dimensions and does not fit those of class %q: use the embedder that made them, or set backends.store.vector: %w",
			len(r.Vector), r.class.name, err)
	}
	return err
}
