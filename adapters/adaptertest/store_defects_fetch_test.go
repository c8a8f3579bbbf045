package adaptertest_test

import (
	"context"
	"slices"

	"github.com/culprit-rag/culprit/adapters"
)

// fetches breaks a store by what it makes of the ids that are asked for.
func fetches(change func([]string) []string) broken {
	return broken{fetch: func(ctx context.Context, req adapters.FetchRequest, next fetchFunc) ([]adapters.Item, error) {
		req.IDs = change(slices.Clone(req.IDs))
		return next(ctx, req)
	}}
}

// scansOther breaks the scans of a collection that is named.
func scansOther(scan func(ctx context.Context, req adapters.ScanRequest, visit func(adapters.Item) error, next scanFunc) (adapters.ScanReport, error)) broken {
	return broken{scan: func(ctx context.Context, req adapters.ScanRequest, visit func(adapters.Item) error, next scanFunc) (adapters.ScanReport, error) {
		if req.Collection == "" {
			return next(ctx, req, visit)
		}
		return scan(ctx, req, visit, next)
	}}
}

var fetchDefects = map[string]defect{
	"fetches in its own order": {"fetch keeps", fetches(func(ids []string) []string { return slices.Sorted(slices.Values(ids)) })},
	"fetches fifty":            {"fetch keeps", fetches(func(ids []string) []string { return ids[:min(len(ids), 50)] })},
	"fetches a hundred in any order": {"fetch keeps", fetches(func(ids []string) []string {
		if len(ids) > 100 {
			slices.Reverse(ids)
		}
		return ids
	})},
	"fetches something for nothing": {"fetch keeps", fetches(func(ids []string) []string {
		if len(ids) == 0 {
			return []string{"upper"}
		}
		return ids
	})},
	"fetches no texts": {"fetch keeps", broken{fetch: func(ctx context.Context, req adapters.FetchRequest, next fetchFunc) ([]adapters.Item, error) {
		items, err := next(ctx, req)
		for i := range items {
			items[i].Text = ""
		}
		return items, err
	}}},
	"fetches a thousand": {"a scan and a search of many", fetches(func(ids []string) []string { return ids[:min(len(ids), 1000)] })},
	"fetches pages in any order": {"a scan and a search of many", fetches(func(ids []string) []string {
		if len(ids) > 1000 {
			return slices.Concat(ids[1000:], ids[:1000])
		}
		return ids
	})},
	"loses vectors": {"vectors come back", broken{fetch: func(ctx context.Context, req adapters.FetchRequest, next fetchFunc) ([]adapters.Item, error) {
		req.Vectors = false
		return next(ctx, req)
	}}},
	"leaves out what has no vector": {"vectors come back", broken{scan: func(ctx context.Context, req adapters.ScanRequest, visit func(adapters.Item) error, next scanFunc) (adapters.ScanReport, error) {
		return next(ctx, req, func(item adapters.Item) error {
			if req.Vectors && item.Vector == nil {
				return nil
			}
			return visit(item)
		})
	}}},
	"counts one collection for another": {"other collections", scansOther(func(ctx context.Context, req adapters.ScanRequest, visit func(adapters.Item) error, next scanFunc) (adapters.ScanReport, error) {
		report, err := next(ctx, req, visit)
		report.Counted = 195
		return report, err
	})},
	"takes an unknown collection for an empty one": {"other collections", scansOther(func(ctx context.Context, req adapters.ScanRequest, visit func(adapters.Item) error, next scanFunc) (adapters.ScanReport, error) {
		report, err := next(ctx, req, visit)
		if adapters.KindOf(err) == adapters.KindNotFound {
			return adapters.ScanReport{}, nil
		}
		return report, err
	})},
	"calls its collection another": {"other collections", afterwards(func(h []adapters.Hit) []adapters.Hit {
		for i := range h {
			h[i].Collection = "main"
		}
		return h
	})},
}
