package tap_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/culprit-rag/culprit/adapters/remote/tap"
)

// upstream is a model's server that keeps what it gets.
type upstream struct {
	*httptest.Server
	mu     sync.Mutex
	bodies [][]byte
	heads  []http.Header
	paths  []string
	reply  func(w http.ResponseWriter, body []byte)
}

const plainReply = `{"id":"chatcmpl-7","model":"m-2026-01-01","system_fingerprint":"fp_1","choices":[{"message":{"role":"assistant","content":"Economy. [c01]"},"finish_reason":"stop"}],
 "usage":{"prompt_tokens":12,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":0}}}`

func start(t *testing.T, o tap.Options) (*upstream, *tap.Client, string) {
	t.Helper()
	u := &upstream{reply: func(w http.ResponseWriter, _ []byte) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, plainReply)
	}}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		u.mu.Lock()
		u.bodies, u.heads, u.paths = append(u.bodies, body), append(u.heads, r.Header.Clone()), append(u.paths, r.RequestURI)
		u.mu.Unlock()
		u.reply(w, body)
	}))
	t.Cleanup(u.Close)
	var err error
	if o.Upstream, err = url.Parse(u.URL + "/v1"); err != nil {
		t.Fatal(err)
	}
	p, err := tap.New(o)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(p)
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.Close()
		if err := errors.Join(p.Close(), p.Close()); err != nil {
			t.Error(err)
		}
	})
	return u, &tap.Client{URL: server.URL, Key: o.Key, HTTP: &http.Client{Transport: transport}}, server.URL
}

// ask makes a call as a service does.
func ask(t *testing.T, c *tap.Client, path, body string, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	response, err := c.HTTP.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(data)
}

// chat is written as no encoder would write it, so that a rewritten body shows.
const chat = "{ \"model\" : \"m\",\n \"temperature\":0.20, \"messages\":[ {\"content\":\"Answer from the context.\",\"role\":\"system\"},\n" +
	"  {\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"<context>\\n[c01] Fl\\u00fcge \\/ <economy>\\n</context>\\nWhich class?\"}]} ], \"x\":1e0 }"

func recorded(t *testing.T, c *tap.Client, id string) tap.Request {
	t.Helper()
	r, err := c.Recorded(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestPassesByteForByte(t *testing.T) {
	for name, body := range map[string]string{
		"a chat": chat, "no JSON": "a=b&c=d", "JSON that breaks off": `{"messages":[{"role":"user","content":"x"}`,
		"JSON of another kind": `["a"]`, "an embedding": `{"model":"e","input":["a","b"]}`, "nothing": "", "invalid UTF-8": "{\"prompt\":\"\xff\"}",
		"a key twice": `{"messages":[],"messages":[{"role":"user","content":"x"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			u, c, _ := start(t, tap.Options{})
			status, answer := ask(t, c, "/v1/chat/completions?api-version=1;2&x=%2F", body, "X-Forwarded-For", "10.0.0.1", "X-Request-ID", "r1")
			if status != http.StatusOK || answer != plainReply {
				t.Errorf("the answer is not the model's: %d %q", status, answer)
			}
			if diff := cmp.Diff(body, string(u.bodies[0])); diff != "" {
				t.Errorf("the body was changed (-want +got):\n%s", diff)
			}
			if want := "/v1/chat/completions?api-version=1;2&x=%2F"; u.paths[0] != want {
				t.Errorf("the model's server was asked for %q, want %q", u.paths[0], want)
			}
			if got := u.heads[0].Get("X-Forwarded-For"); got != "10.0.0.1" {
				t.Errorf("X-Forwarded-For came as %q", got)
			}
		})
	}
}

func TestRecords(t *testing.T) {
	_, c, _ := start(t, tap.Options{})
	ask(t, c, "/v1/chat/completions", chat, "X-Request-ID", "r1")
	n := func(i int) *int { return &i }
	want := tap.Request{ID: "r1", Calls: []tap.Call{{
		Path: "/v1/chat/completions", Bound: tap.ByHeader, Model: "m", Params: map[string]json.RawMessage{"temperature": json.RawMessage("0.20")},
		Messages: []tap.Message{{Role: "system", Text: "Answer from the context."}, {Role: "user", Text: "<context>\n[c01] Flüge / <economy>\n</context>\nWhich class?"}},
		Done:     true, Status: 200, Answer: "Economy. [c01]", FinishReason: "stop", ModelReported: "m-2026-01-01", SystemFingerprint: "fp_1", ResponseID: "chatcmpl-7",
		PromptTokens: n(12), CompletionTokens: n(4), CachedTokens: n(0),
	}}}
	if diff := cmp.Diff(want, recorded(t, c, "r1"), cmpopts.IgnoreFields(tap.Call{}, "At", "TookMS"), cmpopts.IgnoreUnexported(tap.Message{})); diff != "" {
		t.Errorf("what is recorded (-want +got):\n%s", diff)
	}
}

func TestReadsOtherForms(t *testing.T) {
	for _, tt := range []struct {
		name, path, body, reply, kind string
		want                          []tap.Message
		answer, finish                string
	}{
		{
			name: "a completion", path: "/v1/completions", body: `{"prompt":"Q: x\nA:","model":"m"}`, kind: "application/json",
			reply: `{"choices":[{"text":" y","finish_reason":"length"}]}`, want: []tap.Message{{Role: "user", Text: "Q: x\nA:"}}, answer: " y", finish: "length",
		},
		{
			name: "a response", path: "/v1/responses", body: `{"input":[{"content":"x","role":"user"}],"instructions":"be brief"}`, kind: "application/json",
			reply: `{"id":"resp_1","output":[{"content":[{"text":"y"}]}]}`,
			want:  []tap.Message{{Role: "user", Text: "x"}, {Role: "system", Text: "be brief"}}, answer: "y",
		},
		{
			name: "a stream", path: "/v1/chat/completions", body: `{"messages":[{"role":"user","content":"x"}],"stream":true}`, kind: "text/event-stream",
			reply: "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"on\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"e\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
			want:  []tap.Message{{Role: "user", Text: "x"}}, answer: "one", finish: "stop",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			u, c, _ := start(t, tap.Options{})
			u.reply = func(w http.ResponseWriter, _ []byte) {
				w.Header().Set("Content-Type", tt.kind)
				fmt.Fprint(w, tt.reply)
			}
			if _, answer := ask(t, c, tt.path, tt.body, "X-Request-ID", "r"); answer != tt.reply {
				t.Errorf("the answer was changed: %q", answer)
			}
			call := recorded(t, c, "r").Calls[0]
			if diff := cmp.Diff(tt.want, call.Messages, cmpopts.IgnoreUnexported(tap.Message{})); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
			if call.Answer != tt.answer || call.FinishReason != tt.finish {
				t.Errorf("answer %q, finish reason %q; want %q, %q", call.Answer, call.FinishReason, tt.answer, tt.finish)
			}
		})
	}
}

// packed is a text as gzip.
func packed(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write([]byte(text))
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestReadsPackedAnswer(t *testing.T) {
	u, c, _ := start(t, tap.Options{})
	reply := packed(t, plainReply)
	u.reply = func(w http.ResponseWriter, _ []byte) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = io.WriteString(w, reply)
	}
	_, answer := ask(t, c, "/v1/chat/completions", chat, "X-Request-ID", "r", "Accept-Encoding", "gzip")
	if answer != reply {
		t.Error("the packed answer was not passed on as it came")
	}
	if got := recorded(t, c, "r").Calls[0].Answer; got != "Economy. [c01]" {
		t.Errorf("recorded answer %q", got)
	}
	if got := u.heads[0].Get("Accept-Encoding"); got != "gzip" {
		t.Errorf("Accept-Encoding came as %q", got)
	}
}

// TestPackedCall: a packed call is recorded, goes on as it came, and goes unpacked with another context.
func TestPackedCall(t *testing.T) {
	u, c, _ := start(t, tap.Options{})
	body := packed(t, chat)
	ask(t, c, "/v1/chat/completions", body, "X-Request-ID", "r1", "Content-Encoding", "gzip")
	if err := c.Open(t.Context(), "r2", &tap.Substitution{Begin: "<context>\n", End: "\n</context>", With: "[g1] Business"}); err != nil {
		t.Fatal(err)
	}
	ask(t, c, "/v1/chat/completions", packed(t, `{"messages":[{"role":"user","content":"Rewrite: Which class?"}]}`), "X-Request-ID", "r2", "Content-Encoding", "gzip")
	ask(t, c, "/v1/chat/completions", body, "X-Request-ID", "r2", "Content-Encoding", "gzip")
	if u.bodies[0] == nil || string(u.bodies[0]) != body || u.heads[0].Get("Content-Encoding") != "gzip" || u.heads[1].Get("Content-Encoding") != "gzip" {
		t.Error("a packed call without another context was not sent as it came")
	}
	want := strings.Replace(chat, `[c01] Fl\u00fcge \/ <economy>`, "[g1] Business", 1)
	if diff := cmp.Diff(want, string(u.bodies[2])); diff != "" || u.heads[2]["Content-Encoding"] != nil {
		t.Errorf("encoding %q, body (-want +got):\n%s", u.heads[2]["Content-Encoding"], diff)
	}
	if r := recorded(t, c, "r1"); len(r.Calls) != 1 || r.Calls[0].Messages[1].Text != "<context>\n[c01] Flüge / <economy>\n</context>\nWhich class?" {
		t.Errorf("what is recorded: %+v", r)
	}
	if r := recorded(t, c, "r2"); len(r.Calls) != 2 || r.Calls[0].Substituted || !r.Calls[1].Substituted {
		t.Errorf("what is recorded: %+v", r)
	}
}

// TestSendsNothingUnread: where a context is to be substituted, a call that cannot be read is not bought. Others go on as they came.
func TestSendsNothingUnread(t *testing.T) {
	long := strings.Repeat(" ", 32<<20) + chat
	for name, tt := range map[string]struct {
		body   string
		header []string
		want   string
	}{
		"another encoding":          {"x", []string{"Content-Encoding", "br"}, `the encoding "br"`},
		"two encodings":             {packed(t, chat), []string{"Content-Encoding", "gzip, gzip"}, `the encoding "gzip, gzip"`},
		"no gzip":                   {chat, []string{"Content-Encoding", "gzip"}, "not the gzip"},
		"gzip that breaks off":      {packed(t, chat)[:60], []string{"Content-Encoding", "gzip"}, "not the gzip"},
		"too long":                  {long, nil, "longer than 32 MiB"},
		"too long when unpacked":    {packed(t, long), []string{"Content-Encoding", "gzip"}, "longer than 32 MiB"},
		"JSON that others can read": {"\ufeff" + chat, []string{"Content-Type", "application/json"}, "it is no JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			u, c, _ := start(t, tap.Options{})
			if err := c.Open(t.Context(), "r1", &tap.Substitution{Begin: "<context>\n", End: "\n</context>", With: "[g1]"}); err != nil {
				t.Fatal(err)
			}
			for i, id := range []string{"r1", ""} { // the second belongs to the only open request
				status, answer := ask(t, c, "/v1/chat/completions", tt.body, append(tt.header, "X-Request-ID", id)...)
				if status != http.StatusConflict || !strings.Contains(answer, "cannot be read") || !strings.Contains(answer, strings.ReplaceAll(tt.want, `"`, `\"`)) {
					t.Errorf("id %q: the service gets %d %s", id, status, answer)
				}
				r := recorded(t, c, "r1")
				if len(r.Calls) != i+1 || !r.Calls[i].Done || !strings.Contains(r.Calls[i].Refused, tt.want) {
					t.Errorf("id %q: recorded %+v", id, r)
				}
			}
			if len(u.bodies) != 0 {
				t.Fatalf("%d calls were sent to the model", len(u.bodies))
			}
			for _, id := range []string{"r2", "r1"} {
				if id == "r1" {
					if err := c.Close(t.Context(), id); err != nil {
						t.Fatal(err)
					}
				}
				if status, _ := ask(t, c, "/v1/chat/completions", tt.body, append(tt.header, "X-Request-ID", id)...); status != http.StatusOK {
					t.Errorf("without a context to substitute, a call of %q gets %d", id, status)
				}
			}
			for _, got := range u.bodies {
				if string(got) != tt.body {
					t.Error("the body was changed")
				}
			}
		})
	}
}

func TestSubstitutes(t *testing.T) {
	u, c, _ := start(t, tap.Options{})
	s := &tap.Substitution{Begin: "<context>\n", End: "\n</context>", With: "[g1] \"Business\" <b> & é"}
	if err := c.Open(t.Context(), "r1", s); err != nil {
		t.Fatal(err)
	}
	ask(t, c, "/v1/chat/completions", `{"messages":[{"role":"user","content":"Rewrite: Which class?"}]}`, "X-Request-ID", "r1") // another call of the same request
	ask(t, c, "/v1/chat/completions", chat, "X-Request-ID", "r1")
	want := strings.Replace(chat, `<context>\n[c01] Fl\u00fcge \/ <economy>\n</context>`, `<context>\n[g1] \"Business\" <b> & é\n</context>`, 1)
	if diff := cmp.Diff(want, string(u.bodies[1])); diff != "" {
		t.Errorf("only the context changes (-want +got):\n%s", diff)
	}
	r := recorded(t, c, "r1")
	if len(r.Calls) != 2 || r.Calls[0].Substituted || !r.Calls[1].Substituted || r.Calls[1].Context == nil || *r.Calls[1].Context != "[c01] Flüge / <economy>" {
		t.Errorf("what is recorded: %+v", r)
	}
	if got := r.Calls[1].Messages[1].Text; !strings.Contains(got, `[g1] "Business" <b> & é`) {
		t.Errorf("the recorded prompt is not what the model received: %q", got)
	}
	if err := c.Close(t.Context(), "r1"); err != nil {
		t.Fatal(err)
	}
	ask(t, c, "/v1/chat/completions", chat, "X-Request-ID", "r1")
	if string(u.bodies[2]) != chat {
		t.Error("a closed request is still substituted")
	}
}

func TestSendsNothingWhereThePlaceIsNotCertain(t *testing.T) {
	u, c, _ := start(t, tap.Options{})
	if err := c.Open(t.Context(), "r1", &tap.Substitution{Begin: "<context>", End: "</context>", With: "x"}); err != nil {
		t.Fatal(err)
	}
	twice := `{"messages":[{"role":"user","content":"<context>a </context> b</context> q"}]}`
	status, answer := ask(t, c, "/v1/chat/completions", twice, "X-Request-ID", "r1")
	if status != http.StatusConflict || !strings.Contains(answer, "2 places") {
		t.Errorf("got %d %s", status, answer)
	}
	if len(u.bodies) != 0 {
		t.Error("the prompt was sent all the same")
	}
	if r := recorded(t, c, "r1"); len(r.Calls) != 1 || r.Calls[0].Refused == "" || !r.Calls[0].Done {
		t.Errorf("what is recorded: %+v", r)
	}
}

func TestBinds(t *testing.T) {
	const body = `{"messages":[{"role":"user","content":"x"}]}`
	_, c, _ := start(t, tap.Options{Header: "X-Trace"})
	open := func(id string) {
		t.Helper()
		if err := c.Open(t.Context(), id, nil); err != nil {
			t.Fatal(err)
		}
	}
	open("a")
	ask(t, c, "/v1/chat/completions", body)
	open("b")
	ask(t, c, "/v1/chat/completions", body) // of a or of b: not known
	ask(t, c, "/v1/chat/completions", body, "X-Trace", "b")
	ask(t, c, "/v1/chat/completions", `{"metadata":{"request_id":"c"},`+body[1:])
	for id, want := range map[string]tap.Request{
		"a": {ID: "a", Open: true, Unopened: 1, Calls: []tap.Call{{Bound: tap.ByOrder}}},
		"b": {ID: "b", Open: true, Unopened: 1, Calls: []tap.Call{{Bound: tap.ByHeader}}},
		"c": {ID: "c", Calls: []tap.Call{{Bound: tap.ByMetadata}}},
	} {
		got := recorded(t, c, id)
		for i := range got.Calls {
			got.Calls[i] = tap.Call{Bound: got.Calls[i].Bound}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("request %q (-want +got):\n%s", id, diff)
		}
	}
}

// TestKeepsNoCredential plants a key wherever a client of a model can carry one, and looks for it in everything that is kept.
func TestKeepsNoCredential(t *testing.T) {
	const key = "sk-sentinel-0123456789"
	var told []tap.Call
	u, c, _ := start(t, tap.Options{Told: func(_ string, c *tap.Call) { told = append(told, *c) }})
	u.reply = func(w http.ResponseWriter, _ []byte) {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"id":%q,"choices":[{"message":{"content":"wrong key %s"}}]}`, key, key)
	}
	body := `{"model":"` + key + `","stop":["` + key + `"],"messages":[{"role":"user","content":"my key is ` + base64.StdEncoding.EncodeToString([]byte(key)) + ` or ` + key + `"}]}`
	ask(t, c, "/v1/chat/completions?api-key="+key, body, "Authorization", "Bearer "+key, "Api-Key", key, "X-Request-ID", "r")
	if got := u.heads[0].Get("Authorization"); got != "Bearer "+key {
		t.Errorf("the key was not passed on: %q", got)
	}
	data, err := json.Marshal([]any{recorded(t, c, "r"), told})
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{key, base64.StdEncoding.EncodeToString([]byte(key)), fmt.Sprintf("%x", key)} {
		if bytes.Contains(data, []byte(form)) {
			t.Errorf("%q is kept: %s", form, data)
		}
	}
	if len(told) != 1 {
		t.Errorf("%d calls were told, want 1", len(told))
	}
}

// TestKeepsThePromptExactly: a prompt is evidence. What stands in it of addresses, and a word that serves as a key where none is needed, stays.
func TestKeepsThePromptExactly(t *testing.T) {
	const text = "See https://intra.example/policy?id=42 and redis://u:p@db/0. There are none."
	u, c, _ := start(t, tap.Options{})
	u.reply = func(w http.ResponseWriter, _ []byte) {
		fmt.Fprintf(w, `{"choices":[{"message":{"content":%q}}]}`, text)
	}
	ask(t, c, "/v1/chat/completions", fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":%q}]}`, text), "Authorization", "Bearer none", "X-Request-ID", "r")
	call := recorded(t, c, "r").Calls[0]
	if call.Messages[0].Text != text || call.Answer != text {
		t.Errorf("want %q, got the prompt %q and the answer %q", text, call.Messages[0].Text, call.Answer)
	}
}

func TestControlEndpoints(t *testing.T) {
	_, c, _ := start(t, tap.Options{Key: "open sesame"})
	wrong := *c
	wrong.Key = "guess"
	var refused *tap.Refused
	if err := wrong.Open(t.Context(), "r", nil); !errors.As(err, &refused) || refused.Status != http.StatusUnauthorized {
		t.Errorf("with another key: %v", err)
	}
	if _, err := c.Recorded(t.Context(), "never"); !errors.As(err, &refused) || refused.Status != http.StatusNotFound {
		t.Errorf("of an unknown request: %v", err)
	}
	if err := c.Open(t.Context(), "r", &tap.Substitution{With: "x"}); !errors.As(err, &refused) || refused.Status != http.StatusBadRequest {
		t.Errorf("without markers: %v", err)
	}
	if err := c.Open(t.Context(), "a/b ü?", nil); err != nil {
		t.Error(err)
	}
	if got := recorded(t, c, "a/b ü?"); got.ID != "a/b ü?" || !got.Open {
		t.Errorf("an id that needs escaping: %+v", got)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.URL+"/-/culprit/v1/requests/r", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Origin", "http://page.test")
	response, err := c.HTTP.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusForbidden {
		t.Errorf("a page in a browser gets %d", response.StatusCode)
	}
}

func TestServerThatFails(t *testing.T) {
	u, c, _ := start(t, tap.Options{})
	u.reply = func(http.ResponseWriter, []byte) { panic(http.ErrAbortHandler) }
	status, answer := ask(t, c, "/v1/chat/completions", chat, "X-Request-ID", "r")
	if status != http.StatusBadGateway || !strings.Contains(answer, "could not be reached") {
		t.Errorf("got %d %s", status, answer)
	}
	if call := recorded(t, c, "r").Calls[0]; !call.Done || call.Error == "" || call.Status != 0 {
		t.Errorf("what is recorded: %+v", call)
	}
}

func TestAnswerThatBreaksOff(t *testing.T) {
	u, c, _ := start(t, tap.Options{})
	u.reply = func(w http.ResponseWriter, _ []byte) {
		w.Header().Set("Content-Length", "500")
		fmt.Fprint(w, `{"id":"x",`)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.URL+"/v1/chat/completions", strings.NewReader(chat))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Request-ID", "r")
	response, err := c.HTTP.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_, readErr := io.ReadAll(response.Body)
	response.Body.Close()
	if readErr == nil {
		t.Error("the service is not told that the answer broke off")
	}
	if call := recorded(t, c, "r").Calls[0]; !call.Done || !strings.Contains(call.Error, "broke off") {
		t.Errorf("what is recorded: %+v", call)
	}
}

func TestNoUpstream(t *testing.T) {
	for _, bad := range []string{"", "localhost:8080", "ftp://host/v1", "/v1"} {
		u, err := url.Parse(bad)
		if err != nil {
			u = nil
		}
		if _, err := tap.New(tap.Options{Upstream: u}); err == nil {
			t.Errorf("upstream %q is taken", bad)
		}
	}
}
