package rerank

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/openai/openaitest"
)

func checkError(t *testing.T, err error, kind adapters.Kind, wait time.Duration, says string) {
	t.Helper()
	var typed *adapters.Error
	if !errors.As(err, &typed) {
		t.Fatalf("%v (%T), want an error of kind %q", err, err, kind)
	}
	if typed.Kind != kind || typed.RetryAfter != wait || !strings.Contains(typed.Error(), says) {
		t.Errorf("%v, to be tried after %v; want kind %q, %v, with %q", typed, typed.RetryAfter, kind, wait, says)
	}
	if len(typed.Error()) > 1000 || strings.ContainsAny(typed.Error(), "\n\x00") {
		t.Errorf("the message is not one line that can be read: %q", typed.Error())
	}
}

var twoDocuments = adapters.RerankRequest{Query: "when?", Documents: []string{"a", "b"}}

// TestFaults says of every fault of a server what kind of error it is, and what its message must tell.
func TestFaults(t *testing.T) {
	t.Parallel()
	const (
		auto = ""
		tei  = `, "shape": "tei"`
		vllm = `, "shape": "vllm"`
		page = "<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head></html>"
	)
	body := func(status int, text string) openaitest.FakeReply {
		return openaitest.FakeReply{Status: status, Body: text}
	}
	results := func(list string) openaitest.FakeReply { return body(200, `{"results": [`+list+`]}`) }
	for _, tt := range []struct {
		name  string
		more  string
		reply openaitest.FakeReply
		kind  adapters.Kind
		wait  time.Duration
		says  string
	}{
		{"Cohere's wrong key", auto, body(401, `{"message": "invalid api token"}`), adapters.KindUnauthorised, 0, `backends.reranker.api_key_env (the variable "KEY"): 401 `},
		{"Jina's wrong key", auto, body(403, `{"detail": "Invalid API key"}`), adapters.KindUnauthorised, 0, "Invalid API key"},
		{"an empty account", auto, body(402, `{"detail": "Insufficient account balance"}`), adapters.KindUnauthorised, 0, "may buy nothing more"},
		{"an unknown model", auto, body(404, `{"message": "model 'x' not found"}`), adapters.KindNotFound, 0, "backends.reranker.model"},
		{"a wrong path", auto, body(404, `{"detail": "Not Found"}`), adapters.KindNotFound, 0, "does url http"},
		{
			"a rate limit", auto,
			openaitest.FakeReply{Status: 429, Header: map[string]string{"Retry-After": "3"}, Body: `{"message": "slow down"}`},
			adapters.KindRateLimited, 3 * time.Second, "slow down",
		},
		{"a rate limit without a wait", auto, body(429, `{"message": "trial key"}`), adapters.KindRateLimited, 0, "trial key"},
		{"TEI that is busy", tei, body(429, `{"error": "Model is overloaded", "error_type": "Overloaded"}`), adapters.KindRateLimited, 0, "Model is overloaded"},
		{"TEI's batch", tei, body(413, `{"error": "batch size 33 > maximum allowed batch size 32", "error_type": "Validation"}`), adapters.KindInvalid, 0, "is backends.reranker.batch too large?"},
		{"TEI's batch by another status", tei, body(422, `{"error": "batch size 33 > maximum allowed batch size 32", "error_type": "Validation"}`), adapters.KindInvalid, 0, "2 documents were sent in one call"},
		{"Cohere's batch", auto, body(400, `{"message": "invalid request: too many documents: max 10000"}`), adapters.KindInvalid, 0, "is backends.reranker.batch too large?"},
		{"a body that is too large", auto, body(413, "Payload Too Large"), adapters.KindInvalid, 0, "is backends.reranker.batch too large?"},
		{"TEI's too long a text", tei, body(413, "{\"error\": \"Input validation error: `inputs` must have less than 512 tokens. Given: 700\", \"error_type\": \"Validation\"}"), adapters.KindTooLong, 0, "backends.reranker.truncate: true"},
		{"vLLM's too long a text", vllm, body(400, `{"object": "error", "message": "This model's maximum context length is 512 tokens. However, you requested 700", "code": 400}`), adapters.KindTooLong, 0, "backends.reranker.max_tokens"},
		{"llama.cpp's too long a text", auto, body(500, `{"error": {"code": 500, "message": "input (700 tokens) is too large to process. increase the physical batch size (current batch size: 512)", "type": "server_error"}}`), adapters.KindTooLong, 0, "the query with a document is longer"},
		{"a wrong request", auto, body(422, `{"detail": [{"loc": ["body", "query"], "msg": "field required"}]}`), adapters.KindInvalid, 0, "field required"},
		{"llama.cpp without a reranker", auto, body(501, `{"error": {"code": 501, "message": "This server does not support reranking. Start it with --reranking", "type": "not_supported_error"}}`), adapters.KindUnsupported, 0, "--reranking"},
		{"a broken server", auto, body(500, `{"message": "oops"}`), adapters.KindTransient, 0, "oops"},
		{"a gateway's page", auto, body(502, page), adapters.KindTransient, 0, "502 Bad Gateway: a web page came"},
		{"a proxy's login page", auto, body(200, "<html><title>Sign in</title></html>"), adapters.KindPermanent, 0, `a web page came (of a proxy, or its login?): "Sign in"`},
		{"another place", auto, openaitest.FakeReply{Status: 307, Header: map[string]string{"Location": "https://elsewhere.example/x?token=abc"}}, adapters.KindPermanent, 0, "name the final address in backends.reranker.url"},
		{"a success that is an error", auto, body(200, `{"error": {"message": "provider is busy", "code": 429}}`), adapters.KindRateLimited, 0, "200 OK with an error in it: provider is busy"},
		{"a cut answer", auto, body(200, `{"results": [{"index": 0, "relev`), adapters.KindTransient, 0, "the answer is cut off"},
		{"a cut list", tei, body(200, `[{"index": 0, "score": 0.5},`), adapters.KindTransient, 0, "the answer is cut off"},
		{"an answer whose connection ends", auto, openaitest.FakeReply{Body: `{"results": [{"index": 0, "relevance_score": 0.5}]}`, CutAt: 20}, adapters.KindTransient, 0, "the answer broke off"},
		{"a reset", auto, openaitest.FakeReply{Reset: true}, adapters.KindTransient, 0, "is backends.reranker.url right?"},
		{"an empty answer", auto, openaitest.FakeReply{}, adapters.KindTransient, 0, "an empty body came"},
		{"no results", auto, results(""), adapters.KindPermanent, 0, "there is nothing in the answer"},
		{"an empty list", tei, body(200, "[]"), adapters.KindPermanent, 0, "there is nothing in the answer"},
		{"another JSON", auto, body(200, `{"data": []}`), adapters.KindPermanent, 0, "there is nothing in the answer"},
		{"a list of another kind", auto, body(200, `["hello"]`), adapters.KindPermanent, 0, "no answer of this API"},
		{"two answers", auto, body(200, `{"results": [{"index": 0, "relevance_score": 1}]} {}`), adapters.KindPermanent, 0, "no answer of this API"},
		{"an index behind the last", auto, results(`{"index": 1, "relevance_score": 1}, {"index": 2, "relevance_score": 1}`), adapters.KindPermanent, 0, "a result has the index 2, and 2 documents were sent"},
		{"an index below the first", auto, results(`{"index": -1, "relevance_score": 1}`), adapters.KindPermanent, 0, "result 1 has the index -1, which is none"},
		{"a broken index", auto, results(`{"index": 0.5, "relevance_score": 1}`), adapters.KindPermanent, 0, "the index 0.5, which is none"},
		{"no index", auto, results(`{"relevance_score": 1}`), adapters.KindPermanent, 0, "the index (none), which is none"},
		{"an index twice", auto, results(`{"index": 1, "relevance_score": 1}, {"index": 1, "relevance_score": 0}`), adapters.KindPermanent, 0, "two results have the index 1"},
		{"no score", auto, results(`{"index": 1}`), adapters.KindPermanent, 0, "the result with the index 1 has the score (none), which is no number"},
		{"a score of null", auto, results(`{"index": 1, "relevance_score": null}`), adapters.KindPermanent, 0, "the score null, which is no number"},
		{"a score in words", auto, results(`{"index": 1, "relevance_score": "high"}`), adapters.KindPermanent, 0, `the score "high", which is no number`},
		{"a score that is too large", auto, results(`{"index": 1, "relevance_score": 1e999}`), adapters.KindPermanent, 0, "the score 1e999, which is no number"},
		{"a score that is NaN", auto, results(`{"index": 1, "relevance_score": NaN}`), adapters.KindPermanent, 0, "a score is NaN or infinite"},
		{"a score without an end", tei, body(200, `[{"index": 1, "score": -Infinity}]`), adapters.KindPermanent, 0, "a score is NaN or infinite"},
		{"80 MB", auto, openaitest.FakeReply{Body: strings.Repeat("x", 1<<16), Repeat: 1280}, adapters.KindPermanent, 0, "too large"},
		{"80 MB that are announced", auto, openaitest.FakeReply{Header: map[string]string{"Content-Length": "83886080"}, Body: "x", Repeat: 1}, adapters.KindPermanent, 0, "too large"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := openaitest.StartFake(t, openaitest.FakeOptions{})
			f.Script(tt.reply)
			_, err := newReranker(t, f, `, "api_key_env": "KEY"`+tt.more).Rerank(t.Context(), twoDocuments)
			checkError(t, err, tt.kind, tt.wait, tt.says)
			if n := len(f.Requests()); n != 1 {
				t.Errorf("%d calls, want 1", n)
			}
		})
	}
}

// TestHungConnections ends calls by their context, before and within an answer.
func TestHungConnections(t *testing.T) {
	t.Parallel()
	for says, reply := range map[string]openaitest.FakeReply{
		"while waiting for an answer":           {Hang: true},
		"while reading the answer (status 200)": {HangIn: true, Body: `{"results": [{"index": 0, "relevance_score": 0.5}]}`},
	} {
		f := openaitest.StartFake(t, openaitest.FakeOptions{})
		f.Script(reply)
		r := newReranker(t, f, "")
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		_, err := r.Rerank(ctx, twoDocuments)
		cancel()
		checkError(t, err, adapters.KindTimeout, 0, says)
	}
}

// TestUnreached tells a server that is down from a setting that is wrong.
func TestUnreached(t *testing.T) {
	t.Parallel()
	down := openaitest.StartFake(t, openaitest.FakeOptions{})
	secure := openaitest.StartFake(t, openaitest.FakeOptions{TLS: true})
	for _, tt := range []struct {
		url  string
		kind adapters.Kind
		says string
	}{
		{"http://127.0.0.1:1/v1", adapters.KindTransient, "is the server up, and is backends.reranker.url right?"},
		{strings.Replace(down.URL, "http:", "https:", 1), adapters.KindInvalid, "backends.reranker.url must begin with http://"},
		{secure.URL, adapters.KindPermanent, "backends.reranker.tls.ca_file"},
	} {
		cfg := fakeConfig(down, "")
		cfg.Settings = []byte(strings.Replace(string(cfg.Settings), down.URL, tt.url, 1))
		r, err := open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.Rerank(t.Context(), twoDocuments)
		checkError(t, err, tt.kind, 0, tt.says)
		r.Close()
	}
}

// TestRedirectsTakeNoKey sends on to a server that must never be asked.
func TestRedirectsTakeNoKey(t *testing.T) {
	t.Parallel()
	other := openaitest.StartFake(t, openaitest.FakeOptions{})
	for _, status := range []int{301, 302, 303, 307, 308} {
		f := openaitest.StartFake(t, openaitest.FakeOptions{})
		f.Script(openaitest.FakeReply{Status: status, Header: map[string]string{"Location": other.URL + "/rerank"}})
		_, err := newReranker(t, f, `, "api_key_env": "KEY"`).Rerank(t.Context(), twoDocuments)
		checkError(t, err, adapters.KindPermanent, 0, "sends on to")
	}
	if n := len(other.Requests()); n != 0 {
		t.Errorf("%d calls went to another address", n)
	}
}
