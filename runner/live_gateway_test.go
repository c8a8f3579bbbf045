package runner_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"

	qdrantclient "github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// gatedStore is a live store with a gateway in front that drops some filters.
type gatedStore interface {
	liveStore
	// gateway returns its address. Drops is asked for each search, with the filter as text.
	gateway(t *testing.T, drops func(filter string) bool) string
}

func (w liveWeaviate) gateway(t *testing.T, drops func(string) bool) string {
	t.Helper()
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: w.server.Address})
	gateway := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/graphql" {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				http.Error(rw, err.Error(), http.StatusBadGateway)
				return
			}
			var asked struct {
				Query string `json:"query"`
			}
			if json.Unmarshal(body, &asked) == nil && strings.Contains(asked.Query, "bm25") {
				if start, end := argument(asked.Query, "where:"); start >= 0 && drops(asked.Query[start:end]) {
					asked.Query = asked.Query[:start] + asked.Query[end:]
					body, _ = json.Marshal(asked)
				}
			}
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		}
		proxy.ServeHTTP(rw, r)
	}))
	t.Cleanup(gateway.Close)
	return strings.TrimPrefix(gateway.URL, "http://")
}

// argument finds a GraphQL argument whose value stands in braces, with the comma before it.
func argument(query, name string) (start, end int) {
	at := strings.Index(query, name)
	if at < 0 {
		return -1, -1
	}
	depth, quoted := 0, false
	for i := at; i < len(query); i++ {
		switch c := query[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				for at > 0 && (query[at-1] == ',' || query[at-1] == ' ') {
					at--
				}
				return at, i + 1
			}
		}
	}
	return -1, -1
}

// rawCodec hands messages on as they are.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }
func (rawCodec) Marshal(v any) ([]byte, error) {
	return *v.(*[]byte), nil //nolint:forcetypeassert // nothing else is handed on
}

func (rawCodec) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = slices.Clone(data) //nolint:forcetypeassert // nothing else is handed on
	return nil
}

var _ encoding.Codec = rawCodec{}

func (q liveQdrant) gateway(t *testing.T, drops func(string) bool) string {
	t.Helper()
	backend, err := grpc.NewClient(q.server.Address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.ForceCodec(rawCodec{})))
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.ForceServerCodec(rawCodec{}), grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		method, _ := grpc.MethodFromServerStream(stream)
		var request, response []byte
		if err := stream.RecvMsg(&request); err != nil {
			return err
		}
		if method == qdrantclient.Points_Query_FullMethodName {
			var asked qdrantclient.QueryPoints
			if err := proto.Unmarshal(request, &asked); err != nil {
				return status.Error(codes.Internal, err.Error())
			}
			if f := asked.GetFilter(); f != nil && drops(f.String()) {
				asked.Filter = nil
				request, err = proto.Marshal(&asked)
				if err != nil {
					return status.Error(codes.Internal, err.Error())
				}
			}
		}
		ctx := stream.Context()
		if md, ok := metadata.FromIncomingContext(ctx); ok {
			ctx = metadata.NewOutgoingContext(ctx, md)
		}
		if err := backend.Invoke(ctx, method, &request, &response); err != nil {
			return err
		}
		return stream.SendMsg(&response)
	}))
	listener, err := (&net.ListenConfig{}).Listen(context.WithoutCancel(t.Context()), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := cmp.Or(<-done, backend.Close()); err != nil {
			t.Errorf("closing the gateway: %v", err)
		}
	})
	return listener.Addr().String()
}
