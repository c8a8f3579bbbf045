package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/results"
)

// textWindow is how many items at the top of a ranking are recorded with their text. Below it the id, rank and score are
// kept, and the scan of the store says which ids hold the gold.
const textWindow = 20

// search describes one retrieval before it is made.
type search struct {
	cell      matrix.CellID
	queries   []string // none: nothing is searched for, as production does where its rewriting gave nothing
	mode      string
	filter    matrix.Filter
	threshold *matrix.Decimal
	exact     bool
	model     string   // another embedding model for the query
	prefix    *string  // another prefix for the query
	only      []string // these ids alone; nil: all
	reach     int      // how many hits are asked for, by id and score alone; 0: the depth of the pipeline, with texts
}

// production is the search that production makes for the case.
func (r *caseRun) production() search {
	p := r.experiment.Pipeline
	return search{
		cell: matrix.CellC, queries: r.queries(), mode: p.Search.Mode, filter: p.Search.Filter.Resolve(r.c.As),
		threshold: p.Search.Threshold, exact: p.Search.Exact,
	}
}

// retrieval names a retrieval before it is made.
func (r *caseRun) retrieval(s search) (matrix.Retrieval, matrix.Call, error) {
	p := r.experiment.Pipeline.Search
	out := matrix.Retrieval{
		Cell: s.cell, Query: r.c.Question(), QueryEffective: strings.Join(s.queries, "\n"), Mode: s.mode, K: p.K, Depth: max(p.Depth, p.K),
		Filter: s.filter, Threshold: s.threshold, Exact: s.exact, Candidates: []matrix.Hit{},
	}
	if s.reach > 0 {
		out.Depth = s.reach
	}
	call := matrix.Call{Case: r.plan.CaseDigest, Cell: s.cell, Step: "retrieve", Rep: 1, Provider: r.experiment.Backends.Store.Adapter, Model: s.model}
	input := matrix.SearchInput{
		Store: r.experiment.Backends.Store, Query: out.QueryEffective, Mode: s.mode, Filter: s.filter, Threshold: s.threshold, Exact: s.exact, Depth: out.Depth,
		Model: s.model, QueryBase: r.embedderInfo.Model, Prefix: s.prefix, Only: s.only, Way: matrix.SearchWay(s.cell),
	}
	if len(s.queries) > 1 {
		input.Merged = &matrix.MergedQueries{Queries: s.queries, How: r.experiment.Pipeline.Rewrite.Merge, K: p.K}
	}
	var err error
	if call.Input, err = input.Digest(); err != nil {
		return out, call, err
	}
	out.CallKey, err = call.Key()
	return out, call, err
}

// retrieve makes one retrieval and records it. An error is returned only when the work itself cannot go on.
func (r *caseRun) retrieve(ctx context.Context, s search) (matrix.Retrieval, error) {
	out, call, err := r.retrieval(s)
	if err != nil {
		return out, err
	}
	if known := r.before.retrieval(out.CallKey); known != nil {
		return *known, nil
	}
	if len(s.queries) == 0 {
		out.Status, out.Reason = matrix.StatusOK, matrix.SearchedNothing
		if s.cell == matrix.CellC {
			err = r.rerank(ctx, &out) // which asks nobody for the order of nothing
		}
		return out, err
	}
	known, notMade, err := r.recall(call, out.CallKey, !r.retrievesLocally(s))
	switch {
	case err != nil:
		return out, err
	case known != nil:
		known.Retrieval.FromJournal = true
		return *known.Retrieval, nil
	case notMade != "":
		out.Status, out.Reason, out.Asked = matrix.StatusNotRun, notMade, r.leftOut(out.CallKey)
		return out, nil
	}
	return r.retrieveOnce(ctx, s, call, out)
}

// retrieveNow makes a retrieval under its call key.
func (r *caseRun) retrieveNow(ctx context.Context, s search, call matrix.Call, out matrix.Retrieval) (_ matrix.Retrieval, err error) {
	callCtx, journal := r.begin(ctx, call, out.CallKey, !r.retrievesLocally(s))
	defer func() {
		if err != nil {
			err = errors.Join(err, journal.part()) // what is known of its steps
		}
	}()
	out.At = r.stamp()
	started := time.Now()
	failure := r.searchFor(callCtx, s, &out)
	if gaveUp(ctx, failure) {
		return out, ctx.Err()
	}
	if err := r.ledger.overBudget(failure); err != nil {
		return out, err
	}
	out.Status = matrix.StatusOK
	if failure != nil {
		out.Status, out.Error = matrix.StatusError, callError(failure)
	}
	if s.cell == matrix.CellC {
		if err := r.rerank(callCtx, &out); err != nil {
			return out, err
		}
	}
	out.LatencyMS = time.Since(started).Milliseconds()
	if one := []matrix.Asked{{Role: matrix.RoleStore, Calls: 1}}; !slices.Equal(journal.asked, one) {
		out.Asked = journal.asked
	}
	return out, journal.end(results.Outcome{Status: out.Status, Error: out.Error, LatencyMS: out.LatencyMS}, recorded{Retrieval: &out})
}

// retrievesLocally reports whether a retrieval leaves this process for nobody.
func (r *caseRun) retrievesLocally(s search) bool {
	return r.store.Capabilities().Local && (s.mode == matrix.ModeKeyword || r.embedderInfo.Local) &&
		(s.cell != matrix.CellC || r.experiment.Pipeline.Rerank == nil || r.rerankerInfo.Local)
}

// recordHits copies a ranking; texts are kept near the cutoff.
func (r *caseRun) recordHits(out *matrix.Retrieval, response adapters.SearchResponse) {
	out.LowerIsBetter, out.Cap = response.LowerIsBetter, response.Cap
	out.Candidates = slices.Grow(out.Candidates, len(response.Hits))
	for i, h := range response.Hits {
		hit := matrix.Hit{Rank: i + 1, ID: h.ID, Source: h.Source, Revision: h.Revision, Access: h.Access, Metadata: h.Metadata}
		r.experiment.Sensitivity.Classify(&hit, r.rights)
		if h.Score != nil {
			hit.Score = score(*h.Score)
		}
		if i < max(out.K, textWindow) {
			hit.Text = matrix.NewText(h.Text)
		}
		out.Candidates = append(out.Candidates, hit)
	}
}

// searchFor makes the searches of a retrieval and records what they return.
func (r *caseRun) searchFor(ctx context.Context, s search, out *matrix.Retrieval) error {
	if len(s.queries) > 1 {
		return r.searchAll(ctx, s, out)
	}
	response, err := r.ask(ctx, s, s.queries[0], out)
	if err == nil {
		r.recordHits(out, response)
	}
	return err
}

// ask embeds a query where the mode needs it, and searches.
func (r *caseRun) ask(ctx context.Context, s search, query string, out *matrix.Retrieval) (adapters.SearchResponse, error) {
	req := adapters.SearchRequest{Mode: s.mode, Query: query, Limit: out.Depth, Filter: conditions(s.filter), Exact: s.exact, Only: s.only, IDsOnly: s.reach > 0, FilterStatistics: s.cell == matrix.ProbeStatistics}
	if s.threshold != nil {
		t := s.threshold.Float()
		req.Threshold = &t
	}
	if s.mode != matrix.ModeKeyword {
		vector, model, err := r.queryVector(ctx, s, query)
		if err != nil {
			return adapters.SearchResponse{}, err
		}
		req.Vector, out.EmbedModel, out.QueryPrefix = vector, model, r.embedderInfo.QueryPrefix
		if s.prefix != nil {
			out.QueryPrefix = *s.prefix
		}
		if s.cell == matrix.ProbeUncached {
			if req.Vector, out.Uncached, err = r.pastCache(ctx, query, vector); err != nil {
				return adapters.SearchResponse{}, err
			}
		}
	}
	response, deeper, err := r.searchAsProduction(ctx, s, req, out.K)
	out.Deeper = deeper
	if err == nil && response.Received != "" {
		out.QueryEffective = response.Received
	}
	return response, err
}

// searchAsProduction makes production's own request, of k items, and lets what ranks below them follow, in deeper where it does.
// A live engine looks further the more it is asked for: an approximate graph is walked wider and more is fused, so that the first
// k of a long ranking are not what production gets; nor would they be with one thing removed.
func (r *caseRun) searchAsProduction(ctx context.Context, s search, req adapters.SearchRequest, k int) (_ adapters.SearchResponse, deeper bool, _ error) {
	if s.only != nil || s.reach > 0 || req.Limit <= k || r.store.Capabilities().Local {
		response, err := r.store.Search(ctx, req)
		return response, false, err
	}
	deep := req
	req.Limit = k
	response, err := r.store.Search(ctx, req)
	if err != nil || len(response.Hits) < k {
		return response, false, err
	}
	below, err := r.store.Search(ctx, deep)
	if err != nil {
		return response, false, err
	}
	for _, h := range below.Hits {
		if !slices.ContainsFunc(response.Hits[:k], func(first adapters.Hit) bool { return first.ID == h.ID }) {
			response.Hits = append(response.Hits, h)
		}
	}
	response.Hits, response.Cap = response.Hits[:min(len(response.Hits), deep.Limit)], below.Cap
	return response, len(response.Hits) > k, nil
}

// queryVector embeds a query, once for all that search for it.
func (r *caseRun) queryVector(ctx context.Context, s search, query string) ([]float32, string, error) {
	embedded, reused, err := r.embed(ctx, adapters.EmbedRequest{Texts: []string{query}, Purpose: adapters.ForQuery, Model: s.model, Prefix: s.prefix})
	if err != nil {
		return nil, "", fmt.Errorf("embedding the query: %w", err)
	}
	noteReused(ctx, reused)
	return embedded[0].vector, embedded[0].model, nil
}

// pastCache embeds a query with white space behind it, which means the same and is another key to a cache of vectors. The same
// with the space before it shows what white space itself does to a vector of this embedder.
func (r *caseRun) pastCache(ctx context.Context, query string, own []float32) ([]float32, *matrix.Uncached, error) {
	embedded, reused, err := r.embed(ctx, adapters.EmbedRequest{Texts: []string{query + " ", " " + query}, Purpose: adapters.ForQuery})
	if err != nil {
		return nil, nil, fmt.Errorf("embedding the query past a cache: %w", err)
	}
	noteReused(ctx, reused)
	behind, before := embedded[0].vector, embedded[1].vector
	return behind, &matrix.Uncached{Own: cosine(behind, own), Space: cosine(behind, before)}, nil
}

// rerank lets the reranker order what the search passed on.
func (r *caseRun) rerank(ctx context.Context, out *matrix.Retrieval) error {
	settings := r.experiment.Pipeline.Rerank
	if settings == nil || r.probing || out.Status != matrix.StatusOK {
		return nil
	}
	out.RerankModel, out.RerankTop, out.RerankOrder, out.RerankFloor = r.rerankerInfo.Model, settings.Top, settings.Order, settings.Threshold
	passed := out.PassedOn()
	if len(passed) == 0 {
		return nil
	}
	response, err := r.reranker.Rerank(ctx, adapters.RerankRequest{Query: out.Query, Documents: texts(passed)})
	if gaveUp(ctx, err) {
		return ctx.Err()
	}
	if over := r.ledger.overBudget(err); over != nil {
		return over
	}
	if err != nil {
		out.Status, out.Error = matrix.StatusError, callError(fmt.Errorf("reranking: %w", err))
		return nil
	}
	out.RerankNotes = response.Notes
	ordered := response.Results
	if settings.Order == "score" {
		ordered = slices.Clone(ordered)
		slices.SortStableFunc(ordered, func(a, b adapters.RerankResult) int { return compareScores(b.Score, a.Score) })
	}
	seen := map[int]bool{}
	for _, result := range ordered {
		if result.Index < 0 || result.Index >= len(passed) || seen[result.Index] {
			continue // an index that was never sent says nothing about any item
		}
		seen[result.Index] = true
		hit := passed[result.Index]
		hit.Rank, hit.Score, hit.InputTruncated = len(out.Reranked)+1, score(result.Score), result.Truncated
		out.Reranked = append(out.Reranked, hit)
	}
	return nil
}

func compareScores(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func texts(hits []matrix.Hit) []string {
	out := make([]string, len(hits))
	for i, h := range hits {
		out[i] = h.Text.Value
	}
	return out
}

// probes runs the searches of C that remove exactly one thing. They are made only where they decide something.
func (r *caseRun) probes(ctx context.Context) error {
	missed := r.goldMissed()
	if missed && r.obs.Retrievals[0].By != "" && r.experiment.Backends.Store != nil {
		if same, err := r.declaredSearch(ctx); err != nil || !same {
			return err
		}
	}
	for _, planned := range r.plan.Retrievals[1:] {
		if planned.Condition == matrix.IfGoldMissed && !missed {
			continue
		}
		s := r.production()
		s.cell = planned.Cell
		switch planned.Cell {
		case matrix.ProbeNoFilter:
			s.filter = nil
		case matrix.ProbeNoThreshold:
			s.threshold = nil
		case matrix.ProbeExact:
			if !r.store.Capabilities().Exact || !r.exactMayHelp() {
				continue
			}
			s.exact = true
		case matrix.ProbeAsTyped:
			if c := &r.obs.Retrievals[0]; c.By != "" && c.QueryEffective == r.c.Question() {
				continue // the service searches for it already
			}
			s.queries = []string{r.c.Question()}
		case matrix.ProbeKeyword:
			s.mode = matrix.ModeKeyword
		case matrix.ProbeDense:
			s.mode = matrix.ModeDense
		case matrix.ProbeIndexEmbed:
			if !r.indexEmbed(&s) {
				continue
			}
		case matrix.ProbeUncached:
			if len(s.queries) == 0 {
				continue
			}
		case matrix.ProbeStatistics:
			if !r.store.Capabilities().FilterStatistics {
				continue
			}
		case matrix.ProbeLater:
			continue // made behind all the others, see lookAgain
		case matrix.ProbeNamed:
			if err := r.named(ctx, s); err != nil {
				return err
			}
			continue
		case matrix.ProbeOwn(matrix.ModeDense), matrix.ProbeOwn(matrix.ModeKeyword):
			if s = r.own(planned.Cell, r.goldIDs()); len(s.only) == 0 {
				continue
			}
		case matrix.ProbeDeclared:
			continue // made before, where the service searched itself
		case matrix.ProbeAhead:
			continue // made by the probe before, which knows the scores
		case matrix.ControlFilter:
			if err := r.controlFilter(ctx, s); err != nil {
				return err
			}
			continue
		case matrix.ControlRerank:
			if err := r.controlRerank(ctx); err != nil {
				return err
			}
			continue
		}
		probe, err := r.retrieve(ctx, s)
		if err != nil {
			return err
		}
		r.obs.Retrievals = append(r.obs.Retrievals, probe)
	}
	return nil
}

// goldMissed reports whether a required item is not among what the retrieval keeps.
func (r *caseRun) goldMissed() bool { return r.misses(&r.obs.Retrievals[0]) }

func (r *caseRun) misses(c *matrix.Retrieval) bool {
	for i := range r.c.Evidence.Required {
		if !slices.ContainsFunc(c.Kept(), func(h matrix.Hit) bool { return r.isGold(i, h.ID, h.Source, h.Revision, h.Text) }) {
			return true
		}
	}
	return false
}

// indexEmbed asks for the query's embedding as the index is pinned or declared. It is false where that is how it was asked.
func (r *caseRun) indexEmbed(s *search) bool {
	model, prefix := r.storeInfo.EmbedModel, r.storeInfo.QueryPrefix
	if pin := r.experiment.Pins.Index; pin.EmbedModel != "" {
		model = pin.EmbedModel
	}
	if pin := r.experiment.Pins.Index.QueryPrefix; pin != nil {
		prefix = pin
	}
	differs := false
	if model != "" && model != r.embedderInfo.Model {
		s.model, differs = model, true
	}
	if prefix != nil && *prefix != r.embedderInfo.QueryPrefix {
		s.prefix, differs = prefix, true
	}
	return differs
}

// isGold reports whether an item serves a requirement, as the evaluator will see it.
func (r *caseRun) isGold(requirement int, id, source, revision string, text matrix.Text) bool {
	return verdict.Serves(r.c, &r.obs.Store, requirement, id, source, revision, text)
}

func (r *caseRun) isAnyGold(id, source, revision string, text matrix.Text) bool {
	for i := range r.c.Evidence.Required {
		if r.isGold(i, id, source, revision, text) {
			return true
		}
	}
	return false
}
