package embedded

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/culprit-rag/culprit/adapters"
)

// large is a corpus of so many documents of about a hundred words, made while it is read.
type large int

func (l large) Digest(context.Context) (string, error) { return fmt.Sprintf("large-%d", int(l)), nil }

func (l large) Items(context.Context) iter.Seq2[adapters.Item, error] {
	return func(yield func(adapters.Item, error) bool) {
		random := rand.New(rand.NewPCG(1, 2))
		zipf := rand.NewZipf(random, 1.2, 8, 30000)
		var text strings.Builder
		for i := range int(l) {
			text.Reset()
			for range 60 + random.IntN(80) {
				fmt.Fprintf(&text, "w%x ", zipf.Uint64()*7919)
			}
			fmt.Fprintf(&text, "serial%d.", i)
			item := adapters.Item{
				ID: fmt.Sprintf("doc-%07d", i), Source: fmt.Sprintf("file-%d.md", i/20), Text: text.String(),
				Metadata: map[string][]string{"tenant": {fmt.Sprintf("t%d", i%10)}},
			}
			if !yield(item, nil) {
				return
			}
		}
	}
}

func hashing(tb testing.TB, settings string) adapters.Embedder {
	tb.Helper()
	e, err := openEmbedder(tb.Context(), adapters.Config{Settings: []byte(settings)})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = e.Close() })
	return e
}

const benchItems = 100_000

func openLarge(b *testing.B, dir string, embedder adapters.Embedder) adapters.VectorStore {
	b.Helper()
	s, err := openStore(b.Context(), adapters.Config{Documents: large(benchItems), IndexEmbedder: embedder, CacheDir: dir})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return s
}

func BenchmarkStoreBuild(b *testing.B) {
	for _, dimensions := range []int{0, 256, 512} {
		b.Run(fmt.Sprintf("dimensions=%d", dimensions), func(b *testing.B) {
			var embedder adapters.Embedder
			if dimensions > 0 {
				embedder = hashing(b, fmt.Sprintf(`{"dimensions": %d}`, dimensions))
			}
			start := time.Now()
			for range b.N {
				openLarge(b, b.TempDir(), embedder)
			}
			b.ReportMetric(float64(b.N)*benchItems/time.Since(start).Seconds(), "chunks/s")
		})
	}
}

func BenchmarkStoreRead(b *testing.B) {
	embedder := hashing(b, `{"dimensions": 256}`)
	s := openLarge(b, b.TempDir(), embedder)
	ctx := b.Context()
	b.Run("scan", func(b *testing.B) {
		found := 0
		for range b.N {
			report, err := s.Scan(ctx, adapters.ScanRequest{}, func(item adapters.Item) error {
				if strings.Contains(item.Text, "serial99999.") {
					found++
				}
				return nil
			})
			if err != nil || report.Scanned != benchItems || report.Counted != benchItems {
				b.Fatalf("%+v, %v", report, err)
			}
		}
		if found != b.N {
			b.Fatalf("found %d times in %d scans", found, b.N)
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(m.HeapInuse)/(1<<20), "MiB-heap")
	})
	b.Run("reopen", func(b *testing.B) {
		dir := b.TempDir()
		openLarge(b, dir, nil)
		for b.Loop() {
			openLarge(b, dir, nil)
		}
	})
	query := "w0 w1eef w3dde serial500"
	response, err := embedder.Embed(ctx, adapters.EmbedRequest{Texts: []string{query}, Purpose: adapters.ForQuery})
	if err != nil {
		b.Fatal(err)
	}
	for _, mode := range []string{modeKeyword, modeDense, modeHybrid} {
		for _, filter := range [][]adapters.Condition{nil, {{Field: "tenant", AnyOf: []string{"t3"}}}} {
			for _, limit := range []int{200, benchItems} {
				b.Run(fmt.Sprintf("%s/filter=%t/limit=%d", mode, filter != nil, limit), func(b *testing.B) {
					for b.Loop() {
						r, err := s.Search(ctx, adapters.SearchRequest{Mode: mode, Query: query, Vector: response.Vectors[0], Limit: limit, Filter: filter})
						if err != nil || len(r.Hits) == 0 {
							b.Fatal(len(r.Hits), err)
						}
					}
				})
			}
		}
	}
}
