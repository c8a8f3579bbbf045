package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"google.golang.org/grpc"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/plugin/internal/wire"
	pluginv1 "github.com/culprit-rag/culprit/adapters/plugin/proto/v1"
)

type store struct {
	*backend

	capabilities adapters.StoreCapabilities
}

func openStore(ctx context.Context, cfg adapters.Config) (adapters.VectorStore, error) {
	b, err := openBackend(ctx, cfg, service{
		role: adapters.RoleStore,
		open: func(ctx context.Context, conn *grpc.ClientConn, req *pluginv1.OpenRequest) error {
			_, err := pluginv1.NewStoreClient(conn).Open(ctx, req)
			return err
		},
		close: func(ctx context.Context, conn *grpc.ClientConn) error {
			_, err := pluginv1.NewStoreClient(conn).Close(ctx, &pluginv1.CloseRequest{})
			return err
		},
		opened: func(ctx context.Context, conn *grpc.ClientConn) (any, error) {
			capabilities, err := pluginv1.NewStoreClient(conn).Capabilities(ctx, &pluginv1.CapabilitiesRequest{})
			return capabilities, err
		},
	})
	if err != nil {
		return nil, err
	}
	s := &store{backend: b}
	if capabilities, ok := b.about.(*pluginv1.StoreCapabilities); ok {
		s.capabilities = wire.CapabilitiesOf(capabilities)
	}
	for i, mode := range s.capabilities.Modes {
		if !slices.Contains([]string{"keyword", "dense", "hybrid"}, mode) || slices.Contains(s.capabilities.Modes[:i], mode) {
			err := b.broken("open", "it declares the search modes %q, which are keyword, dense and hybrid, each once", s.capabilities.Modes)
			_ = b.Close() //nolint:contextcheck // it was never used; closing has a time of its own
			return nil, err
		}
	}
	return s, nil
}

// Capabilities returns what the plugin declared when it was opened. It is never local: a call leaves this process.
func (s *store) Capabilities() adapters.StoreCapabilities { return s.capabilities }

func (s *store) Describe(ctx context.Context) (adapters.StoreInfo, error) {
	return ask(ctx, s.backend, "describe", func(ctx context.Context, now *session) (adapters.StoreInfo, error) {
		response, err := pluginv1.NewStoreClient(now.conn).Describe(ctx, &pluginv1.DescribeRequest{})
		if err != nil {
			return adapters.StoreInfo{}, err
		}
		info := wire.StoreInfoOf(response)
		if info.Count < 0 || info.Dimensions < 0 {
			return info, s.broken("describe", "it counts %d items of %d dimensions", info.Count, info.Dimensions)
		}
		if len(s.set.Checksum) == 0 {
			info.Notes = append(info.Notes, fmt.Sprintf("The plugin %s is not pinned: another program at its path would be taken for it (set checksum).", s.set.Path))
		}
		return info, nil
	})
}

// undeclared refuses what the capabilities do not hold, so that no plugin can answer it by chance.
func (s *store) undeclared(req adapters.SearchRequest) error {
	for _, part := range []struct {
		what    string
		missing bool
	}{
		{"the search mode " + req.Mode, !slices.Contains(s.capabilities.Modes, req.Mode)},
		{"exact searches", req.Exact && !s.capabilities.Exact},
		{"a threshold", req.Threshold != nil && !s.capabilities.Threshold},
		{"filters", len(req.Filter) > 0 && !s.capabilities.Filter},
		{"a restriction to ids", len(req.Only) > 0 && !s.capabilities.Only},
	} {
		if part.missing {
			return fail("search", adapters.KindUnsupported, fmt.Errorf("the plugin %q does not declare %s", s.set.Path, part.what))
		}
	}
	return nil
}

// declared makes an error of an ability that the plugin declares and then refuses: nothing may take it for absent.
func (s *store) declared(op string, err error) error {
	if wire.Error(Name, op, err).Kind == adapters.KindUnsupported {
		return s.broken(op, "its capabilities declare what was asked for, and it answers: %v", wire.Error(Name, op, err).Err)
	}
	return err
}

func (s *store) Search(ctx context.Context, req adapters.SearchRequest) (adapters.SearchResponse, error) {
	const op = "search"
	return ask(ctx, s.backend, op, func(ctx context.Context, now *session) (adapters.SearchResponse, error) {
		if err := s.undeclared(req); err != nil {
			return adapters.SearchResponse{}, err
		}
		answer, err := pluginv1.NewStoreClient(now.conn).Search(ctx, wire.SearchRequest(req))
		if err != nil {
			return adapters.SearchResponse{}, s.declared(op, err)
		}
		response := wire.SearchResponseOf(answer)
		if wrong := ranking(req, response); wrong != nil {
			return response, s.broken(op, "%v", wrong)
		}
		return response, nil
	})
}

func (s *store) Fetch(ctx context.Context, req adapters.FetchRequest) ([]adapters.Item, error) {
	const op = "fetch"
	return ask(ctx, s.backend, op, func(ctx context.Context, now *session) ([]adapters.Item, error) {
		if req.Vectors && !s.capabilities.Vectors {
			return nil, fail(op, adapters.KindUnsupported, fmt.Errorf("the plugin %q does not declare vectors", s.set.Path))
		}
		ids := make([]string, len(req.IDs))
		for i, id := range req.IDs {
			ids[i] = wire.Text(id)
		}
		answer, err := pluginv1.NewStoreClient(now.conn).Fetch(ctx, &pluginv1.FetchRequest{Ids: ids, Vectors: req.Vectors})
		if err != nil {
			return nil, s.declared(op, err)
		}
		items := wire.ItemsOf(answer.GetItems())
		if wrong := fetched(ids, items); wrong != nil {
			return nil, s.broken(op, "%v", wrong)
		}
		return items, nil
	})
}

// Scan visits on this goroutine, between two messages of the stream. An error of visit is returned as it is.
func (s *store) Scan(ctx context.Context, req adapters.ScanRequest, visit func(adapters.Item) error) (adapters.ScanReport, error) {
	const op = "scan"
	var report adapters.ScanReport
	var refused error
	_, err := ask(ctx, s.backend, op, func(ctx context.Context, now *session) (struct{}, error) {
		if req.Vectors && !s.capabilities.Vectors {
			return struct{}{}, fail(op, adapters.KindUnsupported, fmt.Errorf("the plugin %q does not declare vectors", s.set.Path))
		}
		if req.Collection != "" && !s.capabilities.Collections {
			return struct{}{}, fail(op, adapters.KindUnsupported, fmt.Errorf("the plugin %q does not declare other collections", s.set.Path))
		}
		ctx, cancel := context.WithCancel(ctx) // a stream that is not read to its end is ended by its context
		defer cancel()
		stream, err := pluginv1.NewStoreClient(now.conn).Scan(ctx, &pluginv1.ScanRequest{Collection: wire.Text(req.Collection), Vectors: req.Vectors})
		if err != nil {
			return struct{}{}, err
		}
		visited := newVisited()
		ended := false
		for {
			batch, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				if !ended {
					report.Scanned = visited.n
				}
				return struct{}{}, s.declared(op, err)
			}
			if ended {
				return struct{}{}, s.broken(op, "the scan goes on after its report")
			}
			for _, item := range batch.GetItems() {
				if wrong := visited.add(item.GetId()); wrong != nil {
					return struct{}{}, s.broken(op, "%v", wrong)
				}
				if err := ctx.Err(); err != nil {
					report.Scanned = visited.n - 1
					return struct{}{}, err
				}
				if refused = visit(wire.ItemOf(item)); refused != nil {
					report.Scanned = visited.n
					return struct{}{}, refused
				}
			}
			if batch.GetReport() != nil {
				report, ended = wire.ScanReportOf(batch.GetReport()), true
			}
		}
		switch {
		case !ended:
			report.Scanned = visited.n
			return struct{}{}, s.broken(op, "the scan ends without a report")
		case report.Scanned != visited.n || report.Counted < 0:
			wrong := s.broken(op, "the scan reports %d items of %d, and %d came", report.Scanned, report.Counted, visited.n)
			report.Scanned = visited.n
			return struct{}{}, wrong
		}
		return struct{}{}, nil
	})
	if refused != nil {
		return report, refused
	}
	return report, err
}
