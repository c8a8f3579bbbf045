package loader

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/qdrant/bm25"
)

const maxQdrantMessage = 64 << 20

// qdrantTarget is a collection of a Qdrant server.
type qdrantTarget struct {
	at     *settings
	client *qdrant.Client
	sparse *bm25.Encoder // nil: no sparse vectors are stored
	byName bool          // the server keeps no metadata of collections, and the mark is the name of a payload index
}

func openQdrant(at *settings, timeout time.Duration, more ...grpc.DialOption) (target, error) {
	host, port, err := at.hostPort("6334")
	if err != nil {
		return nil, adapters.NewError("qdrant", "load", adapters.KindInvalid, err)
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]" // the client puts host and port together as they are
	}
	client, err := qdrant.NewClient(&qdrant.Config{
		Host: host, Port: port, UseTLS: at.tls != nil, TLSConfig: at.tls, PoolSize: 1, SkipCompatibilityCheck: true,
		GrpcOptions: append([]grpc.DialOption{
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxQdrantMessage)), grpc.WithChainUnaryInterceptor(prepare(timeout, at.key, at.token)),
		}, more...),
	})
	if err != nil {
		return nil, adapters.NewError("qdrant", "load", adapters.KindInvalid, err)
	}
	q := &qdrantTarget{at: at, client: client}
	if at.Keyword.Vector != "" {
		if q.sparse, err = bm25.New(at.Keyword.Language); err != nil {
			_ = client.Close() // it was never used
			return nil, adapters.NewError("qdrant", "load", adapters.KindInvalid, fmt.Errorf("backends.store.keyword.language: %w", err))
		}
	}
	return q, nil
}

// prepare bounds each call and adds the key and the token. The client would add the key by itself, and write a warning of its
// own to standard error.
func prepare(timeout time.Duration, key, token string) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, options ...grpc.CallOption) error {
		if key != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "api-key", key)
		}
		if token != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
		}
		if timeout > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, timeout)
			defer cancel()
		}
		return call(ctx, method, request, reply, conn, options...)
	}
}

func (q *qdrantTarget) close() error { return q.client.Close() }

// fail says what an error of the server means for who has written the experiment.
func (q *qdrantTarget) fail(ctx context.Context, doing string, err error) error {
	if err == nil {
		return nil
	}
	kind, hint := adapters.KindPermanent, ""
	var limited *qdrant.QdrantResourceExhaustedError
	switch code := status.Code(err); {
	case ctx.Err() != nil:
		err = ctx.Err()
	case errors.As(err, &limited):
		kind = adapters.KindRateLimited
	case code == codes.Unavailable:
		kind = adapters.KindTransient
		hint = fmt.Sprintf(": nothing that speaks gRPC answers at backends.store.address %s; Qdrant's gRPC port is 6334 unless it was changed, and backends.store.tls must be as the server is", q.at.Address)
	case code == codes.DeadlineExceeded:
		kind, hint = adapters.KindTimeout, fmt.Sprintf(": no answer in time from backends.store.address %s; raise limits.timeout, and load again to go on", q.at.Address)
	case code == codes.Unauthenticated || code == codes.PermissionDenied:
		kind = adapters.KindUnauthorised
		hint = ": the key of backends.store.api_key_env (or api_key_file) is missing, wrong, or may not write"
	case code == codes.InvalidArgument:
		kind = adapters.KindInvalid
	case code == codes.NotFound:
		kind = adapters.KindNotFound
	}
	return adapters.NewError("qdrant", "load", kind, fmt.Errorf("%s%s: %w", doing, hint, adapters.Cause(err)))
}

func (q *qdrantTarget) about(doing string) string {
	return fmt.Sprintf("%s collection %q", doing, q.at.Collection)
}

func (q *qdrantTarget) find(ctx context.Context) (found, error) {
	info, err := q.client.GetCollectionInfo(ctx, q.at.Collection)
	if status.Code(err) == codes.NotFound {
		return found{}, nil
	}
	if err != nil {
		return found{}, q.fail(ctx, q.about("looking for"), err)
	}
	m := readMark(info.GetConfig().GetMetadata()[metadataMark].GetStringValue())
	if m == nil {
		m = markByName(info)
		q.byName = m != nil
	}
	return found{exists: true, mark: m}, nil
}

func (q *qdrantTarget) create(ctx context.Context, m mark, s survey) error {
	request := &qdrant.CreateCollection{CollectionName: q.at.Collection, Metadata: declared(m)}
	if s.vectors {
		vector := &qdrant.VectorParams{Size: uint64(s.Embedder.Dimensions), Distance: qdrant.Distance_Cosine} //nolint:gosec // not negative
		if q.at.Vector == "" {
			request.VectorsConfig = qdrant.NewVectorsConfig(vector)
		} else {
			request.VectorsConfig = qdrant.NewVectorsConfigMap(map[string]*qdrant.VectorParams{q.at.Vector: vector})
		}
	}
	if sparse := q.at.Keyword.Vector; sparse != "" {
		// The server multiplies by how rare a term is; the stored vector holds the rest of BM25.
		request.SparseVectorsConfig = qdrant.NewSparseVectorsConfig(map[string]*qdrant.SparseVectorParams{sparse: {Modifier: qdrant.Modifier_Idf.Enum()}})
	}
	if request.VectorsConfig == nil && request.SparseVectorsConfig == nil {
		return refuse("collection %q would have no vectors, and nothing could be found in it: name backends.embedder, or backends.store.keyword.vector", q.at.Collection)
	}
	if err := q.client.CreateCollection(ctx, request); err != nil {
		return q.fail(ctx, q.about("making"), err)
	}
	info, err := q.client.GetCollectionInfo(ctx, q.at.Collection)
	if err != nil {
		return q.fail(ctx, q.about("looking at"), err)
	}
	if q.byName = info.GetConfig().GetMetadata()[metadataMark] == nil; q.byName {
		if err := q.index(ctx, m.asName()); err != nil {
			return err
		}
	}
	f := q.at.Fields
	for _, field := range slices.Concat([]string{documentField, f.Source, f.Access, f.EmbedModel}, s.names) {
		if field == "" {
			continue
		}
		if err := q.index(ctx, field); err != nil {
			return err
		}
	}
	return nil
}

// index makes a field one that filters and facets find fast.
func (q *qdrantTarget) index(ctx context.Context, field string) error {
	_, err := q.client.CreateFieldIndex(ctx, &qdrant.CreateFieldIndexCollection{
		CollectionName: q.at.Collection, FieldName: field, FieldType: qdrant.FieldType_FieldTypeKeyword.Enum(), Wait: qdrant.PtrOf(true),
	})
	return q.fail(ctx, fmt.Sprintf("indexing field %q of collection %q", field, q.at.Collection), err)
}

func (q *qdrantTarget) drop(ctx context.Context) error {
	return q.fail(ctx, q.about("deleting"), q.client.DeleteCollection(ctx, q.at.Collection))
}

func (q *qdrantTarget) count(ctx context.Context) (int, error) {
	n, err := q.client.Count(ctx, &qdrant.CountPoints{CollectionName: q.at.Collection, Exact: qdrant.PtrOf(true)})
	return int(n), q.fail(ctx, q.about("counting"), err) //nolint:gosec // no collection has so many
}

func (q *qdrantTarget) present(ctx context.Context, ids []string) (map[string]bool, error) {
	points := make([]*qdrant.PointId, len(ids))
	for i, id := range ids {
		points[i] = qdrant.NewIDUUID(id)
	}
	got, err := q.client.Get(ctx, &qdrant.GetPoints{
		CollectionName: q.at.Collection, Ids: points, WithPayload: qdrant.NewWithPayload(false), WithVectors: qdrant.NewWithVectors(false),
	})
	if err != nil {
		return nil, q.fail(ctx, q.about("reading"), err)
	}
	there := map[string]bool{}
	for _, p := range got {
		there[p.GetId().GetUuid()] = true
	}
	return there, nil
}

func (q *qdrantTarget) put(ctx context.Context, batch []entry) error {
	points := make([]*qdrant.PointStruct, len(batch))
	for i, e := range batch {
		vectors := map[string]*qdrant.Vector{}
		if e.item.Vector != nil {
			vectors[q.at.Vector] = qdrant.NewVectorDense(e.item.Vector)
		}
		if q.sparse != nil {
			vectors[q.at.Keyword.Vector] = qdrant.NewVectorSparse(q.sparse.Passage(e.item.Text))
		}
		points[i] = &qdrant.PointStruct{Id: qdrant.NewIDUUID(e.id), Payload: payload(e.values), Vectors: qdrant.NewVectorsMap(vectors)}
	}
	_, err := q.client.Upsert(ctx, &qdrant.UpsertPoints{CollectionName: q.at.Collection, Points: points, Wait: qdrant.PtrOf(true)})
	return q.fail(ctx, fmt.Sprintf("writing document %q and the %d after it to collection %q", batch[0].item.ID, len(batch)-1, q.at.Collection), err)
}

func payload(values map[string]any) map[string]*qdrant.Value {
	out := make(map[string]*qdrant.Value, len(values))
	for name := range maps.Keys(values) {
		switch v := values[name].(type) {
		case string:
			out[name] = qdrant.NewValueString(v)
		case []string:
			list := make([]*qdrant.Value, len(v))
			for i, text := range v {
				list[i] = qdrant.NewValueString(text)
			}
			out[name] = qdrant.NewValueFromList(list...)
		}
	}
	return out
}
