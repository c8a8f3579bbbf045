package openai

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"

	"github.com/sashabaranov/go-openai"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/modelapi"
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
	_, leave, err := e.Enter(ctx, "describe")
	if err != nil {
		return adapters.EmbedderInfo{}, err
	}
	defer leave()
	return adapters.EmbedderInfo{
		Adapter: Name, Model: e.set.Model, Dimensions: e.set.Dimensions, QueryPrefix: e.set.QueryPrefix, PassagePrefix: e.set.PassagePrefix,
		Revision: e.set.revision(),
	}, nil
}

// revision tells servers apart: two that give their model one name may have different models. What it is made of is not told by it.
func (s *embedderSettings) revision() string {
	text, err := json.Marshal([]any{s.BaseURL, s.Azure, s.Headers, s.Encoding})
	if err != nil {
		panic(fmt.Sprintf("settings of plain values cannot be written: %v", err))
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))[:16]
}

// Embed makes one call for each batch of texts, one after the other. Of another model than its own it makes one more, to see that the
// vectors are another's.
func (e *embedder) Embed(ctx context.Context, req adapters.EmbedRequest) (adapters.EmbedResponse, error) {
	const op = "embed"
	var none adapters.EmbedResponse
	ctx, leave, err := e.Enter(ctx, op)
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
	model := cmp.Or(req.Model, e.set.Model)
	out := adapters.EmbedResponse{Vectors: make([][]float32, 0, len(texts))}
	for rest := texts; len(rest) > 0; {
		batch := rest[:min(e.set.Batch, len(rest))]
		rest = rest[len(batch):]
		if err := e.batch(ctx, op, batch, model, &out); err != nil {
			var known *adapters.Error
			if errors.As(err, &known) && len(out.Vectors) > 0 {
				known.Unsent = false // what came before was
			}
			return none, e.ofAnother(op, model, err)
		}
	}
	if model != e.set.Model && len(texts) > 0 {
		if err := e.isAnother(ctx, op, texts[0], model, &out); err != nil {
			return none, err
		}
	}
	return out, nil
}

// ofAnother makes an error of a model that the server does not know one of what this embedder cannot do, where the model is not its own.
func (e *embedder) ofAnother(op, model string, err error) error {
	if model != e.set.Model && (errors.Is(err, adapters.ErrNotFound) || errors.Is(err, adapters.ErrInvalid)) {
		return fail(op, adapters.KindUnsupported, fmt.Errorf("embedding with the model %q: %s", model, err.Error())) // its kind is another
	}
	return err
}

// isAnother holds what came for another model against the embedder's own: there are servers that answer every name with the one model
// that they have, and say that it was the one that was asked for.
func (e *embedder) isAnother(ctx context.Context, op, text, model string, got *adapters.EmbedResponse) error {
	own := adapters.EmbedResponse{}
	if err := e.batch(ctx, op, []string{text}, e.set.Model, &own); err != nil {
		return err
	}
	if slices.Equal(own.Vectors[0], got.Vectors[0]) {
		return e.Says(op, adapters.KindUnsupported, "asked for the model %q, the server gives the vectors of %q", model, e.set.Model)
	}
	return nil
}

// batch makes one call and adds what it gave.
func (e *embedder) batch(ctx context.Context, op string, texts []string, model string, out *adapters.EmbedResponse) error {
	ask := openai.EmbeddingRequestStrings{Input: texts, Model: openai.EmbeddingModel(model), EncodingFormat: openai.EmbeddingEncodingFormat(e.set.Encoding)}
	if model == e.set.Model { // how many another model has is its own affair
		ask.Dimensions = e.set.Dimensions
	}
	x := &modelapi.Exchange{Limit: vectorLimit}
	resp, err := e.api.CreateEmbeddings(x.With(ctx), ask)
	var otherType *json.UnmarshalTypeError
	if errors.As(err, &otherType) { // it came in the other encoding, and was paid for
		resp, err = otherEncoding(x.Answer, err)
		note(out, "the server does not send vectors as "+e.set.Encoding)
	}
	if err != nil || x.Status >= http.StatusMultipleChoices || len(resp.Data) == 0 {
		failed := e.Failed(ctx, op, x, err)
		if said := modelapi.ReadComplaint(x.Answer); failed.Kind == adapters.KindInvalid && said.Has("batch size") {
			failed.Err = fmt.Errorf("%w: %d texts were sent in one call: is backends.%s.batch too large?", failed.Err, len(texts), e.set.role)
		}
		return failed
	}
	if holdsNull(x.Answer) {
		return e.Says(op, adapters.KindPermanent, "the server sent null in place of a number or a vector, which is no vector")
	}
	vectors := make([][]float32, len(texts))
	for _, d := range resp.Data {
		switch {
		case d.Index < 0 || d.Index >= len(texts):
			return e.Says(op, adapters.KindPermanent, "the server sent a vector for text %d of %d", d.Index+1, len(texts))
		case vectors[d.Index] != nil:
			return e.Says(op, adapters.KindPermanent, "the server sent two vectors for text %d", d.Index+1)
		}
		vectors[d.Index] = d.Embedding
	}
	for i, v := range vectors {
		if err := fits(v, out); err != nil {
			return e.Says(op, adapters.KindPermanent, "text %d of %d: %v", i+1, len(texts), err)
		}
		out.Vectors = append(out.Vectors, v)
	}
	if n := resp.Usage.PromptTokens; n > 0 { // 0 of a text that is not empty is not told
		if out.InputTokens != nil {
			n += *out.InputTokens
		}
		out.InputTokens = &n
	}
	if got := len(vectors[0]); ask.Dimensions != 0 && got != ask.Dimensions {
		note(out, fmt.Sprintf("%d dimensions were asked for, and the vectors have %d", ask.Dimensions, got))
	}
	out.ModelReported, out.Quota = e.WithoutKeys(string(resp.Model)), modelapi.Quota(x.Header)
	return nil
}

func note(out *adapters.EmbedResponse, text string) {
	if !slices.Contains(out.Notes, text) {
		out.Notes = append(out.Notes, text)
	}
}

// otherEncoding reads an answer as the encoding that was not asked for; where it is neither, err stands.
func otherEncoding(body []byte, err error) (openai.EmbeddingResponse, error) {
	var floats openai.EmbeddingResponse
	if json.Unmarshal(body, &floats) == nil {
		return floats, nil
	}
	var packed openai.EmbeddingResponseBase64
	if json.Unmarshal(body, &packed) != nil {
		return floats, err
	}
	return packed.ToEmbeddingResponse()
}

// holdsNull reports whether a vector of the answer, or a number in one, is null, which the decoder reads as 0.
func holdsNull(body []byte) bool {
	if !bytes.Contains(body, []byte("null")) {
		return false
	}
	var answer struct {
		Data []struct {
			Embedding json.RawMessage `json:"embedding"`
		} `json:"data"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return true
	}
	for _, d := range answer.Data {
		if !bytes.HasPrefix(d.Embedding, []byte(`"`)) && bytes.Contains(d.Embedding, []byte("null")) {
			return true
		}
	}
	return false
}

// fits checks one vector: there, as long as the others and as asked, and of numbers.
func fits(v []float32, out *adapters.EmbedResponse) error {
	switch {
	case len(v) == 0:
		return errors.New("the server sent no vector for it")
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
