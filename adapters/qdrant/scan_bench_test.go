package qdrant

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/qdrant/go-client/qdrant"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/qdrant/qdranttest"
)

// benchChunks are as many as a probe of a large collection reads, of 1 kB each.
const benchChunks = 100_000

// BenchmarkScan reads a collection by the adapter, and by a bare loop of the client with the same page, both looking for a
// string in each text. The ratio is that of their speeds, measured in turns.
func BenchmarkScan(b *testing.B) {
	server := sharedServer(b)
	name := server.Name(b)
	server.Create(b, qdranttest.Collection{Name: name, Vectors: map[string]*qdrant.VectorParams{"": {Size: 8, Distance: qdrant.Distance_Dot}}})
	filler := strings.Repeat("policy holiday invoice ", 43)
	for from := 0; from < benchChunks; from += 1000 {
		points := make([]*qdrant.PointStruct, 1000)
		for i := range points {
			text := fmt.Sprintf("%09d %s", from+i, filler)
			points[i] = &qdrant.PointStruct{
				Id: qdrant.NewIDNum(uint64(from + i)), Vectors: qdrant.NewVectors(float32(i), 1, 0, 0, 0, 0, 0, 0),
				Payload: qdrant.NewValueMap(map[string]any{"text": text, "source": fmt.Sprint("doc-", i/4), "revision": "2026-07"}),
			}
		}
		server.Upsert(b, name, points...)
	}
	s, err := open(b.Context(), adapters.Config{Settings: settingsFor(server, name, `"fields": {"text": "text", "source": "source", "revision": "revision"}`), Secrets: secretsOf(server)})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	client := server.Client(b)
	byAdapter := func() int {
		n := 0
		_, err := s.Scan(b.Context(), adapters.ScanRequest{}, func(item adapters.Item) error {
			if strings.Contains(item.Text, "no such text") {
				b.Error("found")
			}
			n++
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		return n
	}
	byClient := func() int {
		n, err := bareLoop(b.Context(), client, name)
		if err != nil {
			b.Fatal(err)
		}
		return n
	}
	byClient() // the engine warms up
	var adapter, bare float64
	for b.Loop() {
		for what, scan := range map[*float64]func() int{&adapter: byAdapter, &bare: byClient} {
			began := b.Elapsed()
			if n := scan(); n != benchChunks {
				b.Fatalf("%d chunks", n)
			}
			*what += (b.Elapsed() - began).Seconds()
		}
	}
	rounds := float64(b.N)
	b.ReportMetric(benchChunks*rounds/adapter, "chunks/s")
	b.ReportMetric(benchChunks*rounds/bare, "bare-chunks/s")
	b.ReportMetric(bare/adapter, "ratio")
}

func bareLoop(ctx context.Context, client *qdrant.Client, collection string) (int, error) {
	page, n := uint32(defaultPage), 0
	var offset *qdrant.PointId
	for {
		points, next, err := client.ScrollAndOffset(ctx, &qdrant.ScrollPoints{
			CollectionName: collection, Limit: &page, Offset: offset, WithPayload: qdrant.NewWithPayload(true), WithVectors: qdrant.NewWithVectors(false),
		})
		if err != nil {
			return n, err
		}
		for _, point := range points {
			if strings.Contains(point.GetPayload()["text"].GetStringValue(), "no such text") {
				return n, fmt.Errorf("found in %d", point.GetId().GetNum())
			}
			n++
		}
		if next == nil {
			return n, nil
		}
		offset = next
	}
}
