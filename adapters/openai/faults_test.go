package openai

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/openai/openaitest"
)

func user(text string) adapters.GenerateRequest {
	return adapters.GenerateRequest{Messages: []adapters.Message{{Role: "user", Text: text}}}
}

func newGenerator(t *testing.T, f *openaitest.Fake, more string) adapters.Generator {
	t.Helper()
	g, err := openGenerator(t.Context(), fakeConfig(f, more))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return g
}

// TestFaults says of the faults of a server that are this API's own what kind of error they are; modelapi holds those of every server.
func TestFaults(t *testing.T) {
	t.Parallel()
	fault := openaitest.FakeError
	for _, tt := range []struct {
		name  string
		reply openaitest.FakeReply
		kind  adapters.Kind
		says  string
	}{
		{"a wrong key", fault(401, "Incorrect API key provided: sk-abc***xyz.", "invalid_api_key", ""), adapters.KindUnauthorised, `backends.generator.api_key_env (the variable "KEY")`},
		{"an unknown model", fault(404, "The model `x` does not exist", "model_not_found", ""), adapters.KindNotFound, "backends.generator.model"},
		{"a wrong path", openaitest.FakeReply{Status: 404, Body: "404 page not found"}, adapters.KindNotFound, "does base_url"},
		{"a success that is an error", openaitest.FakeReply{Body: `{"error": {"message": "it broke", "type": "server_error"}}`}, adapters.KindTransient, "200 OK with an error in it: it broke"},
		{"OpenAI's too long a prompt", fault(400, "This model's maximum context length is 8192 tokens.", "context_length_exceeded", "messages"), adapters.KindTooLong, "8192"},
		{"a cut answer", openaitest.FakeReply{Body: `{"id": "x", "choices": [{"mess`}, adapters.KindTransient, "the answer is cut off"},
		{"an answer whose connection ends", openaitest.FakeReply{Body: openaitest.FakeAnswer("all of it", "stop").Body, CutAt: 40}, adapters.KindTransient, "the answer broke off"},
		{"no choices", openaitest.FakeReply{Body: `{"id": "x", "model": "m", "choices": []}`}, adapters.KindPermanent, "there is nothing in the answer"},
		{"an error beside an answer", openaitest.FakeReply{Body: `{"error": {"message": "it broke", "type": "server_error"}, "choices": [{"message": {"content": "Sorry"}, "finish_reason": "stop"}]}`}, adapters.KindTransient, "200 OK with an error in it: it broke"},
		{"an error in the choice", openaitest.FakeReply{Body: `{"choices": [{"error": {"code": 502, "message": "upstream is down"}, "message": {"content": "The"}, "finish_reason": "error"}]}`}, adapters.KindTransient, "upstream is down"},
		{"a provider that broke off", openaitest.FakeAnswer("partial", "insufficient_system_resource"), adapters.KindTransient, `"insufficient_system_resource"`},
		{"another", openaitest.FakeAnswer("partial", "MALFORMED_FUNCTION_CALL"), adapters.KindTransient, "broke off"},
		{"a tool that nobody offered", openaitest.FakeAnswer("", "tool_calls"), adapters.KindUnsupported, "none was offered"},
		{"no text and no reason", openaitest.FakeReply{Body: `{"choices": [{"message": {"content": ""}}]}`}, adapters.KindTransient, "does not say why it ends"},
		{"null", openaitest.FakeReply{Body: `null`}, adapters.KindPermanent, "there is nothing in the answer"},
		{"another JSON", openaitest.FakeReply{Body: `["hello"]`}, adapters.KindPermanent, "no answer of this API"},
		{"a stream", openaitest.FakeReply{Body: "data: {\"choices\": []}\n\n"}, adapters.KindPermanent, "a stream came"},
		{"a bare NUL", openaitest.FakeReply{Body: "{\"choices\": [{\"message\": {\"content\": \"a\x00b\"}}]}"}, adapters.KindPermanent, "no answer of this API"},
		{"50 MB that are not announced", openaitest.FakeReply{Body: strings.Repeat("x", 1<<16), Repeat: 800}, adapters.KindPermanent, "too large"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := openaitest.StartFake(t, openaitest.FakeOptions{})
			f.Script(tt.reply)
			g := newGenerator(t, f, `, "api_key_env": "KEY"`)
			_, err := g.Generate(t.Context(), user("hello"))
			checkError(t, err, tt.kind, tt.says)
			if n := len(f.Requests()); n != 1 {
				t.Errorf("%d calls, want 1", n)
			}
		})
	}
}

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

// TestCloseEndsCalls closes a generator whose call hangs.
func TestCloseEndsCalls(t *testing.T) {
	t.Parallel()
	f := openaitest.StartFake(t, openaitest.FakeOptions{})
	f.Script(openaitest.FakeReply{Hang: true})
	g := newGenerator(t, f, "")
	ended := make(chan error, 1)
	go func() {
		_, err := g.Generate(t.Context(), user("hello"))
		ended <- err
	}()
	for len(f.Requests()) == 0 { // until the call hangs
		time.Sleep(time.Millisecond) // the server tells nobody
	}
	g.Close()
	if err := <-ended; !errors.Is(err, adapters.ErrClosed) {
		t.Errorf("%v, want %v", err, adapters.ErrClosed)
	}
}
