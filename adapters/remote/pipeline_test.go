package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/culprit-rag/culprit/adapters"
)

// open opens a pipeline on a service, with more settings.
func open(t *testing.T, service http.HandlerFunc, more string) adapters.Pipeline {
	t.Helper()
	server := httptest.NewServer(service)
	secrets := &adapters.Secrets{Env: func(name string) (string, bool) { return "sk-sentinel-42-" + name, true }}
	p, err := openPipeline(t.Context(), adapters.Config{Settings: json.RawMessage(fmt.Sprintf(`{"url": %q%s}`, server.URL+"/ask", more)), Secrets: secrets})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(p.Close(), p.Close()); err != nil {
			t.Error(err)
		}
		server.Close()
	})
	return p
}

func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

var question = adapters.PipelineRequest{RequestID: "r1", Query: "Which class?", Principal: map[string][]string{"tenant": {"acme"}}, K: 2, Answer: true}

func TestRequestOnTheWire(t *testing.T) {
	t.Parallel()
	var got map[string]any
	var header http.Header
	p := open(t, func(w http.ResponseWriter, r *http.Request) {
		header = r.Header.Clone()
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		fmt.Fprint(w, `{"request_id":"r1","answer":"a"}`)
	}, `, "api_key_env": "KEY", "headers": {"X-Team": "search"}, "capabilities": {"context": true}`)
	zero, seed := 0.0, int64(7)
	req := question
	req.Context, req.Temperature, req.Seed, req.MaxTokens = []adapters.ContextItem{}, &zero, &seed, 20
	req.Filters = []adapters.Condition{{Field: "tenant", AnyOf: []string{"acme"}}}
	if _, err := p.Ask(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"request_id": "r1", "query": "Which class?", "principal": map[string]any{"tenant": []any{"acme"}}, "k": 2.0, "context": []any{}, "answer": true,
		"filters": []any{map[string]any{"field": "tenant", "any_of": []any{"acme"}}}, "params": map[string]any{"temperature": 0.0, "seed": 7.0, "max_tokens": 20.0},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the request (-want +got):\n%s", diff)
	}
	for name, want := range map[string]string{"X-Request-ID": "r1", "Authorization": "Bearer sk-sentinel-42-KEY", "X-Team": "search"} {
		if header.Get(name) != want {
			t.Errorf("header %s is %q, want %q", name, header.Get(name), want)
		}
	}
}

func TestTrace(t *testing.T) {
	t.Parallel()
	p := open(t, says(200, `{"request_id":"r1","query_effective":"class","candidates":[{"id":7,"score":1.5},{"source":"s","text":""}],"packed":[],
		"prompt":[{"role":"user","content":"q"}],"answer":"a","finish_reason":"stop","usage":{"input_tokens":3,"output_tokens":0},"extra":{"x":1}}`), "")
	got, err := p.Ask(t.Context(), question)
	if err != nil {
		t.Fatal(err)
	}
	number := func(n int) *int { return &n }
	score, empty := 1.5, ""
	want := adapters.Trace{
		RequestID: "r1", QueryEffective: "class", Candidates: []adapters.TraceItem{{ID: "7", Score: &score}, {ID: "s", Source: "s", Text: &empty}},
		Packed: []adapters.TraceItem{}, Prompt: []adapters.Message{{Role: "user", Text: "q"}}, Answer: "a", FinishReason: "stop",
		InputTokens: number(3), OutputTokens: number(0), Notes: []string{`the service's answer has keys that are not read: "extra"`},
	}
	got.WireTime = 0
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the trace (-want +got):\n%s", diff)
	}
}

// Chunks that tell the file which they are of and no id are known by their text, and not taken for one another.
func TestSharedSource(t *testing.T) {
	t.Parallel()
	p := open(t, says(200, `{"answer":"a","candidates":[{"source":"a.md","text":"x"},{"source":"a.md","text":"y"},{"source":"b.md","text":"z"},{"source":"b.md","text":"z"}],"packed":[{"source":"a.md","text":"y"},{"source":"a.md"}]}`), "")
	got, err := p.Ask(t.Context(), question)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, i := range slices.Concat(got.Candidates, got.Packed) {
		ids = append(ids, i.ID)
	}
	if want := []string{"", "", "b.md", "b.md", "", "a.md"}; !slices.Equal(ids, want) || !slices.ContainsFunc(got.Notes, func(n string) bool { return strings.Contains(n, "known by their text") }) {
		t.Errorf("ids %q, notes %q, want ids %q", ids, got.Notes, want)
	}
}

// An item of which the text alone is told is one all the same, and a list that a mapping leaves null is noted.
func TestTextsAlone(t *testing.T) {
	t.Parallel()
	text := "t"
	for _, told := range []string{`["t"]`, `[{"text":"t"}]`, `[{"id":null,"text":"t"}]`} {
		p := open(t, says(200, `{"id":"r1","a":"x","contexts":`+told+`}`), `, "map": {"response": "{request_id: .id, answer: .a, packed: .contexts, candidates: .hits}"}`)
		got, err := p.Ask(t.Context(), question)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]adapters.TraceItem{{Text: &text}}, got.Packed); diff != "" {
			t.Errorf("%s (-want +got):\n%s", told, diff)
		}
		notes := strings.Join(got.Notes, "\n")
		if len(got.Notes) != 2 || !strings.Contains(notes, "known by their text alone") || !strings.Contains(notes, "gives null for candidates") {
			t.Errorf("notes %q", notes)
		}
	}
	p := open(t, says(200, `{"request_id":"r1","answer":"x","retrievals":[{"candidates":["t","u"]},{"candidates":["u","v"]}]}`), "")
	got, err := p.Ask(t.Context(), question)
	if err != nil || len(got.Candidates) != 3 {
		t.Errorf("%d candidates of three texts (%v)", len(got.Candidates), err)
	}
}

// What is near a trace is one: the same item twice, an error that is none, and keys that differ by their case.
func TestWhatIsNoFault(t *testing.T) {
	t.Parallel()
	for _, told := range []string{
		`"error":null`, `"error":false`, `"error":""`, `"error":{}`, `"error":[]`, `"ANSWER":"y"`, `"Packed":[{"id":"p"}]`, `"ERROR":"late"`,
		`"candidates":[{"id":"a","text":"t"},{"id":"a","text":"t"},{"id":"a"}]`, `"candidates":[{"source":"a"}]`,
		`"candidates":[{"id":"a","ID":"b","TEXT":"u"}]`, `"retrievals":[{"candidates":[{"id":"a"}],"Candidates":[]}]`, `"prompt":[{"role":"user","content":"c","CONTENT":"d"}]`,
	} {
		got, err := open(t, says(200, `{"request_id":"r1","answer":"x",`+told+`}`), "").Ask(t.Context(), question)
		switch {
		case err != nil || got.Answer != "x" || got.Packed != nil:
			t.Errorf("%s: answer %q, packed %v (%v)", told, got.Answer, got.Packed, err)
		case strings.Contains(told, "andidates") && (len(got.Candidates) == 0 || got.Candidates[0].ID != "a"):
			t.Errorf("%s: candidates %+v", told, got.Candidates)
		case strings.Contains(told, "prompt") && got.Prompt[0].Text != "c":
			t.Errorf("%s: prompt %+v", told, got.Prompt)
		}
	}
}

// What is packed comes of the candidates, where those are told: what does not is noted, and no error.
func TestForeignItems(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		told, context string
		noted         bool
	}{
		{told: `"candidates":[{"id":"a","text":"t"}],"packed":[{"id":"b"}]`, noted: true},
		{told: `"candidates":[],"packed":[{"id":"b","text":"t"}]`, noted: true},
		{told: `"candidates":[{"id":"a","text":"t"}],"packed":[{"id":"b","text":"t"}]`},
		{told: `"candidates":[{"id":"a","source":"s"}],"packed":[{"id":"b","source":"s"}]`},
		{told: `"candidates":[{"id":"a"}],"reranked":[{"id":"b"}],"packed":[{"id":"b"}]`},
		{told: `"packed":[{"id":"b"}]`},
		{told: `"candidates":[{"id":"a"}],"packed":[{"id":"b"}]`, context: "b"},
	} {
		ask := question
		if tt.context != "" {
			ask.Context = []adapters.ContextItem{{ID: tt.context, Text: "t"}}
		}
		p := open(t, says(200, `{"request_id":"r1","answer":"x",`+tt.told+`}`), `, "capabilities": {"context": true}`)
		got, err := p.Ask(t.Context(), ask)
		if noted := strings.Contains(strings.Join(got.Notes, "\n"), "not among the candidates"); err != nil || noted != tt.noted {
			t.Errorf("%s: notes %q (%v)", tt.told, got.Notes, err)
		}
	}
}

// Each server has its own words for why an answer ends.
func TestFinishReasons(t *testing.T) {
	t.Parallel()
	for told, want := range map[string]string{
		"stop": adapters.FinishStop, "end_turn": adapters.FinishStop, "MAX_TOKENS": adapters.FinishLength, "max_tokens": adapters.FinishLength,
		"CONTENT_FILTER": adapters.FinishContentFilter, "": "", "of its own": "of its own",
		"error": "failed", "MALFORMED_FUNCTION_CALL": "failed", "insufficient_system_resource": "failed",
	} {
		got, err := open(t, says(200, fmt.Sprintf(`{"answer":"Sorry, that went wrong.","finish_reason":%q}`, told)), "").Ask(t.Context(), question)
		switch {
		case want == "failed" && (adapters.KindOf(err) != adapters.KindTransient || !strings.Contains(err.Error(), told) || !strings.Contains(err.Error(), "Sorry")):
			t.Errorf("%q: %v, want an error that holds it", told, err)
		case want != "failed" && (err != nil || got.FinishReason != want):
			t.Errorf("%q: %q (%v), want %q", told, got.FinishReason, err, want)
		}
	}
}

func TestSeveralSearches(t *testing.T) {
	t.Parallel()
	one := adapters.TraceSearch{Query: "class", Filters: []adapters.Condition{{Field: "tenant", AnyOf: []string{"acme"}}}, Candidates: []adapters.TraceItem{{ID: "x"}, {ID: "y"}}}
	two := adapters.TraceSearch{Query: "flight", Candidates: []adapters.TraceItem{{ID: "y"}, {ID: "z"}}}
	const told = `{"query":"class","filters":[{"field":"tenant","any_of":["acme"]}],"candidates":[{"id":"x"},{"id":"y"}]}, {"query_effective":"flight","candidates":[{"id":"y"},{"id":"z"}]}`
	for _, tt := range []struct {
		name, at   string
		retrievals []adapters.TraceSearch
		ids        string // of the candidates
		union      bool
	}{
		{"two", `"retrievals":[` + told + `]`, []adapters.TraceSearch{one, two}, "xyz", true},
		{"two, and their union", `"candidates":[{"id":"z"},{"id":"x"}],"retrievals":[` + told + `]`, []adapters.TraceSearch{one, two}, "zx", false},
		{"one", `"retrievals":[{"query":"class"}]`, []adapters.TraceSearch{{Query: "class"}}, "", false},
		{"none", `"retrievals":[]`, nil, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := open(t, says(200, `{"request_id":"r1","answer":"a",`+tt.at+`}`), "").Ask(t.Context(), question)
			if err != nil {
				t.Fatal(err)
			}
			ids := ""
			for _, c := range got.Candidates {
				ids += c.ID
			}
			if diff := cmp.Diff(tt.retrievals, got.Retrievals); diff != "" || ids != tt.ids || got.Union != tt.union || (len(got.Notes) > 0) != tt.union {
				t.Errorf("candidates %q, union %v, notes %q, retrievals (-want +got):\n%s", ids, got.Union, got.Notes, diff)
			}
			if tt.ids == "" && got.Candidates != nil {
				t.Error("what no search told is empty")
			}
		})
	}
}

// breaksOff answers with a status line, the length where there is one, and less than that.
func breaksOff(length int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		defer conn.Close()
		head := "HTTP/1.1 200 OK\r\nConnection: close\r\n"
		if length >= 0 {
			head += fmt.Sprintf("Content-Length: %d\r\n", length)
		}
		_, _ = io.WriteString(conn, head+"\r\n"+body)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		at   http.HandlerFunc
		more string
		kind adapters.Kind
		says string
	}{
		{name: "a wrong key", at: says(401, "who?"), kind: adapters.KindUnauthorised, says: "api_key_env"},
		{name: "another path", at: says(404, "no"), kind: adapters.KindNotFound, says: "backends.service.url"},
		{name: "too many requests", at: says(429, ""), kind: adapters.KindRateLimited, says: "429"},
		{name: "a request it does not take", at: says(422, `{"detail":"question is missing"}`), kind: adapters.KindInvalid, says: "map.request"},
		{name: "an error of its own", at: says(500, "<html>trace</html>"), kind: adapters.KindTransient, says: "500"},
		{name: "an error in a success", at: says(200, `{"error":{"message":"index is loading"}}`), kind: adapters.KindTransient, says: "index is loading"},
		{name: "a login page", at: says(200, "<html>Sign in</html>"), kind: adapters.KindPermanent, says: "Sign in"},
		{name: "JSON that ends early in a whole body", at: says(200, `{"answer":"a`), kind: adapters.KindPermanent, says: "no JSON: at byte 12 of 12"},
		{name: "JSON of Python's NaN", at: says(200, `{"score":NaN}`), kind: adapters.KindPermanent, says: "no JSON: at byte 10 of 13"},
		{name: "two values", at: says(200, `{"a":1}{"a":1}`), kind: adapters.KindPermanent, says: "no JSON: at byte 8 of 14"},
		{name: "JSON nested too deep", at: says(200, strings.Repeat("[", 20_000)+strings.Repeat("]", 20_000)), kind: adapters.KindPermanent, says: "no JSON: at byte 10001 of 40000"},
		{name: "JSON that breaks off within its length", at: breaksOff(100, `{"answer":"a`), kind: adapters.KindTransient, says: "broke off"},
		{name: "JSON that breaks off where no length is told", at: breaksOff(-1, `{"answer":"a`), kind: adapters.KindTransient, says: "cut off"},
		{name: "nothing", at: says(200, ""), kind: adapters.KindTransient, says: "an empty body came"},
		{name: "no answer", at: says(200, `{"result":"a"}`), kind: adapters.KindPermanent, says: "map.response"},
		{name: "another type", at: says(200, `{"answer":["a"]}`), kind: adapters.KindPermanent, says: "answer"},
		{name: "another request's trace", at: says(200, `{"request_id":"r2","answer":"a"}`), kind: adapters.KindPermanent, says: `"r2", and "r1" was asked`},
		{name: "a mapping that gives nothing", at: says(200, `{}`), more: `, "map": {"response": "empty"}`, kind: adapters.KindInvalid, says: "gives nothing"},
		{name: "a mapping that gives two", at: says(200, `{}`), more: `, "map": {"response": "1, 2"}`, kind: adapters.KindInvalid, says: "more than one"},
		{name: "a mapping that fails", at: says(200, `{"a":"x"}`), more: `, "map": {"response": ".a + 1"}`, kind: adapters.KindInvalid, says: "map.response"},
		{name: "a mapping of a key that no trace has", at: says(200, `{"a":"x"}`), more: `, "map": {"response": "{answer: .a, packd: []}"}`, kind: adapters.KindInvalid, says: `map.response gives "packd", which a trace does not have: did you mean "packed"?`},
		{name: "a mapping of a key that is near none", at: says(200, `{"a":"x"}`), more: `, "map": {"response": "{answer: .a, sources: []}"}`, kind: adapters.KindInvalid, says: `map.response gives "sources", which a trace does not have`},
		{name: "a mapping of no answer", at: says(200, `{"a":"x"}`), more: `, "map": {"response": "{answer: .b}"}`, kind: adapters.KindInvalid, says: "the trace holds no answer: see backends.service.map.response"},
		{name: "items as they are", at: says(200, `{"a":"x","s":[{"file":"f","body":"b"}]}`), more: `, "map": {"response": "{answer: .a, packed: .s}"}`, kind: adapters.KindInvalid, says: `packed[0] has none of id, source and text, of which one is needed: it has "body", "file"`},
		{name: "items of a search as they are", at: says(200, `{"answer":"x","retrievals":[{"candidates":[{"id":"a"},{}]}]}`), kind: adapters.KindPermanent, says: `retrievals[0].candidates[1] has none of id, source and text, of which one is needed: it has no keys: adapt it by backends.service.map.response`},
		{name: "an item that is null", at: says(200, `{"answer":"x","candidates":[{"id":"a"},null]}`), kind: adapters.KindPermanent, says: "candidates[1] has none of id, source and text"},
		{name: "a search's item that is null", at: says(200, `{"answer":"x","retrievals":[{"candidates":[null]}]}`), kind: adapters.KindPermanent, says: "retrievals[0].candidates[0] has none of"},
		{name: "an id that is empty", at: says(200, `{"answer":"x","packed":[{"id":"a","text":"t"},{"id":"","text":"u"}]}`), kind: adapters.KindPermanent, says: "packed[1] has an empty id"},
		{name: "an empty id by a mapping", at: says(200, `{"a":"x","s":[{"t":"u"}]}`), more: `, "map": {"response": "{answer: .a, packed: [.s[] | {id: (.d // \"\"), text: .t}]}"}`, kind: adapters.KindInvalid, says: "packed[0] has an empty id"},
		{name: "an empty id beside a source", at: says(200, `{"answer":"x","candidates":[{"id":"","source":"a"}]}`), kind: adapters.KindPermanent, says: "candidates[0] has an empty id"},
		{name: "one id for two texts", at: says(200, `{"answer":"x","candidates":[{"id":"a","text":"t"},{"id":"b"},{"id":"a","text":"u"}]}`), kind: adapters.KindPermanent, says: `candidates[2] has the id "a" of candidates[0], and another text`},
		{name: "items of another type", at: says(200, `{"answer":"x","packed":[7]}`), kind: adapters.KindPermanent, says: "a number"},
		{name: "a connection that is cut", at: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, kind: adapters.KindTransient, says: "is the server up"},
		{
			name: "a way to another host", kind: adapters.KindPermanent, says: "not followed",
			at: func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
			},
		},
		{
			name: "a key in its error", kind: adapters.KindTransient, says: "[redacted]", more: `, "api_key_env": "KEY"`,
			at: func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(503)
				fmt.Fprint(w, r.Header)
			},
		},
		{
			name: "a key where its error is cut", kind: adapters.KindTransient, says: "503", more: `, "api_key_env": "KEY"`,
			at: func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(503)
				fmt.Fprint(w, strings.Repeat("x", 285), " ", r.Header.Get("Authorization"))
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := open(t, tt.at, tt.more).Ask(t.Context(), question)
			var e *adapters.Error
			if !errors.As(err, &e) || e.Kind != tt.kind || !strings.Contains(e.Error(), tt.says) {
				t.Errorf("%v, want kind %s and %q", err, tt.kind, tt.says)
			}
			if err != nil && strings.Contains(err.Error(), "sk-sent") {
				t.Errorf("it shows the key: %v", err)
			}
		})
	}
}

// TestKeyInATrace lets the service repeat its key in what is kept: then nothing of it is.
func TestKeyInATrace(t *testing.T) {
	t.Parallel()
	p := open(t, func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get("Authorization")
		_ = json.NewEncoder(w).Encode(map[string]any{"answer": key, "prompt": []any{map[string]string{"role": "system", "text": key}}, "packed": []any{map[string]string{"id": "a", "text": key}}})
	}, `, "api_key_env": "KEY"`)
	got, err := p.Ask(t.Context(), question)
	if adapters.KindOf(err) != adapters.KindSecret || got.Answer != "" || got.Prompt != nil || got.Packed != nil {
		t.Errorf("%v, and it is kept: %+v", err, got)
	}
	if err != nil && strings.Contains(err.Error(), "sk-sentinel") {
		t.Errorf("it shows the key: %v", err)
	}
}

func TestHungServiceAndClose(t *testing.T) {
	t.Parallel()
	hung := open(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then does the server see that the caller has gone
		<-r.Context().Done()
	}, "")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := hung.Ask(ctx, question); adapters.KindOf(err) != adapters.KindTimeout {
		t.Errorf("%v, want a timeout", err)
	}
	p := open(t, says(200, `{"answer":"a"}`), "")
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Ask(t.Context(), question); !errors.Is(err, adapters.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestCapabilities(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		at   http.HandlerFunc
		more string
		want adapters.PipelineInfo
	}{
		{name: "told", at: says(200, `{"name":"faq","version":"7","context":true,"retrieval":true}`), want: adapters.PipelineInfo{Name: "faq", Version: "7", Context: true, Retrieval: true}},
		{name: "not told", at: says(404, ""), want: adapters.PipelineInfo{}},
		{name: "declared", at: says(500, ""), more: `, "capabilities": {"name": "faq", "context": true}`, want: adapters.PipelineInfo{Name: "faq", Context: true}},
		{
			name: "by a tap", at: says(404, ""), more: `, "tap": {"url": "http://localhost:8089", "begin": "Context:"}`,
			want: adapters.PipelineInfo{Context: true, Through: "the tap at http://localhost:8089"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := open(t, tt.at, tt.more).Describe(t.Context())
			tt.want.Adapter = Name
			if tt.want.Name == "" {
				got.Name = ""
			}
			if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
	if _, err := open(t, says(503, "starting"), "").Describe(t.Context()); adapters.KindOf(err) != adapters.KindTransient {
		t.Errorf("a service that is not up: %v", err)
	}
}

func TestSettingsThatAreWrong(t *testing.T) {
	t.Parallel()
	for settings, want := range map[string]string{
		`{"url": "localhost:80"}`:                                        "backends.service.url",
		`{"url": "http://u:p@h/"}`:                                       "more than an address",
		`{"url": "http://h", "map": {"request": "{a: ."}}`:               "backends.service.map.request is no jq",
		`{"url": "http://h", "map": {"response": "nothing(.)"}}`:         "function not defined",
		`{"url": "http://h", "headers": {"authorization": "x"}}`:         "carries a secret",
		`{"url": "http://h", "tap": {"url": "http://t", "item": "{x}"}}`: "tap.item",
	} {
		_, err := openPipeline(t.Context(), adapters.Config{Settings: json.RawMessage(settings)})
		if adapters.KindOf(err) != adapters.KindInvalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", settings, err, want)
		}
	}
	// An expression sees its input alone.
	p, err := compile("response", `$ENV | length`)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := p.run(t.Context(), []byte(`{}`)); err != nil || string(out) != "0" {
		t.Errorf("the environment is seen: %s %v", out, err)
	}
}

// TestCheck finds the places of mistakes in expressions, each beside the others.
func TestCheck(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ response, says string }{
		{"{answer: .a", `map.response 1:12 '}' is missing, which closes the '{' of line 1`},
		{"{answer: .a,\n packed: [.s[] | {id: .i}\n}\n", `map.response 3:1 unexpected token "}"`},
		{"{answer: .a,\n packed: [.s[] | {id: \"}\\\"\"} # ]\n", `map.response 2:33 ']' is missing, which closes the '[' of line 2`},
		{"{\"é\": .a, b .c}", `map.response 1:13 unexpected token ".c"`},
		{".a |", `map.response 1:5 the expression ends too early`},
		{"\"a", `map.response 1:3 unterminated string literal`},
		{"nothing(.)", `map.response 0:0 function not defined`},
		{"{answer: .a}", ""},
	} {
		settings, err := json.Marshal(map[string]any{"url": "http://h/ask?x", "api_key_env": "KEY", "map": map[string]any{"request": "{", "response": test.response}})
		if err != nil {
			t.Fatal(err)
		}
		registry, err := adapters.NewRegistry(Factory())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range registry.Check(adapters.RolePipeline, Name, adapters.Config{Settings: settings}) {
			got = append(got, fmt.Sprintf("%s %d:%d %v", e.Field, e.Line, e.Column, e))
		}
		last := strings.NewReplacer("setting backends.service.map.response is no jq: ", "", "setting backends.service.map.response: ", "").Replace(got[len(got)-1])
		switch {
		case len(got) < 2 || !strings.HasPrefix(got[0], "url 0:0 setting backends.service.url holds more than an address") || !strings.HasPrefix(got[1], "map.request 1:2 "):
			t.Errorf("%q", got)
		case test.says == "" && len(got) != 2, test.says != "" && (len(got) != 3 || !strings.HasPrefix(last, test.says)):
			t.Errorf("%q: %q, want %q", test.response, got, test.says)
		}
	}
}

func FuzzTrace(f *testing.F) {
	for _, seed := range []string{
		`{"request_id":"r","answer":"a","packed":[{"id":1,"text":null,"score":1e400}],"prompt":[{}]}`, `{"error":"x"}`, `{"candidates":null,"retrievals":[{}]}`, `[]`, `{"usage":{"input_tokens":-1}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		w, err := decodeTrace(data)
		if err != nil {
			return
		}
		trace := w.trace()
		if (w.Packed == nil) != (trace.Packed == nil) || (w.Prompt == nil) != (trace.Prompt == nil) {
			t.Error("what was told and what was not are mixed up")
		}
	})
}
