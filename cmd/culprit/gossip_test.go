package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// gossip is a server of all that a run asks, which repeats the headers and the address of each call wherever a text can stand.
type gossip struct {
	URL   string
	tells string // paths that hold it repeat what came in answers too, where a case ends with that

	mu    sync.Mutex
	heard map[string]bool // places whose keys came
	calls int
}

// fault is how a server fails: "" not at all.
var faultsOf = []string{"", "401", "500", "page", "hang", "redirect"}

// startGossip starts one whose paths that hold a role fail.
func startGossip(t *testing.T, role, fault string) *gossip {
	t.Helper()
	g := &gossip{tells: role, heard: map[string]bool{}}
	ended := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		said, raw := g.repeat(r)
		for _, name := range []string{"X-Request-Id", "Www-Authenticate", "Set-Cookie", "X-Cache", "Retry-After", "Content-Location"} {
			w.Header().Set(name, said)
		}
		if strings.Contains(r.URL.Path, role) {
			switch fault {
			case "401", "500":
				w.WriteHeader(map[string]int{"401": 401, "500": 500}[fault])
				fmt.Fprintf(w, `{"error": {"message": %s, "code": %s, "type": %s, "param": %s}}`, raw, raw, raw, raw)
				return
			case "page":
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprintf(w, "<!DOCTYPE html><title>%s</title><body>%s", said, said)
				return
			case "redirect":
				w.Header().Set("Location", "http://user:"+url.QueryEscape(said)+"@other.invalid/"+url.PathEscape(said))
				w.WriteHeader(http.StatusTemporaryRedirect)
				fmt.Fprint(w, said)
				return
			case "hang":
				select {
				case <-r.Context().Done():
				case <-ended:
				}
				return
			}
		}
		g.serve(w, r, body, raw)
	}))
	t.Cleanup(func() { close(ended); s.Close() })
	g.URL = s.URL
	return g
}

// repeat returns what came with a call in all its forms, as text and as a JSON string, which escapes every byte of it as well.
func (g *gossip) repeat(r *http.Request) (text, raw string) {
	var all, escaped strings.Builder
	add := func(value string) {
		for _, place := range sentinelIn.FindAllStringSubmatch(value, -1) {
			g.heard[place[1]] = true
		}
		fmt.Fprintf(&all, " %s %s", value, base64.StdEncoding.EncodeToString([]byte(value)))
		for _, form := range encoded(value[strings.Index(value, " ")+1:]) {
			all.WriteString(" " + form)
		}
		for _, b := range []byte(value) {
			fmt.Fprintf(&escaped, `\u%04x`, b)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls++
	for _, name := range []string{"Authorization", "Api-Key", "X-Gateway-Key", "Proxy-Authorization", "Cookie", "X-Auth"} {
		if value := r.Header.Get(name); value != "" {
			add(value)
		}
	}
	for _, name := range []string{"Authorization", "Proxy-Authorization"} {
		basic := http.Request{Header: http.Header{"Authorization": r.Header[name]}}
		if _, password, ok := basic.BasicAuth(); ok {
			add(password)
		}
	}
	for _, values := range r.URL.Query() {
		add(values[0])
	}
	text = strings.Repeat("x", g.calls*37%700) + all.String() // so that texts are cut at every place of a key
	quoted, _ := json.Marshal(text)
	return text, strings.TrimSuffix(string(quoted), `"`) + escaped.String() + `"`
}

// serve answers well.
func (g *gossip) serve(w http.ResponseWriter, r *http.Request, body []byte, raw string) {
	var ask struct {
		Input     []string `json:"input"`
		Documents []string `json:"documents"`
		RequestID string   `json:"request_id"`
		Answer    bool     `json:"answer"`
	}
	_ = json.Unmarshal(body, &ask)
	answer := raw
	if !strings.Contains(r.URL.Path, g.tells) {
		answer = `"It is the first of May."`
	}
	message := `"content": ` + answer
	if strings.Contains(r.URL.Path, "/refusing/") {
		message = `"content": "I cannot say.", "refusal": ` + answer
	}
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "/chat/completions"):
		fmt.Fprintf(w, `{"id": %[1]s, "model": %[1]s, "system_fingerprint": %[1]s, "provider": %[1]s, "service_tier": %[1]s, "created": %[1]s, "choices": [
			{"message": {%[2]s}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 9, "completion_tokens": 9}}`, raw, message)
	case strings.HasSuffix(path, "/embeddings"):
		var data []string
		for i, text := range ask.Input {
			vector := make([]int, 8)
			for _, word := range strings.Fields(text) {
				vector[int(word[0])%len(vector)]++
			}
			vector[0]++
			numbers, _ := json.Marshal(vector)
			data = append(data, fmt.Sprintf(`{"index": %d, "embedding": %s}`, i, numbers))
		}
		fmt.Fprintf(w, `{"model": %s, "data": [%s]}`, raw, strings.Join(data, ","))
	case strings.HasSuffix(path, "/rerank"):
		var data []string
		for i := range ask.Documents {
			data = append(data, fmt.Sprintf(`{"index": %d, "relevance_score": 0.%d}`, i, 9-i))
		}
		fmt.Fprintf(w, `{"id": %[1]s, "model": %[1]s, "results": [%[2]s], "meta": {"warnings": [%[1]s]}}`, raw, strings.Join(data, ","))
	case strings.HasSuffix(path, "/capabilities"):
		fmt.Fprintf(w, `{"name": %[1]s, "version": %[1]s, "context": true, "retrieval": true}`, raw)
	case strings.HasSuffix(path, "/ask"):
		item := fmt.Sprintf(`{"id": "a", "source": "a.md", "text": %s, "score": 1}`, raw)
		fmt.Fprintf(w, `{"request_id": %[1]q, "answer": %[2]s, "query_effective": %[2]s, "embed_model": %[2]s, "candidates": [%[3]s], "packed": [%[3]s],
			"prompt": [{"role": "user", "text": %[2]s}], "finish_reason": %[2]s, "model_reported": %[2]s, "system_fingerprint": %[2]s}`, ask.RequestID, raw, item)
	case strings.Contains(path, "/requests/"):
		fmt.Fprintf(w, `{"request_id": %[1]q, "calls": [{"path": %[2]s, "model": %[2]s, "messages": [{"role": "user", "text": %[2]s}], "answer": %[2]s, "model_reported": %[2]s, "done": true}]}`, ask.RequestID, raw)
	default:
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error": [{"message": %s}]}`, raw)
	}
}

// told fails where a key never reached the server: nothing would be tested.
func (g *gossip) told(t *testing.T, places ...string) {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, place := range places {
		if !g.heard[place] {
			t.Errorf("the key of %s was never sent", place)
		}
	}
}
