package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
)

// scripted is a service that tells the traces of a file: what it can do, and of each question what it finds. Its answer is the text of
// the first item of the context, which is the given one where one is given.
type scripted struct {
	Capabilities map[string]any
	Traces       map[string]map[string]any // by the question
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		_ = json.NewEncoder(w).Encode(s.Capabilities)
		return
	}
	var asked struct {
		RequestID string `json:"request_id"`
		Query     string
		Context   []map[string]any
		Answer    bool
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	out := map[string]any{"request_id": asked.RequestID}
	for key, value := range s.Traces[asked.Query] {
		out[key] = value
	}
	if asked.Context != nil {
		texts := []string{}
		for _, item := range asked.Context {
			texts = append(texts, item["text"].(string))
		}
		out = map[string]any{
			"request_id": asked.RequestID, "packed": asked.Context, "answer": append(slices.Clone(texts), "I don't know.")[0],
			"prompt": []any{map[string]string{"role": "user", "text": strings.Join(texts, "\n") + "\n" + asked.Query}},
		}
	}
	if !asked.Answer {
		delete(out, "answer")
		delete(out, "prompt")
	}
	_ = json.NewEncoder(w).Encode(out)
}

// serving runs a command line of culprit beside the service that the first argument describes, whose address it is given.
func serving() int {
	var s scripted
	data, err := os.ReadFile(os.Args[1])
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	server := httptest.NewServer(&s)
	defer server.Close()
	args := append(slices.Clone(os.Args[2:]), "--set", "backends.service.url="+server.URL+"/ask")
	stdout, stderr, code := invoke(context.Background(), os.Getenv, args...)
	for _, text := range []*string{&stdout, &stderr} {
		*text = steady(strings.ReplaceAll(*text, server.Listener.Addr().String(), "HOST"))
	}
	fmt.Fprint(os.Stdout, stdout)
	fmt.Fprint(os.Stderr, stderr)
	return code
}
