package openai

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/openai/openaitest"
)

// full is a request with everything that pins a generation, zeros where there may be.
func full() adapters.GenerateRequest {
	req := adapters.GenerateRequest{
		Messages:    []adapters.Message{{Role: "system", Text: "Be brief."}, {Role: "user", Text: ""}, {Role: "assistant", Text: "Yes?"}, {Role: "user", Text: "Why <b>?"}},
		Temperature: new(float64), TopP: new(float64), Seed: new(int64), MaxTokens: 40, Stop: []string{"\n"},
	}
	return req
}

const messages = `"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": ""}, {"role": "assistant", "content": "Yes?"}, {"role": "user", "content": "Why <b>?"}], "stream": false`

// TestWhatIsSent holds the body on the wire, byte for byte but for space and order, and the notes about what is not in it.
func TestWhatIsSent(t *testing.T) {
	t.Parallel()
	form := &adapters.Format{Name: "verdict", Schema: json.RawMessage(`{"type": "object"}`)}
	for _, tt := range []struct {
		name     string
		settings string
		req      adapters.GenerateRequest
		sent     string
		notes    []string
	}{
		{
			"everything, zeros too", "", full(),
			`{"model": "fake-2026-01-01", ` + messages + `, "temperature": 0, "top_p": 0, "seed": 0, "max_tokens": 40, "stop": ["\n"]}`, nil,
		},
		{"nothing that was not asked for", "", user("hello"), `{"model": "fake-2026-01-01", "messages": [{"role": "user", "content": "hello"}], "stream": false}`, nil},
		{
			"a model that reasons", `, "model": "o3-mini", "reasoning_effort": "low"`, full(),
			`{"model": "o3-mini", ` + messages + `, "seed": 0, "max_completion_tokens": 40, "stop": ["\n"], "reasoning_effort": "low"}`,
			[]string{"temperature 0 was not sent: models that reason take none", "top_p 0 was not sent: models that reason take none"},
		},
		{
			"a chat model of that family", `, "model": "gpt-5-chat-latest"`, full(),
			`{"model": "gpt-5-chat-latest", ` + messages + `, "temperature": 0, "top_p": 0, "seed": 0, "max_tokens": 40, "stop": ["\n"]}`, nil,
		},
		{
			"a local model whose name only begins so", `, "model": "o1gemma"`, full(),
			`{"model": "o1gemma", ` + messages + `, "temperature": 0, "top_p": 0, "seed": 0, "max_tokens": 40, "stop": ["\n"]}`, nil,
		},
		{
			"a model behind a router, against its rules", `, "model": "openai/gpt-5.1", "supports": {"temperature": true, "seed": false}, "token_limit": "max_tokens"`, full(),
			`{"model": "openai/gpt-5.1", ` + messages + `, "temperature": 0, "max_tokens": 40, "stop": ["\n"]}`,
			[]string{"seed 0 was not sent: backends.generator.supports says that the server does not take it", "top_p 0 was not sent: models that reason take none"},
		},
		{
			"a form", "",
			adapters.GenerateRequest{Messages: user("hello").Messages, Format: form},
			`{"model": "fake-2026-01-01", "messages": [{"role": "user", "content": "hello"}], "stream": false,
				"response_format": {"type": "json_schema", "json_schema": {"name": "verdict", "strict": true, "schema": {"type": "object"}}}}`, nil,
		},
		{
			"any JSON object", `, "structured": "json_object"`,
			adapters.GenerateRequest{Messages: user("hello").Messages, Format: form},
			`{"model": "fake-2026-01-01", "messages": [{"role": "user", "content": "hello"}], "stream": false, "response_format": {"type": "json_object"}}`,
			[]string{"the answer was asked for as a JSON object, not by its schema: backends.generator.structured is json_object"},
		},
		{
			"what is no UTF-8", "", user("a\xffb"),
			`{"model": "fake-2026-01-01", "messages": [{"role": "user", "content": "a\ufffdb"}], "stream": false}`,
			[]string{"message 1 held bytes that are no UTF-8, and was sent with U+FFFD in their place"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := openaitest.StartFake(t, openaitest.FakeOptions{})
			f.Script(openaitest.FakeAnswer("yes", "stop"))
			cfg := fakeConfig(f, tt.settings)
			if strings.Contains(tt.settings, `"model"`) {
				cfg.Settings = json.RawMessage(strings.Replace(string(cfg.Settings), fmt.Sprintf(`"model": %q, `, openaitest.FakeModel), "", 1))
			}
			g, err := openGenerator(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			resp, err := g.Generate(t.Context(), tt.req)
			if err != nil {
				t.Fatal(err)
			}
			var want map[string]any
			if err := json.Unmarshal([]byte(tt.sent), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, f.Requests()[0].Body); diff != "" {
				t.Errorf("sent (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.notes, resp.Notes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
	f := openaitest.StartFake(t, openaitest.FakeOptions{})
	_, err := newGenerator(t, f, `, "structured": "none"`).Generate(t.Context(), adapters.GenerateRequest{Messages: user("hello").Messages, Format: form})
	checkError(t, err, adapters.KindUnsupported, "backends.generator.structured")
}

// TestRefusedParameters asks servers that do not take a parameter: once more without it, and from then on without asking.
func TestRefusedParameters(t *testing.T) {
	t.Parallel()
	fault, answer := openaitest.FakeError, openaitest.FakeAnswer("yes", "stop")
	for _, tt := range []struct {
		name, settings string
		replies        []openaitest.FakeReply
		without        []string // what is not in the last call
		with           []string // what is
		noted          string
	}{
		{
			"OpenAI's temperature", "",
			[]openaitest.FakeReply{fault(400, "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.", "unsupported_value", "temperature")},
			[]string{"temperature"},
			[]string{"top_p", "seed", "max_tokens"},
			"temperature 0 was not sent: the server refused it: Unsupported value",
		},
		{
			"OpenAI's token limit", "",
			[]openaitest.FakeReply{fault(400, "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", "unsupported_parameter", "max_tokens")},
			[]string{"max_tokens"},
			[]string{"max_completion_tokens", "temperature"},
			"",
		},
		{
			"neither token limit", "",
			[]openaitest.FakeReply{
				fault(400, "'max_tokens' is not supported", "unsupported_parameter", "max_tokens"),
				fault(400, "unknown parameter: max_completion_tokens", "", ""),
			},
			[]string{"max_tokens", "max_completion_tokens"},
			nil, "max_completion_tokens 40 was not sent: the server refused it",
		},
		{
			"vLLM's seed", "",
			[]openaitest.FakeReply{{Status: 400, Body: `{"object": "error", "message": "[{'type': 'extra_forbidden', 'loc': ('body', 'seed'), 'msg': 'Extra inputs are not permitted'}]", "type": "BadRequestError", "param": null, "code": 400}`}},
			[]string{"seed"},
			[]string{"temperature"},
			"seed 0 was not sent: the server refused it",
		},
		{
			"FastAPI's top_p", "",
			[]openaitest.FakeReply{{Status: 422, Body: `{"detail": [{"type": "extra_forbidden", "loc": ["body", "top_p"], "msg": "Extra inputs are not permitted"}]}`}},
			[]string{"top_p"},
			[]string{"temperature"},
			"top_p 0 was not sent",
		},
		{
			"the schema, then any form", "",
			[]openaitest.FakeReply{
				fault(400, "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.", "", "response_format"),
				fault(400, "response_format is not supported", "", ""),
			},
			[]string{"response_format"},
			[]string{"temperature"},
			"the answer was not held to a form: the server refused it",
		},
		{
			"two, one after the other", "",
			[]openaitest.FakeReply{
				fault(400, "'temperature' is not supported", "unsupported_parameter", "temperature"), fault(400, "'top_p' is not supported", "unsupported_parameter", "top_p"),
			},
			[]string{"temperature", "top_p"},
			[]string{"seed"},
			"top_p 0 was not sent",
		},
		{
			"the one that is named first", "",
			[]openaitest.FakeReply{fault(400, "seed is not supported; temperature and top_p are", "", "")},
			[]string{"seed"},
			[]string{"temperature", "top_p"},
			"seed 0 was not sent",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := openaitest.StartFake(t, openaitest.FakeOptions{})
			f.Script(append(tt.replies, answer)...)
			g := newGenerator(t, f, tt.settings)
			req := full()
			req.Format = &adapters.Format{Name: "v", Schema: json.RawMessage(`{}`)}
			for i := range 2 { // the second time it is known
				resp, err := g.Generate(t.Context(), req)
				if err != nil {
					t.Fatal(err)
				}
				if notes := strings.Join(resp.Notes, "\n"); !strings.Contains(notes, tt.noted) || tt.noted == "" && notes != "" {
					t.Errorf("call %d: notes %q, want %q", i+1, notes, tt.noted)
				}
			}
			requests := f.Requests()
			if want := len(tt.replies) + 2; len(requests) != want {
				t.Fatalf("%d calls, want %d", len(requests), want)
			}
			for _, last := range requests[len(requests)-2:] {
				for _, name := range tt.without {
					if v, ok := last.Body[name]; ok {
						t.Errorf("%s %v was sent", name, v)
					}
				}
				for _, name := range tt.with {
					if _, ok := last.Body[name]; !ok {
						t.Errorf("%s was not sent", name)
					}
				}
			}
		})
	}
}

// TestRefusalsThatStay makes no second call where leaving out is not what the refusal is about, or not what the settings allow.
func TestRefusalsThatStay(t *testing.T) {
	t.Parallel()
	fault := openaitest.FakeError
	for _, tt := range []struct {
		settings string
		reply    openaitest.FakeReply
	}{
		{`, "supports": {"temperature": true}`, fault(400, "'temperature' is not supported", "unsupported_parameter", "temperature")},
		{`, "token_limit": "max_tokens"`, fault(400, "'max_tokens' is not supported", "unsupported_parameter", "max_tokens")},
		{"", fault(400, "temperature must be between 0 and 2", "invalid_value", "temperature")},
		{"", fault(400, "Unsupported value: 'messages[0].role' does not support 'system' with this temperature", "unsupported_value", "messages[0].role")},
		{"", fault(400, "tools are not supported", "", "")},
	} {
		f := openaitest.StartFake(t, openaitest.FakeOptions{})
		f.Script(tt.reply)
		_, err := newGenerator(t, f, tt.settings).Generate(t.Context(), full())
		checkError(t, err, adapters.KindInvalid, "400 Bad Request")
		if n := len(f.Requests()); n != 1 {
			t.Errorf("%s: %d calls, want 1", tt.reply.Body, n)
		}
	}
}

// TestConcurrentRefusals lets calls that are under way at once all learn the same.
func TestConcurrentRefusals(t *testing.T) {
	t.Parallel()
	f := openaitest.StartFake(t, openaitest.FakeOptions{Refuses: []string{"max_tokens", "temperature"}})
	g := newGenerator(t, f, "")
	var calls sync.WaitGroup
	const atOnce = 8
	for range atOnce {
		calls.Go(func() {
			if resp, err := g.Generate(t.Context(), full()); err != nil || len(resp.Notes) != 1 {
				t.Errorf("%v, notes %q", err, resp.Notes)
			}
		})
	}
	calls.Wait()
	answered := 0
	for _, r := range f.Requests() {
		if _, ok := r.Body["max_completion_tokens"]; ok && r.Body["temperature"] == nil {
			answered++
		}
	}
	if answered != atOnce {
		t.Errorf("%d calls had an answer, want %d", answered, atOnce)
	}
}

// TestAddresses says where calls go, with which headers.
func TestAddresses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, more, path string
		base             func(url string) string
		header           map[string]string
	}{
		{"no key", "", "/v1/chat/completions", nil, map[string]string{"Authorization": "", "Api-Key": ""}},
		{"a slash at the end", "", "/v1/chat/completions", func(url string) string { return url + "/" }, nil},
		{"a key", `, "api_key_env": "KEY", "organization": "org-1"`, "/v1/chat/completions", nil, map[string]string{"Authorization": "Bearer sk-sentinel-3b1f7c9d", "Openai-Organization": "org-1"}}, //nolint:misspell // OpenAI spells it so
		{
			"Azure", `, "api_key_env": "KEY", "azure": {"deployment": "my-gpt.4"}`, "/openai/deployments/my-gpt.4/chat/completions?api-version=2024-10-21",
			func(url string) string { return strings.TrimSuffix(url, "/v1") },
			map[string]string{"Authorization": "", "Api-Key": "sk-sentinel-3b1f7c9d"},
		},
		{
			"Azure of another version", `, "azure": {"deployment": "d", "api_version": "2025-04-01-preview"}`, "/openai/deployments/d/chat/completions?api-version=2025-04-01-preview",
			func(url string) string { return strings.TrimSuffix(url, "/v1") }, nil,
		},
		{
			"a gateway", `, "headers": {"X-Team": "search"}, "headers_env": {"X-Gateway-Key": "GATEWAY", "Authorization": "KEY"}`, "/v1/chat/completions", nil,
			map[string]string{"X-Team": "search", "X-Gateway-Key": "gw-sentinel-77aa01ee", "Authorization": "sk-sentinel-3b1f7c9d"},
		},
	} {
		f := openaitest.StartFake(t, openaitest.FakeOptions{})
		f.Script(openaitest.FakeAnswer("yes", "stop"))
		cfg := fakeConfig(f, tt.more)
		if tt.base != nil {
			cfg.Settings = json.RawMessage(strings.Replace(string(cfg.Settings), f.URL, tt.base(f.URL), 1))
		}
		g, err := openGenerator(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.Generate(t.Context(), user("hello")); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		g.Close()
		got := f.Requests()[0]
		if got.Path != tt.path {
			t.Errorf("%s: asked %q, want %q", tt.name, got.Path, tt.path)
		}
		for name, want := range tt.header {
			if value := got.Header.Get(name); value != want {
				t.Errorf("%s: %s is %q, want %q", tt.name, name, value, want)
			}
		}
	}
}

// TestConnectionsAreReused makes many calls over no more connections than there are calls at once.
func TestConnectionsAreReused(t *testing.T) {
	t.Parallel()
	f := openaitest.StartFake(t, openaitest.FakeOptions{})
	g := newGenerator(t, f, "")
	const atOnce, rounds = 32, 10
	for range rounds {
		var calls sync.WaitGroup
		for range atOnce {
			calls.Go(func() {
				if _, err := g.Generate(t.Context(), user("hello")); err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()
	}
	if got := f.Connections(); got > 2*atOnce { // one that is just coming back to the pool may be missed by the next call
		t.Errorf("%d connections for %d calls, %d at once", got, atOnce*rounds, atOnce)
	}
}
