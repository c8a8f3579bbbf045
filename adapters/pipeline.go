package adapters

import (
	"context"
	"io"
	"time"
)

// Pipeline is a whole pipeline of the user's own, from the query to the answer, behind one call.
type Pipeline interface {
	io.Closer
	// Describe returns what the pipeline can be asked for. It may make a call.
	Describe(ctx context.Context) (PipelineInfo, error)
	// Ask runs the pipeline once. The trace holds what it told of each boundary, in its order. Its RequestID is that of the request, or
	// empty where the pipeline does not repeat it, which a note says. A trace of another request, or without the answer that was asked
	// for, is an error. A request for what PipelineInfo does not declare is KindUnsupported.
	Ask(ctx context.Context, req PipelineRequest) (Trace, error)
}

// PipelineInfo is what a pipeline declares.
type PipelineInfo struct {
	Adapter       string
	Name          string
	Version       string
	Context       bool   // it answers from a context that it is given, as the exact final payload
	Through       string // how that context gets in, where it is not by the pipeline's own interface
	Retrieval     bool   // it can stop before the generation
	Deterministic bool   // equal requests give equal answers
}

// PipelineRequest asks for one run. Nil means that a setting is not sent.
type PipelineRequest struct {
	RequestID   string
	Query       string    // the question as typed
	Messages    []Message // the conversation that ends with it, where it is one
	Principal   map[string][]string
	Filters     []Condition
	K           int
	Context     []ContextItem // nil: the pipeline retrieves its own; empty: none
	Answer      bool          // false: stop before the generation
	Temperature *float64
	TopP        *float64
	Seed        *int64
	MaxTokens   int
	Stop        []string
}

// ContextItem is one item of a context that is given.
type ContextItem struct {
	ID, Source, Text string
}

// Trace is what a pipeline told. A nil list or pointer was not told, which is not empty.
type Trace struct {
	RequestID         string
	QueryEffective    string
	EmbedModel        string
	Retrievals        []TraceSearch // of a pipeline that searches more than once, each search; nil: not told, or one
	Candidates        []TraceItem   // as the search ranked them; of several, their union in the order in which it was packed from
	Union             bool          // that order was not told: it is the one in which the searches were
	Reranked          []TraceItem
	Packed            []TraceItem // the final context
	Prompt            []Message   // exactly as the model received it
	ContextTruncated  *bool
	Answer            string
	FinishReason      string
	ModelReported     string
	SystemFingerprint string
	InputTokens       *int
	OutputTokens      *int
	CachedInputTokens *int
	WireTime          time.Duration
	Notes             []string // what bears on how far the trace can be trusted, a sentence each
}

// TraceSearch is one search of several. Empty and nil are "not told".
type TraceSearch struct {
	Query      string // as it was searched for
	Filters    []Condition
	Candidates []TraceItem
}

// TraceItem is one item at one boundary. A nil Text was not told.
type TraceItem struct {
	ID       string // "": neither it nor Source was told, and Text was, by which alone the item is known
	Source   string
	Revision string
	Score    *float64
	Text     *string
	Access   []string
}

// WrapPipeline returns p under the policy. It measures WireTime where p does not.
func WrapPipeline(p Pipeline, policy Policy) Pipeline {
	return &wrappedPipeline{caller{policy}, p}
}

type wrappedPipeline struct {
	caller
	next Pipeline
}

func (w *wrappedPipeline) Describe(ctx context.Context) (PipelineInfo, error) {
	return call(ctx, &w.caller, "describe", shape{}, w.next.Describe)
}

func (w *wrappedPipeline) Ask(ctx context.Context, req PipelineRequest) (Trace, error) {
	told := &told{}
	// What the pipeline retrieves of its own comes on top of this, and is known when it has answered.
	how := shape{counts: true, generates: req.Answer, told: told, worst: func(count func(string) int) Usage {
		texts := []string{req.Query}
		for _, c := range req.Context {
			texts = append(texts, c.Text)
		}
		u := Usage{Input: worstInput(count, texts...)}
		if req.Answer {
			u.Output = wide(&req.MaxTokens)
		}
		return u
	}}
	return call(ctx, &w.caller, "ask", how, func(ctx context.Context) (Trace, error) {
		start := time.Now()
		trace, err := w.next.Ask(ctx, req)
		told.used = Usage{Input: wide(trace.InputTokens), CachedInput: wide(trace.CachedInputTokens), Output: wide(trace.OutputTokens)}
		if err == nil {
			err = w.kept("ask", trace.texts()...)
		}
		if trace.WireTime == 0 {
			trace.WireTime = time.Since(start)
		}
		return trace, err
	})
}

func (w *wrappedPipeline) Close() error { return w.closing(w.next.Close()) }

// texts are those that are kept of a trace.
func (t *Trace) texts() []string {
	texts := []string{t.Answer}
	for _, m := range t.Prompt {
		texts = append(texts, m.Text)
	}
	lists := [][]TraceItem{t.Candidates, t.Reranked, t.Packed}
	for _, s := range t.Retrievals {
		lists = append(lists, s.Candidates)
	}
	for _, items := range lists {
		for i := range items {
			if items[i].Text != nil {
				texts = append(texts, *items[i].Text)
			}
		}
	}
	return texts
}
