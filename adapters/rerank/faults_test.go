package rerank

import (
	"errors"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/openai/openaitest"
)

func checkError(t *testing.T, err error, kind adapters.Kind, says string) {
	t.Helper()
	var typed *adapters.Error
	if !errors.As(err, &typed) {
		t.Fatalf("%v (%T), want an error of kind %q", err, err, kind)
	}
	if typed.Kind != kind || typed.RetryAfter != 0 || !strings.Contains(typed.Error(), says) {
		t.Errorf("%v, to be tried after %v; want kind %q, with %q", typed, typed.RetryAfter, kind, says)
	}
	if len(typed.Error()) > 1000 || strings.ContainsAny(typed.Error(), "\n\x00") {
		t.Errorf("the message is not one line that can be read: %q", typed.Error())
	}
}

var twoDocuments = adapters.RerankRequest{Query: "when?", Documents: []string{"a", "b"}}

// TestFaults says of the faults of a server that are this API's own what kind of error they are; modelapi holds those of every server.
func TestFaults(t *testing.T) {
	t.Parallel()
	const (
		auto = ""
		tei  = `, "shape": "tei"`
		vllm = `, "shape": "vllm"`
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
		says  string
	}{
		{"Cohere's wrong key", auto, body(401, `{"message": "invalid api token"}`), adapters.KindUnauthorised, `backends.reranker.api_key_env (the variable "KEY"): 401 `},
		{"an unknown model", auto, body(404, `{"message": "model 'x' not found"}`), adapters.KindNotFound, "backends.reranker.model"},
		{"a wrong path", auto, body(404, `{"detail": "Not Found"}`), adapters.KindNotFound, "does url http"},
		{"TEI's batch", tei, body(413, `{"error": "batch size 33 > maximum allowed batch size 32", "error_type": "Validation"}`), adapters.KindInvalid, "is backends.reranker.batch too large?"},
		{"TEI's batch by another status", tei, body(422, `{"error": "batch size 33 > maximum allowed batch size 32", "error_type": "Validation"}`), adapters.KindInvalid, "2 documents were sent in one call"},
		{"Cohere's batch", auto, body(400, `{"message": "invalid request: too many documents: max 10000"}`), adapters.KindInvalid, "is backends.reranker.batch too large?"},
		{"a body that is too large", auto, body(413, "Payload Too Large"), adapters.KindInvalid, "is backends.reranker.batch too large?"},
		{"TEI's too long a text", tei, body(413, "{\"error\": \"Input validation error: `inputs` must have less than 512 tokens. Given: 700\", \"error_type\": \"Validation\"}"), adapters.KindTooLong, "backends.reranker.truncate: true"},
		{"vLLM's too long a text", vllm, body(400, `{"object": "error", "message": "This model's maximum context length is 512 tokens. However, you requested 700", "code": 400}`), adapters.KindTooLong, "backends.reranker.max_tokens"},
		{"llama.cpp's too long a text", auto, body(500, `{"error": {"code": 500, "message": "input (700 tokens) is too large to process. increase the physical batch size (current batch size: 512)", "type": "server_error"}}`), adapters.KindTooLong, "the query with a document is longer"},
		{"llama.cpp without a reranker", auto, body(501, `{"error": {"code": 501, "message": "This server does not support reranking. Start it with --reranking", "type": "not_supported_error"}}`), adapters.KindUnsupported, "--reranking"},
		{"a cut answer", auto, body(200, `{"results": [{"index": 0, "relev`), adapters.KindTransient, "the answer is cut off"},
		{"a cut list", tei, body(200, `[{"index": 0, "score": 0.5},`), adapters.KindTransient, "the answer is cut off"},
		{"an answer whose connection ends", auto, openaitest.FakeReply{Body: `{"results": [{"index": 0, "relevance_score": 0.5}]}`, CutAt: 20}, adapters.KindTransient, "the answer broke off"},
		{"no results", auto, results(""), adapters.KindPermanent, "there is nothing in the answer"},
		{"an empty list", tei, body(200, "[]"), adapters.KindPermanent, "there is nothing in the answer"},
		{"another JSON", auto, body(200, `{"data": []}`), adapters.KindPermanent, "there is nothing in the answer"},
		{"a list of another kind", auto, body(200, `["hello"]`), adapters.KindPermanent, "no answer of this API"},
		{"two answers", auto, body(200, `{"results": [{"index": 0, "relevance_score": 1}]} {}`), adapters.KindPermanent, "no answer of this API"},
		{"an index behind the last", auto, results(`{"index": 1, "relevance_score": 1}, {"index": 2, "relevance_score": 1}`), adapters.KindPermanent, "a result has the index 2, and 2 documents were sent"},
		{"an index below the first", auto, results(`{"index": -1, "relevance_score": 1}`), adapters.KindPermanent, "result 1 has the index -1, which is none"},
		{"a broken index", auto, results(`{"index": 0.5, "relevance_score": 1}`), adapters.KindPermanent, "the index 0.5, which is none"},
		{"no index", auto, results(`{"relevance_score": 1}`), adapters.KindPermanent, "the index (none), which is none"},
		{"an index twice", auto, results(`{"index": 1, "relevance_score": 1}, {"index": 1, "relevance_score": 0}`), adapters.KindPermanent, "two results have the index 1"},
		{"no score", auto, results(`{"index": 1}`), adapters.KindPermanent, "the result with the index 1 has the score (none), which is no number"},
		{"a score of null", auto, results(`{"index": 1, "relevance_score": null}`), adapters.KindPermanent, "the score null, which is no number"},
		{"a score in words", auto, results(`{"index": 1, "relevance_score": "high"}`), adapters.KindPermanent, `the score "high", which is no number`},
		{"a score that is too large", auto, results(`{"index": 1, "relevance_score": 1e999}`), adapters.KindPermanent, "the score 1e999, which is no number"},
		{"a score that is NaN", auto, results(`{"index": 1, "relevance_score": NaN}`), adapters.KindPermanent, "a score is NaN or infinite"},
		{"a score without an end", tei, body(200, `[{"index": 1, "score": -Infinity}]`), adapters.KindPermanent, "a score is NaN or infinite"},
		{"80 MB", auto, openaitest.FakeReply{Body: strings.Repeat("x", 1<<16), Repeat: 1280}, adapters.KindPermanent, "too large"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := openaitest.StartFake(t, openaitest.FakeOptions{})
			f.Script(tt.reply)
			_, err := newReranker(t, f, `, "api_key_env": "KEY"`+tt.more).Rerank(t.Context(), twoDocuments)
			checkError(t, err, tt.kind, tt.says)
			if n := len(f.Requests()); n != 1 {
				t.Errorf("%d calls, want 1", n)
			}
		})
	}
}
