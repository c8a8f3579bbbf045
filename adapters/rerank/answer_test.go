package rerank

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/modelapi"
	"github.com/culprit-rag/culprit/adapters/openai/openaitest"
)

func otherModel(name string) string {
	return fmt.Sprintf("the server says that the model %q answered, and %q was asked for", name, openaitest.FakeModel)
}

// TestWhatIsRead holds what becomes of answers.
func TestWhatIsRead(t *testing.T) {
	t.Parallel()
	tokens := func(n int) *int { return &n }
	hit := func(index int, score float64) adapters.RerankResult {
		return adapters.RerankResult{Index: index, Score: score}
	}
	cut := func(index int, score float64) adapters.RerankResult {
		return adapters.RerankResult{Index: index, Score: score, Truncated: true}
	}
	for _, tt := range []struct {
		name, more string
		documents  int
		answers    []string
		want       adapters.RerankResponse
	}{
		{
			"Cohere's answer", "", 2,
			[]string{`{"id": "x", "results": [{"index": 1, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0.1}], "meta": {"api_version": {"version": "2"}, "billed_units": {"search_units": 1}}}`},
			adapters.RerankResponse{Results: []adapters.RerankResult{hit(1, 0.9), hit(0, 0.1)}},
		},
		{
			"Jina's answer", "", 2,
			[]string{`{"model": "jina-reranker-v2", "object": "list", "usage": {"total_tokens": 38}, "results": [{"index": 0, "relevance_score": 0.2, "document": {"text": "a"}}, {"index": 1, "relevance_score": 0.1}]}`},
			adapters.RerankResponse{Results: []adapters.RerankResult{hit(0, 0.2), hit(1, 0.1)}, ModelReported: "jina-reranker-v2", InputTokens: tokens(38), Notes: []string{otherModel("jina-reranker-v2")}},
		},
		{
			"llama.cpp's answer, by index and with logits", "", 2,
			[]string{`{"model": "fake-2026-01-01", "usage": {"prompt_tokens": 51, "total_tokens": 52}, "results": [{"index": 0, "relevance_score": -11.5}, {"index": 1, "relevance_score": 7.25}]}`},
			adapters.RerankResponse{Results: []adapters.RerankResult{hit(0, -11.5), hit(1, 7.25)}, ModelReported: openaitest.FakeModel, InputTokens: tokens(51)},
		},
		{"TEI's answer", `, "shape": "tei"`, 2, []string{` [{"index": 1, "score": 0.9, "text": "b"}, {"index": 0, "score": -0.0}]`}, adapters.RerankResponse{Results: []adapters.RerankResult{hit(1, 0.9), hit(0, 0)}}},
		{
			"a document without a result is left out", "", 3,
			[]string{`{"results": [{"index": 2, "relevance_score": 0.9}]}`},
			adapters.RerankResponse{Results: []adapters.RerankResult{hit(2, 0.9)}, Notes: []string{"the server scored 1 of 3 documents"}},
		},
		{
			"documents that were cut are told one by one", "", 2,
			[]string{`{"results": [{"index": 1, "relevance_score": 1, "truncated": true}, {"index": 0, "relevance_score": 0, "truncated": null}]}`},
			adapters.RerankResponse{Results: []adapters.RerankResult{cut(1, 1), hit(0, 0)}},
		},
		{
			"a warning of several documents is of none of them", "", 2,
			[]string{`{"results": [{"index": 0, "relevance_score": 1}, {"index": 1, "relevance_score": 1}], "meta": {"warnings": ["Some documents were truncated."], "tokens": {"input_tokens": 9}}}`},
			adapters.RerankResponse{Results: []adapters.RerankResult{hit(0, 1), hit(1, 1)}, InputTokens: tokens(9), Notes: []string{"the server warns: Some documents were truncated."}},
		},
		{
			"a warning of one document is of that one", `, "batch": 1`, 2,
			[]string{`{"results": [{"index": 0, "relevance_score": 0.5}], "meta": {"warnings": ["the document was truncated"]}}`, `{"results": [{"index": 0, "relevance_score": 0.6}], "meta": {"warnings": ["this model is old", null]}}`},
			adapters.RerankResponse{Results: []adapters.RerankResult{hit(1, 0.6), cut(0, 0.5)}, Notes: []string{"the server warns: the document was truncated", "the server warns: this model is old"}},
		},
		{
			"tokens at the limit tell as well", `, "shape": "vllm", "max_tokens": 8, "batch": 1`, 2,
			[]string{`{"usage": {"total_tokens": 8}, "results": [{"index": 0, "relevance_score": 0.7}]}`, `{"usage": {"total_tokens": 7}, "results": [{"index": 0, "relevance_score": 0.6}]}`},
			adapters.RerankResponse{Results: []adapters.RerankResult{cut(0, 0.7), hit(1, 0.6)}, InputTokens: tokens(15)},
		},
		{
			"what came in no order stays as it came", `, "batch": 2`, 3,
			[]string{`{"results": [{"index": 0, "relevance_score": 0.1}, {"index": 1, "relevance_score": 0.2}]}`, `{"results": [{"index": 0, "relevance_score": 0.9}]}`},
			adapters.RerankResponse{Results: []adapters.RerankResult{hit(0, 0.1), hit(1, 0.2), hit(2, 0.9)}},
		},
		{
			"tokens that not every call tells are not known", `, "batch": 1`, 2,
			[]string{`{"usage": {"total_tokens": 8}, "results": [{"index": 0, "relevance_score": 0.7}]}`, `{"usage": {"total_tokens": 0}, "results": [{"index": 0, "relevance_score": 0.6}]}`},
			adapters.RerankResponse{Results: []adapters.RerankResult{hit(0, 0.7), hit(1, 0.6)}},
		},
		{
			"bytes that are no UTF-8", "", 1,
			[]string{"{\"model\": \"m\xff\", \"results\": [{\"index\": 0, \"relevance_score\": 1}]}"},
			adapters.RerankResponse{Results: []adapters.RerankResult{hit(0, 1)}, ModelReported: "m\uFFFD", Notes: []string{otherModel("m\uFFFD")}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := openaitest.StartFake(t, openaitest.FakeOptions{})
			var script []openaitest.FakeReply
			for _, body := range tt.answers {
				script = append(script, openaitest.FakeReply{Body: body})
			}
			f.Script(script...)
			documents := make([]string, tt.documents)
			for i := range documents {
				documents[i] = fmt.Sprintf("document %d", i)
			}
			got, err := newReranker(t, f, tt.more).Rerank(t.Context(), adapters.RerankRequest{Query: "when?", Documents: documents})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("response (-want +got):\n%s", diff)
			}
			for _, result := range got.Results {
				if result.Score == 0 && math.Signbit(result.Score) {
					t.Error("a score is negative zero")
				}
			}
		})
	}
}

// FuzzAnswers feeds bodies of any kind to what reads answers and errors: neither panics, results are of documents that were sent, each
// once, and an error has one line without the key.
func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{
		`{"model": "m", "results": [{"index": 1, "relevance_score": 0.9}], "usage": {"total_tokens": 3}}`, `[{"index": 0, "score": -0.0}]`, `[{"index": 0, "score": NaN}]`, `{"results": null}`,
		`{"results": [{"index": 1e300, "relevance_score": 1}], "meta": {"warnings": ["truncated", {}]}}`, `{"error": "x", "error_type": "y"}`, "<html><title>x", "null", "[]", "", "\xff\x00", "missing field `texts`",
	} {
		f.Add(200, []byte(seed))
		f.Add(422, []byte(seed))
	}
	set, err := read(json.RawMessage(`{"model": "m", "url": "http://localhost:1/rerank", "api_key_env": "KEY", "shape": "vllm", "max_tokens": 1}`))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		if status < 200 || status > 599 {
			t.Skip()
		}
		checkAnswer(t, &set, status, body)
	})
}

// checkAnswer is what holds of a body of any kind.
func checkAnswer(t *testing.T, set *settings, status int, body []byte) {
	t.Helper()
	to := set.server()
	r := &reranker{Client: modelapi.Bare(&to, sentinel), set: *set}
	a, err := readAnswer(body)
	if err == nil {
		if resp, err := r.response(&a, shapeVLLM, 2, 10); err == nil {
			seen := map[int]bool{}
			for _, result := range resp.Results {
				if result.Index < 10 || result.Index > 11 || seen[result.Index] {
					t.Errorf("%q: index %d", body, result.Index)
				}
				seen[result.Index] = true
			}
		}
	}
	for _, body := range [][]byte{body, []byte(string(body) + sentinel)} {
		x := &modelapi.Exchange{Status: status, Answer: body}
		wantsTexts(x)
		e := r.refused(t.Context(), "rerank", x, err, shapeTEI, 2)
		if text := e.Error(); e.Kind == "" || strings.Contains(text, sentinel) || len(text) > 2000 {
			t.Errorf("%q: kind %q, %q", body, e.Kind, text)
		}
	}
}
