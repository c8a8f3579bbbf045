package adapters

import (
	"context"
	"fmt"
	"time"
)

// WrapEmbedder returns e under the policy. A response that has not one vector for each text is a [KindPermanent] error: nobody can
// tell which text its vectors belong to.
func WrapEmbedder(e Embedder, p Policy) Embedder {
	return &wrappedEmbedder{caller{policy: p}, e}
}

type wrappedEmbedder struct {
	caller
	next Embedder
}

func (w *wrappedEmbedder) Describe(ctx context.Context) (EmbedderInfo, error) {
	return call(ctx, &w.caller, "describe", shape{}, w.next.Describe)
}

func (w *wrappedEmbedder) Embed(ctx context.Context, req EmbedRequest) (EmbedResponse, error) {
	return call(ctx, &w.caller, "embed", shape{}, func(ctx context.Context) (EmbedResponse, error) {
		resp, err := w.next.Embed(ctx, req)
		if err == nil && len(resp.Vectors) != len(req.Texts) {
			return EmbedResponse{}, NewError(w.policy.Name, "embed", KindPermanent, fmt.Errorf("%d vectors for %d texts", len(resp.Vectors), len(req.Texts)))
		}
		return resp, err
	})
}

func (w *wrappedEmbedder) Close() error { return w.closing(w.next.Close()) }

// WrapGenerator returns g under the policy. It measures WireTime where g does not.
func WrapGenerator(g Generator, p Policy) Generator {
	return &wrappedGenerator{caller{policy: p}, g}
}

type wrappedGenerator struct {
	caller
	next Generator
}

func (w *wrappedGenerator) Describe(ctx context.Context) (GeneratorInfo, error) {
	return call(ctx, &w.caller, "describe", shape{}, w.next.Describe)
}

func (w *wrappedGenerator) Generate(ctx context.Context, req GenerateRequest) (GenerateResponse, error) {
	return call(ctx, &w.caller, "generate", shape{}, func(ctx context.Context) (GenerateResponse, error) {
		start := time.Now()
		resp, err := w.next.Generate(ctx, req)
		if resp.WireTime == 0 {
			resp.WireTime = time.Since(start)
		}
		return resp, err
	})
}

func (w *wrappedGenerator) Close() error { return w.closing(w.next.Close()) }

// WrapReranker returns r under the policy.
func WrapReranker(r Reranker, p Policy) Reranker {
	return &wrappedReranker{caller{policy: p}, r}
}

type wrappedReranker struct {
	caller
	next Reranker
}

func (w *wrappedReranker) Describe(ctx context.Context) (RerankerInfo, error) {
	return call(ctx, &w.caller, "describe", shape{}, w.next.Describe)
}

func (w *wrappedReranker) Rerank(ctx context.Context, req RerankRequest) (RerankResponse, error) {
	return call(ctx, &w.caller, "rerank", shape{}, func(ctx context.Context) (RerankResponse, error) { return w.next.Rerank(ctx, req) })
}

func (w *wrappedReranker) Close() error { return w.closing(w.next.Close()) }
