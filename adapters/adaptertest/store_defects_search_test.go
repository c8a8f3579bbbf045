package adaptertest_test

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/adapters"
)

var searchDefects = map[string]defect{
	"loses the last hit": {"the dense ranking", afterwards(func(h []adapters.Hit) []adapters.Hit { return h[:max(0, len(h)-1)] })},
	"returns a hit twice": {"a keyword ranking", afterwards(func(h []adapters.Hit) []adapters.Hit {
		return append(h, h[:min(1, len(h))]...)
	})},
	"turns ties round": {"ties are ordered", afterwards(func(h []adapters.Hit) []adapters.Hit {
		slices.SortStableFunc(h, func(a, b adapters.Hit) int {
			return cmp.Or(cmp.Compare(*b.Score, *a.Score), cmp.Compare(b.ID, a.ID))
		})
		return h
	})},
	"ranks from 0": {"a limit is kept", afterwards(func(h []adapters.Hit) []adapters.Hit {
		for i := range h {
			h[i].Rank = i
		}
		return h
	})},
	"scores NaN": {"a hybrid ranking", afterwards(func(h []adapters.Hit) []adapters.Hit {
		nan := math.NaN()
		for i := range h {
			h[i].Score = &nan
		}
		return h
	})},
	"ignores filters":    {"filters", before(func(r *adapters.SearchRequest) { r.Filter = nil })},
	"ignores thresholds": {"a threshold", before(func(r *adapters.SearchRequest) { r.Threshold = nil })},
	"leaves out what is at the threshold": {"a threshold", before(func(r *adapters.SearchRequest) {
		if r.Threshold != nil {
			above := math.Nextafter(*r.Threshold, math.Inf(1))
			r.Threshold = &above
		}
	})},
	"drops a threshold that nothing reaches": {"a threshold", broken{search: func(ctx context.Context, req adapters.SearchRequest, next searchFunc) (adapters.SearchResponse, error) {
		response, err := next(ctx, req)
		if len(response.Hits) > 0 || req.Threshold == nil {
			return response, err
		}
		req.Threshold = nil
		return next(ctx, req)
	}}},
	"ignores ids":             {"a search restricted", before(func(r *adapters.SearchRequest) { r.Only = nil })},
	"ignores a wrong limit":   {"wrong arguments", before(func(r *adapters.SearchRequest) { r.Limit = max(r.Limit, 1) })},
	"changes the query":       {"a keyword ranking", before(func(r *adapters.SearchRequest) { r.Query = strings.ToLower(r.Query) })},
	"answers an unknown mode": {"abilities that are not declared", before(func(r *adapters.SearchRequest) { r.Mode = cmp.Or(r.Mode, "keyword") })},
	"ignores the context": {"a cancelled context", broken{search: func(_ context.Context, req adapters.SearchRequest, next searchFunc) (adapters.SearchResponse, error) {
		return next(context.Background(), req)
	}}},
	"ignores the deadline": {"a passed deadline", broken{fetch: func(_ context.Context, req adapters.FetchRequest, next fetchFunc) ([]adapters.Item, error) {
		return next(context.Background(), req)
	}}},
	"says that it is capped":    {"a limit is kept", always(func(_ adapters.SearchRequest, r *adapters.SearchResponse) { r.Cap = 1 })},
	"says that lower is better": {"the dense ranking", always(func(_ adapters.SearchRequest, r *adapters.SearchResponse) { r.LowerIsBetter = true })},
	"ends at a thousand":        {"a scan and a search of many", before(func(r *adapters.SearchRequest) { r.Limit = min(r.Limit, 1000) })},
	"takes an id that cannot be for none": {"a search restricted", before(func(r *adapters.SearchRequest) {
		if slices.Equal(r.Only, []string{"no such id"}) {
			r.Only = nil
		}
	})},
	"finds one id of several less": {"a search restricted", before(func(r *adapters.SearchRequest) {
		if len(r.Only) > 2 {
			r.Only = r.Only[1:]
		}
	})},
	"scores a named item otherwise": {"a search restricted", always(func(req adapters.SearchRequest, r *adapters.SearchResponse) {
		if len(req.Only) == 1 && len(r.Hits) == 1 {
			*r.Hits[0].Score *= 2
		}
	})},
	"scores what has no vector": {"a search restricted", always(func(req adapters.SearchRequest, r *adapters.SearchResponse) {
		if len(req.Only) == 1 && req.Only[0] != "no such id" && len(r.Hits) == 0 {
			zero := 0.0
			r.Hits = []adapters.Hit{{Item: adapters.Item{ID: req.Only[0]}, Rank: 1, Score: &zero}}
		}
	})},
	"filters no named items": {"a search restricted", before(func(r *adapters.SearchRequest) {
		if len(r.Only) > 0 {
			r.Filter = nil
		}
	})},
	"loses scores with the texts": {"hits without their texts", always(func(req adapters.SearchRequest, r *adapters.SearchResponse) {
		for i := range r.Hits {
			if req.IDsOnly {
				r.Hits[i].Score = nil
			}
		}
	})},
	"loses hits with the texts": {"hits without their texts", before(func(r *adapters.SearchRequest) {
		if r.IDsOnly {
			r.Limit = min(r.Limit, 10)
		}
	})},
	"moves with its limit":     {"a limit is kept", broken{search: moveFusion}},
	"moves with a restriction": {"a search restricted", broken{search: moveFusion}},
}
