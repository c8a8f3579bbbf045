package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/adaptertest"
	"github.com/culprit-rag/culprit/adapters/conformance"
)

const flightQ = "Which class do employees book for flights?"

// failing are the statuses by which a service says each kind of error.
var failing = map[adapters.Kind]int{
	adapters.KindPermanent: http.StatusTeapot, adapters.KindTransient: http.StatusBadGateway, adapters.KindRateLimited: http.StatusTooManyRequests,
	adapters.KindUnauthorised: http.StatusUnauthorized, adapters.KindNotFound: http.StatusNotFound, adapters.KindUnsupported: http.StatusNotImplemented,
	adapters.KindInvalid: http.StatusUnprocessableEntity,
}

// otherWords is an interface of another form, and the mapping to it.
const otherWords = `, "map": {
	"request": "{request_id, query, context, answer, more: {k, params}}",
	"response": "{request_id, candidates, packed, prompt, answer, finish_reason, usage}"}`

// pipelineHarness is one over services that start makes; more is put behind the settings.
func pipelineHarness(t *testing.T, more string, start func() *testService) conformance.PipelineHarness {
	t.Helper()
	var opened []*testService
	open := func(ctx context.Context, s *testService, more string) (adapters.Pipeline, error) {
		s.start(t)
		return openPipeline(ctx, adapters.Config{
			Settings: json.RawMessage(fmt.Sprintf(`{"url": %q, "deterministic": true%s}`, s.URL+"/ask", more)),
			Secrets:  &adapters.Secrets{Env: func(name string) (string, bool) { return name, true }},
		})
	}
	asItCame := testRanking()
	candidates := []adapters.TraceItem{}
	for _, i := range asItCame {
		candidates = append(candidates, adapters.TraceItem{ID: fmt.Sprint(i.ID), Source: i.Source, Revision: i.Revision, Score: i.Score, Text: i.Text, Access: i.Access})
	}
	return conformance.PipelineHarness{
		Query: flightQ, Candidates: candidates, Reads: true,
		Generations: func() int {
			n := int64(0)
			for _, s := range opened {
				n += s.generations.Load()
			}
			return int(n)
		},
		Harness: conformance.Harness[adapters.Pipeline]{
			Open: func(ctx context.Context) (adapters.Pipeline, error) {
				s := start()
				opened = append(opened, s)
				return open(ctx, s, more)
			},
			Fail: func(ctx context.Context, kind adapters.Kind) (adapters.Pipeline, error) {
				s := start()
				s.instead = func(w http.ResponseWriter, r *http.Request) {
					if kind == adapters.KindTimeout {
						_, _ = io.Copy(io.Discard, r.Body) // only then does the server see that the caller has gone
						<-r.Context().Done()
						return
					}
					w.WriteHeader(failing[kind])
				}
				p, err := open(ctx, s, more)
				if err == nil && kind == adapters.KindTimeout {
					p = adapters.WrapPipeline(p, adapters.Policy{Name: Name, Timeout: 20 * time.Millisecond})
				}
				return p, err
			},
			Leak: func(ctx context.Context, secret string) (adapters.Pipeline, error) {
				s := start()
				s.instead = func(w http.ResponseWriter, r *http.Request) {
					w.WriteHeader(http.StatusForbidden)
					_ = json.NewEncoder(w).Encode(map[string]any{"detail": r.Header.Get("Authorization")})
				}
				return open(ctx, s, more+fmt.Sprintf(`, "api_key_env": %q`, secret)) // the harness's environment holds each name
			},
		},
		Over: func(ctx context.Context, kind conformance.ServiceKind) (adapters.Pipeline, error) {
			s := start()
			s.unable, s.silent, s.mute, s.mixing = kind == conformance.Unable, kind == conformance.Silent, kind == conformance.Mute, kind == conformance.Mixing
			if s.unable && strings.Contains(more, `"tap"`) {
				return nil, conformance.ErrCannot // the tap gives it the ability
			}
			return open(ctx, s, more)
		},
	}
}

// TestSuite holds the adapter to the contract over a service in each way that one can be reached, and through the wrapper.
func TestSuite(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, more string
		start      func() *testService
	}{
		{"its own interface", "", func() *testService { return &testService{} }},
		{"mapped", otherWords, func() *testService { return &testService{} }},
		{"declared", `, "capabilities": {"name": "faq", "context": true, "retrieval": true}`, func() *testService { return &testService{} }},
		{"unable", "", func() *testService { return &testService{unable: true} }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			adaptertest.TestPipeline(t, pipelineHarness(t, tt.more, tt.start))
		})
	}
	t.Run("through a tap", func(t *testing.T) {
		t.Parallel()
		address, generations := startTap(t)
		h := pipelineHarness(t, fmt.Sprintf(`, "tap": {"url": %q, "begin": "Context:\n", "end": "\nThe question is this: "}`, address),
			func() *testService { return &testService{unable: true, model: address} })
		h.Generations = func() int { return int(generations.Load()) }
		h.Over = nil // what a service does not tell, the tap does
		adaptertest.TestPipeline(t, h)
	})
	t.Run("wrapped", func(t *testing.T) {
		t.Parallel()
		h := pipelineHarness(t, "", func() *testService { return &testService{} })
		wrapped := func(p adapters.Pipeline, err error) (adapters.Pipeline, error) {
			if err != nil {
				return nil, err
			}
			return adapters.WrapPipeline(p, adapters.Policy{
				Name: Name, Redact: adapters.NewRedactor("unused"), Slots: make(chan struct{}, 4), Timeout: time.Minute,
				Meter: &adapters.Meter{Budget: adapters.NewBudget(adapters.Amount{Calls: 10_000})},
			}), nil
		}
		plain := h
		h.Open = func(ctx context.Context) (adapters.Pipeline, error) { return wrapped(plain.Open(ctx)) }
		h.Fail = func(ctx context.Context, kind adapters.Kind) (adapters.Pipeline, error) {
			return wrapped(plain.Fail(ctx, kind))
		}
		h.Leak = func(ctx context.Context, secret string) (adapters.Pipeline, error) {
			return wrapped(plain.Leak(ctx, secret))
		}
		h.Over = func(ctx context.Context, kind conformance.ServiceKind) (adapters.Pipeline, error) {
			return wrapped(plain.Over(ctx, kind))
		}
		adaptertest.TestPipeline(t, h)
	})
}

// brokenPipeline breaks what goes into a right one, and what comes of it.
type brokenPipeline struct {
	adapters.Pipeline
	before func(ctx context.Context, req *adapters.PipelineRequest) context.Context
	after  func(t *adapters.Trace, err error) error
	info   func(*adapters.PipelineInfo)
	close  func(error) error
}

func (b brokenPipeline) Describe(ctx context.Context) (adapters.PipelineInfo, error) {
	info, err := b.Pipeline.Describe(ctx)
	if b.info != nil && err == nil {
		b.info(&info)
	}
	return info, err
}

func (b brokenPipeline) Ask(ctx context.Context, req adapters.PipelineRequest) (adapters.Trace, error) {
	if b.before != nil {
		ctx = b.before(ctx, &req)
	}
	trace, err := b.Pipeline.Ask(ctx, req)
	if b.after != nil {
		err = b.after(&trace, err)
	}
	return trace, err
}

func (b brokenPipeline) Close() error {
	err := b.Pipeline.Close()
	if b.close != nil {
		err = b.close(err)
	}
	return err
}

// TestSuiteFails breaks a service, its mapping or the adapter in one way each, and wants the suite to say so.
func TestSuiteFails(t *testing.T) {
	t.Parallel()
	type (
		request = adapters.PipelineRequest
		trace   = adapters.Trace
	)
	const (
		asGiven    = "a context that is given is all that the model gets"
		none       = "an empty context is not the pipeline's own"
		alone      = "the retrieval alone is that of the answer, without one"
		undeclared = "what is not declared is unsupported"
		question   = "a question of all kinds of letters arrives unaltered"
		ranking    = "the ranking keeps its order and its scores"
		whole      = "an answer is whole"
	)
	mapped := func(response string) string { return fmt.Sprintf(`, "map": {"response": %q}`, response) }
	asks := func(change func(*request)) *brokenPipeline {
		return &brokenPipeline{before: func(ctx context.Context, r *request) context.Context {
			change(r)
			return ctx
		}}
	}
	tells := func(change func(*trace)) *brokenPipeline {
		return &brokenPipeline{after: func(t *trace, err error) error {
			change(t)
			return err
		}}
	}
	after := func(change func(*testRequest, *testTrace)) func() *testService {
		return func() *testService { return &testService{after: change} }
	}
	before := func(change func(*testRequest)) func() *testService {
		return func() *testService { return &testService{before: change} }
	}
	prompt := func(change func(*testRequest, string) string) func() *testService {
		return after(func(r *testRequest, t *testTrace) {
			if t.Prompt != nil {
				t.Prompt[1].Content = change(r, t.Prompt[1].Content)
			}
		})
	}
	var calls atomic.Int64
	var shared atomic.Pointer[string]
	for _, tt := range []struct {
		name    string
		service func() *testService
		more    string
		adapter *brokenPipeline
		want    string
	}{
		{name: "nothing"},
		{name: "no name", adapter: &brokenPipeline{info: func(i *adapters.PipelineInfo) { i.Name = "" }}, want: "Describe names the adapter and the service"},
		{name: "an empty answer", service: after(func(_ *testRequest, t *testTrace) { t.Answer = new(string) }), want: whole},
		{name: "zero tokens for not reported", service: after(func(_ *testRequest, t *testTrace) { t.Usage = map[string]int{"input_tokens": 0} }), want: whole},
		{name: "less than no tokens", service: after(func(_ *testRequest, t *testTrace) { t.Usage = map[string]int{"output_tokens": -1} }), want: whole},
		{name: "items without an id", service: after(func(_ *testRequest, t *testTrace) { t.Candidates = []testItem{{ID: ""}} }), want: whole},
		{name: "a search's items without an id", more: mapped(`.retrievals = [{candidates: [{text: "x"}]}]`), want: whole},
		{name: "an id of its own", adapter: tells(func(t *trace) { t.RequestID = "another" }), want: "the request id binds the trace to its request"},
		{name: "no id and no note", adapter: tells(func(t *trace) { t.RequestID = "" }), want: "the request id binds the trace to its request"},
		{name: "a mapping without the id", more: mapped(`del(.request_id)`), want: "the request id binds the trace to its request"},
		{name: "makes an id up", adapter: asks(func(r *request) { r.RequestID = "made-up" }), want: "a request without an id is invalid"},
		{name: "sorts", more: mapped(`if .candidates then .candidates |= (sort_by(.score) | reverse) else . end`), want: ranking},
		{name: "rounds scores", more: mapped(`if .candidates then .candidates[].score |= (if . then (. * 100 | floor) / 100 else . end) else . end`), want: ranking},
		{name: "no score is zero", more: mapped(`if .candidates then .candidates[].score //= 0 else . end`), want: ranking},
		{name: "loses what has no text", more: mapped(`if .candidates then .candidates |= map(select(.text)) else . end`), want: ranking},
		{name: "rounds ids", more: mapped(`if .candidates then .candidates[].id |= (tonumber? + 0.5 | floor | . // "c") else . end`), want: ranking},
		{name: "untold is empty", more: mapped(`.candidates //= []`), want: "what is not told is not empty"},
		{name: "untold is zero", adapter: tells(func(t *trace) {
			if t.OutputTokens == nil {
				t.OutputTokens = new(int)
			}
		}), want: "what is not told is not empty"},
		{name: "untold is nothing", more: mapped(`.answer //= ""`), want: "an answer that does not come is an error"},
		{name: "no answer is transient", adapter: &brokenPipeline{after: func(_ *trace, err error) error {
			if err != nil {
				return adapters.NewError(Name, "ask", adapters.KindTransient, errors.New("no answer"))
			}
			return nil
		}}, want: "an answer that does not come is an error"},
		{name: "ignores the context", service: before(func(r *testRequest) { r.Context = nil }), want: asGiven},
		{name: "declares what it cannot", more: `, "capabilities": {"context": true}`, service: func() *testService { return &testService{unable: true} }, want: asGiven},
		{name: "turns the context round", service: before(func(r *testRequest) {
			if r.Context != nil {
				slices.Reverse(*r.Context)
			}
		}), want: asGiven},
		{name: "packs all but the last", service: before(func(r *testRequest) {
			if r.Context != nil && len(*r.Context) > 2 {
				*r.Context = (*r.Context)[:2]
			}
		}), want: asGiven},
		{name: "adds what it finds", service: prompt(func(r *testRequest, s string) string {
			if r.Context != nil {
				s += *testRanking()[1].Text
			}
			return s
		}), want: asGiven},
		{name: "trims the context", service: before(func(r *testRequest) {
			if r.Context != nil {
				for i, item := range *r.Context {
					trimmed := strings.TrimSpace(*item.Text)
					(*r.Context)[i].Text = &trimmed
				}
			}
		}), want: asGiven},
		{name: "tells one context and shows another", service: prompt(func(_ *testRequest, s string) string { return strings.ReplaceAll(s, "\x00", "") }), want: asGiven},
		{name: "an empty context is its own", service: before(func(r *testRequest) {
			if r.Context != nil && len(*r.Context) == 0 {
				r.Context = nil
			}
		}), want: none},
		{name: "an adapter without an empty context", adapter: asks(func(r *request) {
			if len(r.Context) == 0 {
				r.Context = nil
			}
		}), want: none},
		{name: "answers all the same", service: before(func(r *testRequest) { r.Answer = true }), want: alone},
		{name: "buys an answer and hides it", service: func() *testService {
			s := &testService{}
			s.before = func(r *testRequest) {
				if !r.Answer {
					s.generations.Add(1)
				}
			}
			return s
		}, want: alone},
		{name: "searches otherwise where no answer is asked for", service: after(func(r *testRequest, t *testTrace) {
			if !r.Answer {
				t.Candidates = t.Candidates[1:]
			}
		}), want: alone},
		{name: "shows nothing", service: after(func(r *testRequest, t *testTrace) {
			if !r.Answer {
				t.Candidates, t.Packed = nil, nil
			}
		}), want: alone},
		{name: "sends what is not declared", more: "", service: func() *testService { return &testService{unable: true} }, adapter: asks(func(r *request) { r.Context = nil }), want: undeclared},
		{name: "buys an answer where none was asked for", adapter: asks(func(r *request) { r.Answer = true }), want: undeclared},
		{name: "trims the question", service: before(func(r *testRequest) { r.Query = strings.TrimSpace(r.Query) }), want: question},
		{name: "escapes the question", service: before(func(r *testRequest) { r.Query = strings.ReplaceAll(r.Query, "<", "&lt;") }), want: question},
		{name: "composes letters", service: before(func(r *testRequest) { r.Query = strings.ReplaceAll(r.Query, "e\u0301", "é") }), want: question},
		{name: "maps the question", more: `, "map": {"request": ".query |= ascii_downcase"}`, want: question},
		{name: "keeps what it was asked in one place", service: func() *testService {
			return &testService{before: func(r *testRequest) {
				asked := r.Query
				shared.Store(&asked)
				time.Sleep(2 * time.Millisecond) // for another request to come in between
				r.Query = *shared.Load()
			}}
		}, want: "concurrent requests keep their own answers"},
		{name: "another answer each time", service: after(func(_ *testRequest, t *testTrace) {
			if t.Answer != nil {
				*t.Answer += fmt.Sprint(calls.Add(1))
			}
		}), want: "equal requests have equal answers, where it says so"},
		{name: "and concurrently", service: after(func(_ *testRequest, t *testTrace) {
			if t.Answer != nil {
				*t.Answer += fmt.Sprint(calls.Add(1))
			}
		}), want: "concurrent calls answer as single ones"},
		{name: "ignores its context", adapter: &brokenPipeline{before: func(ctx context.Context, _ *request) context.Context {
			return context.WithoutCancel(ctx)
		}}, want: "a cancelled context stops every method"},
		{name: "bare errors", adapter: &brokenPipeline{after: func(_ *trace, err error) error { return errors.Unwrap(err) }}, want: "a passed deadline is a timeout"},
		{name: "Close fails", adapter: &brokenPipeline{close: func(error) error { return io.ErrClosedPipe }}, want: "Close may be called twice and ends everything"},
		{name: "never used, and Close fails", adapter: &brokenPipeline{close: func(error) error { return io.ErrClosedPipe }}, want: "a backend that was never used can be closed"},
		{name: "one kind for all", adapter: &brokenPipeline{after: func(_ *trace, err error) error {
			if err != nil {
				return &adapters.Error{Adapter: Name, Op: "ask", Kind: adapters.KindPermanent, Err: errors.Unwrap(err)}
			}
			return nil
		}}, want: "failures have their kinds"},
		{name: "shows the key", adapter: &brokenPipeline{after: func(_ *trace, err error) error {
			if adapters.KindOf(err) == adapters.KindUnauthorised {
				return adapters.NewError(Name, "ask", adapters.KindUnauthorised, errors.New("Bearer sk-canary-7f3a9e"))
			}
			return err
		}}, want: "no error shows a secret"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.service == nil {
				tt.service = func() *testService { return &testService{} }
			}
			h := pipelineHarness(t, tt.more, tt.service)
			if tt.adapter != nil {
				breaks := func(p adapters.Pipeline, err error) (adapters.Pipeline, error) {
					broken := *tt.adapter
					broken.Pipeline = p
					return broken, err
				}
				plain := h
				h.Open = func(ctx context.Context) (adapters.Pipeline, error) { return breaks(plain.Open(ctx)) }
				h.Fail = func(ctx context.Context, kind adapters.Kind) (adapters.Pipeline, error) {
					return breaks(plain.Fail(ctx, kind))
				}
				h.Leak = func(ctx context.Context, secret string) (adapters.Pipeline, error) {
					return breaks(plain.Leak(ctx, secret))
				}
				h.Over = func(ctx context.Context, kind conformance.ServiceKind) (adapters.Pipeline, error) {
					return breaks(plain.Over(ctx, kind))
				}
			}
			var failed []string
			for _, o := range conformance.Run(t.Context(), func(t conformance.T) { conformance.Pipeline(t, h) }) {
				if o.State == conformance.Failed {
					failed = append(failed, o.Name)
				}
				if said := strings.Join(o.Said, "\n"); strings.Contains(said, "%!") {
					t.Errorf("%s: the message is broken: %s", o.Name, said)
				}
			}
			if tt.want == "" && len(failed) > 0 || tt.want != "" && !slices.Contains(failed, tt.want) {
				t.Errorf("the suite fails at %q, want %q", failed, tt.want)
			}
		})
	}
}
