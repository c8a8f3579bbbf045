package sdk

import (
	"context"

	"google.golang.org/grpc"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/plugin/internal/wire"
	pluginv1 "github.com/culprit-rag/culprit/adapters/plugin/proto/v1"
)

// A batch of a scan goes out when it has so many items, or texts and vectors of so many bytes.
const (
	batchItems = 256
	batchBytes = 1 << 20
)

type storeServer struct {
	pluginv1.UnimplementedStoreServer
	opened[adapters.VectorStore]
}

func (s *storeServer) Open(ctx context.Context, req *pluginv1.OpenRequest) (*pluginv1.OpenResponse, error) {
	return s.start(ctx, req)
}

func (s *storeServer) Close(context.Context, *pluginv1.CloseRequest) (*pluginv1.CloseResponse, error) {
	return s.end()
}

func (s *storeServer) Capabilities(context.Context, *pluginv1.CapabilitiesRequest) (*pluginv1.StoreCapabilities, error) {
	return use(&s.opened, "capabilities", func(store adapters.VectorStore) (*pluginv1.StoreCapabilities, error) {
		return wire.Capabilities(store.Capabilities()), nil
	})
}

func (s *storeServer) Describe(ctx context.Context, _ *pluginv1.DescribeRequest) (*pluginv1.StoreInfo, error) {
	return use(&s.opened, "describe", func(store adapters.VectorStore) (*pluginv1.StoreInfo, error) {
		info, err := store.Describe(ctx)
		return wire.StoreInfo(info), err
	})
}

func (s *storeServer) Search(ctx context.Context, req *pluginv1.SearchRequest) (*pluginv1.SearchResponse, error) {
	return use(&s.opened, "search", func(store adapters.VectorStore) (*pluginv1.SearchResponse, error) {
		response, err := store.Search(ctx, wire.SearchRequestOf(req))
		return wire.SearchResponse(response), err
	})
}

func (s *storeServer) Fetch(ctx context.Context, req *pluginv1.FetchRequest) (*pluginv1.FetchResponse, error) {
	return use(&s.opened, "fetch", func(store adapters.VectorStore) (*pluginv1.FetchResponse, error) {
		items, err := store.Fetch(ctx, adapters.FetchRequest{IDs: req.GetIds(), Vectors: req.GetVectors()})
		return &pluginv1.FetchResponse{Items: wire.Items(items)}, err
	})
}

// Scan ends with the report, also where it failed: the host wants to know how far it came.
func (s *storeServer) Scan(req *pluginv1.ScanRequest, stream grpc.ServerStreamingServer[pluginv1.ScanBatch]) error {
	_, err := use(&s.opened, "scan", func(store adapters.VectorStore) (struct{}, error) {
		var batch []*pluginv1.Item
		bytes := 0
		send := func() error {
			err := stream.Send(&pluginv1.ScanBatch{Items: batch})
			batch, bytes = nil, 0
			return err
		}
		report, err := store.Scan(stream.Context(), adapters.ScanRequest{Collection: req.GetCollection(), Vectors: req.GetVectors()}, func(item adapters.Item) error {
			batch = append(batch, wire.Item(item))
			if bytes += len(item.Text) + 4*len(item.Vector); len(batch) < batchItems && bytes < batchBytes {
				return nil
			}
			return send()
		})
		if len(batch) > 0 {
			err = first(err, send())
		}
		return struct{}{}, first(err, stream.Send(&pluginv1.ScanBatch{Report: wire.ScanReport(report)}))
	})
	return err
}

// first keeps the error that came first as it is, for its kind.
func first(err, then error) error {
	if err != nil {
		return err
	}
	return then
}
