package openai

import (
	"context"
	"fmt"
	"math"
	"net/http"

	"github.com/sashabaranov/go-openai"

	"github.com/culprit-rag/culprit/adapters"
)

type embedder struct {
	*client
	set embedderSettings
}

func openEmbedder(_ context.Context, cfg adapters.Config) (adapters.Embedder, error) {
	const op = "open"
	set, err := readEmbedder(cfg.Settings)
	if err != nil {
		return nil, fail(op, adapters.KindInvalid, err)
	}
	c, err := connect(&set.connection, cfg)
	if err != nil {
		return nil, fail(op, adapters.KindInvalid, err)
	}
	return &embedder{c, set}, nil
}

// Describe makes no call.
func (e *embedder) Describe(ctx context.Context) (adapters.EmbedderInfo, error) {
	_, leave, err := e.enter(ctx, "describe")
	if err != nil {
		return adapters.EmbedderInfo{}, err
	}
	defer leave()
	return adapters.EmbedderInfo{Adapter: Name, Model: e.set.Model, Dimensions: e.set.Dimensions, QueryPrefix: e.set.QueryPrefix, PassagePrefix: e.set.PassagePrefix}, nil
}

// Embed makes one call for each batch of texts, one after the other.
func (e *embedder) Embed(ctx context.Context, req adapters.EmbedRequest) (adapters.EmbedResponse, error) {
	const op = "embed"
	var none adapters.EmbedResponse
	ctx, leave, err := e.enter(ctx, op)
	if err != nil {
		return none, err
	}
	defer leave()
	prefix := e.set.PassagePrefix
	switch {
	case req.Prefix != nil:
		prefix = *req.Prefix
	case req.Purpose == adapters.ForQuery:
		prefix = e.set.QueryPrefix
	case req.Purpose != adapters.ForPassage:
		return none, invalid(op, "there is no purpose %q", req.Purpose)
	}
	texts := make([]string, len(req.Texts))
	for i, text := range req.Texts {
		if texts[i] = prefix + text; texts[i] == "" {
			return none, invalid(op, "text %d is empty, and no server embeds nothing", i+1)
		}
	}
	out := adapters.EmbedResponse{Vectors: make([][]float32, 0, len(texts))}
	for len(texts) > 0 {
		batch := texts[:min(e.set.Batch, len(texts))]
		texts = texts[len(batch):]
		if err := e.batch(ctx, op, batch, req.Model, &out); err != nil {
			return none, err
		}
	}
	return out, nil
}

// batch makes one call and adds what it gave.
func (e *embedder) batch(ctx context.Context, op string, texts []string, model string, out *adapters.EmbedResponse) error {
	ask := openai.EmbeddingRequestStrings{Input: texts, Model: openai.EmbeddingModel(e.set.Model), EncodingFormat: openai.EmbeddingEncodingFormat(e.set.Encoding), Dimensions: e.set.Dimensions}
	if model != "" && model != e.set.Model {
		ask.Model, ask.Dimensions = openai.EmbeddingModel(model), 0 // how many another model has is its own affair
	}
	x := &exchange{limit: vectorLimit}
	resp, err := e.api.CreateEmbeddings(context.WithValue(ctx, exchangeKey{}, x), ask)
	if err != nil || x.status >= http.StatusMultipleChoices || len(resp.Data) == 0 {
		return e.failed(ctx, op, x, err)
	}
	vectors := make([][]float32, len(texts))
	for _, d := range resp.Data {
		switch {
		case d.Index < 0 || d.Index >= len(texts):
			return e.says(op, adapters.KindPermanent, "the server sent a vector for text %d of %d", d.Index+1, len(texts))
		case vectors[d.Index] != nil:
			return e.says(op, adapters.KindPermanent, "the server sent two vectors for text %d", d.Index+1)
		}
		vectors[d.Index] = d.Embedding
	}
	for i, v := range vectors {
		if err := e.fits(v, out); err != nil {
			return e.says(op, adapters.KindPermanent, "text %d: %v", i+1, err)
		}
		out.Vectors = append(out.Vectors, v)
	}
	if resp.Usage.PromptTokens > 0 { // 0 of a text that is not empty is not told
		n := resp.Usage.PromptTokens
		if out.InputTokens != nil {
			n += *out.InputTokens
		}
		out.InputTokens = &n
	}
	out.ModelReported, out.Quota = string(resp.Model), quota(x.header)
	return nil
}

// fits checks one vector: there, as long as the others and as asked, and of numbers.
func (e *embedder) fits(v []float32, out *adapters.EmbedResponse) error {
	switch {
	case len(v) == 0:
		return fmt.Errorf("the server sent no vector")
	case len(out.Vectors) > 0 && len(out.Vectors[0]) != len(v):
		return fmt.Errorf("its vector has %d dimensions, and those before it %d", len(v), len(out.Vectors[0]))
	}
	for _, n := range v {
		if f := float64(n); math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("its vector holds %v", n)
		}
	}
	return nil
}
