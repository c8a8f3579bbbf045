package modelapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/openai/openaitest"
)

// connectTo makes a client of a server.
func connectTo(t *testing.T, url string) *Client {
	t.Helper()
	c, err := Connect(&Server{
		Settings: Settings{Model: "m", APIKeyEnv: "KEY"}, Adapter: "a", Role: "generator", URL: url, URLField: "base_url",
		Asked: `backends.generator.model "m"`, TooLong: "the prompt is",
	}, adapters.Config{Secrets: &adapters.Secrets{Env: func(name string) (string, bool) { return "sk-sentinel-3b1f7c9d", name == "KEY" }}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// ask makes a call as adapters do: an answer is an object with choices, and everything else an error.
func ask(ctx context.Context, c *Client) error {
	x := &Exchange{Body: []byte(`{}`), Limit: 1 << 20}
	err := c.Post(ctx, x)
	var answer struct {
		Choices []any `json:"choices"`
	}
	if err == nil {
		err = json.NewDecoder(bytes.NewReader(x.Answer)).Decode(&answer)
	}
	if err == nil && x.Status < http.StatusMultipleChoices && len(answer.Choices) > 0 {
		return nil
	}
	return c.Failed(ctx, "ask", x, err)
}

// TestFaults says of every fault of a server what kind of error it is, and what its message must tell.
func TestFaults(t *testing.T) {
	t.Parallel()
	const page = "<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"
	fault := openaitest.FakeError
	for _, tt := range []struct {
		name  string
		reply openaitest.FakeReply
		kind  adapters.Kind
		wait  time.Duration
		says  string
	}{
		{"a rate limit without a wait", fault(429, "slow down", "rate_limit_exceeded", ""), adapters.KindRateLimited, 0, "slow down"},
		{"a rate limit in seconds", with(fault(429, "slow down", "", ""), "Retry-After", "3"), adapters.KindRateLimited, 3 * time.Second, "slow down"},
		{
			"a rate limit until a date", with(fault(429, "slow down", "", ""), "Date", "Mon, 30 Nov 2026 05:00:00 GMT", "Retry-After", "Mon, 30 Nov 2026 05:00:20 GMT"),
			adapters.KindRateLimited, 20 * time.Second, "slow down",
		},
		{"a rate limit in milliseconds", with(fault(429, "slow down", "", ""), "Retry-After-Ms", "250", "Retry-After", "1"), adapters.KindRateLimited, 250 * time.Millisecond, "slow down"},
		{
			"a rate limit by what is left", with(fault(429, "slow down", "", ""), "X-Ratelimit-Remaining-Requests", "5", "X-Ratelimit-Reset-Requests", "1h0m0s", "X-Ratelimit-Remaining-Tokens", "0", "X-Ratelimit-Reset-Tokens", "6s"),
			adapters.KindRateLimited, 6 * time.Second, "slow down",
		},
		{"a limit of the day", with(fault(429, "slow down", "", ""), "Retry-After", "43200"), adapters.KindRateLimited, 12 * time.Hour, "slow down"},
		{
			"a limit of the day by what is left", with(fault(429, "slow down", "", ""), "X-Ratelimit-Remaining-Requests", "0", "X-Ratelimit-Reset-Requests", "8h38m0s"),
			adapters.KindRateLimited, 8*time.Hour + 38*time.Minute, "slow down",
		},
		{"a wait that makes no sense", with(fault(429, "slow down", "", ""), "Retry-After", "soon"), adapters.KindRateLimited, 0, "slow down"},
		{"an empty account", fault(429, "You exceeded your current quota", "insufficient_quota", ""), adapters.KindUnauthorised, 0, "another try is no help"},
		{"a payment that is due", fault(402, "Insufficient Balance", "", ""), adapters.KindUnauthorised, 0, "may buy nothing more"},
		{"a wrong key", fault(401, "Incorrect API key provided: sk-abc***xyz.", "invalid_api_key", ""), adapters.KindUnauthorised, 0, `backends.generator.api_key_env (the variable "KEY")`},
		{"a key without rights", fault(403, "no access", "", ""), adapters.KindUnauthorised, 0, "no access"},
		{"an unknown model", fault(404, "The model `x` does not exist", "model_not_found", ""), adapters.KindNotFound, 0, "backends.generator.model"},
		{"an unknown model as a wrong request", fault(400, "no such model", "model_not_found", ""), adapters.KindNotFound, 0, "backends.generator.model"},
		{"a wrong request", fault(400, "messages: wrong", "", "messages"), adapters.KindInvalid, 0, "400 Bad Request: messages: wrong"},
		{"FastAPI's wrong request", openaitest.FakeReply{Status: 422, Body: `{"detail": [{"loc": ["body", "messages"], "msg": "field required"}]}`}, adapters.KindInvalid, 0, "field required"},
		{"vLLM's wrong request", openaitest.FakeReply{Status: 400, Body: `{"object": "error", "message": "bad", "type": "BadRequestError", "param": null, "code": 400}`}, adapters.KindInvalid, 0, "bad"},
		{"a text for an error", openaitest.FakeReply{Status: 500, Body: `{"error": "model is loading"}`}, adapters.KindTransient, 0, "model is loading"},
		{"a timeout of the server", fault(408, "too slow", "", ""), adapters.KindTransient, 0, "too slow"},
		{"a conflict", fault(409, "again", "", ""), adapters.KindTransient, 0, "again"},
		{"a broken server", with(fault(500, "oops", "server_error", ""), "Retry-After", "2"), adapters.KindTransient, 2 * time.Second, "oops"},
		{"an overloaded server", openaitest.FakeReply{Status: 529, Body: `{"error": {"type": "overloaded_error", "message": "busy"}}`}, adapters.KindTransient, 0, "busy"},
		{"a gateway's page", openaitest.FakeReply{Status: 502, Body: page}, adapters.KindTransient, 0, "502 Bad Gateway: a web page came"},
		{"a proxy's login page", openaitest.FakeReply{Header: map[string]string{"Content-Type": "text/html"}, Body: "<html><title>Sign in</title></html>"}, adapters.KindPermanent, 0, `a web page came (of a proxy, or its login?): "Sign in"`},
		{"what it cannot do", openaitest.FakeReply{Status: 501, Body: `{"error": {"code": 501, "message": "not here", "type": "not_supported_error"}}`}, adapters.KindUnsupported, 0, "not here"},
		{"another place", openaitest.FakeReply{Status: 307, Header: map[string]string{"Location": "https://elsewhere.example/v1?token=abc"}}, adapters.KindPermanent, 0, "sends on to https://elsewhere.example, which is not followed"},
		{"a success that is an error", openaitest.FakeReply{Body: `{"error": {"message": "it broke", "type": "server_error"}}`}, adapters.KindTransient, 0, "200 OK with an error in it: it broke"},
		{"a success that is a gateway's error", openaitest.FakeReply{Body: `{"error": {"message": "provider is busy", "code": 429}}`}, adapters.KindRateLimited, 0, "provider is busy"},
		{"a success that is a wrong key", openaitest.FakeReply{Body: `{"error": {"message": "who?", "type": "authentication_error"}}`}, adapters.KindUnauthorised, 0, "the key of backends.generator.api_key_env"},
		{"a success that is some error", openaitest.FakeReply{Body: `{"error": {"message": "1500 tokens are not for you"}}`}, adapters.KindPermanent, 0, "not for you"},
		{"OpenAI's too long a prompt", fault(400, "This model's maximum context length is 8192 tokens.", "context_length_exceeded", "messages"), adapters.KindTooLong, 0, "8192"},
		{"llama.cpp's too long a prompt", openaitest.FakeReply{Status: 400, Body: `{"error": {"code": 400, "message": "the request exceeds the available context size", "type": "exceed_context_size_error", "n_prompt_tokens": 9}}`}, adapters.KindTooLong, 0, "available context size"},
		{"vLLM's too long a prompt", openaitest.FakeReply{Status: 400, Body: `{"object": "error", "message": "This model's maximum context length is 2048 tokens. However, you requested 3000", "code": 400}`}, adapters.KindTooLong, 0, "2048"},
		{"TEI's too long an input", openaitest.FakeReply{Status: 413, Body: `{"error": "Input validation error: inputs must have less than 512 tokens. Given: 700", "error_type": "Validation"}`}, adapters.KindTooLong, 0, "512"},
		{"a cut answer", openaitest.FakeReply{Body: `{"id": "x", "choices": [{"mess`}, adapters.KindTransient, 0, "the answer is cut off"},
		{"an answer whose connection ends", openaitest.FakeReply{Body: `{"choices": ["all of it, and some more"]}`, CutAt: 40}, adapters.KindTransient, 0, "the answer broke off"},
		{"a reset", openaitest.FakeReply{Reset: true}, adapters.KindTransient, 0, "is the server up"},
		{"an empty answer", openaitest.FakeReply{}, adapters.KindTransient, 0, "an empty body came"},
		{"a failure without a word", openaitest.FakeReply{Status: 500}, adapters.KindTransient, 0, "500 Internal Server Error: an empty body came"},
		{"another JSON", openaitest.FakeReply{Body: `["hello"]`}, adapters.KindPermanent, 0, "no answer of this API"},
		{"a stream", openaitest.FakeReply{Body: "data: {\"choices\": []}\n\n"}, adapters.KindPermanent, 0, "a stream came"},
		{"a bare NUL", openaitest.FakeReply{Body: "{\"choices\": [{\"message\": {\"content\": \"a\x00b\"}}]}"}, adapters.KindPermanent, 0, "no answer of this API"},
		{"no UTF-8", openaitest.FakeReply{Status: 500, Body: "\xff\xfe broken"}, adapters.KindTransient, 0, "broken"},
		{"50 MB that are announced", openaitest.FakeReply{Header: map[string]string{"Content-Length": "52428800"}, Body: strings.Repeat("x", 1<<16), Repeat: 800}, adapters.KindPermanent, 0, "too large"},
		{"50 MB that are not announced", openaitest.FakeReply{Body: strings.Repeat("x", 1<<16), Repeat: 800}, adapters.KindPermanent, 0, "too large"},
		{"2 GB that are not announced", openaitest.FakeReply{Body: strings.Repeat("x", 1<<16), Repeat: 1 << 15}, adapters.KindPermanent, 0, "too large"},
		{"an error in detail", openaitest.FakeReply{Status: 403, Body: `{"detail": "Invalid API key"}`}, adapters.KindUnauthorised, 0, "Invalid API key"},
		{"an error in message", openaitest.FakeReply{Status: 429, Body: `{"message": "trial key"}`}, adapters.KindRateLimited, 0, "trial key"},
		{"TEI that is busy", openaitest.FakeReply{Status: 429, Body: `{"error": "Model is overloaded", "error_type": "Overloaded"}`}, adapters.KindRateLimited, 0, "Model is overloaded"},
		{"halves of characters", openaitest.FakeReply{Status: 500, Body: `{"error": "half \ud83d of one, \udc00 and \u0000"}`}, adapters.KindTransient, 0, "half \ufffd of one"},
		{"lines", openaitest.FakeReply{Status: 500, Body: `{"error": "one\ntwo\u001b[2J"}`}, adapters.KindTransient, 0, "one two"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := openaitest.StartFake(t, openaitest.FakeOptions{})
			f.Script(tt.reply)
			err := ask(t.Context(), connectTo(t, f.URL))
			checkError(t, err, tt.kind, tt.wait, tt.says)
			if unsent(err) {
				t.Errorf("%v: was sent", err)
			}
			if n := len(f.Requests()); n != 1 {
				t.Errorf("%d calls, want 1", n)
			}
		})
	}
}

func with(r openaitest.FakeReply, headers ...string) openaitest.FakeReply {
	r.Header = map[string]string{}
	for i := 0; i < len(headers); i += 2 {
		r.Header[headers[i]] = headers[i+1]
	}
	return r
}

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

// unsent reports whether an error says that the server got nothing.
func unsent(err error) bool {
	var typed *adapters.Error
	return errors.As(err, &typed) && typed.Unsent
}

// TestHungConnections ends calls by their context, before and within an answer.
func TestHungConnections(t *testing.T) {
	t.Parallel()
	for says, reply := range map[string]openaitest.FakeReply{
		"while waiting for an answer":           {Hang: true},
		"while reading the answer (status 200)": {HangIn: true, Body: `{"choices": ["half"]}`},
	} {
		f := openaitest.StartFake(t, openaitest.FakeOptions{})
		f.Script(reply)
		c := connectTo(t, f.URL)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		err := ask(ctx, c)
		cancel()
		checkError(t, err, adapters.KindTimeout, 0, says)
		if unsent(err) {
			t.Errorf("%v: was sent", err)
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("errors.Is does not find the deadline in %v", err)
		}
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
		{"http://127.0.0.1:1/v1", adapters.KindTransient, "is the server up, and is backends.generator.base_url right?"},
		{strings.Replace(down.URL, "http:", "https:", 1), adapters.KindInvalid, "answers without TLS"},
		{secure.URL, adapters.KindPermanent, "backends.generator.tls.ca_file"},
		{"http://no-such-host.invalid/v1", adapters.KindInvalid, `there is no host "no-such-host.invalid": is backends.generator.base_url right?`},
	} {
		err := ask(t.Context(), connectTo(t, tt.url))
		checkError(t, err, tt.kind, 0, tt.says)
		if !unsent(err) {
			t.Errorf("%v: may have to be paid for", err)
		}
	}
}

// TestRedirectsTakeNoKey sends on to a server that must never be asked.
func TestRedirectsTakeNoKey(t *testing.T) {
	t.Parallel()
	other := openaitest.StartFake(t, openaitest.FakeOptions{})
	for _, status := range []int{301, 302, 303, 307, 308} {
		f := openaitest.StartFake(t, openaitest.FakeOptions{})
		f.Script(openaitest.FakeReply{Status: status, Header: map[string]string{"Location": other.URL}, Body: `{"choices": ["no"]}`})
		checkError(t, ask(t.Context(), connectTo(t, f.URL)), adapters.KindPermanent, 0, "sends on to")
	}
	if n := len(other.Requests()); n != 0 {
		t.Errorf("%d calls went to another address", n)
	}
}

// TestQuotas reads what is left off answers and off errors.
func TestQuotas(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		header           []string
		requests, tokens *adapters.Allowance
	}{
		{nil, nil, nil},
		{[]string{"X-Ratelimit-Limit-Requests", "500", "X-Ratelimit-Remaining-Requests", "499", "X-Ratelimit-Reset-Requests", "120ms"}, &adapters.Allowance{Limit: 500, Left: 499, Reset: 120 * time.Millisecond}, nil},
		{[]string{"X-Ratelimit-Remaining-Tokens", "0", "X-Ratelimit-Reset-Tokens", "6m0s"}, nil, &adapters.Allowance{Reset: 6 * time.Minute}},
		{[]string{"X-Ratelimit-Remaining-Tokens", "7", "X-Ratelimit-Reset-Tokens", "1.5"}, nil, &adapters.Allowance{Left: 7, Reset: 1500 * time.Millisecond}},
		{[]string{"X-Ratelimit-Remaining-Tokens", "-1"}, nil, nil},
		{[]string{"X-Ratelimit-Remaining-Tokens", "many"}, nil, nil},
		{
			[]string{"Date", "Mon, 30 Nov 2026 05:00:00 GMT", "Anthropic-Ratelimit-Requests-Limit", "50", "Anthropic-Ratelimit-Requests-Remaining", "49", "Anthropic-Ratelimit-Requests-Reset", "2026-11-30T05:00:30Z"},
			&adapters.Allowance{Limit: 50, Left: 49, Reset: 30 * time.Second}, nil,
		},
	} {
		h := http.Header{}
		for i := 0; i < len(tt.header); i += 2 {
			h.Set(tt.header[i], tt.header[i+1])
		}
		checkQuota(t, tt.requests, tt.tokens, Quota(h))
		f := openaitest.StartFake(t, openaitest.FakeOptions{Header: h})
		f.Script(openaitest.FakeError(500, "oops", "", ""))
		var typed *adapters.Error
		if errors.As(ask(t.Context(), connectTo(t, f.URL)), &typed) {
			checkQuota(t, tt.requests, tt.tokens, typed.Quota)
		}
	}
}

func checkQuota(t *testing.T, requests, tokens *adapters.Allowance, got *adapters.Quota) {
	t.Helper()
	same := func(a, b *adapters.Allowance) bool { return a == b || a != nil && b != nil && *a == *b }
	switch {
	case requests == nil && tokens == nil:
		if got != nil {
			t.Errorf("%+v, want none", got)
		}
	case got == nil || !same(requests, got.Requests) || !same(tokens, got.Tokens):
		t.Errorf("%+v, want %+v and %+v", got, requests, tokens)
	}
}

func TestFinish(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"stop": adapters.FinishStop, "END_TURN": adapters.FinishStop, "eos": adapters.FinishStop, "MAX_TOKENS": adapters.FinishLength, "length": adapters.FinishLength,
		"CONTENT_FILTER": adapters.FinishContentFilter, "SAFETY": adapters.FinishContentFilter, "sensitive": adapters.FinishContentFilter, "null": "", "": "", "done": "done",
	} {
		if got, failed := Finish(word); got != want || failed {
			t.Errorf("%q is %q, failed %t, want %q", word, got, failed, want)
		}
	}
	for _, word := range []string{"error", "abort", "MALFORMED_FUNCTION_CALL", "insufficient_system_resource"} {
		if got, failed := Finish(word); got != word || !failed {
			t.Errorf("%q is %q, failed %t", word, got, failed)
		}
	}
}
