package openai

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/modelapi"
	"github.com/culprit-rag/culprit/adapters/openai/openaitest"
)

func count(n int) *int { return &n }

// TestWhatIsRecorded reads answers of many servers.
func TestWhatIsRecorded(t *testing.T) {
	t.Parallel()
	const yes = `"choices": [{"message": {"role": "assistant", "content": "yes"}, "finish_reason": "stop"}]`
	for _, tt := range []struct {
		name, body string
		header     map[string]string
		want       adapters.GenerateResponse
	}{
		{
			"OpenAI",
			`{"id": "chatcmpl-7", "created": 1767225600, "model": "gpt-4.1-2025-04-14", "system_fingerprint": "fp_1", "service_tier": "default", ` + yes + `,
				"usage": {"prompt_tokens": 30, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 0}, "completion_tokens_details": {"reasoning_tokens": 4}}}`,
			map[string]string{"X-Request-Id": "req_1"},
			adapters.GenerateResponse{
				Text: "yes", FinishReason: "stop", ModelReported: "gpt-4.1-2025-04-14", SystemFingerprint: "fp_1", RequestID: "req_1",
				InputTokens: count(30), OutputTokens: count(9), CachedInputTokens: count(0), ReasoningTokens: count(4),
				Metadata: map[string]string{"response_id": "chatcmpl-7", "created": "1767225600", "service_tier": "default"},
			},
		},
		{
			"a gateway with a cache", `{"id": "gen-9", ` + yes + `}`,
			map[string]string{"Cf-Aig-Cache-Status": "HIT", "X-Ratelimit-Remaining-Tokens": "7"},
			adapters.GenerateResponse{Text: "yes", FinishReason: "stop", RequestID: "gen-9", Metadata: map[string]string{"response_id": "gen-9", "cache": "cf-aig-cache-status: HIT"}, Quota: &adapters.Quota{Tokens: &adapters.Allowance{Left: 7}}},
		},
		{
			"one that tells nothing", `{` + yes + `}`, nil,
			adapters.GenerateResponse{Text: "yes", FinishReason: "stop"},
		},
		{
			"one that counts nothing, with a cache of its own", `{"usage": {"prompt_tokens": 0, "completion_tokens": 0, "prompt_cache_hit_tokens": 12}, ` + yes + `}`, nil,
			adapters.GenerateResponse{Text: "yes", FinishReason: "stop", OutputTokens: count(0), CachedInputTokens: count(12)},
		},
		{
			"odd types", `{"id": 7, "created": 1767225600.25, "model": null, "usage": {"prompt_tokens": "many", "completion_tokens": -1}, ` + yes + `}`, nil,
			adapters.GenerateResponse{Text: "yes", FinishReason: "stop", RequestID: "7", Metadata: map[string]string{"response_id": "7", "created": "1767225600.25"}},
		},
		{
			"no usage object", `{"usage": [], ` + yes + `}`,
			map[string]string{"Apim-Request-Id": "azure-1"},
			adapters.GenerateResponse{Text: "yes", FinishReason: "stop", RequestID: "azure-1"},
		},
		{
			"a refusal", `{"choices": [{"message": {"content": null, "refusal": "I can't help."}, "finish_reason": "stop"}]}`, nil,
			adapters.GenerateResponse{Text: "I can't help.", Refusal: "I can't help.", FinishReason: "stop"},
		},
		{
			"parts", `{"choices": [{"message": {"content": [{"type": "text", "text": "y"}, {"type": "image"}, {"type": "text", "text": "es"}]}, "finish_reason": "eos"}]}`, nil,
			adapters.GenerateResponse{Text: "yes", FinishReason: "stop"},
		},
		{
			"an empty answer at the limit", `{"choices": [{"message": {"content": ""}, "finish_reason": "MAX_TOKENS"}]}`, nil,
			adapters.GenerateResponse{FinishReason: "length"},
		},
		{
			"a block", `{"choices": [{"message": {}, "finish_reason": "content_filter"}]}`, nil,
			adapters.GenerateResponse{FinishReason: "content_filter"},
		},
		{
			"another word", `{"choices": [{"message": {"content": "yes"}, "finish_reason": "done"}]}`, nil,
			adapters.GenerateResponse{Text: "yes", FinishReason: "done"},
		},
		{
			"choices out of order, and an error that is none", `{"error": false, "choices": [{"index": 1, "message": {"content": "no"}}, {"index": 0, "finish_reason": "END_TURN", "message": {"content": "yes"}}]}`, nil,
			adapters.GenerateResponse{Text: "yes", FinishReason: "stop", Notes: []string{"the server sent 2 choices where one was asked for: the first is taken"}},
		},
		{
			"no reason, and two choices", `{"choices": [{"message": {"content": "yes"}, "finish_reason": null}, {"message": {"content": "no"}}]}`, nil,
			adapters.GenerateResponse{Text: "yes", Notes: []string{"the server did not say why the answer ends", "the server sent 2 choices where one was asked for: the first is taken"}},
		},
		{
			"no UTF-8", "{\"choices\": [{\"message\": {\"content\": \"a\xff\"}, \"finish_reason\": \"stop\"}]}", nil,
			adapters.GenerateResponse{Text: "a\uFFFD", FinishReason: "stop", Notes: []string{"the answer held bytes that are no UTF-8, which were replaced"}},
		},
		{
			"a lone surrogate and a NUL", `{"choices": [{"message": {"content": "a\ud83d\u0000"}, "finish_reason": "stop"}]}`, nil,
			adapters.GenerateResponse{Text: "a\uFFFD\x00", FinishReason: "stop", Notes: []string{"the answer held halves of characters (lone surrogates), which were replaced"}},
		},
		{
			"a URL with a query", `{"choices": [{"message": {"content": "see https://a.example/?q=1 or https://u:p@b.example"}, "finish_reason": "stop"}]}`, nil,
			adapters.GenerateResponse{Text: "see https://a.example/?q=1 or https://u:p@b.example", FinishReason: "stop"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := openaitest.StartFake(t, openaitest.FakeOptions{})
			f.Script(openaitest.FakeReply{Body: tt.body, Header: tt.header})
			got, err := newGenerator(t, f, "").Generate(t.Context(), user("hello"))
			if err != nil {
				t.Fatal(err)
			}
			if got.WireTime <= 0 {
				t.Errorf("wire time %v", got.WireTime)
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreFields(got, "WireTime"), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestBlockedPrompts reads a refusal of Azure's filter as a response.
func TestBlockedPrompts(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"error": {"message": "The response was filtered", "type": null, "param": "prompt", "code": "content_filter", "status": 400, "innererror": {"code": "ResponsibleAIPolicyViolation"}}}`,
		`{"error": {"message": "no", "code": 400, "innererror": {"code": "ResponsibleAIPolicyViolation"}}}`,
	} {
		f := openaitest.StartFake(t, openaitest.FakeOptions{})
		f.Script(openaitest.FakeReply{Status: 400, Header: map[string]string{"Apim-Request-Id": "azure-1"}, Body: body})
		got, err := newGenerator(t, f, "").Generate(t.Context(), user("hello"))
		if err != nil || got.FinishReason != adapters.FinishContentFilter || got.RequestID != "azure-1" || got.Text != "" || len(got.Notes) != 1 {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

// TestWireTimeIsOfTheServer measures what the server took and no more than the call.
func TestWireTimeIsOfTheServer(t *testing.T) {
	t.Parallel()
	const delay = 30 * time.Millisecond
	f := openaitest.StartFake(t, openaitest.FakeOptions{})
	reply := openaitest.FakeAnswer("yes", "stop")
	reply.Delay = delay
	f.Script(openaitest.FakeError(400, "'seed' is not supported", "unsupported_parameter", "seed"), reply)
	start := time.Now()
	got, err := newGenerator(t, f, "").Generate(t.Context(), full())
	if err != nil || got.WireTime < delay || got.WireTime > time.Since(start) {
		t.Errorf("wire time %v, %v", got.WireTime, err)
	}
}

func TestLoneSurrogates(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]bool{
		`"plain"`: false, `"\ud83e\udd8a"`: false, `"\ud83e"`: true, `"\udd8a"`: true, `"\udd8a\ud83e"`: true, `"\ud83e\ud83e\udd8a"`: true,
		`"\\ud83e"`: false, `"\\\ud83e"`: true, `"\n\u00e9"`: false, `"\u12`: false, `\`: false, `null`: false,
	} {
		if got := loneSurrogate([]byte(raw)); got != want {
			t.Errorf("%s: %t, want %t", raw, got, want)
		}
	}
}

// FuzzAnswers feeds bodies of any kind to what reads answers and errors: neither panics, a text is UTF-8, and an error has one line.
func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{
		openaitest.FakeAnswer("yes", "stop").Body, openaitest.FakeError(400, "no", "code", "param").Body, `{"error": "x", "error_type": "y"}`, `{"detail": [{"loc": []}]}`,
		`{"object": "error", "message": "m", "code": 400}`, `<html><title>x`, "data: {}", `{"choices": [{"message": {"content": "\ud800"}}]}`, `null`, `[]`, "", "\xff\x00",
		`{"error": {"code": 429, "innererror": null}}`, `{"choices": [{"message": {"content": [{"text": "a"}]}}], "usage": {"prompt_tokens": 1e99}}`,
	} {
		f.Add(200, []byte(seed))
		f.Add(400, []byte(seed))
	}
	set, err := readGenerator(json.RawMessage(`{"model": "m", "base_url": "http://localhost:1/v1", "api_key_env": "KEY"}`), "")
	if err != nil {
		f.Fatal(err)
	}
	const key = "sk-sentinel-3b1f7c9d"
	to := set.server()
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		if status < 200 || status > 599 {
			t.Skip()
		}
		c := &client{Client: modelapi.Bare(&to, key)}
		g := &generator{client: c, set: set}
		x := &modelapi.Exchange{Status: status, Answer: body}
		if a, ok := readAnswer(body); ok {
			if resp := g.response(x, &a, &chat{}); resp.Text != strings.ToValidUTF8(resp.Text, "") {
				t.Errorf("the text %q is no UTF-8", resp.Text)
			}
		}
		for _, body := range [][]byte{body, []byte(string(body) + key)} {
			x.Answer = body
			e := c.Failed(t.Context(), "generate", x, nil)
			if text := e.Error(); e.Kind == "" || strings.Contains(text, key) || len(text) > 2000 {
				t.Errorf("%q: kind %q, %q", body, e.Kind, text)
			}
		}
		said := modelapi.ReadComplaint(body)
		about(&said, []parameter{temperature, stop, schemaForm, maxTokens})
	})
}
