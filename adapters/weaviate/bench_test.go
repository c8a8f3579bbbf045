package weaviate

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weaviate/weaviate/entities/models"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/weaviate/weaviatetest"
)

// BenchmarkScan reads 10,000 chunks of 1 kB, and beside it lets the official client read them in a bare loop over the same
// server. "ratio" is the chunks per second of the adapter by those of the loop.
func BenchmarkScan(b *testing.B) {
	const chunks = 10_000
	server := weaviatetest.Shared(b)
	class := weaviatetest.ClassName(b)
	server.Create(b, weaviatetest.Unnamed(class, "cosine", weaviatetest.Text("body", "word")))
	var objects []*models.Object
	for i := range chunks {
		objects = append(objects, weaviatetest.Object(class, weaviatetest.ID(i), map[string]any{"body": fmt.Sprintf("%d %s", i, strings.Repeat("chunk ", 170))}, []float32{1, float32(i)}))
	}
	server.Insert(b, objects...)
	s := opened(b, server, settings{"address": server.Address, "collection": class, "fields": settings{"text": "body"}})
	client := server.Client(b)
	var ours, bare time.Duration
	for b.Loop() {
		start := time.Now()
		report, err := s.Scan(b.Context(), adapters.ScanRequest{}, func(adapters.Item) error { return nil })
		if err != nil || report.Scanned != chunks || report.Counted != chunks {
			b.Fatalf("%+v, %v", report, err)
		}
		ours += time.Since(start)

		start = time.Now()
		after, read := "", 0
		for {
			page, err := client.Data().ObjectsGetter().WithClassName(class).WithLimit(500).WithAfter(after).Do(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			if len(page) == 0 {
				break
			}
			read += len(page)
			after = page[len(page)-1].ID.String()
		}
		if read != chunks {
			b.Fatalf("the bare loop read %d", read)
		}
		bare += time.Since(start)
	}
	n := float64(chunks * b.N)
	b.ReportMetric(n/ours.Seconds(), "chunks/s")
	b.ReportMetric(n/bare.Seconds(), "bare-chunks/s")
	b.ReportMetric(bare.Seconds()/ours.Seconds(), "ratio")
}
