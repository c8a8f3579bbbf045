package pineconetest

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	_ "github.com/pinecone-io/go-pinecone/v5/pinecone" // which registers the messages
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// Options say what the server is. The zero value of a field asks for the usual.
type Options struct {
	Key      string // that every call must carry
	Metric   string // "cosine"
	Pods     bool   // the index is made of pods, and does not list
	Lag      int    // how many records the statistics know too few
	Model    string // of the tag embedding_model
	Vector   string // "dense"
	Describe int    // the status of every answer of the control plane
	Code     codes.Code
}

// Record is a stored record.
type Record struct {
	ID       string         `json:"id"`
	Values   []float32      `json:"values"`
	Metadata map[string]any `json:"metadata,omitempty"`
}

// Server is a running stand-in with one index, "handbook", of as many dimensions as its first record has.
type Server struct {
	Control string // the address of the control plane
	Host    string // that of the index

	options Options

	mu         sync.Mutex
	namespaces map[string]map[string]Record
	called     []string
}

// Dimensions is how long the vectors of the index are.
const Dimensions = 24

// Start starts one and ends it with the test.
func Start(tb testing.TB, options Options) *Server {
	tb.Helper()
	s := &Server{options: options, namespaces: map[string]map[string]Record{}}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s.Host = "http://" + listener.Addr().String()
	control := httptest.NewServer(http.HandlerFunc(s.control))
	s.Control = control.URL
	data := grpc.NewServer()
	data.RegisterService(s.service(), s)
	ended := make(chan struct{})
	go func() { // ends when the server is stopped
		defer close(ended)
		_ = data.Serve(listener)
	}()
	tb.Cleanup(func() {
		data.Stop()
		<-ended
		control.Close()
	})
	return s
}

// Put stores records, in the place of those with their ids.
func (s *Server) Put(namespace string, records ...Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.namespaces[namespace] == nil {
		s.namespaces[namespace] = map[string]Record{}
	}
	for _, r := range records {
		s.namespaces[namespace][r.ID] = r
	}
}

// Change changes a record in place.
func (s *Server) Change(namespace, id string, change func(*Record)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.namespaces[namespace][id]
	change(&r)
	s.namespaces[namespace][id] = r
}

// Delete deletes records.
func (s *Server) Delete(namespace string, ids ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		delete(s.namespaces[namespace], id)
	}
}

// Called returns the names of the calls so far, each once.
func (s *Server) Called() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	called := slices.Clone(s.called)
	slices.Sort(called)
	return slices.Compact(called)
}

func (s *Server) control(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.called = append(s.called, r.Method+" "+r.URL.Path)
	s.mu.Unlock()
	answer := func(code int, body string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		fmt.Fprint(w, body)
	}
	refuse := func(code int, word string) {
		answer(code, fmt.Sprintf(`{"error": {"code": %q, "message": "it is refused"}, "status": %d}`, word, code))
	}
	switch {
	case s.options.Describe != 0:
		refuse(s.options.Describe, "UNKNOWN")
	case s.options.Key != "" && r.Header.Get("Api-Key") != s.options.Key:
		refuse(http.StatusUnauthorized, "UNAUTHENTICATED")
	case r.Method != http.MethodGet || r.URL.Path != "/indexes/handbook":
		refuse(http.StatusNotFound, "NOT_FOUND")
	default:
		spec := `{"serverless": {"cloud": "aws", "region": "eu-west-1", "read_capacity": {"mode": "OnDemand", "status": {"state": "Ready"}}}}`
		if s.options.Pods {
			spec = `{"pod": {"environment": "eu-west1-gcp", "pod_type": "p1.x1", "pods": 1, "replicas": 1, "shards": 1}}`
		}
		answer(http.StatusOK, fmt.Sprintf(`{"name": "handbook", "dimension": %d, "metric": %q, "host": %q, "vector_type": %q, "spec": %s,
			"status": {"ready": true, "state": "Ready"}, "deletion_protection": "disabled", "tags": {"embedding_model": %q}}`,
			Dimensions, or(s.options.Metric, "cosine"), strings.TrimPrefix(s.Host, "http://"), or(s.options.Vector, "dense"), spec, s.options.Model))
	}
}

func or(value, usual string) string {
	if value == "" {
		return usual
	}
	return value
}

// service serves the data plane. The generated code of its messages is internal to the client's module; they are found by their names
// and read and written as JSON.
func (s *Server) service() *grpc.ServiceDesc {
	desc := &grpc.ServiceDesc{ServiceName: "VectorService", HandlerType: (*any)(nil)}
	for method, call := range map[string]func([]byte) (any, error){
		"Query": s.query, "Fetch": s.fetch, "List": s.list, "DescribeIndexStats": s.stats,
	} {
		desc.Methods = append(desc.Methods, grpc.MethodDesc{MethodName: method, Handler: func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			request := message(method + "Request")
			if err := decode(request); err != nil {
				return nil, err
			}
			if err := s.admit(ctx, method); err != nil {
				return nil, err
			}
			text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(request)
			if err != nil {
				return nil, err
			}
			answer, err := call(text)
			if err != nil {
				return nil, err
			}
			if text, err = json.Marshal(answer); err != nil {
				return nil, err
			}
			response := message(method + "Response")
			return response, protojson.Unmarshal(text, response)
		}})
	}
	return desc
}

func message(name string) proto.Message {
	found, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(name))
	if err != nil {
		panic(err)
	}
	return found.New().Interface()
}

func (s *Server) admit(ctx context.Context, method string) error {
	s.mu.Lock()
	s.called = append(s.called, method)
	s.mu.Unlock()
	given, _ := metadata.FromIncomingContext(ctx)
	switch {
	case s.options.Code != codes.OK:
		return status.Error(s.options.Code, "it is refused")
	case s.options.Key != "" && !slices.Equal(given.Get("api-key"), []string{s.options.Key}):
		return status.Error(codes.Unauthenticated, "Invalid API Key")
	}
	return nil
}
