package main

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/culprit-rag/culprit/adapters"
)

// Capabilities declares what Search can do. The host refuses everything else by itself.
func (s *store) Capabilities() adapters.StoreCapabilities {
	return adapters.StoreCapabilities{Modes: []string{"keyword", "dense"}, Exact: true, Vectors: true}
}

// usable is asked first by every method.
func (s *store) usable(ctx context.Context, op string) error {
	if s.closed.Load() {
		return adapters.NewError(name, op, adapters.KindPermanent, adapters.ErrClosed)
	}
	if err := ctx.Err(); err != nil {
		return adapters.NewError(name, op, adapters.KindCanceled, err)
	}
	return nil
}

func (s *store) Close() error {
	s.closed.Store(true)
	return nil
}

func (s *store) Describe(ctx context.Context) (adapters.StoreInfo, error) {
	if err := s.usable(ctx, "describe"); err != nil {
		return adapters.StoreInfo{}, err
	}
	models := map[string]int{}
	for _, item := range s.items {
		models[item.EmbedModel]++
	}
	return adapters.StoreInfo{
		Engine: name, Version: "1.0.0", Collection: s.path, Count: len(s.items), Dimensions: s.dimensions, Distance: "cosine", DeclaredPerItem: models,
		Fingerprint: s.sum, FingerprintMisses: "changes of the file after it was opened", VectorType: "float32",
	}, nil
}

func noLetter(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

func (s *store) Search(ctx context.Context, req adapters.SearchRequest) (adapters.SearchResponse, error) {
	const op = "search"
	if err := s.usable(ctx, op); err != nil {
		return adapters.SearchResponse{}, err
	}
	if req.Limit < 1 {
		return adapters.SearchResponse{}, fail(op, adapters.KindInvalid, "the limit is %d, and must be at least 1", req.Limit)
	}
	var score func(i int) (float64, bool)
	switch req.Mode {
	case "keyword":
		score = s.overlap(req.Query)
	case "dense":
		if len(req.Vector) == 0 || s.dimensions != 0 && len(req.Vector) != s.dimensions { // an empty store takes any
			return adapters.SearchResponse{}, fail(op, adapters.KindInvalid, "the vector has %d dimensions, those of the store have %d", len(req.Vector), s.dimensions)
		}
		if slices.ContainsFunc(req.Vector, func(x float32) bool { return math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) }) {
			return adapters.SearchResponse{}, fail(op, adapters.KindInvalid, "the vector holds a number that is none")
		}
		score = s.cosine(req.Vector)
	default:
		return adapters.SearchResponse{}, fail(op, adapters.KindUnsupported, "there is no %q search", req.Mode)
	}
	response := adapters.SearchResponse{Exact: true, Received: req.Query}
	for i, item := range s.items {
		if x, ok := score(i); ok {
			item.Vector = nil // vectors are returned by Scan and Fetch, where they are asked for
			response.Hits = append(response.Hits, adapters.Hit{Item: item, Score: &x})
		}
	}
	slices.SortFunc(response.Hits, func(a, b adapters.Hit) int { return cmp.Or(cmp.Compare(*b.Score, *a.Score), cmp.Compare(a.ID, b.ID)) })
	response.Hits = response.Hits[:min(len(response.Hits), req.Limit)]
	for i := range response.Hits {
		response.Hits[i].Rank = i + 1
	}
	return response, nil
}

// overlap scores by how many words of the query an item has.
func (s *store) overlap(query string) func(i int) (float64, bool) {
	asked := map[string]bool{}
	for _, word := range strings.FieldsFunc(strings.ToLower(query), noLetter) {
		asked[word] = true
	}
	return func(i int) (float64, bool) {
		found := map[string]bool{}
		for _, word := range s.words[i] {
			if asked[word] {
				found[word] = true
			}
		}
		return float64(len(found)), len(found) > 0
	}
}

// cosine scores by the angle between vectors. An item without a vector has no score.
func (s *store) cosine(query []float32) func(i int) (float64, bool) {
	product := func(a, b []float32) float64 {
		sum := 0.0
		for i := range a {
			sum += float64(a[i]) * float64(b[i])
		}
		return sum
	}
	length := math.Sqrt(product(query, query))
	return func(i int) (float64, bool) {
		v := s.items[i].Vector
		if len(v) == 0 {
			return 0, false
		}
		if lengths := length * math.Sqrt(product(v, v)); lengths != 0 {
			return product(query, v) / lengths, true
		}
		return 0, true
	}
}

func (s *store) Scan(ctx context.Context, req adapters.ScanRequest, visit func(adapters.Item) error) (adapters.ScanReport, error) {
	report := adapters.ScanReport{Counted: len(s.items)}
	if err := s.usable(ctx, "scan"); err != nil {
		return report, err
	}
	for _, item := range s.items {
		if err := s.usable(ctx, "scan"); err != nil {
			return report, err
		}
		if !req.Vectors {
			item.Vector = nil
		}
		if err := visit(item); err != nil {
			return report, err
		}
		report.Scanned++
	}
	return report, nil
}

func (s *store) Fetch(ctx context.Context, req adapters.FetchRequest) ([]adapters.Item, error) {
	if err := s.usable(ctx, "fetch"); err != nil {
		return nil, err
	}
	byID := make(map[string]adapters.Item, len(s.items))
	for _, item := range s.items {
		byID[item.ID] = item
	}
	var items []adapters.Item
	for _, id := range req.IDs {
		if item, ok := byID[id]; ok {
			if !req.Vectors {
				item.Vector = nil
			}
			items = append(items, item)
		}
	}
	return items, nil
}
