package adaptertest_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/culprit-rag/culprit/adapters"
)

// texts breaks a scan by what it makes of texts.
func texts(from, to string) broken {
	return each(func(item adapters.Item, visit func(adapters.Item) error) error {
		item.Text = strings.ReplaceAll(item.Text, from, to)
		return visit(item)
	})
}

// vectorsOf breaks a scan by what it makes of vectors.
func vectorsOf(change func([]float32) []float32) broken {
	return each(func(item adapters.Item, visit func(adapters.Item) error) error {
		item.Vector = change(item.Vector)
		return visit(item)
	})
}

// changingOrder puts the first item last in every second scan.
func changingOrder() broken {
	scans := 0
	return broken{scan: func(ctx context.Context, req adapters.ScanRequest, visit func(adapters.Item) error, next scanFunc) (adapters.ScanReport, error) {
		scans++
		if scans%2 == 1 {
			return next(ctx, req, visit)
		}
		var first *adapters.Item
		report, err := next(ctx, req, func(item adapters.Item) error {
			if first == nil {
				first = &item
				return nil
			}
			return visit(item)
		})
		if err == nil && first != nil {
			err = visit(*first)
		}
		return report, err
	}}
}

var readDefects = map[string]defect{
	"trims texts": {"a scan proves", each(func(item adapters.Item, visit func(adapters.Item) error) error {
		item.Text = strings.TrimSpace(strings.ToValidUTF8(item.Text[:min(len(item.Text), 8192)], ""))
		return visit(item)
	})},
	"skips an item": {"a scan is complete", each(func(item adapters.Item, visit func(adapters.Item) error) error {
		if item.ID == "item-077" {
			return nil
		}
		return visit(item)
	})},
	"visits twice": {"a scan is complete", each(func(item adapters.Item, visit func(adapters.Item) error) error {
		if err := visit(item); err != nil {
			return err
		}
		return visit(item)
	})},
	"wraps the error of visit": {"an error of visit", broken{scan: func(ctx context.Context, req adapters.ScanRequest, visit func(adapters.Item) error, next scanFunc) (adapters.ScanReport, error) {
		report, err := next(ctx, req, visit)
		if err != nil {
			err = fmt.Errorf("scanning: %w", err)
		}
		return report, err
	}}},
	"visits on after an error": {"an error of visit", broken{scan: func(ctx context.Context, req adapters.ScanRequest, visit func(adapters.Item) error, next scanFunc) (adapters.ScanReport, error) {
		var failed error
		report, err := next(ctx, req, func(item adapters.Item) error {
			failed = cmp.Or(failed, visit(item))
			return nil
		})
		report.Counted++
		return report, cmp.Or(err, failed)
	}}},
	"takes half a scan for a whole one": {"an error of visit", reports(func(r *adapters.ScanReport) { r.Counted = r.Scanned })},
	"hides the error of visit": {"an error of visit", each(func(item adapters.Item, visit func(adapters.Item) error) error {
		_ = visit(item)
		return nil
	})},
	"stays open":                   {"Close may be called", broken{close: func() error { return nil }}},
	"hides an ability":             {"capabilities are declared", broken{can: func(c *adapters.StoreCapabilities) { c.Only = false }}},
	"says not what it misses":      {"Describe tells", broken{tells: func(i *adapters.StoreInfo) { i.FingerprintMisses = "" }}},
	"has no dimensions":            {"Describe tells", broken{tells: func(i *adapters.StoreInfo) { i.Dimensions = 0 }}},
	"hides a collection":           {"Describe tells", broken{tells: func(i *adapters.StoreInfo) { i.Collections = i.Collections[:1] }}},
	"has no name":                  {"Describe tells", broken{tells: func(i *adapters.StoreInfo) { i.Collection = "" }}},
	"counts wrongly":               {"Describe tells", broken{tells: func(i *adapters.StoreInfo) { i.Count++ }}},
	"forgets who declares nothing": {"Describe tells", broken{tells: func(i *adapters.StoreInfo) { delete(i.DeclaredPerItem, "") }}},
	"declares nothing per item":    {"Describe tells", broken{tells: func(i *adapters.StoreInfo) { i.DeclaredPerItem = nil }}},
	"declares a model":             {"Describe tells", broken{tells: func(i *adapters.StoreInfo) { i.EmbedModel = "m" }}},
	"changes its order":            {"a scan is complete", changingOrder()},
	"leaves something unread":      {"a scan is complete", reports(func(r *adapters.ScanReport) { r.Unread = "a tenant" })},
	"counts what it cannot scan":   {"a scan proves", reports(func(r *adapters.ScanReport) { r.Counted++ })},
	"rounds times": {"a scan is complete", each(func(item adapters.Item, visit func(adapters.Item) error) error {
		item.IndexedAt = item.IndexedAt.Truncate(time.Second)
		return visit(item)
	})},
	"writes numbers its own way": {"a scan is complete", each(func(item adapters.Item, visit func(adapters.Item) error) error {
		if slices.Equal(item.Metadata["pages"], []string{"1500000"}) {
			item.Metadata["pages"] = []string{"1.5e+06"}
		}
		return visit(item)
	})},
	"joins a list into the text": {"a scan proves", each(func(item adapters.Item, visit func(adapters.Item) error) error {
		item.Text += strings.Join(item.Metadata["lines"], " ")
		return visit(item)
	})},
	"loses NULs":      {"a scan proves", texts("\x00", "")},
	"loses VTs":       {"a scan proves", texts("\v", "")},
	"folds accents":   {"a scan proves", texts("e\u0301", "é")},
	"folds case":      {"a scan proves", texts("MATTERS", "matters")},
	"joins lines":     {"a scan proves", texts("\n", " ")},
	"loses marks":     {"a scan proves", texts("/B", " B")},
	"loses backslash": {"a scan proves", texts(`\ and`, ` and`)},
	"scans a thousand": {"a scan and a search of many", broken{scan: func(ctx context.Context, req adapters.ScanRequest, visit func(adapters.Item) error, next scanFunc) (adapters.ScanReport, error) {
		n := 0
		report, err := next(ctx, req, func(item adapters.Item) error {
			if n++; n > 1000 {
				return nil
			}
			return visit(item)
		})
		report.Scanned = min(report.Scanned, 1000)
		return report, err
	}}},
	"takes no vector for zero": {"vectors come back", vectorsOf(func(v []float32) []float32 {
		if v == nil {
			return make([]float32, 24)
		}
		return v
	})},
	"takes no vector for a short one": {"vectors come back", vectorsOf(func(v []float32) []float32 {
		if v == nil {
			return []float32{1, 2, 1}
		}
		return v
	})},
	"rounds vectors": {"vectors come back", vectorsOf(func(v []float32) []float32 {
		for i := range v {
			v[i] = math.Float32frombits(math.Float32bits(v[i]) &^ 0xff)
		}
		return v
	})},
}
