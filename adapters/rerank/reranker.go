package rerank

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/modelapi"
)

// answerLimit is what is read of one answer; some servers send every document back in it.
const answerLimit = 64 << 20

type reranker struct {
	*modelapi.Client
	set   settings
	isTEI atomic.Bool // with shape auto: the server has answered a call in TEI's shape
}

func open(_ context.Context, cfg adapters.Config) (adapters.Reranker, error) {
	const op = "open"
	set, err := read(cfg.Settings)
	if err != nil {
		return nil, adapters.NewError(Name, op, adapters.KindInvalid, err)
	}
	to := set.server()
	c, err := modelapi.Connect(&to, cfg)
	if err != nil {
		return nil, adapters.NewError(Name, op, adapters.KindInvalid, err)
	}
	return &reranker{Client: c, set: set}, nil
}

// server is whom the client asks.
func (s *settings) server() modelapi.Server {
	return modelapi.Server{
		Settings: s.Settings, Adapter: Name, Role: role, URL: s.URL, URLField: "url",
		Asked: fmt.Sprintf("backends.%s.model %q", role, s.Model), TooLong: "the query with a document is",
	}
}

// Describe makes no call.
func (r *reranker) Describe(ctx context.Context) (adapters.RerankerInfo, error) {
	_, leave, err := r.Enter(ctx, "describe")
	if err != nil {
		return adapters.RerankerInfo{}, err
	}
	defer leave()
	return adapters.RerankerInfo{Adapter: Name, Model: r.set.Model}, nil
}

// Rerank makes one call for each batch of documents, one after the other: a score is of the query and one document, whatever stands
// beside it. The results of several calls are put into one order where each call's came from the best to the worst.
func (r *reranker) Rerank(ctx context.Context, req adapters.RerankRequest) (adapters.RerankResponse, error) {
	const op = "rerank"
	var none, out adapters.RerankResponse
	ctx, leave, err := r.Enter(ctx, op)
	if err != nil {
		return none, err
	}
	defer leave()
	calls, tokens, untold, ordered := 0, 0, false, true
	for from := 0; from < len(req.Documents); calls++ {
		part, asked, err := r.call(ctx, op, req.Query, req.Documents, from)
		if err != nil {
			var known *adapters.Error
			if errors.As(err, &known) && calls > 0 {
				known.Unsent = false // what came before was
			}
			return none, err
		}
		from += asked
		if part.InputTokens == nil {
			untold = true
		} else {
			tokens += *part.InputTokens
		}
		ordered = ordered && slices.IsSortedFunc(part.Results, better)
		out.Results = append(out.Results, part.Results...)
		out.ModelReported, out.Quota = part.ModelReported, part.Quota
		for _, note := range part.Notes {
			if !slices.Contains(out.Notes, note) {
				out.Notes = append(out.Notes, note)
			}
		}
	}
	if calls > 0 && !untold {
		out.InputTokens = &tokens
	}
	if calls > 1 && ordered {
		slices.SortStableFunc(out.Results, better)
	}
	if n := len(req.Documents) - len(out.Results); n > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("the server scored %d of %d documents", len(out.Results), len(req.Documents)))
	}
	return out, nil
}

func better(a, b adapters.RerankResult) int { return cmp.Compare(b.Score, a.Score) }

// call asks about as many documents from the given one on as one call takes, and returns how many those were. With shape auto, a server
// that wants texts is asked once more, in TEI's shape.
func (r *reranker) call(ctx context.Context, op, query string, documents []string, from int) (adapters.RerankResponse, int, error) {
	shape := r.set.Shape
	if shape == shapeAuto && r.isTEI.Load() {
		shape = shapeTEI
	}
	part := func() []string { return documents[from:min(len(documents), from+r.set.most(shape))] }
	got, x, err := r.ask(ctx, op, shape, query, part(), from)
	if shape == shapeAuto && err != nil && wantsTexts(x) {
		shape = shapeTEI
		if got, _, err = r.ask(ctx, op, shape, query, part(), from); err == nil {
			r.isTEI.Store(true)
		}
	}
	return got, len(part()), err
}

// wantsTexts reports whether a refusal is about the field of TEI's, which was not sent.
func wantsTexts(x *modelapi.Exchange) bool {
	if x.Status != http.StatusBadRequest && x.Status != http.StatusUnprocessableEntity {
		return false
	}
	for _, name := range []string{"`texts`", `"texts"`, "'texts'"} {
		if bytes.Contains(x.Answer, []byte(name)) {
			return true
		}
	}
	return false
}

// ask makes one call about documents of which the first is number base to the caller.
func (r *reranker) ask(ctx context.Context, op, shape, query string, documents []string, base int) (adapters.RerankResponse, *modelapi.Exchange, error) {
	var none adapters.RerankResponse
	body, err := r.set.body(shape, query, documents)
	x := &modelapi.Exchange{Body: body, Limit: answerLimit}
	if err != nil {
		return none, x, adapters.NewError(Name, op, adapters.KindInvalid, fmt.Errorf("the request cannot be written: %w", err))
	}
	err = r.Post(ctx, x)
	var a answer
	if x.Whole() && x.Status < http.StatusMultipleChoices {
		a, err = readAnswer(x.Answer)
	}
	if err != nil || len(a.Results) == 0 {
		return none, x, r.refused(ctx, op, x, err, shape, len(documents))
	}
	resp, err := r.response(&a, shape, len(documents), base)
	if err != nil {
		return none, x, r.Says(op, adapters.KindPermanent, "%s", r.Short(err.Error()))
	}
	resp.Quota = modelapi.Quota(x.Header)
	return resp, x, nil
}

// response turns an answer into the contract's form.
func (r *reranker) response(a *answer, shape string, documents, base int) (adapters.RerankResponse, error) {
	results, err := a.results(documents, base)
	if err != nil {
		return adapters.RerankResponse{}, err
	}
	out := adapters.RerankResponse{Results: results, ModelReported: r.WithoutKeys(modelapi.Words(a.Model)), InputTokens: a.tokens()}
	if m := out.ModelReported; m != "" && m != r.set.Model {
		out.Notes = append(out.Notes, fmt.Sprintf("the server says that the model %q answered, and %q was asked for", r.Short(m), r.set.Model))
	}
	warnings, cut := a.warnings()
	for _, w := range warnings {
		out.Notes = append(out.Notes, "the server warns: "+r.Short(w))
	}
	// A warning is of the whole call, as the tokens are: they tell of a document where there is one, or where it is each of them.
	cut = cut && documents == 1
	if n := out.InputTokens; n != nil && shape == shapeVLLM && r.set.MaxTokens > 0 {
		cut = cut || *n == documents*r.set.MaxTokens
	}
	for i := range results {
		results[i].Truncated = results[i].Truncated || cut
	}
	return out, nil
}

// refused makes an error of an answer that is none, with the setting that may help.
func (r *reranker) refused(ctx context.Context, op string, x *modelapi.Exchange, err error, shape string, documents int) *adapters.Error {
	if success := x.Whole() && x.Status < http.StatusMultipleChoices; success && err != nil && (bytes.Contains(x.Answer, []byte("NaN")) || bytes.Contains(x.Answer, []byte("Infinity"))) {
		return r.Says(op, adapters.KindPermanent, "%d %s, and a score is NaN or infinite: %q", x.Status, http.StatusText(x.Status), r.Short(string(x.Answer)))
	}
	e := r.Failed(ctx, op, x, err)
	advice := ""
	switch said := modelapi.ReadComplaint(x.Answer); {
	case e.Kind == adapters.KindTooLong && shape == shapeTEI:
		advice = "with backends.reranker.truncate: true the server reads the beginning"
	case e.Kind == adapters.KindTooLong && shape == shapeVLLM:
		advice = "with backends.reranker.max_tokens the server reads the beginning"
	case e.Kind == adapters.KindInvalid && (x.Status == http.StatusRequestEntityTooLarge || said.Has("batch size", "too many documents", "number of documents")):
		advice = fmt.Sprintf("%d documents were sent in one call: is backends.reranker.batch too large?", documents)
	default:
		return e
	}
	e.Err = fmt.Errorf("%w: %s", e.Err, advice)
	return e
}
