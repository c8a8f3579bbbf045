package remote

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/culprit-rag/culprit/adapters/remote/tap"
)

// testService is a service of the user's own as docs/remote.md describes one. Its ranking is such as only a list that nobody touches
// keeps: not in the order of the scores, with two that are equal, one that is missing, and an id that no float64 holds.
type testService struct {
	*httptest.Server
	generations atomic.Int64

	// What it is not, of what a good one is.
	unable, silent, mute, mixing bool
	model                        string                                   // the base URL of a model that it asks for its answers; "": it copies them itself
	before                       func(*testRequest)                       // changes what it was asked
	after                        func(*testRequest, *testTrace)           // changes what it tells
	instead                      func(http.ResponseWriter, *http.Request) // answers, in its place
}

type (
	testItem struct {
		ID       any      `json:"id"`
		Source   string   `json:"source,omitempty"`
		Revision string   `json:"revision,omitempty"`
		Score    *float64 `json:"score,omitempty"`
		Text     *string  `json:"text,omitempty"`
		Access   []string `json:"access,omitempty"`
	}
	testRequest struct {
		RequestID string      `json:"request_id"`
		Query     string      `json:"query"`
		Context   *[]testItem `json:"context"`
		Answer    bool        `json:"answer"`
	}
	testMessage struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	testTrace struct {
		RequestID  string         `json:"request_id,omitempty"`
		Candidates []testItem     `json:"candidates,omitempty"`
		Packed     *[]testItem    `json:"packed,omitempty"`
		Prompt     []testMessage  `json:"prompt,omitempty"`
		Answer     *string        `json:"answer,omitempty"`
		Finish     string         `json:"finish_reason,omitempty"`
		Usage      map[string]int `json:"usage,omitempty"`
	}
)

func testRanking() []testItem {
	half, third := 0.5, 0.3333333333333333
	item := func(id any, score *float64, text string) testItem {
		return testItem{ID: id, Source: "handbook", Revision: "2026-07-01", Score: score, Text: &text, Access: []string{"staff"}}
	}
	return []testItem{
		item("c08", &half, "Flights longer than 8 hours may be booked in business class."),
		item(json.Number("9007199254740993"), &third, "Employees book economy class for all flights."),
		item("c01", &half, "A written approval is kept for ten years."),
		{ID: "c99", Source: "untold"},
	}
}

// start serves until the test ends.
func (s *testService) start(t *testing.T) *testService {
	t.Helper()
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodGet:
			_ = json.NewEncoder(w).Encode(map[string]any{"name": "test-service", "version": "1", "context": !s.unable, "retrieval": !s.unable})
		case s.instead != nil:
			s.instead(w, r)
		default:
			s.ask(t, w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *testService) ask(t *testing.T, w http.ResponseWriter, r *http.Request) {
	var req testRequest
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		t.Error(err)
	}
	id := req.RequestID
	if s.before != nil {
		s.before(&req)
	}
	if s.unable {
		req.Context, req.Answer = nil, true
	}
	out := testTrace{RequestID: id}
	packed := req.Context
	if packed == nil {
		out.Candidates = testRanking()
		first := out.Candidates[:2:2]
		packed = &first
	}
	out.Packed = packed
	context := ""
	for _, i := range *packed {
		context += fmt.Sprintf("[%v] %s\n", i.ID, *i.Text)
	}
	out.Prompt = []testMessage{{"system", "Answer from the context."}, {"user", "Context:\n" + context + "\nThe question is this: " + req.Query}}
	if req.Answer {
		s.generate(t, r, &out)
	}
	switch {
	case s.silent:
		out = testTrace{Answer: out.Answer}
	case s.mute:
		out.Answer = nil
	case s.mixing:
		out.RequestID = "another"
	}
	if s.after != nil {
		s.after(&req, &out)
	}
	_ = json.NewEncoder(w).Encode(out) // who asked may be gone
}

// generate answers with the line of the context that holds a code, or else with all of it.
func (s *testService) generate(t *testing.T, r *http.Request, out *testTrace) {
	answer := copied(out.Prompt[1].Content)
	if s.model == "" {
		s.generations.Add(1)
	} else {
		body, err := json.Marshal(map[string]any{"model": "m", "messages": out.Prompt})
		if err != nil {
			t.Error(err)
		}
		req, err := http.NewRequestWithContext(r.Context(), http.MethodPost, s.model+"/v1/chat/completions", bytes.NewReader(body))
		if err != nil {
			t.Error(err)
			return
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Request-ID", out.RequestID)
		response, err := s.Client().Do(req)
		if err != nil {
			return // who asked has gone
		}
		defer response.Body.Close()
		var said struct {
			Choices []struct{ Message testMessage }
		}
		if err := json.NewDecoder(response.Body).Decode(&said); err != nil || len(said.Choices) == 0 {
			t.Errorf("the model: %v", err)
			return
		}
		answer = said.Choices[0].Message.Content
		out.Prompt = nil // it does not know what the tap made of it
	}
	out.Answer, out.Finish, out.Usage = &answer, "stop", map[string]int{"input_tokens": 12, "output_tokens": 3}
}

func copied(prompt string) string {
	context, _, _ := strings.Cut(prompt, "\nThe question is this: ")
	for line := range strings.Lines(context) {
		if strings.Contains(line, "code 7781") {
			return line
		}
	}
	return "The context is: " + context
}

// startTap starts a tap before a model that copies its answers, and returns its address and how often the model was asked.
func startTap(t *testing.T) (address string, generations *atomic.Int64) {
	t.Helper()
	generations = &atomic.Int64{}
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		generations.Add(1)
		var body struct{ Messages []testMessage }
		data, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(data, &body)
		}
		if err != nil || len(body.Messages) != 2 {
			t.Errorf("the model got %q: %v", data, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"model": "m", "choices": []any{map[string]any{
			"message": testMessage{"assistant", copied(body.Messages[1].Content)}, "finish_reason": "stop",
		}}})
	}))
	t.Cleanup(model.Close)
	upstream, err := url.Parse(model.URL + "/v1")
	if err != nil {
		t.Fatal(err)
	}
	proxy, err := tap.New(tap.Options{Upstream: upstream})
	if err != nil {
		t.Fatal(err)
	}
	between := httptest.NewServer(proxy)
	t.Cleanup(func() {
		between.Close()
		if err := proxy.Close(); err != nil {
			t.Error(err)
		}
	})
	return between.URL, generations
}
