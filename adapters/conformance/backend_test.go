package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/embedded"
)

// These tests break a right backend in one way each, and want the suite to say so: a suite must be able to fail.

// failures runs the checks and returns the names of those that fail.
func failures[H any](t *testing.T, h H, checks []check[H]) []string {
	t.Helper()
	var names []string
	for _, c := range checks {
		err := c.run(t.Context(), h)
		var why skipped
		if err != nil && !errors.As(err, &why) {
			names = append(names, c.name)
			if strings.Contains(err.Error(), "%!") {
				t.Errorf("%s: the message is broken: %v", c.name, err)
			}
		}
	}
	return names
}

func wantFailure[H any](t *testing.T, h H, checks []check[H], want string) {
	t.Helper()
	got := failures(t, h, checks)
	if want == "" && len(got) > 0 || want != "" && !slices.Contains(got, want) {
		t.Errorf("the suite fails at %q, want %q", got, want)
	}
}

func settings(s string) adapters.Config { return adapters.Config{Settings: json.RawMessage(s)} }

// brokenGenerator calls the embedded one, and breaks what comes of it.
type brokenGenerator struct {
	adapters.Generator
	before func(ctx context.Context, req *adapters.GenerateRequest) (context.Context, error)
	after  func(resp *adapters.GenerateResponse, err error) error
	close  func(error) error
	info   func(*adapters.GeneratorInfo)
}

func (b brokenGenerator) Describe(ctx context.Context) (adapters.GeneratorInfo, error) {
	info, err := b.Generator.Describe(ctx)
	if b.info != nil {
		b.info(&info)
	}
	return info, err
}

func (b brokenGenerator) Generate(ctx context.Context, req adapters.GenerateRequest) (adapters.GenerateResponse, error) {
	if b.before != nil {
		var err error
		if ctx, err = b.before(ctx, &req); err != nil {
			return adapters.GenerateResponse{}, err
		}
	}
	resp, err := b.Generator.Generate(ctx, req)
	if b.after != nil {
		err = b.after(&resp, err)
	}
	return resp, err
}

func (b brokenGenerator) Close() error {
	err := b.Generator.Close()
	if b.close != nil {
		err = b.close(err)
	}
	return err
}

func TestGeneratorSuiteFails(t *testing.T) {
	t.Parallel()
	type before = func(context.Context, *adapters.GenerateRequest) (context.Context, error)
	type after = func(*adapters.GenerateResponse, error) error
	request := func(change func(*adapters.GenerateRequest)) before {
		return func(ctx context.Context, req *adapters.GenerateRequest) (context.Context, error) {
			change(req)
			return ctx, nil
		}
	}
	response := func(change func(*adapters.GenerateResponse)) after {
		return func(resp *adapters.GenerateResponse, err error) error {
			change(resp)
			return err
		}
	}
	var calls atomic.Int64
	for _, tt := range []struct {
		name   string
		broken brokenGenerator
		want   string
	}{
		{"nothing", brokenGenerator{}, ""},
		{"no model", brokenGenerator{info: func(i *adapters.GeneratorInfo) { i.Model = "" }}, "Describe names the adapter and the model"},
		{"no finish reason", brokenGenerator{after: response(func(r *adapters.GenerateResponse) { r.FinishReason = "" })}, "an answer is whole"},
		{"zero tokens for not reported", brokenGenerator{after: response(func(r *adapters.GenerateResponse) { r.InputTokens = new(int) })}, "an answer is whole"},
		{"another answer each time", brokenGenerator{after: response(func(r *adapters.GenerateResponse) { r.Text += fmt.Sprint(calls.Add(1)) })}, "equal requests have equal answers, where it says so"},
		{"and concurrently", brokenGenerator{after: response(func(r *adapters.GenerateResponse) { r.Text += fmt.Sprint(calls.Add(1)) })}, "concurrent calls answer as single ones"},
		{"makes a message up", brokenGenerator{before: request(func(r *adapters.GenerateRequest) {
			r.Messages = append(r.Messages, adapters.Message{Role: "user"})
		})}, "a request without messages is invalid"},
		{"maps roles", brokenGenerator{before: request(func(r *adapters.GenerateRequest) {
			r.Messages = slices.Clone(r.Messages)
			for i := range r.Messages {
				r.Messages[i].Role = "user"
			}
		})}, "a role that does not exist is invalid"},
		{"ignores the limit", brokenGenerator{before: request(func(r *adapters.GenerateRequest) { r.MaxTokens = 0 })}, "the output limit is a finish reason"},
		{"a limit is an error", brokenGenerator{after: func(r *adapters.GenerateResponse, err error) error {
			if r.FinishReason == adapters.FinishLength {
				return adapters.NewError("broken", "generate", adapters.KindPermanent, io.ErrShortWrite)
			}
			return err
		}}, "the output limit is a finish reason"},
		{"ignores stop", brokenGenerator{before: request(func(r *adapters.GenerateRequest) { r.Stop = nil })}, "a stop text is not part of the answer"},
		{"loses letters", brokenGenerator{after: response(func(r *adapters.GenerateResponse) { r.Text = strings.ReplaceAll(r.Text, "退", "?") })}, "letters of all scripts come through"},
		{"a megabyte is transient", brokenGenerator{before: func(ctx context.Context, r *adapters.GenerateRequest) (context.Context, error) {
			if len(r.Messages) > 1 && len(r.Messages[1].Text) > 100_000 {
				return ctx, adapters.NewError("broken", "generate", adapters.KindTransient, io.ErrShortBuffer)
			}
			return ctx, nil
		}}, "a prompt of a megabyte is answered or refused"},
		{"ignores its context", brokenGenerator{before: func(ctx context.Context, _ *adapters.GenerateRequest) (context.Context, error) {
			return context.WithoutCancel(ctx), nil
		}}, "a cancelled context stops every method"},
		{"bare errors", brokenGenerator{after: func(_ *adapters.GenerateResponse, err error) error { return errors.Unwrap(err) }}, "a passed deadline is a timeout"},
		{"Close fails the second time", brokenGenerator{close: closeOnce()}, "Close may be called twice and ends everything"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := GeneratorHarness{Reads: true, Harness: Harness[adapters.Generator]{Open: func(ctx context.Context) (adapters.Generator, error) {
				g, err := embedded.Factory().OpenGenerator(ctx, settings(`{}`))
				broken := tt.broken
				broken.Generator = g
				return broken, err
			}}}
			wantFailure(t, h, generatorChecks(), tt.want)
		})
	}
}

func closeOnce() func(error) error {
	closed := false
	return func(err error) error {
		if closed {
			return io.ErrClosedPipe
		}
		closed = true
		return err
	}
}

func TestGeneratorSuiteFailsOnFailures(t *testing.T) {
	t.Parallel()
	open := func(ctx context.Context, s string) (adapters.Generator, error) {
		return embedded.Factory().OpenGenerator(ctx, settings(s))
	}
	sane := func(ctx context.Context) (adapters.Generator, error) { return open(ctx, `{}`) }
	for _, tt := range []struct {
		name string
		h    GeneratorHarness
		want string
	}{
		{"one kind for all", GeneratorHarness{Harness: Harness[adapters.Generator]{Open: sane, Fail: func(ctx context.Context, _ adapters.Kind) (adapters.Generator, error) {
			return open(ctx, `{"provider": [{"error": "permanent"}]}`)
		}}}, "failures have their kinds"},
		{"no failure at all", GeneratorHarness{Harness: Harness[adapters.Generator]{Open: sane, Fail: func(ctx context.Context, _ adapters.Kind) (adapters.Generator, error) {
			return sane(ctx)
		}}}, "failures have their kinds"},
		{"a harness that cannot", GeneratorHarness{Harness: Harness[adapters.Generator]{Open: sane, Fail: func(context.Context, adapters.Kind) (adapters.Generator, error) {
			return nil, ErrCannot
		}}}, "failures have their kinds"},
		{"a secret in the text", GeneratorHarness{Harness: Harness[adapters.Generator]{Open: sane, Leak: leaky(false)}}, "no error shows a secret"},
		{"a secret below a clean text", GeneratorHarness{Harness: Harness[adapters.Generator]{Open: sane, Leak: leaky(true)}}, "no error shows a secret"},
		{"a secret that the wrapper takes out", GeneratorHarness{Harness: Harness[adapters.Generator]{Open: sane, Leak: func(ctx context.Context, secret string) (adapters.Generator, error) {
			g, err := leaky(false)(ctx, secret)
			return adapters.WrapGenerator(g, adapters.Policy{Redact: adapters.NewRedactor(secret)}), err
		}}}, ""},
		{"another finish reason", GeneratorHarness{Harness: Harness[adapters.Generator]{Open: sane}, Finish: func(ctx context.Context, _ string) (adapters.Generator, error) {
			return open(ctx, `{"provider": [{"finish": "content_filter"}]}`)
		}}, "a block and a cut-off are responses, not errors"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wantFailure(t, tt.h, generatorChecks(), tt.want)
		})
	}
}

// leaky opens a generator whose errors hold the secret, in their text or only in what they wrap.
func leaky(below bool) func(context.Context, string) (adapters.Generator, error) {
	return func(ctx context.Context, secret string) (adapters.Generator, error) {
		g, err := embedded.Factory().OpenGenerator(ctx, settings(`{}`))
		return brokenGenerator{Generator: g, after: func(_ *adapters.GenerateResponse, _ error) error {
			leak := fmt.Errorf("401: %s", secret)
			if below {
				leak = hidden{leak}
			}
			return adapters.NewError("broken", "generate", adapters.KindUnauthorised, leak)
		}}, err
	}
}

type hidden struct{ cause error }

func (hidden) Error() string   { return "unauthorised" }
func (h hidden) Unwrap() error { return h.cause }

// brokenEmbedder breaks the responses of the embedded one.
type brokenEmbedder struct {
	adapters.Embedder
	before func(req *adapters.EmbedRequest)
	after  func(req adapters.EmbedRequest, resp *adapters.EmbedResponse)
}

func (b brokenEmbedder) Embed(ctx context.Context, req adapters.EmbedRequest) (adapters.EmbedResponse, error) {
	if b.before != nil {
		b.before(&req)
	}
	resp, err := b.Embedder.Embed(ctx, req)
	if b.after != nil && err == nil {
		b.after(req, &resp)
	}
	return resp, err
}

func TestEmbedderSuiteFails(t *testing.T) {
	t.Parallel()
	type response = adapters.EmbedResponse
	type request = adapters.EmbedRequest
	for _, tt := range []struct {
		name   string
		broken brokenEmbedder
		want   string
	}{
		{"nothing", brokenEmbedder{}, ""},
		{"a vector is missing", brokenEmbedder{after: func(_ request, r *response) { r.Vectors = r.Vectors[:max(0, len(r.Vectors)-1)] }}, "each text has a vector"},
		{"a vector is too many", brokenEmbedder{after: func(_ request, r *response) { r.Vectors = append(r.Vectors, r.Vectors...) }}, "each text has a vector"},
		{"no vectors", brokenEmbedder{after: func(_ request, r *response) { r.Vectors = nil }}, "each text has a vector"},
		{"another size than declared", brokenEmbedder{after: func(_ request, r *response) {
			for i := range r.Vectors {
				r.Vectors[i] = r.Vectors[i][:8]
			}
		}}, "each text has a vector"},
		{"not of unit length", brokenEmbedder{after: func(_ request, r *response) { scale(r, 2) }}, "each text has a vector"},
		{"NaN", brokenEmbedder{after: func(_ request, r *response) { scale(r, float32(math.NaN())) }}, "each text has a vector"},
		{"negative zero", brokenEmbedder{after: func(_ request, r *response) { scale(r, -1) }}, "each text has a vector"},
		{"sorted", brokenEmbedder{after: func(_ request, r *response) {
			slices.SortFunc(r.Vectors, slices.Compare[[]float32])
		}}, "the order of the vectors is that of the texts"},
		{"everything alike", brokenEmbedder{before: func(r *request) { r.Texts = slices.Repeat([]string{"same"}, len(r.Texts)) }}, "what is alike is near"},
		{"no prefix", brokenEmbedder{before: func(r *request) { r.Prefix = new(string) }}, "a prefix is put before the text"},
		{"any purpose", brokenEmbedder{before: func(r *request) { r.Purpose = adapters.ForQuery }}, "a purpose that does not exist is invalid"},
		{"ignores the model", brokenEmbedder{before: func(r *request) { r.Model = "" }}, "another model is another model or unsupported"},
		{"claims the model", brokenEmbedder{before: func(r *request) { r.Model = "" }, after: func(_ request, r *response) { r.ModelReported = "another-model" }}, "another model is another model or unsupported"},
		{"silent about truncation", brokenEmbedder{after: func(_ request, r *response) { r.Truncated = nil }}, "a text that is not read to its end is reported"},
		{"truncation of another text", brokenEmbedder{after: func(_ request, r *response) {
			if len(r.Truncated) > 0 {
				r.Truncated = map[int]int{0: 30}
			}
		}}, "a text that is not read to its end is reported"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			open := func(ctx context.Context) (adapters.Embedder, error) {
				e, err := embedded.Factory().OpenEmbedder(ctx, settings(`{"max_tokens": 30, "query_prefix": "query: ", "passage_prefix": "passage: "}`))
				broken := tt.broken
				broken.Embedder = e
				return broken, err
			}
			wrapped := func(ctx context.Context) (adapters.Embedder, error) {
				e, err := open(ctx)
				return adapters.WrapEmbedder(e, adapters.Policy{Name: "wrapped"}), err
			}
			for _, open := range []func(context.Context) (adapters.Embedder, error){open, wrapped} {
				h := EmbedderHarness{Unit: true, MaxTokens: 30, Harness: Harness[adapters.Embedder]{Open: open}}
				wantFailure(t, h, embedderChecks(), tt.want)
			}
		})
	}
}

func scale(r *adapters.EmbedResponse, by float32) {
	for _, v := range r.Vectors {
		for i := range v {
			v[i] *= by
		}
	}
}

// TestRerankerSuiteFails needs no broken double: the embedded reranker's own switches are such defects.
func TestRerankerSuiteFails(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, settings, want string }{
		{"nothing", `{}`, ""},
		{"truncation that is told", `{"max_words": 30, "reports_truncation": true}`, ""},
		{"inverted", `{"invert": true}`, "what answers is better than what does not"},
		{"results are missing", `{"drops": 1}`, "each document has one score"},
		{"scores by position", `{"by_position": true}`, "a score belongs to its document, not to its place"},
		{"truncation that is not told", `{"max_words": 30}`, "a document that is not read to its end is reported"},
		{"short documents only", `{"constant_over": 3}`, "what answers is better than what does not"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := RerankerHarness{Harness: Harness[adapters.Reranker]{Open: func(ctx context.Context) (adapters.Reranker, error) {
				return embedded.Factory().OpenReranker(ctx, settings(tt.settings))
			}}}
			if strings.Contains(tt.settings, "max_words") {
				h.MaxWords = 30
			}
			wantFailure(t, h, rerankerChecks(), tt.want)
		})
	}
}
