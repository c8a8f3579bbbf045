package plugin

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/plugin/internal/wire"
	pluginv1 "github.com/culprit-rag/culprit/adapters/plugin/proto/v1"
)

// revision tells one build of a model's plugin from another where the plugin tells none itself.
func revision(own string, s *session) string {
	if own != "" {
		return own
	}
	return s.info.GetName() + " " + s.info.GetVersion()
}

type embedder struct{ *backend }

func openEmbedder(ctx context.Context, cfg adapters.Config) (adapters.Embedder, error) {
	b, err := openBackend(ctx, cfg, service{
		role: adapters.RoleEmbedder,
		open: func(ctx context.Context, conn *grpc.ClientConn, req *pluginv1.OpenRequest) error {
			_, err := pluginv1.NewEmbedderClient(conn).Open(ctx, req)
			return err
		},
		close: func(ctx context.Context, conn *grpc.ClientConn) error {
			_, err := pluginv1.NewEmbedderClient(conn).Close(ctx, &pluginv1.CloseRequest{})
			return err
		},
	})
	if err != nil {
		return nil, err
	}
	return &embedder{b}, nil
}

func (e *embedder) Describe(ctx context.Context) (adapters.EmbedderInfo, error) {
	return ask(ctx, e.backend, "describe", func(ctx context.Context, now *session) (adapters.EmbedderInfo, error) {
		response, err := pluginv1.NewEmbedderClient(now.conn).Describe(ctx, &pluginv1.DescribeRequest{})
		if err != nil {
			return adapters.EmbedderInfo{}, err
		}
		info := wire.EmbedderInfoOf(response)
		info.Revision = revision(info.Revision, now)
		if info.Model == "" || info.Dimensions < 0 {
			return info, e.broken("describe", "its model is %q with %d dimensions", info.Model, info.Dimensions)
		}
		return info, nil
	})
}

func (e *embedder) Embed(ctx context.Context, req adapters.EmbedRequest) (adapters.EmbedResponse, error) {
	const op = "embed"
	return ask(ctx, e.backend, op, func(ctx context.Context, now *session) (adapters.EmbedResponse, error) {
		answer, err := pluginv1.NewEmbedderClient(now.conn).Embed(ctx, wire.EmbedRequest(req))
		if err != nil {
			return adapters.EmbedResponse{}, err
		}
		response := wire.EmbedResponseOf(answer)
		if wrong := embedded(len(req.Texts), response); wrong != nil {
			return response, e.broken(op, "%v", wrong)
		}
		return response, nil
	})
}

type generator struct{ *backend }

func openGenerator(ctx context.Context, cfg adapters.Config) (adapters.Generator, error) {
	b, err := openBackend(ctx, cfg, service{
		role: adapters.RoleGenerator,
		open: func(ctx context.Context, conn *grpc.ClientConn, req *pluginv1.OpenRequest) error {
			_, err := pluginv1.NewGeneratorClient(conn).Open(ctx, req)
			return err
		},
		close: func(ctx context.Context, conn *grpc.ClientConn) error {
			_, err := pluginv1.NewGeneratorClient(conn).Close(ctx, &pluginv1.CloseRequest{})
			return err
		},
	})
	if err != nil {
		return nil, err
	}
	return &generator{b}, nil
}

func (g *generator) Describe(ctx context.Context) (adapters.GeneratorInfo, error) {
	return ask(ctx, g.backend, "describe", func(ctx context.Context, now *session) (adapters.GeneratorInfo, error) {
		response, err := pluginv1.NewGeneratorClient(now.conn).Describe(ctx, &pluginv1.DescribeRequest{})
		return wire.GeneratorInfoOf(response), err
	})
}

// Generate takes the time of the call for the wire time where the plugin measured none.
func (g *generator) Generate(ctx context.Context, req adapters.GenerateRequest) (adapters.GenerateResponse, error) {
	const op = "generate"
	if req.Format != nil {
		info, err := g.Describe(ctx)
		if err != nil {
			return adapters.GenerateResponse{}, err
		}
		if !info.Formats {
			return adapters.GenerateResponse{}, fail(op, adapters.KindUnsupported, fmt.Errorf("the plugin %q does not declare formats of answers", g.set.Path))
		}
	}
	return ask(ctx, g.backend, op, func(ctx context.Context, now *session) (adapters.GenerateResponse, error) {
		from := time.Now()
		answer, err := pluginv1.NewGeneratorClient(now.conn).Generate(ctx, wire.GenerateRequest(req))
		if err != nil {
			return adapters.GenerateResponse{}, err
		}
		response := wire.GenerateResponseOf(answer)
		if answer.GetWireTime() == nil {
			response.WireTime = time.Since(from)
		}
		if wrong := generated(response); wrong != nil {
			return response, g.broken(op, "%v", wrong)
		}
		return response, nil
	})
}

type reranker struct{ *backend }

func openReranker(ctx context.Context, cfg adapters.Config) (adapters.Reranker, error) {
	b, err := openBackend(ctx, cfg, service{
		role: adapters.RoleReranker,
		open: func(ctx context.Context, conn *grpc.ClientConn, req *pluginv1.OpenRequest) error {
			_, err := pluginv1.NewRerankerClient(conn).Open(ctx, req)
			return err
		},
		close: func(ctx context.Context, conn *grpc.ClientConn) error {
			_, err := pluginv1.NewRerankerClient(conn).Close(ctx, &pluginv1.CloseRequest{})
			return err
		},
	})
	if err != nil {
		return nil, err
	}
	return &reranker{b}, nil
}

func (r *reranker) Describe(ctx context.Context) (adapters.RerankerInfo, error) {
	return ask(ctx, r.backend, "describe", func(ctx context.Context, now *session) (adapters.RerankerInfo, error) {
		response, err := pluginv1.NewRerankerClient(now.conn).Describe(ctx, &pluginv1.DescribeRequest{})
		return wire.RerankerInfoOf(response), err
	})
}

func (r *reranker) Rerank(ctx context.Context, req adapters.RerankRequest) (adapters.RerankResponse, error) {
	const op = "rerank"
	return ask(ctx, r.backend, op, func(ctx context.Context, now *session) (adapters.RerankResponse, error) {
		answer, err := pluginv1.NewRerankerClient(now.conn).Rerank(ctx, wire.RerankRequest(req))
		if err != nil {
			return adapters.RerankResponse{}, err
		}
		response := wire.RerankResponseOf(answer)
		if wrong := reranked(len(req.Documents), response); wrong != nil {
			return response, r.broken(op, "%v", wrong)
		}
		return response, nil
	})
}
