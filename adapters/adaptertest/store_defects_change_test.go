package adaptertest_test

import (
	"context"
	"strconv"

	"github.com/culprit-rag/culprit/adapters"
)

// first is a value that stays what it was at first.
type first[T any] struct {
	value T
	taken bool
}

func (f *first[T]) or(now T) T {
	if !f.taken {
		f.value, f.taken = now, true
	}
	return f.value
}

// remembers returns at first what the store tells, and then the same for ever.
func remembers[T any](what func(*adapters.StoreInfo) *T) broken {
	var kept first[T]
	return broken{tells: func(i *adapters.StoreInfo) { *what(i) = kept.or(*what(i)) }}
}

var changeDefects = map[string]defect{
	"has a constant fingerprint":       {"the fingerprint follows the content", broken{tells: func(i *adapters.StoreInfo) { i.Fingerprint = "1" }}},
	"remembers its fingerprint":        {"the fingerprint follows changes", remembers(func(i *adapters.StoreInfo) *string { return &i.Fingerprint })},
	"remembers its count":              {"the fingerprint follows changes", remembers(func(i *adapters.StoreInfo) *int { return &i.Count })},
	"has a fingerprint of the day":     {"the fingerprint follows changes", anew()},
	"has another fingerprint at first": {"the fingerprint follows changes", settling()},
	"has a fingerprint of its own": {"the fingerprint follows changes", broken{own: func(opening int, i *adapters.StoreInfo) {
		i.Fingerprint += strconv.Itoa(opening)
	}}},
	"fingerprints the count": {"the fingerprint follows changes", broken{tells: func(i *adapters.StoreInfo) { i.Fingerprint = strconv.Itoa(i.Count) }}},
	"fingerprints ids":       {"the fingerprint follows changes", broken{sees: func(item adapters.Item) any { return item.ID }}},
	"fingerprints no texts": {"the fingerprint follows changes", broken{sees: func(item adapters.Item) any {
		item.Text = ""
		return item
	}}},
	"fingerprints no vectors": {"the fingerprint follows changes", broken{sees: func(item adapters.Item) any {
		item.Vector = nil
		return item
	}}},
	"fingerprints texts and vectors": {"the fingerprint follows changes", broken{sees: func(item adapters.Item) any {
		return []any{item.Text, item.Vector}
	}}},
	"remembers what it scanned": {"the fingerprint follows changes", remembersScan()},
	"remembers what it counted": {"the fingerprint follows changes", remembersCounted()},
	"remembers what it found":   {"the fingerprint follows changes", remembersHits()},
	"hides that it missed a change": {"a scan that misses", broken{tells: func(i *adapters.StoreInfo) {
		i.Fingerprint = strconv.Itoa(i.Count)
	}}},
	"hides that it missed an edit": {"a scan that misses", broken{sees: func(item adapters.Item) any { return item.ID }}},
	"writes":                       {"nothing was written", broken{writes: []string{"/qdrant.Points/Upsert"}}},
}

// anew gives every call another fingerprint.
func anew() broken {
	calls := 0
	return broken{tells: func(i *adapters.StoreInfo) {
		calls++
		i.Fingerprint = strconv.Itoa(calls)
	}}
}

// settling has its fingerprint from the second call on.
func settling() broken {
	calls := 0
	return broken{tells: func(i *adapters.StoreInfo) {
		if calls++; calls == 1 {
			i.Fingerprint = "not yet"
		}
	}}
}

// remembersCounted ends every scan with the count of the first.
func remembersCounted() broken {
	var kept first[int]
	return reports(func(r *adapters.ScanReport) { r.Counted = kept.or(r.Counted) })
}

// remembersHits answers every search as the first.
func remembersHits() broken {
	var kept first[adapters.SearchResponse]
	return broken{search: func(ctx context.Context, req adapters.SearchRequest, next searchFunc) (adapters.SearchResponse, error) {
		response, err := next(ctx, req)
		return kept.or(response), err
	}}
}

// remembersScan scans once and then says the same for ever.
func remembersScan() broken {
	var kept []adapters.Item
	return broken{scan: func(ctx context.Context, req adapters.ScanRequest, visit func(adapters.Item) error, next scanFunc) (adapters.ScanReport, error) {
		if kept == nil {
			if _, err := next(ctx, req, func(item adapters.Item) error {
				kept = append(kept, item)
				return nil
			}); err != nil {
				return adapters.ScanReport{}, err
			}
		}
		for _, item := range kept {
			if err := visit(item); err != nil {
				return adapters.ScanReport{}, err
			}
		}
		return adapters.ScanReport{Scanned: len(kept), Counted: len(kept)}, nil
	}}
}
