package openai

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/adaptertest"
	"github.com/culprit-rag/culprit/adapters/openai/openaitest"
)

// fakeConfig is the configuration of a backend that asks the fake; more is put behind its settings.
func fakeConfig(f *openaitest.Fake, more string) adapters.Config {
	return adapters.Config{
		Settings: json.RawMessage(fmt.Sprintf(`{"model": %q, "base_url": %q%s}`, openaitest.FakeModel, f.URL, more)),
		Secrets: &adapters.Secrets{Env: func(name string) (string, bool) {
			return map[string]string{"KEY": "sk-sentinel-3b1f7c9d", "GATEWAY": "gw-sentinel-77aa01ee"}[name], true
		}},
	}
}

// failing are replies of each kind of error that a server can provoke.
var failing = map[adapters.Kind]openaitest.FakeReply{
	adapters.KindPermanent:    {Body: "<html><head><title>Sign in to the proxy</title></head></html>"},
	adapters.KindTransient:    {Status: http.StatusServiceUnavailable, Body: "busy"},
	adapters.KindRateLimited:  {Status: http.StatusTooManyRequests, Header: map[string]string{"Retry-After": "1"}},
	adapters.KindUnauthorised: openaitest.FakeError(http.StatusUnauthorized, "Incorrect API key provided", "invalid_api_key", ""),
	adapters.KindNotFound:     openaitest.FakeError(http.StatusNotFound, "no such model", "model_not_found", ""),
	adapters.KindUnsupported:  {Status: http.StatusNotImplemented, Body: `{"error": {"code": 501, "message": "This server does not support this", "type": "not_supported_error"}}`},
	adapters.KindInvalid:      openaitest.FakeError(http.StatusBadRequest, "wrong", "", "messages"),
	adapters.KindTimeout:      {Hang: true},
}

// echo shows the keys of a call in its answer, in the forms in which servers and proxies may.
func echo(r *http.Request) string {
	all := r.Header.Get("Authorization") + " " + r.Header.Get("Api-Key") + " " + r.Header.Get("X-Gateway")
	long := fmt.Sprintf("%0280d", 0) // so that a key stands where the text is cut
	return fmt.Sprintf(`{"error": {"message": %q}}`, fmt.Sprintf("%s %s %s %x %s", all, base64.StdEncoding.EncodeToString([]byte(all)), long, all, all))
}

func harness[B any](t *testing.T, more string, open func(context.Context, adapters.Config) (B, error), timeout func(B) B) (opens func(context.Context) (B, error), fails func(context.Context, adapters.Kind) (B, error), leaks func(context.Context, string) (B, error)) {
	t.Helper()
	opens = func(ctx context.Context) (B, error) {
		return open(ctx, fakeConfig(openaitest.StartFake(t, openaitest.FakeOptions{Context: 100_000}), more))
	}
	fails = func(ctx context.Context, kind adapters.Kind) (B, error) {
		f := openaitest.StartFake(t, openaitest.FakeOptions{})
		f.Script(failing[kind])
		backend, err := open(ctx, fakeConfig(f, more))
		if err == nil && kind == adapters.KindTimeout {
			backend = timeout(backend)
		}
		return backend, err
	}
	leaks = func(ctx context.Context, secret string) (B, error) {
		f := openaitest.StartFake(t, openaitest.FakeOptions{})
		f.Script(openaitest.FakeReply{Status: http.StatusForbidden, Echo: echo})
		cfg := fakeConfig(f, more+`, "api_key_env": "SECRET"`)
		cfg.Secrets.Env = func(string) (string, bool) { return secret, true }
		return open(ctx, cfg)
	}
	return opens, fails, leaks
}

const briefly = 20 * time.Millisecond

func TestGeneratorSuite(t *testing.T) {
	t.Parallel()
	opens, fails, leaks := harness(t, "", openGenerator, func(g adapters.Generator) adapters.Generator {
		return adapters.WrapGenerator(g, adapters.Policy{Name: Name, Timeout: briefly})
	})
	adaptertest.TestGenerator(t, adaptertest.GeneratorHarness{
		Harness: adaptertest.Harness[adapters.Generator]{Open: opens, Fail: fails, Leak: leaks},
		Reads:   true,
		Finish: func(ctx context.Context, reason string) (adapters.Generator, error) {
			f := openaitest.StartFake(t, openaitest.FakeOptions{})
			f.Script(openaitest.FakeAnswer("cut", reason))
			return openGenerator(ctx, fakeConfig(f, ""))
		},
	})
}

func TestEmbedderSuite(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]string{
		"default":  "",
		"base64":   `, "encoding": "base64"`,
		"prefixes": `, "dimensions": 64, "query_prefix": "query: ", "passage_prefix": "passage: ", "batch": 3`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opens, fails, leaks := harness(t, more, openEmbedder, func(e adapters.Embedder) adapters.Embedder {
				return adapters.WrapEmbedder(e, adapters.Policy{Name: Name, Timeout: briefly})
			})
			adaptertest.TestEmbedder(t, adaptertest.EmbedderHarness{
				Harness: adaptertest.Harness[adapters.Embedder]{Open: opens, Fail: fails, Leak: leaks}, Unit: true,
			})
		})
	}
}
