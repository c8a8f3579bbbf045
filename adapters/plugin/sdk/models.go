package sdk

import (
	"context"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/plugin/internal/wire"
	pluginv1 "github.com/culprit-rag/culprit/adapters/plugin/proto/v1"
)

type embedderServer struct {
	pluginv1.UnimplementedEmbedderServer
	opened[adapters.Embedder]
}

func (s *embedderServer) Open(ctx context.Context, req *pluginv1.OpenRequest) (*pluginv1.OpenResponse, error) {
	return s.start(ctx, req)
}

func (s *embedderServer) Close(context.Context, *pluginv1.CloseRequest) (*pluginv1.CloseResponse, error) {
	return s.end()
}

func (s *embedderServer) Describe(ctx context.Context, _ *pluginv1.DescribeRequest) (*pluginv1.EmbedderInfo, error) {
	return use(&s.opened, "describe", func(e adapters.Embedder) (*pluginv1.EmbedderInfo, error) {
		info, err := e.Describe(ctx)
		return wire.EmbedderInfo(info), err
	})
}

func (s *embedderServer) Embed(ctx context.Context, req *pluginv1.EmbedRequest) (*pluginv1.EmbedResponse, error) {
	return use(&s.opened, "embed", func(e adapters.Embedder) (*pluginv1.EmbedResponse, error) {
		response, err := e.Embed(ctx, wire.EmbedRequestOf(req))
		return wire.EmbedResponse(response), err
	})
}

type generatorServer struct {
	pluginv1.UnimplementedGeneratorServer
	opened[adapters.Generator]
}

func (s *generatorServer) Open(ctx context.Context, req *pluginv1.OpenRequest) (*pluginv1.OpenResponse, error) {
	return s.start(ctx, req)
}

func (s *generatorServer) Close(context.Context, *pluginv1.CloseRequest) (*pluginv1.CloseResponse, error) {
	return s.end()
}

func (s *generatorServer) Describe(ctx context.Context, _ *pluginv1.DescribeRequest) (*pluginv1.GeneratorInfo, error) {
	return use(&s.opened, "describe", func(g adapters.Generator) (*pluginv1.GeneratorInfo, error) {
		info, err := g.Describe(ctx)
		return wire.GeneratorInfo(info), err
	})
}

func (s *generatorServer) Generate(ctx context.Context, req *pluginv1.GenerateRequest) (*pluginv1.GenerateResponse, error) {
	return use(&s.opened, "generate", func(g adapters.Generator) (*pluginv1.GenerateResponse, error) {
		response, err := g.Generate(ctx, wire.GenerateRequestOf(req))
		return wire.GenerateResponse(response), err
	})
}

type rerankerServer struct {
	pluginv1.UnimplementedRerankerServer
	opened[adapters.Reranker]
}

func (s *rerankerServer) Open(ctx context.Context, req *pluginv1.OpenRequest) (*pluginv1.OpenResponse, error) {
	return s.start(ctx, req)
}

func (s *rerankerServer) Close(context.Context, *pluginv1.CloseRequest) (*pluginv1.CloseResponse, error) {
	return s.end()
}

func (s *rerankerServer) Describe(ctx context.Context, _ *pluginv1.DescribeRequest) (*pluginv1.RerankerInfo, error) {
	return use(&s.opened, "describe", func(r adapters.Reranker) (*pluginv1.RerankerInfo, error) {
		info, err := r.Describe(ctx)
		return wire.RerankerInfo(info), err
	})
}

func (s *rerankerServer) Rerank(ctx context.Context, req *pluginv1.RerankRequest) (*pluginv1.RerankResponse, error) {
	return use(&s.opened, "rerank", func(r adapters.Reranker) (*pluginv1.RerankResponse, error) {
		response, err := r.Rerank(ctx, wire.RerankRequestOf(req))
		return wire.RerankResponse(response), err
	})
}
