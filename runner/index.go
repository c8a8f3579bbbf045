package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/matrix"
)

// indexEmbedder is the embedder that a store fills itself by: texts that were paid for before are not asked again, and of the others no
// more are asked in one try than in one request, so that each request is announced, counted and kept by itself.
type indexEmbedder struct {
	adapters.Embedder // under the limits of the experiment, with a [keepingEmbedder] inside
	kept              *keptVectors
	most              int // texts in one call
}

type keptContext struct{}

// Embed tells the model, the tokens and what was truncated of nothing: a store asks for vectors alone.
func (e *indexEmbedder) Embed(ctx context.Context, req adapters.EmbedRequest) (out adapters.EmbedResponse, err error) {
	ctx = context.WithValue(ctx, keptContext{}, e.kept)
	out.Vectors = make([][]float32, len(req.Texts))
	var open []int
	for i, text := range req.Texts {
		if out.Vectors[i], err = e.kept.find(&req, text); err != nil {
			return out, err
		}
		if out.Vectors[i] == nil {
			open = append(open, i)
		}
	}
	for len(open) > 0 {
		ask, some := req, open[:min(e.most, len(open))]
		ask.Texts = nil
		if again := e.kept.again(&req); again != "" {
			some, ask.Texts = open[:min(e.most-1, len(open))], []string{again}
		}
		before := len(ask.Texts)
		for _, i := range some {
			ask.Texts = append(ask.Texts, req.Texts[i])
		}
		open = open[len(some):]
		response, err := e.Embedder.Embed(ctx, ask)
		if err == nil && e.kept.changed {
			err = errors.New("the embedder answers otherwise than it answered an earlier run, whose vectors were paid for")
		}
		if err != nil {
			return adapters.EmbedResponse{}, err
		}
		for n, i := range some {
			out.Vectors[i] = response.Vectors[before+n]
		}
	}
	return out, nil
}

// keepingEmbedder keeps what it is asked for an index, before the answer counts as made.
type keepingEmbedder struct{ adapters.Embedder }

func (e keepingEmbedder) Embed(ctx context.Context, req adapters.EmbedRequest) (adapters.EmbedResponse, error) {
	response, err := e.Embedder.Embed(ctx, req)
	if kept, ok := ctx.Value(keptContext{}).(*keptVectors); ok && err == nil && len(response.Vectors) == len(req.Texts) {
		err = kept.keep(&req, response.Vectors)
	}
	return response, err
}

// TextsPerCall is how many texts are embedded in one call at the most: as many as one request to the backend takes, where that leaves
// this process, so that a call is a request.
func TextsPerCall(b *matrix.Backend) int {
	if b.Free() {
		return batch
	}
	settings := struct {
		Batch int `json:"batch"`
	}{}
	if json.Unmarshal(b.Settings, &settings) != nil || settings.Batch < 1 {
		settings.Batch = defaultTexts
	}
	return min(settings.Batch, batch)
}

const defaultTexts = 128 // as the adapter openai has it

// indexed ends the filling of a store: what is in its index need not be kept any more.
func (b *backends) indexed(k *keptVectors, whole bool) error {
	if k == nil {
		return nil
	}
	if k.earlier > 0 {
		said := "%d vectors of documents were paid for before by a run that was ended, and are not asked for again"
		if k.asked {
			said += ", but for one that they are held to"
		}
		b.says = append(b.says, fmt.Sprintf(said, k.earlier))
		b.ledger.shared.reuse(matrix.Asked{Role: matrix.RoleEmbedder, Reused: k.earlier})
	}
	b.says = append(b.says, k.says...)
	return k.close(whole)
}
