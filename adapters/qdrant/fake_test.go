package qdrant

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"sync"
	"testing"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/culprit-rag/culprit/adapters"
)

// fake is a server for the faults that no real server can be made to have. It holds the points 0, 1, … of one collection
// "docs" with vectors of 2 dimensions.
type fake struct {
	address string
	version string
	aliases map[string]string
	info    func(*qdrant.CollectionInfo)                                            // changes what is told of the collection
	fault   func(ctx context.Context, method string, call int) error                // before a call is answered; call counts from 1 for each method
	scroll  func(req *qdrant.ScrollPoints, call int, answer *qdrant.ScrollResponse) // changes a page

	mu     sync.Mutex // guards what follows
	points []*qdrant.RetrievedPoint
	calls  map[string]int
	asked  []any // the requests, as they came
}

func newFake(t *testing.T, points int) *fake {
	t.Helper()
	f := &fake{version: "1.17.0", calls: map[string]int{}}
	for n := range points {
		f.points = append(f.points, fakePoint(uint64(n), fmt.Sprintf("text %d", n)))
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.address = listener.Addr().String()
	server := grpc.NewServer(grpc.MaxSendMsgSize(1<<30), grpc.UnaryInterceptor(f.intercept))
	qdrant.RegisterQdrantServer(server, fakeQdrant{f: f})
	qdrant.RegisterCollectionsServer(server, fakeCollections{f: f})
	qdrant.RegisterPointsServer(server, fakePoints{f: f})
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() {
		server.Stop()
		serving.Wait()
	})
	return f
}

func fakePoint(id uint64, text string) *qdrant.RetrievedPoint {
	return &qdrant.RetrievedPoint{Id: qdrant.NewIDNum(id), Payload: map[string]*qdrant.Value{"text": qdrant.NewValueString(text)}}
}

func (f *fake) intercept(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	f.mu.Lock()
	f.calls[info.FullMethod]++
	n := f.calls[info.FullMethod]
	f.asked = append(f.asked, req)
	f.mu.Unlock()
	if f.fault != nil {
		if err := f.fault(ctx, info.FullMethod, n); err != nil {
			return nil, err
		}
	}
	return handle(ctx, req)
}

func (f *fake) settings(more string) json.RawMessage {
	if more != "" {
		more = ", " + more
	}
	return json.RawMessage(fmt.Sprintf(`{"address": %q, "collection": "docs"%s}`, f.address, more))
}

func (f *fake) open(t *testing.T, more string) *store {
	t.Helper()
	s, err := open(t.Context(), adapters.Config{Settings: f.settings(more)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// Each service is a type of its own, because two of them have methods of one name.
type (
	fakeQdrant struct {
		qdrant.UnimplementedQdrantServer
		f *fake
	}
	fakeCollections struct {
		qdrant.UnimplementedCollectionsServer
		f *fake
	}
	fakePoints struct {
		qdrant.UnimplementedPointsServer
		f *fake
	}
)

func (s fakeQdrant) HealthCheck(context.Context, *qdrant.HealthCheckRequest) (*qdrant.HealthCheckReply, error) {
	return &qdrant.HealthCheckReply{Version: s.f.version}, nil
}

func (s fakeCollections) Get(_ context.Context, req *qdrant.GetCollectionInfoRequest) (*qdrant.GetCollectionInfoResponse, error) {
	if req.GetCollectionName() != "docs" {
		return nil, status.Error(codes.NotFound, "Not found: Collection `"+req.GetCollectionName()+"` doesn't exist!")
	}
	info := &qdrant.CollectionInfo{
		Status: qdrant.CollectionStatus_Green, PointsCount: qdrant.PtrOf(uint64(len(s.f.points))),
		Config: &qdrant.CollectionConfig{Params: &qdrant.CollectionParams{
			ShardNumber: 1, VectorsConfig: qdrant.NewVectorsConfig(&qdrant.VectorParams{Size: 2, Distance: qdrant.Distance_Cosine}),
		}},
	}
	if s.f.info != nil {
		s.f.info(info)
	}
	return &qdrant.GetCollectionInfoResponse{Result: info}, nil
}

func (s fakeCollections) List(context.Context, *qdrant.ListCollectionsRequest) (*qdrant.ListCollectionsResponse, error) {
	return &qdrant.ListCollectionsResponse{Collections: []*qdrant.CollectionDescription{{Name: "docs"}}}, nil
}

func (s fakeCollections) ListAliases(context.Context, *qdrant.ListAliasesRequest) (*qdrant.ListAliasesResponse, error) {
	response := &qdrant.ListAliasesResponse{}
	for alias, name := range s.f.aliases {
		response.Aliases = append(response.Aliases, &qdrant.AliasDescription{AliasName: alias, CollectionName: name})
	}
	return response, nil
}

func (s fakePoints) Scroll(_ context.Context, req *qdrant.ScrollPoints) (*qdrant.ScrollResponse, error) {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	response := &qdrant.ScrollResponse{}
	for _, point := range s.f.points {
		if point.GetId().GetNum() < req.GetOffset().GetNum() {
			continue
		}
		if len(response.GetResult()) == int(req.GetLimit()) {
			response.NextPageOffset = point.GetId()
			break
		}
		response.Result = append(response.Result, point)
	}
	if s.f.scroll != nil {
		s.f.scroll(req, s.f.calls[qdrant.Points_Scroll_FullMethodName], response)
	}
	return response, nil
}

func (s fakePoints) Count(context.Context, *qdrant.CountPoints) (*qdrant.CountResponse, error) {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	return &qdrant.CountResponse{Result: &qdrant.CountResult{Count: uint64(len(s.f.points))}}, nil
}

func (s fakePoints) Get(_ context.Context, req *qdrant.GetPoints) (*qdrant.GetResponse, error) {
	response := &qdrant.GetResponse{}
	for _, id := range req.GetIds() {
		if n := id.GetNum(); n < uint64(len(s.f.points)) {
			response.Result = append(response.Result, s.f.points[n])
		}
	}
	return response, nil
}

func (s fakePoints) Query(_ context.Context, req *qdrant.QueryPoints) (*qdrant.QueryResponse, error) {
	response := &qdrant.QueryResponse{}
	for i, point := range s.f.points[:min(len(s.f.points), int(req.GetLimit()))] {
		response.Result = append(response.Result, &qdrant.ScoredPoint{Id: point.GetId(), Payload: point.GetPayload(), Score: 1 / float32(1+i)})
	}
	return response, nil
}

func cancelled(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
