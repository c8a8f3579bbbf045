package adaptertest_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/adaptertest"
)

const elsewhere = "Elsewhere"

// peculiar is a store that needs every allowance that a harness can declare.
func peculiar(t *testing.T, defect broken) adaptertest.StoreHarness {
	t.Helper()
	dir := t.TempDir()
	return adaptertest.StoreHarness{
		Distance: "cosine", Score: func(x float64) float64 { return 1 - x }, LowerIsBetter: true, Other: elsewhere, EmbedModel: "declared",
		ID: numberOrUUID, TimePrecision: time.Second, CannotHold: "\x00\v", UnitVectors: true, FusionMoves: true, ModelsUntold: true,
		Capabilities: abilities(),
		Open: func(t *testing.T, c adaptertest.Corpus) adapters.VectorStore {
			items := slices.Clone(c.Items)
			for i := range items {
				if strings.ContainsAny(items[i].Text, "\x00\v") {
					t.Errorf("item %q holds what the store cannot", items[i].ID)
				}
				if items[i].Collection != "" {
					items[i].Collection = elsewhere
				}
				items[i].IndexedAt = items[i].IndexedAt.Truncate(time.Second)
				items[i].UpdatedAt = items[i].UpdatedAt.Truncate(time.Second)
				items[i].Vector = unit(items[i].Vector)
			}
			spoilt := defect
			if spoilt.tells == nil {
				spoilt.tells = func(i *adapters.StoreInfo) { i.DeclaredPerItem, i.EmbedModel = nil, "declared" }
			}
			spoilt.VectorStore = odd{openEmbedded(t, dir, items)}
			return &spoilt
		},
	}
}

func numberOrUUID(n int) string {
	if n%10 == 7 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%08x-0000-4000-8000-%012x", n*48271%99991, n)
}

func unit(v []float32) []float32 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	v = slices.Clone(v)
	for i := range v {
		v[i] = float32(float64(v[i]) / math.Sqrt(sum))
	}
	return v
}

// odd scans backwards, scores by distance, and fuses what depends on the request.
type odd struct{ adapters.VectorStore }

func (o odd) Scan(ctx context.Context, req adapters.ScanRequest, visit func(adapters.Item) error) (adapters.ScanReport, error) {
	var items []adapters.Item
	report, err := o.VectorStore.Scan(ctx, req, func(item adapters.Item) error {
		items = append(items, item)
		return nil
	})
	if err != nil {
		return adapters.ScanReport{}, err
	}
	for i, item := range slices.Backward(items) {
		if err := ctx.Err(); err != nil {
			return adapters.ScanReport{Scanned: len(items) - i}, adapters.NewError("odd", "scan", adapters.KindCanceled, err)
		}
		if err := visit(item); err != nil {
			return adapters.ScanReport{Scanned: len(items) - i}, err
		}
	}
	return report, nil
}

func (o odd) Search(ctx context.Context, req adapters.SearchRequest) (adapters.SearchResponse, error) {
	if req.Mode == "hybrid" {
		return moveFusion(ctx, req, o.VectorStore.Search)
	}
	if req.Mode != "dense" {
		return o.VectorStore.Search(ctx, req)
	}
	threshold := req.Threshold
	req.Threshold = nil
	response, err := o.VectorStore.Search(ctx, req)
	response.LowerIsBetter = true
	for i, hit := range response.Hits {
		distance := 1 - *hit.Score
		response.Hits[i].Score = &distance
	}
	if threshold != nil {
		response.Hits = slices.DeleteFunc(response.Hits, func(hit adapters.Hit) bool { return *hit.Score > *threshold })
	}
	slices.SortFunc(response.Hits, func(a, b adapters.Hit) int {
		return cmp.Or(cmp.Compare(*a.Score, *b.Score), cmp.Compare(a.ID, b.ID))
	})
	for i := range response.Hits {
		response.Hits[i].Rank = i + 1
	}
	return response, err
}

// moveFusion is a hybrid search whose short rankings lack the best hit, and whose scores depend on what is asked for.
func moveFusion(ctx context.Context, req adapters.SearchRequest, next searchFunc) (adapters.SearchResponse, error) {
	short := req.Limit > 0 && req.Limit < 100
	if short {
		req.Limit++
	}
	response, err := next(ctx, req)
	if short && len(response.Hits) == req.Limit {
		response.Hits = response.Hits[1:]
	}
	for i := range response.Hits {
		response.Hits[i].Rank = i + 1
		if len(req.Only) > 0 {
			score := *response.Hits[i].Score * 2
			response.Hits[i].Score = &score
		}
	}
	return response, err
}
