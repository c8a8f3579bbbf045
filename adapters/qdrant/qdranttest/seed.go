package qdranttest

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/qdrant/go-client/qdrant"
)

// Collection is a collection to make. A vector named "" is the unnamed one, which stands alone.
type Collection struct {
	Name     string
	Vectors  map[string]*qdrant.VectorParams
	Sparse   map[string]*qdrant.SparseVectorParams
	Indexes  map[string]qdrant.FieldType // of payload fields
	Metadata map[string]any
	Shards   uint32
	Strict   *qdrant.StrictModeConfig
	HNSW     *qdrant.HnswConfigDiff
	IndexAll bool // build the graph of every segment, however small
}

// batch is how many points are sent at once.
const batch = 500

// Client returns a client that may write; it is closed after the test.
func (s *Server) Client(tb testing.TB) *qdrant.Client {
	tb.Helper()
	client := s.dial(tb)
	tb.Cleanup(func() { _ = client.Close() })
	return client
}

// with lends a client to use.
func (s *Server) with(tb testing.TB, use func(client *qdrant.Client) error) {
	tb.Helper()
	client := s.dial(tb)
	defer client.Close()
	if err := use(client); err != nil {
		tb.Fatal(err)
	}
}

func (s *Server) dial(tb testing.TB) *qdrant.Client {
	tb.Helper()
	host, port, err := net.SplitHostPort(s.Address)
	if err != nil {
		tb.Fatalf("the address of the server: %v", err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		tb.Fatalf("the address of the server: %v", err)
	}
	config := &qdrant.Config{Host: host, Port: number, APIKey: s.APIKey, PoolSize: 1, SkipCompatibilityCheck: true, KeepAliveTime: -1}
	if s.CAFile != "" {
		pem, err := os.ReadFile(s.CAFile)
		if err != nil {
			tb.Fatal(err)
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(pem)
		config.UseTLS, config.TLSConfig = true, &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	client, err := qdrant.NewClient(config)
	if err != nil {
		tb.Fatal(err)
	}
	return client
}

// Name returns a name for a collection that nothing else has, on a server that is shared too.
func (s *Server) Name(tb testing.TB) string {
	tb.Helper()
	name := strings.NewReplacer("/", "-", " ", "-", "#", "-", ":", "-", "\"", "").Replace(tb.Name())
	return name[:min(len(name), 80)] + "-" + strings.ToLower(rand.Text()[:8])
}

// Create makes the collection and drops it after the test.
func (s *Server) Create(tb testing.TB, c Collection) {
	tb.Helper()
	request := &qdrant.CreateCollection{
		CollectionName: c.Name, StrictModeConfig: c.Strict, HnswConfig: c.HNSW,
		Metadata: qdrant.NewValueMap(c.Metadata),
	}
	if unnamed := c.Vectors[""]; unnamed != nil {
		request.VectorsConfig = qdrant.NewVectorsConfig(unnamed)
	} else {
		request.VectorsConfig = qdrant.NewVectorsConfigMap(c.Vectors)
	}
	if c.IndexAll {
		one := uint64(1)
		request.OptimizersConfig = &qdrant.OptimizersConfigDiff{IndexingThreshold: &one} // kilobytes
	}
	if c.Shards > 0 {
		request.ShardNumber = &c.Shards
	}
	if c.Sparse != nil {
		request.SparseVectorsConfig = qdrant.NewSparseVectorsConfig(c.Sparse)
	}
	s.with(tb, func(client *qdrant.Client) error { return client.CreateCollection(tb.Context(), request) })
	s.after(tb, func(ctx context.Context, client *qdrant.Client) error { return client.DeleteCollection(ctx, c.Name) })
	for field, kind := range c.Indexes {
		s.Index(tb, c.Name, field, kind)
	}
}

// after cleans up when the test has ended. A server of the test's own may be gone by then.
func (s *Server) after(tb testing.TB, clean func(ctx context.Context, client *qdrant.Client) error) {
	tb.Helper()
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), 10*time.Second)
		defer cancel()
		client := s.dial(tb)
		defer client.Close()
		_ = clean(ctx, client)
	})
}

// Index makes an index of a payload field.
func (s *Server) Index(tb testing.TB, collection, field string, kind qdrant.FieldType) {
	tb.Helper()
	s.with(tb, func(client *qdrant.Client) error {
		_, err := client.CreateFieldIndex(tb.Context(), &qdrant.CreateFieldIndexCollection{
			CollectionName: collection, FieldName: field, FieldType: &kind, Wait: qdrant.PtrOf(true),
		})
		return err
	})
}

// Upsert writes points, or replaces those that are there, and waits until they are.
func (s *Server) Upsert(tb testing.TB, collection string, points ...*qdrant.PointStruct) {
	tb.Helper()
	s.with(tb, func(client *qdrant.Client) error {
		for chunk := range slices.Chunk(points, batch) {
			_, err := client.Upsert(tb.Context(), &qdrant.UpsertPoints{CollectionName: collection, Points: chunk, Wait: qdrant.PtrOf(true)})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// WaitIndexed waits until n vectors of a collection are in a graph. A server builds it behind the writes.
func (s *Server) WaitIndexed(tb testing.TB, collection string, n uint64) {
	tb.Helper()
	s.with(tb, func(client *qdrant.Client) error {
		var last *qdrant.CollectionInfo
		for start := time.Now(); time.Since(start) < time.Minute; time.Sleep(50 * time.Millisecond) { // the server tells nobody
			info, err := client.GetCollectionInfo(tb.Context(), collection)
			if err != nil {
				return err
			}
			if last = info; info.GetStatus() == qdrant.CollectionStatus_Green && info.GetIndexedVectorsCount() >= n {
				return nil
			}
		}
		return fmt.Errorf("collection %q is %s with %d vectors indexed, want %d", collection, last.GetStatus(), last.GetIndexedVectorsCount(), n)
	})
}

// SetPayload changes fields of points, leaves the others as they are, and waits until it is done.
func (s *Server) SetPayload(tb testing.TB, collection string, fields map[string]any, ids ...*qdrant.PointId) {
	tb.Helper()
	s.with(tb, func(client *qdrant.Client) error {
		_, err := client.SetPayload(tb.Context(), &qdrant.SetPayloadPoints{
			CollectionName: collection, Payload: qdrant.NewValueMap(fields), PointsSelector: qdrant.NewPointsSelector(ids...), Wait: qdrant.PtrOf(true),
		})
		return err
	})
}

// SetVectors changes vectors of a point, by name, leaves the others as they are, and waits until it is done.
func (s *Server) SetVectors(tb testing.TB, collection string, id *qdrant.PointId, vectors map[string]*qdrant.Vector) {
	tb.Helper()
	s.with(tb, func(client *qdrant.Client) error {
		_, err := client.UpdateVectors(tb.Context(), &qdrant.UpdatePointVectors{
			CollectionName: collection, Points: []*qdrant.PointVectors{{Id: id, Vectors: qdrant.NewVectorsMap(vectors)}}, Wait: qdrant.PtrOf(true),
		})
		return err
	})
}

// Delete removes points and waits until they are gone.
func (s *Server) Delete(tb testing.TB, collection string, ids ...*qdrant.PointId) {
	tb.Helper()
	s.with(tb, func(client *qdrant.Client) error {
		_, err := client.Delete(tb.Context(), &qdrant.DeletePoints{
			CollectionName: collection, Points: qdrant.NewPointsSelector(ids...), Wait: qdrant.PtrOf(true),
		})
		return err
	})
}

// Alias gives a collection another name, or moves that name to it.
func (s *Server) Alias(tb testing.TB, alias, collection string) {
	tb.Helper()
	s.with(tb, func(client *qdrant.Client) error { return client.CreateAlias(tb.Context(), alias, collection) })
	s.after(tb, func(ctx context.Context, client *qdrant.Client) error { return client.DeleteAlias(ctx, alias) })
}
