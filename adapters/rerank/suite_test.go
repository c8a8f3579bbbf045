package rerank

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/adaptertest"
	"github.com/culprit-rag/culprit/adapters/openai/openaitest"
)

// fakeConfig is the configuration of a reranker that asks the fake; more is put behind its settings.
func fakeConfig(f *openaitest.Fake, more string) adapters.Config {
	return adapters.Config{
		Settings: json.RawMessage(fmt.Sprintf(`{"model": %q, "url": %q%s}`, openaitest.FakeModel, f.URL+"/rerank", more)),
		Secrets:  &adapters.Secrets{Env: func(string) (string, bool) { return sentinel, true }},
	}
}

func newReranker(t *testing.T, f *openaitest.Fake, more string) adapters.Reranker {
	t.Helper()
	r, err := open(t.Context(), fakeConfig(f, more))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// failing are replies of each kind of error that a server can provoke.
var failing = map[adapters.Kind]openaitest.FakeReply{
	adapters.KindPermanent:    {Body: "<html><head><title>Sign in to the proxy</title></head></html>"},
	adapters.KindTransient:    {Status: http.StatusServiceUnavailable, Body: "busy"},
	adapters.KindRateLimited:  {Status: http.StatusTooManyRequests, Header: map[string]string{"Retry-After": "1"}},
	adapters.KindUnauthorised: {Status: http.StatusUnauthorized, Body: `{"message": "invalid api token"}`},
	adapters.KindNotFound:     {Status: http.StatusNotFound, Body: `{"message": "model 'x' not found"}`},
	adapters.KindUnsupported:  {Status: http.StatusNotImplemented, Body: `{"error": {"code": 501, "message": "This server does not support reranking", "type": "not_supported_error"}}`},
	adapters.KindInvalid:      {Status: http.StatusBadRequest, Body: `{"message": "wrong"}`},
	adapters.KindTimeout:      {Hang: true},
}

// TestSuite holds the adapter to the contract in each shape, over a stand-in.
func TestSuite(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, more string
		options    openaitest.FakeOptions
		maxWords   int
	}{
		{"auto", "", openaitest.FakeOptions{Context: 40}, 40},
		{"cohere in small batches", `, "shape": "cohere", "batch": 2`, openaitest.FakeOptions{Batch: 2}, 0},
		{"jina", `, "shape": "jina"`, openaitest.FakeOptions{}, 0},
		{"vllm", `, "shape": "vllm", "max_tokens": 512`, openaitest.FakeOptions{}, 0},
		{"tei", `, "shape": "tei", "truncate": true`, openaitest.FakeOptions{TEI: true, Batch: 32, Context: 512}, 0},
		{"tei, found out", "", openaitest.FakeOptions{TEI: true, Batch: 32}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			adaptertest.TestReranker(t, adaptertest.RerankerHarness{
				MaxWords: tt.maxWords, Unnamed: tt.options.TEI,
				Harness: adaptertest.Harness[adapters.Reranker]{
					Open: func(ctx context.Context) (adapters.Reranker, error) {
						return open(ctx, fakeConfig(openaitest.StartFake(t, tt.options), tt.more))
					},
					Fail: func(ctx context.Context, kind adapters.Kind) (adapters.Reranker, error) {
						f := openaitest.StartFake(t, tt.options)
						f.Script(failing[kind])
						r, err := open(ctx, fakeConfig(f, tt.more))
						if err == nil && kind == adapters.KindTimeout {
							r = adapters.WrapReranker(r, adapters.Policy{Name: Name, Timeout: 20 * time.Millisecond})
						}
						return r, err
					},
					Leak: func(ctx context.Context, secret string) (adapters.Reranker, error) {
						f := openaitest.StartFake(t, tt.options)
						f.Script(openaitest.FakeReply{Status: http.StatusForbidden, Echo: repeats(func(s string) string { return fmt.Sprintf(`{"message": %q}`, s) })})
						cfg := fakeConfig(f, tt.more+`, "api_key_env": "SECRET"`)
						cfg.Secrets.Env = func(string) (string, bool) { return secret, true }
						return open(ctx, cfg)
					},
				},
			})
		})
	}
}
