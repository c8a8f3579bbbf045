package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/qdrant/go-client/qdrant"

	"github.com/culprit-rag/culprit/adapters/qdrant/qdranttest"
	"github.com/culprit-rag/culprit/adapters/weaviate/weaviatetest"
)

func TestMain(m *testing.M) { os.Exit(weaviatetest.Main{M: m}.Run()) }

const (
	liveChunks = 100_000 // of 1 kB
	liveCases  = 100
)

// liveExperiment writes an experiment on a live store, once with the documents to load and once without, so that the probe
// compares nothing with them.
func liveExperiment(b *testing.B, dir, store string) {
	b.Helper()
	var documents, cases bytes.Buffer
	for i := range liveChunks {
		fmt.Fprintf(&documents, "{\"id\":\"d%d\",\"text\":\"The code of item%d is value%d. %s.\"}\n", i, i, i, sentence(i, 140))
	}
	write(b, filepath.Join(dir, "corpus.jsonl"), documents.Bytes())
	for i := range liveCases {
		n := i * 997 % liveChunks
		fmt.Fprintf(&cases, "- id: case-%d\n  query: What is the code of item%d?\n  evidence: {required: [{source: d%d, span: item%d is value%d}]}\n  claims: [{id: code, any: [value%d]}]\n", i, n, n, n, n, n)
	}
	write(b, filepath.Join(dir, "cases.yaml"), cases.Bytes())
	for name, more := range map[string]string{"load": ", documents: corpus.jsonl", "probe": ""} {
		write(b, filepath.Join(dir, name+".yaml"), fmt.Appendf(nil, `culprit: v1
name: bench
backends:
  store: {%s%s, fields: {text: text, source: source}}
  embedder: {adapter: embedded, dimensions: 64}
  generator: {adapter: embedded}
pipeline: {search: {mode: dense, k: 5}}
cases: [cases.yaml]
`, store, more))
	}
}

// BenchmarkProbe loads 100,000 chunks of 1 kB into a live store and probes them with 100 cases: one pass for all spans. Beside
// it a bare loop of the official client reads the same pages and looks at nothing; ratio is the probe's scan by that.
func BenchmarkProbe(b *testing.B) {
	path := program(b)
	b.Run("qdrant", func(b *testing.B) {
		server := qdranttest.Start(b, qdranttest.Options{})
		name := server.Name(b)
		b.Cleanup(func() { _ = server.Client(b).DeleteCollection(context.WithoutCancel(b.Context()), name) })
		probeLive(b, path, fmt.Sprintf("adapter: qdrant, address: %q, collection: %q, vector: dense", server.Address, name), func() int {
			return bareQdrant(b, server.Client(b), name)
		})
	})
	b.Run("weaviate", func(b *testing.B) {
		server := weaviatetest.Shared(b)
		name := weaviatetest.ClassName(b)
		b.Cleanup(func() {
			_ = server.Client(b).Schema().ClassDeleter().WithClassName(name).Do(context.WithoutCancel(b.Context()))
		})
		probeLive(b, path, fmt.Sprintf("adapter: weaviate, address: %q, collection: %q", server.Address, name), func() int {
			return bareWeaviate(b, server, name)
		})
	})
}

func probeLive(b *testing.B, path, store string, bare func() int) {
	b.Helper()
	dir := b.TempDir()
	liveExperiment(b, dir, store)
	loaded := execute(b, dir, path, "load", "load.yaml")
	b.ReportMetric(liveChunks/loaded.wall.Seconds(), "loaded-chunks/s")
	bare() // the engine warms up
	for b.Loop() {
		start := time.Now()
		if n := bare(); n != liveChunks {
			b.Fatalf("the bare loop read %d chunks", n)
		}
		loop := time.Since(start).Seconds()
		u := execute(b, dir, path, "probe", "probe.yaml", "--json")
		var probe struct {
			Scan struct {
				Scanned  int
				Complete bool
			}
			Spans  struct{ Used, Total int }
			ScanMS float64 `json:"scan_ms"`
		}
		if err := json.Unmarshal([]byte(u.stdout), &probe); err != nil {
			b.Fatal(err)
		}
		if !probe.Scan.Complete || probe.Scan.Scanned != liveChunks || probe.Spans.Used != liveCases {
			b.Fatalf("the probe says %+v", probe)
		}
		scan := probe.ScanMS / 1000
		b.ReportMetric(liveChunks/scan, "chunks/s")
		b.ReportMetric(liveChunks/loop, "bare-chunks/s")
		b.ReportMetric(loop/scan, "ratio")
		b.ReportMetric(u.wall.Seconds(), "s/probe")
		b.ReportMetric(u.peakMB, "peak-MB")
	}
}

func bareQdrant(b *testing.B, client *qdrant.Client, name string) int {
	b.Helper()
	page, n := uint32(512), 0
	var offset *qdrant.PointId
	for {
		points, next, err := client.ScrollAndOffset(b.Context(), &qdrant.ScrollPoints{
			CollectionName: name, Limit: &page, Offset: offset, WithPayload: qdrant.NewWithPayload(true), WithVectors: qdrant.NewWithVectors(false),
		})
		if err != nil {
			b.Fatal(err)
		}
		if n += len(points); next == nil {
			return n
		}
		offset = next
	}
}

func bareWeaviate(b *testing.B, server weaviatetest.Server, name string) int {
	b.Helper()
	after, n := "", 0
	for {
		page, err := server.Client(b).Data().ObjectsGetter().WithClassName(name).WithLimit(500).WithAfter(after).Do(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		if len(page) == 0 {
			return n
		}
		n += len(page)
		after = page[len(page)-1].ID.String()
	}
}
