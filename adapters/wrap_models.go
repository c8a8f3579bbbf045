package adapters

import (
	"context"
	"fmt"
	"time"
)

// WrapEmbedder returns e under the policy. A response that has not one vector for each text is a [KindPermanent] error: nobody can
// tell which text its vectors belong to.
func WrapEmbedder(e Embedder, p Policy) Embedder {
	return &wrappedEmbedder{caller{p}, e}
}

type wrappedEmbedder struct {
	caller
	next Embedder
}

func (w *wrappedEmbedder) Describe(ctx context.Context) (EmbedderInfo, error) {
	return call(ctx, &w.caller, "describe", shape{}, w.next.Describe)
}

func (w *wrappedEmbedder) Embed(ctx context.Context, req EmbedRequest) (EmbedResponse, error) {
	told := &told{}
	how := shape{counts: true, told: told, worst: func(count func(string) int) Usage { return Usage{Input: worstInput(count, req.Texts...)} }}
	return call(ctx, &w.caller, "embed", how, func(ctx context.Context) (EmbedResponse, error) {
		resp, err := w.next.Embed(ctx, req)
		told.used, told.quota = Usage{Input: wide(resp.InputTokens)}, resp.Quota
		if err == nil && len(resp.Vectors) != len(req.Texts) {
			return EmbedResponse{}, NewError(w.policy.Name, "embed", KindPermanent, fmt.Errorf("%d vectors for %d texts", len(resp.Vectors), len(req.Texts)))
		}
		return resp, err
	})
}

func (w *wrappedEmbedder) Close() error { return w.closing(w.next.Close()) }

// WrapGenerator returns g under the policy. It measures WireTime where g does not.
func WrapGenerator(g Generator, p Policy) Generator {
	return &wrappedGenerator{caller{p}, g}
}

type wrappedGenerator struct {
	caller
	next Generator
}

func (w *wrappedGenerator) Describe(ctx context.Context) (GeneratorInfo, error) {
	return call(ctx, &w.caller, "describe", shape{}, w.next.Describe)
}

func (w *wrappedGenerator) Generate(ctx context.Context, req GenerateRequest) (GenerateResponse, error) {
	told := &told{}
	how := shape{counts: true, generates: true, told: told, worst: func(count func(string) int) Usage { return worstGeneration(count, &req) }}
	return call(ctx, &w.caller, "generate", how, func(ctx context.Context) (GenerateResponse, error) {
		start := time.Now()
		resp, err := w.next.Generate(ctx, req)
		told.used = Usage{Input: wide(resp.InputTokens), CachedInput: wide(resp.CachedInputTokens), Output: wide(resp.OutputTokens)}
		told.quota = resp.Quota
		if err == nil {
			err = w.kept("generate", resp.Text, resp.Refusal)
		}
		if resp.WireTime == 0 {
			resp.WireTime = time.Since(start)
		}
		return resp, err
	})
}

func (w *wrappedGenerator) Close() error { return w.closing(w.next.Close()) }

// WrapReranker returns r under the policy.
func WrapReranker(r Reranker, p Policy) Reranker {
	return &wrappedReranker{caller{p}, r}
}

type wrappedReranker struct {
	caller
	next Reranker
}

func (w *wrappedReranker) Describe(ctx context.Context) (RerankerInfo, error) {
	return call(ctx, &w.caller, "describe", shape{}, w.next.Describe)
}

func (w *wrappedReranker) Rerank(ctx context.Context, req RerankRequest) (RerankResponse, error) {
	told := &told{}
	searches := Searches(len(req.Documents))
	how := shape{counts: true, told: told, worst: func(count func(string) int) Usage {
		texts := append([]string{}, req.Documents...)
		for range req.Documents { // each is read beside the query
			texts = append(texts, req.Query)
		}
		return Usage{Input: worstInput(count, texts...), Searches: searches}
	}}
	return call(ctx, &w.caller, "rerank", how, func(ctx context.Context) (RerankResponse, error) {
		resp, err := w.next.Rerank(ctx, req)
		told.used, told.quota = Usage{Input: wide(resp.InputTokens), Searches: searches}, resp.Quota
		return resp, err
	})
}

func (w *wrappedReranker) Close() error { return w.closing(w.next.Close()) }
