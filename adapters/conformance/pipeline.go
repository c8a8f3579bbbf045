package conformance

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/culprit-rag/culprit/adapters"
)

// PipelineHarness is what a pipeline must bring to be tested.
type PipelineHarness struct {
	Harness[adapters.Pipeline]
	// Query is a question for which the pipeline finds something.
	Query string
	// Candidates is the ranking that its service then tells, as it tells it; nil: it tells none.
	Candidates []adapters.TraceItem
	// Reads says that it can be relied on to copy an answer out of its context, as a test double does.
	Reads bool
	// Rewrites says that its prompt does not hold the question as it was asked.
	Rewrites bool
	// Generations returns how often the model behind the pipelines that Open returned has been asked; nil: that is not known.
	Generations func() int
	// Over returns a pipeline over a service of this kind; ErrCannot or nil where none can be had.
	Over func(ctx context.Context, kind ServiceKind) (adapters.Pipeline, error)
}

// ServiceKind is a kind of service behind a pipeline.
type ServiceKind string

// The kinds of service.
const (
	Unable ServiceKind = "unable" // it takes no context and does not stop before the answer, and says so
	Silent ServiceKind = "silent" // it tells its answer and nothing else, not even the request id
	Mute   ServiceKind = "mute"   // it tells everything but the answer
	Mixing ServiceKind = "mixing" // it answers with the trace of another request
)

// Pipeline holds a pipeline to the contract of [adapters.Pipeline].
func Pipeline(t T, h PipelineHarness) {
	t.Helper()
	runChecks(t, h, pipelineChecks(h.Query))
}

// hostile is a text that whoever joins, quotes, trims, decodes, normalises or fills in texts changes.
const hostile = " \t\"quoted\" \\n \\u0041 {{query}} {{{text}}} ${HOME} \\(1) %s %00 <b>&amp;</b> 'x'; -- \x00\x1b[0m \u202e\u2028 \r\nQuestion:\n" + exotic + "\u00a0 "

// givenContext is a context of which only the second item answers lockerQ, in an order that no ranking gives.
func givenContext() []adapters.ContextItem {
	return []adapters.ContextItem{
		{ID: "given-2", Source: "given", Text: "Lunch is at noon on Sundays, in the canteen."},
		{ID: "given-1", Source: "given", Text: "The lockers on the ground floor open with the code 7781 until nine in the evening."},
		{ID: "given-3", Source: "other", Text: hostile},
	}
}

var requests atomic.Int64

// inquiry is a request with an id of its own.
func inquiry(query string) adapters.PipelineRequest {
	return adapters.PipelineRequest{RequestID: fmt.Sprintf("conformance-%d", requests.Add(1)), Query: query, Answer: true}
}

func pipelineMethods(query string) []method[adapters.Pipeline] {
	return []method[adapters.Pipeline]{
		{"Describe", func(ctx context.Context, p adapters.Pipeline) (any, error) { return p.Describe(ctx) }, reflect.DeepEqual},
		{"Ask", func(ctx context.Context, p adapters.Pipeline) (any, error) {
			trace, err := p.Ask(ctx, inquiry(query))
			if err != nil {
				return nil, err
			}
			if info, err := p.Describe(ctx); err != nil || !info.Deterministic {
				return nil, nil //nolint:nilerr // what it says may differ from call to call; Describe is a method of its own
			}
			return steadyTrace(trace), nil
		}, reflect.DeepEqual},
	}
}

// steadyTrace leaves out of a trace what may differ between equal requests.
func steadyTrace(t adapters.Trace) adapters.Trace {
	t.RequestID, t.WireTime, t.CachedInputTokens = "", 0, nil
	return t
}

func pipelineChecks(query string) []check[PipelineHarness] {
	return append([]check[PipelineHarness]{
		{"Describe names the adapter and the service", func(ctx context.Context, h PipelineHarness) error {
			return with(ctx, h.Open, func(p adapters.Pipeline) error {
				info, err := p.Describe(ctx)
				if err == nil && (info.Adapter == "" || info.Name == "") {
					err = fmt.Errorf("it is %+v", info)
				}
				return err
			})
		}},
		{"an answer is whole", func(ctx context.Context, h PipelineHarness) error {
			return with(ctx, h.Open, func(p adapters.Pipeline) error {
				trace, err := p.Ask(ctx, inquiry(h.Query))
				if err == nil && trace.Answer == "" {
					err = errors.New("the answer is empty")
				}
				return errors.Join(err, wholeTrace(&trace))
			})
		}},
		{"the request id binds the trace to its request", bound},
		{"a request without an id is invalid", func(ctx context.Context, h PipelineHarness) error {
			return with(ctx, h.Open, func(p adapters.Pipeline) error {
				_, err := p.Ask(ctx, adapters.PipelineRequest{Query: h.Query, Answer: true})
				return fails("Ask", err, adapters.KindInvalid)
			})
		}},
		{"the ranking keeps its order and its scores", func(ctx context.Context, h PipelineHarness) error {
			if h.Candidates == nil {
				return skipped("the service tells no candidates")
			}
			return with(ctx, h.Open, func(p adapters.Pipeline) error {
				trace, err := p.Ask(ctx, inquiry(h.Query))
				if err == nil && !reflect.DeepEqual(trace.Candidates, h.Candidates) {
					err = fmt.Errorf("the candidates are %s, and the service tells %s", listed(trace.Candidates), listed(h.Candidates))
				}
				return err
			})
		}},
		{"what is not told is not empty", untold},
		{"an answer that does not come is an error", func(ctx context.Context, h PipelineHarness) error {
			return h.over(ctx, Mute, func(p adapters.Pipeline) error {
				_, err := p.Ask(ctx, inquiry(h.Query))
				return errors.Join(fails("Ask", err, ""), notRetried(err))
			})
		}},
		{"a context that is given is all that the model gets", func(ctx context.Context, h PipelineHarness) error {
			return gives(ctx, h, givenContext(), "7781")
		}},
		{"an empty context is not the pipeline's own", func(ctx context.Context, h PipelineHarness) error {
			return gives(ctx, h, []adapters.ContextItem{}, "")
		}},
		{"the retrieval alone is that of the answer, without one", retrievalAlone},
		{"what is not declared is unsupported", undeclared},
		{"a question of all kinds of letters arrives unaltered", func(ctx context.Context, h PipelineHarness) error {
			if h.Rewrites {
				return skipped("its prompt does not hold the question as it was asked")
			}
			return with(ctx, h.Open, func(p adapters.Pipeline) error {
				trace, err := p.Ask(ctx, inquiry(hostile))
				if err == nil && trace.Prompt == nil {
					err = skipped("it does not tell its prompt")
				}
				if err == nil && !strings.Contains(joined(trace.Prompt), hostile) {
					err = fmt.Errorf("%q was asked, and the prompt is %q", hostile, joined(trace.Prompt))
				}
				return err
			})
		}},
		{"concurrent requests keep their own answers", keepApart},
		{"equal requests have equal answers, where it says so", func(ctx context.Context, h PipelineHarness) error {
			return with(ctx, h.Open, func(p adapters.Pipeline) error {
				info, err := p.Describe(ctx)
				if err == nil && !info.Deterministic {
					err = skipped("it does not declare itself deterministic")
				}
				if err != nil {
					return err
				}
				first, err := p.Ask(ctx, inquiry(h.Query))
				for range 3 {
					var again adapters.Trace
					if err == nil {
						again, err = p.Ask(ctx, inquiry(h.Query))
					}
					if err == nil && !reflect.DeepEqual(steadyTrace(again), steadyTrace(first)) {
						err = fmt.Errorf("%+v, and again %+v", first, again)
					}
				}
				return err
			})
		}},
	}, also(func(h PipelineHarness) Harness[adapters.Pipeline] { return h.Harness }, common(pipelineMethods(query)))...)
}

// over lets use have a pipeline over a service of this kind.
func (h PipelineHarness) over(ctx context.Context, kind ServiceKind, use func(adapters.Pipeline) error) error {
	if h.Over == nil {
		return skipped(fmt.Sprintf("the harness has no service that is %s", kind))
	}
	return with(ctx, func(ctx context.Context) (adapters.Pipeline, error) { return h.Over(ctx, kind) }, use)
}

// wholeTrace says what is wrong with any trace.
func wholeTrace(t *adapters.Trace) error {
	if !utf8.ValidString(t.Answer) {
		return fmt.Errorf("the answer %q is not valid UTF-8", t.Answer)
	}
	for name, tokens := range map[string]*int{"input": t.InputTokens, "output": t.OutputTokens, "cached input": t.CachedInputTokens} {
		if tokens != nil && *tokens < 0 {
			return fmt.Errorf("%d %s tokens", *tokens, name)
		}
	}
	if t.InputTokens != nil && *t.InputTokens == 0 {
		return errors.New("0 input tokens; what is not reported is nil")
	}
	if t.WireTime < 0 {
		return fmt.Errorf("wire time %v", t.WireTime)
	}
	boundaries := map[string][]adapters.TraceItem{"candidates": t.Candidates, "reranked": t.Reranked, "packed": t.Packed}
	for i, s := range t.Retrievals {
		boundaries[fmt.Sprintf("search %d", i+1)] = s.Candidates
	}
	for boundary, items := range boundaries {
		for i, item := range items {
			if item.ID == "" {
				return fmt.Errorf("%s: item %d has no id", boundary, i+1)
			}
		}
	}
	return nil
}

func bound(ctx context.Context, h PipelineHarness) error {
	err := with(ctx, h.Open, func(p adapters.Pipeline) error {
		req := inquiry(h.Query)
		trace, err := p.Ask(ctx, req)
		switch {
		case err != nil:
		case trace.RequestID == "" && len(trace.Notes) == 0:
			err = errors.New("the trace has no request id, and no note says so")
		case trace.RequestID != "" && trace.RequestID != req.RequestID:
			err = fmt.Errorf("the trace is of request %q, and %q was asked", trace.RequestID, req.RequestID)
		}
		return err
	})
	if err != nil {
		return err
	}
	err = h.over(ctx, Mixing, func(p adapters.Pipeline) error {
		_, err := p.Ask(ctx, inquiry(h.Query))
		return fails("Ask, of a service that answers with the trace of another request,", err, "")
	})
	if errors.As(err, new(skipped)) { // the first half was looked at
		return nil
	}
	return err
}

func untold(ctx context.Context, h PipelineHarness) error {
	return h.over(ctx, Silent, func(p adapters.Pipeline) error {
		t, err := p.Ask(ctx, inquiry(h.Query))
		if err != nil {
			return err
		}
		if t.Answer == "" || len(t.Notes) == 0 {
			return fmt.Errorf("the answer is %q, with the notes %q", t.Answer, t.Notes)
		}
		// All that is left has to be as if nothing had been said, but for what the adapter itself sees.
		t.Answer, t.Notes, t.WireTime = "", nil, 0
		if !reflect.DeepEqual(t, adapters.Trace{}) {
			return fmt.Errorf("the service tells its answer alone, and the trace holds %+v", t)
		}
		return nil
	})
}

// gives asks with a context, and looks for it, and for nothing of the pipeline's own, in what reached the model. An answer from the
// context holds want.
func gives(ctx context.Context, h PipelineHarness, given []adapters.ContextItem, want string) error {
	return with(ctx, h.Open, func(p adapters.Pipeline) error {
		info, err := p.Describe(ctx)
		if err == nil && !info.Context {
			err = skipped("it takes no context, and says so")
		}
		if err != nil {
			return err
		}
		own, err := p.Ask(ctx, inquiry(h.Query))
		if err != nil {
			return err
		}
		req := inquiry(lockerQ)
		req.Context = given
		trace, err := p.Ask(ctx, req)
		if err != nil {
			return err
		}
		if h.Reads && !strings.Contains(trace.Answer, want) {
			return fmt.Errorf("the answer %q does not hold %q", trace.Answer, want)
		}
		if trace.Packed == nil && trace.Prompt == nil && (!h.Reads || want == "") {
			return skipped("it tells neither what it packs nor its prompt")
		}
		// A service may search its documents all the same; what the model gets is what counts.
		return errors.Join(wholeTrace(&trace), packs(&trace, given), prompts(&trace, given, &own))
	})
}

// packs says where the packed items, if they are told, are not those that were given.
func packs(t *adapters.Trace, given []adapters.ContextItem) error {
	if t.Packed == nil {
		return nil
	}
	if !slices.EqualFunc(t.Packed, given, func(p adapters.TraceItem, g adapters.ContextItem) bool {
		return p.ID == g.ID && (p.Text == nil || *p.Text == g.Text)
	}) {
		return fmt.Errorf("packed is %s, and %q was given", listed(t.Packed), given)
	}
	return nil
}

// prompts says where the prompt, if it is told, does not hold the items that were given, in order, or holds one of the pipeline's own.
func prompts(t *adapters.Trace, given []adapters.ContextItem, own *adapters.Trace) error {
	if t.Prompt == nil {
		return nil
	}
	prompt := joined(t.Prompt)
	rest := prompt
	for _, g := range given {
		_, behind, found := strings.Cut(rest, g.Text)
		if !found {
			return fmt.Errorf("%q was given, and the prompt does not hold it in its place: %q", g.Text, prompt)
		}
		rest = behind
	}
	for _, item := range slices.Concat(own.Candidates, own.Reranked, own.Packed) {
		if item.Text != nil && *item.Text != "" && strings.Contains(prompt, *item.Text) {
			return fmt.Errorf("the prompt holds %q of the pipeline's own retrieval: %q", *item.Text, prompt)
		}
	}
	return nil
}

func retrievalAlone(ctx context.Context, h PipelineHarness) error {
	return with(ctx, h.Open, func(p adapters.Pipeline) error {
		info, err := p.Describe(ctx)
		if err == nil && !info.Retrieval {
			err = skipped("it cannot stop before the answer, and says so")
		}
		if err != nil {
			return err
		}
		full, err := p.Ask(ctx, inquiry(h.Query))
		if err != nil {
			return err
		}
		before := 0
		if h.Generations != nil {
			before = h.Generations()
		}
		req := inquiry(h.Query)
		req.Answer = false
		alone, err := p.Ask(ctx, req)
		switch {
		case err != nil:
			return err
		case alone.Answer != "" || alone.FinishReason != "" || alone.OutputTokens != nil && *alone.OutputTokens > 0:
			return fmt.Errorf("the answer is %q, finish reason %q, though none was asked for", alone.Answer, alone.FinishReason)
		case h.Generations != nil && h.Generations() != before:
			return errors.New("the model was asked, though no answer was asked for")
		case alone.Candidates == nil && alone.Reranked == nil && alone.Packed == nil:
			return errors.New("it tells no candidates, nothing reranked and nothing packed: a retrieval that shows nothing")
		case !reflect.DeepEqual(alone.Candidates, full.Candidates) || !reflect.DeepEqual(alone.Packed, full.Packed):
			return fmt.Errorf("alone it finds %s and packs %s, and with an answer %s and %s",
				listed(alone.Candidates), listed(alone.Packed), listed(full.Candidates), listed(full.Packed))
		}
		return wholeTrace(&alone)
	})
}

// undeclared asks for what is not declared: an error must come, since an answer from another context, or a bought answer that nobody
// asked for, looks like a good one.
func undeclared(ctx context.Context, h PipelineHarness) error {
	looked := false
	ask := func(p adapters.Pipeline) error {
		info, err := p.Describe(ctx)
		if err != nil {
			return err
		}
		for what, req := range map[string]*adapters.PipelineRequest{
			"a context": {Context: givenContext(), Answer: true}, "an empty context": {Context: []adapters.ContextItem{}, Answer: true}, "no answer": {},
		} {
			if can := req.Context != nil && info.Context || req.Context == nil && info.Retrieval; can {
				continue
			}
			looked = true
			req.RequestID, req.Query = inquiry("").RequestID, h.Query
			_, err := p.Ask(ctx, *req)
			if err := fails("Ask with "+what, err, adapters.KindUnsupported); err != nil {
				return err
			}
		}
		return nil
	}
	if err := with(ctx, h.Open, ask); err != nil {
		return err
	}
	err := h.over(ctx, Unable, ask)
	switch {
	case looked && errors.As(err, new(skipped)):
		return nil
	case !looked && err == nil:
		return skipped("it declares everything")
	}
	return err
}

func keepApart(ctx context.Context, h PipelineHarness) error {
	return with(ctx, h.Open, func(p adapters.Pipeline) error {
		info, err := p.Describe(ctx)
		if err != nil {
			return err
		}
		var wg sync.WaitGroup
		wrong := make([]error, 16)
		for i := range wrong {
			wg.Go(func() {
				mark := fmt.Sprintf("(number %d of them)", i)
				req := inquiry(h.Query + " " + mark)
				if info.Context {
					req.Context = []adapters.ContextItem{{ID: "own", Source: "own", Text: fmt.Sprintf("%s (context %d)", lockers, i)}}
				}
				trace, err := p.Ask(ctx, req)
				switch {
				case err != nil:
				case trace.RequestID != "" && trace.RequestID != req.RequestID:
					err = fmt.Errorf("the trace is of request %q, and %q was asked", trace.RequestID, req.RequestID)
				case trace.Prompt != nil && !h.Rewrites && !strings.Contains(joined(trace.Prompt), mark):
					err = fmt.Errorf("%q was asked, and the prompt is %q", req.Query, joined(trace.Prompt))
				case req.Context != nil:
					err = errors.Join(packs(&trace, req.Context), prompts(&trace, req.Context, &adapters.Trace{}))
				}
				wrong[i] = err
			})
		}
		wg.Wait()
		return errors.Join(wrong...)
	})
}

// joined is all the text of a prompt.
func joined(prompt []adapters.Message) string {
	texts := make([]string, len(prompt))
	for i, m := range prompt {
		texts[i] = m.Text
	}
	return strings.Join(texts, "\n")
}

// listed shows items with what a difference between two lists may be in.
func listed(items []adapters.TraceItem) string {
	if items == nil {
		return "nothing"
	}
	shown := []string{}
	for _, i := range items {
		s := fmt.Sprintf("%q (source %q, revision %q, access %q", i.ID, i.Source, i.Revision, i.Access)
		if i.Score != nil {
			s += fmt.Sprintf(", score %v", *i.Score)
		}
		if i.Text != nil {
			s += fmt.Sprintf(", text %q", *i.Text)
		}
		shown = append(shown, s+")")
	}
	return "[" + strings.Join(shown, " ") + "]"
}
