package runner

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/results"
)

// retrieveProduction makes production's search: by the service where it can stop behind it, else as the first answer shows it, and
// else from the store, as the experiment declares it. Without a store it is not made then.
func (r *caseRun) retrieveProduction(ctx context.Context) (matrix.Retrieval, error) {
	if r.pipeline == nil {
		return r.retrieve(ctx, r.production())
	}
	out := r.newRetrieval()
	if !r.pipelineInfo.Retrieval {
		if r.probing {
			out.Status, out.Reason = matrix.StatusNotRun, matrix.NotRunUntoldYet
			return out, nil
		}
		if err := r.askFirst(ctx); err != nil {
			return out, err
		}
		t := r.service.first
		if r.recording != nil {
			if told := r.toldSearch(t.CallKey); told != nil {
				return *told, nil
			}
		}
		out.CallKey, out.At, out.LatencyMS, out.Status, out.Error = t.CallKey, t.At, t.LatencyMS, matrix.StatusOK, nil
		switch failed := t.Status == matrix.StatusError || t.Status == matrix.StatusNotRun; {
		case failed && r.experiment.Backends.Store == nil:
			out.Status, out.Reason, out.Error = t.Status, t.Reason, t.Error
			return out, nil
		case !failed && r.readRetrieval(&out, &r.service.trace):
			return out, nil
		}
		return r.retrieveUntold(ctx, out)
	}
	told, err := r.retrieveService(ctx, &out)
	if err != nil || told || out.Status != matrix.StatusOK {
		return out, err
	}
	return r.retrieveUntold(ctx, out)
}

// retrieveUntold makes production's search from the store, where the service has not told of its own.
func (r *caseRun) retrieveUntold(ctx context.Context, out matrix.Retrieval) (matrix.Retrieval, error) {
	if r.experiment.Backends.Store != nil {
		return r.retrieve(ctx, r.production())
	}
	out.Status, out.Reason = matrix.StatusNotRun, matrix.NotRunUntold+verdict.NoStore
	return out, nil
}

func (r *caseRun) newRetrieval() matrix.Retrieval {
	p := r.experiment.Pipeline.Search
	s := r.production()
	return matrix.Retrieval{
		Cell: matrix.CellC, By: matrix.ByService, Query: r.c.Question(), QueryEffective: strings.Join(s.queries, "\n"), Mode: s.mode, K: p.K, Depth: max(p.Depth, p.K),
		Filter: s.filter, Threshold: s.threshold, Exact: s.exact, Candidates: []matrix.Hit{},
	}
}

// retrieveService asks the service for its retrieval alone. told is false where its trace holds no items of any boundary.
func (r *caseRun) retrieveService(ctx context.Context, out *matrix.Retrieval) (told bool, err error) {
	call := r.serviceCall(matrix.CellC, "retrieve", 1)
	if call.Input, err = r.asked(nil, nil); err != nil {
		return false, err
	}
	if out.CallKey, err = call.Key(); err != nil {
		return false, err
	}
	if known := r.before.retrieval(out.CallKey); known != nil {
		*out = *known
		return true, nil
	}
	known, notMade, err := r.recall(call, out.CallKey, true)
	switch {
	case err != nil:
		return false, err
	case known != nil:
		*out, r.service.packed = *known.Retrieval, known.Packed
		out.FromJournal = true
		return known.Told, nil
	case notMade != "":
		out.Status, out.Reason, out.Asked = matrix.StatusNotRun, notMade, r.leftOut(out.CallKey)
		return false, nil
	}
	callCtx, journal := r.begin(ctx, call, out.CallKey, true)
	req := r.serviceRequest(nil, nil)
	req.Answer = false
	out.At = r.stamp()
	trace, failure := r.pipeline.Ask(callCtx, req)
	if failure == nil {
		failure = r.nameByText(&trace)
	}
	if gaveUp(ctx, failure) {
		return false, ctx.Err()
	}
	if err := r.ledger.overBudget(failure); err != nil {
		return false, err
	}
	out.Status, out.LatencyMS = matrix.StatusOK, trace.WireTime.Milliseconds()
	if failure != nil {
		out.Status, out.Error = matrix.StatusError, callError(failure)
	} else {
		r.noteAll(trace.Notes)
		told = r.readRetrieval(out, &trace)
		if trace.Packed != nil {
			if r.service.packed, err = r.packedOf(callCtx, &trace, nil); err != nil {
				return false, err
			}
		}
	}
	out.Asked = journal.asked
	for i := range out.Asked {
		out.Asked[i].Untold = 0 // a retrieval buys no tokens of the generator
	}
	shown := recorded{Retrieval: out, Told: told, Packed: r.service.packed}
	return told, journal.end(results.Outcome{Status: out.Status, Error: out.Error, LatencyMS: out.LatencyMS}, shown)
}

// readRetrieval records a ranking that the service told: that of its search, or of the first boundary behind it that it tells.
func (r *caseRun) readRetrieval(out *matrix.Retrieval, trace *adapters.Trace) bool {
	ranking := trace.Candidates
	if ranking == nil {
		if ranking = trace.Reranked; ranking == nil {
			ranking = trace.Packed
		}
		out.K = len(ranking) // all of it left the search
	}
	if ranking == nil {
		return false
	}
	recordSearches(r.experiment.Sensitivity, out, trace)
	out.EmbedModel = trace.EmbedModel
	out.Candidates = hitsOf(r.experiment.Sensitivity, ranking)
	if trace.Candidates != nil && trace.Reranked != nil {
		out.RerankModel, out.RerankOrder, out.Reranked = "of the service", "returned", hitsOf(r.experiment.Sensitivity, trace.Reranked)
		out.RerankTop = len(trace.Reranked)
		if top := r.experiment.Pipeline.Rerank; top != nil {
			out.RerankTop = top.Top
		}
	}
	return true
}

// recordSearches records what the service searched for, with each search where it tells of several. One is the retrieval itself.
func recordSearches(rules *matrix.Sensitivity, out *matrix.Retrieval, trace *adapters.Trace) {
	var queries []string
	for _, s := range trace.Retrievals {
		filter := matrix.Filter(nil)
		for _, c := range s.Filters {
			filter = append(filter, matrix.Condition(c))
		}
		if s.Query != "" {
			queries = append(queries, s.Query)
		}
		switch {
		case len(trace.Retrievals) > 1:
			one := matrix.Searched{Query: s.Query, Filter: filter}
			if s.Candidates != nil {
				one.Candidates = hitsOf(rules, s.Candidates)
			}
			out.Searches = append(out.Searches, one)
		case filter != nil:
			out.Filter = filter
		}
	}
	if out.Searches != nil {
		out.Merge = matrix.MergedByService
		if trace.Union {
			out.Merge = matrix.MergedAsTold
		}
	}
	switch {
	case trace.QueryEffective != "":
		out.QueryEffective = trace.QueryEffective
	case len(queries) > 0:
		out.QueryEffective = strings.Join(queries, "\n")
	}
}

// nameByText gives an id to the items of which only the text was told. Of a restricted text it would tell a hash that can be guessed:
// such an item is an error.
func (r *caseRun) nameByText(trace *adapters.Trace) error {
	lists := [][]adapters.TraceItem{trace.Candidates, trace.Reranked, trace.Packed}
	for _, s := range trace.Retrievals {
		lists = append(lists, s.Candidates)
	}
	for _, items := range lists {
		for i := range items {
			if items[i].ID == "" && items[i].Text != nil {
				if r.experiment.Sensitivity.Told(items[i].Access) == matrix.Restricted {
					return adapters.NewError(r.experiment.Backends.Pipeline.Adapter, "ask", adapters.KindInvalid,
						errors.New("the trace tells a restricted text without an id, and an id made of the text could be guessed: let the service tell ids"))
				}
				items[i].ID = matrix.TextID(*items[i].Text)
			}
		}
	}
	return nil
}

func hitsOf(rules *matrix.Sensitivity, items []adapters.TraceItem) []matrix.Hit {
	hits := make([]matrix.Hit, 0, len(items))
	for i, item := range items {
		h := matrix.Hit{Rank: i + 1, ID: item.ID, Source: item.Source, Revision: item.Revision, Access: item.Access, Sensitivity: rules.Told(item.Access)}
		if item.Score != nil {
			h.Score = score(*item.Score)
		}
		if item.Text != nil {
			h.Text = matrix.NewText(*item.Text)
		}
		hits = append(hits, h)
	}
	return hits
}

// packedOf records a context that the service told. A text that it does not tell there is that of its candidate with the same id, or
// else is read in the store. Items of sent are gold where they were sent as such.
func (r *caseRun) packedOf(ctx context.Context, trace *adapters.Trace, sent []matrix.Packed) ([]matrix.Packed, error) {
	packed := make([]matrix.Packed, 0, len(trace.Packed))
	for _, item := range trace.Packed {
		if at := slices.IndexFunc(trace.Candidates, func(c adapters.TraceItem) bool { return c.ID == item.ID }); item.Text == nil && at >= 0 {
			item.Text = trace.Candidates[at].Text
		}
		p := matrix.Packed{ID: item.ID, Source: item.Source, Revision: item.Revision, Access: item.Access, Sensitivity: r.experiment.Sensitivity.Told(item.Access)}
		if item.Score != nil {
			p.Score = score(*item.Score)
		}
		switch {
		case item.Text != nil:
			p.Text = matrix.NewText(*item.Text)
		default:
			stored, err := r.store.Fetch(ctx, adapters.FetchRequest{IDs: []string{item.ID}})
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err == nil && len(stored) == 1 {
				p.Text, p.Sensitivity = matrix.NewText(stored[0].Text), r.level(stored[0].Access, stored[0].Metadata)
			}
		}
		if i := slices.IndexFunc(sent, func(s matrix.Packed) bool { return s.ID == item.ID }); i >= 0 {
			p.Gold, p.Sensitivity = sent[i].Gold, p.Sensitivity.Max(sent[i].Sensitivity)
		}
		p.Units = r.count(p.Text.Value)
		packed = append(packed, p)
	}
	return numbered(packed), nil
}

// declaredSearch makes the search that the experiment declares, in the store, and reports whether it gives what the service's own
// gave. Only then do the probes, which take one thing away from the declared search, say anything of the service's.
func (r *caseRun) declaredSearch(ctx context.Context) (same bool, err error) {
	if r.obs.Retrievals[0].Searches != nil {
		return false, nil // several are another search than the one that is declared
	}
	s := r.production()
	s.cell = matrix.ProbeDeclared
	declared, err := r.retrieve(ctx, s)
	if err != nil {
		return false, err
	}
	r.obs.Retrievals = append(r.obs.Retrievals, declared)
	c := &r.obs.Retrievals[0]
	same = declared.Status == matrix.StatusOK && slices.EqualFunc(declared.PassedOn(), c.PassedOn(), func(a, b matrix.Hit) bool { return a.ID == b.ID })
	return same, nil
}
