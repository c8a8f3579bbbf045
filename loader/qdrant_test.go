package loader

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc"

	"github.com/culprit-rag/culprit/adapters/qdrant/bm25"
	"github.com/culprit-rag/culprit/adapters/qdrant/qdranttest"
)

// forgetful makes a server of one that keeps no metadata of collections, as those before 1.16: what is not known is not read.
func forgetful(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, options ...grpc.CallOption) error {
	switch r := request.(type) {
	case *qdrant.CreateCollection:
		r.Metadata = nil
	case *qdrant.UpdateCollection:
		r.Metadata = nil
	}
	return call(ctx, method, request, reply, conn, options...)
}

func TestQdrantWithoutMetadata(t *testing.T) {
	server := qdranttest.Start(t, qdranttest.Options{})
	s := store{"qdrant", server.Address, server.APIKey, server.Name(t)}
	client := server.Client(t)
	t.Cleanup(func() { _ = client.DeleteCollection(context.Background(), s.collection) }) //nolint:usetesting // the test's own context has ended
	job := func(n int) Job {
		j := s.job(t, corpus(n))
		j.dial = []grpc.DialOption{grpc.WithChainUnaryInterceptor(forgetful)}
		return j
	}
	marks := func() []string {
		info, err := client.GetCollectionInfo(t.Context(), s.collection)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for name := range info.GetPayloadSchema() {
			if strings.HasPrefix(name, namedMark) {
				out = append(out, strings.Join(strings.Split(name, "_")[:3], "_"))
			}
		}
		return out
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	interrupted := job(200)
	interrupted.Progress = func(int, int) { cancel() }
	if _, err := Load(ctx, interrupted); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{namedMark + stateLoading}, marks()); diff != "" {
		t.Errorf("marks of an interrupted load (-want +got):\n%s", diff)
	}
	wantError(t, job(100), "refused", "was cut short", "--recreate")
	if r := mustLoad(t, job(200)); r.Action != Continued || r.Written != 72 {
		t.Errorf("taken up: %+v", r)
	}
	if diff := cmp.Diff([]string{namedMark + stateComplete}, marks()); diff != "" {
		t.Errorf("marks of a load (-want +got):\n%s", diff)
	}
	if r := mustLoad(t, job(200)); r.Action != Unchanged {
		t.Errorf("again: %+v", r)
	}
	recreate := job(10)
	recreate.Recreate = true
	if r := mustLoad(t, recreate); r.Action != Recreated || len(contents(t, s)) != 10 {
		t.Errorf("recreated: %+v", r)
	}
}

// TestQdrantDeclaresAndIndexes looks at what a load says in the collection's configuration.
func TestQdrantDeclaresAndIndexes(t *testing.T) {
	server := qdranttest.Start(t, qdranttest.Options{})
	s := store{"qdrant", server.Address, server.APIKey, server.Name(t)}
	client := server.Client(t)
	t.Cleanup(func() { _ = client.DeleteCollection(context.Background(), s.collection) }) //nolint:usetesting // the test's own context has ended
	docs := corpus(5)
	mustLoad(t, s.job(t, docs, map[string]any{"vector": "dense", "keyword": map[string]any{"vector": "words", "language": "english"}}))
	info, err := client.GetCollectionInfo(t.Context(), s.collection)
	if err != nil {
		t.Fatal(err)
	}
	declares := map[string]string{}
	for name, v := range info.GetConfig().GetMetadata() {
		if name != metadataMark && v.GetStringValue() != "" {
			declares[name] = v.GetStringValue()
		}
	}
	digest, _ := docs.Digest(t.Context())
	want := map[string]string{"documents": digest, "embed_model": "hashing", "passage_prefix": "passage: ", "query_prefix": "query: "}
	if diff := cmp.Diff(want, declares); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	if n := info.GetConfig().GetMetadata()["dimensions"].GetIntegerValue(); n != 64 {
		t.Errorf("it declares %d dimensions", n)
	}
	if diff := cmp.Diff([]string{"doc", documentField, "groups", "model", "tags", "tenant"}, sortedKeys(info.GetPayloadSchema())); diff != "" {
		t.Errorf("indexed fields (-want +got):\n%s", diff)
	}
	params := info.GetConfig().GetParams()
	if p := params.GetVectorsConfig().GetParamsMap().GetMap()["dense"]; p.GetSize() != 64 || p.GetDistance() != qdrant.Distance_Cosine {
		t.Errorf("the dense vector is %v", p)
	}
	if m := params.GetSparseVectorsConfig().GetMap()["words"].GetModifier(); m != qdrant.Modifier_Idf {
		t.Errorf("the sparse vector has the modifier %v", m)
	}
	checkSparse(t, client, s.collection, docs[3].Text, itemID(docs[3].ID))
}

// checkSparse searches with the words of a text and expects the text first, with a score.
func checkSparse(t *testing.T, client *qdrant.Client, collection, text, id string) {
	t.Helper()
	encoder, err := bm25.New("english")
	if err != nil {
		t.Fatal(err)
	}
	indices, values := encoder.Query(text)
	points, err := client.Query(t.Context(), &qdrant.QueryPoints{
		CollectionName: collection, Query: qdrant.NewQuerySparse(indices, values), Using: qdrant.PtrOf("words"), Limit: qdrant.PtrOf(uint64(1)),
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(points) != 1 || points[0].GetId().GetUuid() != id || points[0].GetScore() <= 0 {
		t.Errorf("a search by the words of %q finds %v", text, points)
	}
}
