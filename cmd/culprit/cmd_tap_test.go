package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTap runs the command in front of a model's server until it is cancelled.
func TestTap(t *testing.T) {
	t.Parallel()
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("Authorization") != "Bearer sk-sentinel-123456" {
			t.Errorf("the model's server got %q with key %q: %v", body, r.Header.Get("Authorization"), err)
		}
		fmt.Fprint(w, `{"id":"1","model":"m","choices":[{"message":{"content":"y\u001b[31m"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}`)
	}))
	defer model.Close()
	record := filepath.Join(t.TempDir(), "prompts.jsonl")
	base, stop := startTap(t, func(string) string { return "" }, "--upstream", model.URL+"/v1", "--record", record)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/chat/completions", strings.NewReader(`{"model":"m\u001b[2J","messages":[{"role":"user","content":"key sk-sentinel-123456"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer sk-sentinel-123456")
	req.Header.Set("X-Request-ID", "r-1")
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(response.Body); err != nil {
		t.Error(err)
	}
	response.Body.Close()
	shown := stop()
	kept, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	if want := "1 message of 2 words · 200 stop, 1 token"; !strings.Contains(shown, want) || strings.Contains(shown, "\x1b") {
		t.Errorf("shown: %q, want %q and no escape sequence", shown, want)
	}
	if !strings.Contains(string(kept), `"request_id":"r-1"`) || !strings.Contains(string(kept), "[redacted]") || strings.Contains(string(kept), "sk-sentinel") {
		t.Errorf("recorded: %s", kept)
	}
	if info, err := os.Stat(record); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the record is open to others: %v %v", info.Mode(), err)
	}
}

// startTap runs the command until stop, which returns all that it said.
func startTap(t *testing.T, env func(string) string, args ...string) (base string, stop func() string) {
	t.Helper()
	registry, err := builtIn()
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	said, saying := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	code := make(chan int, 1)
	go func() {
		a := &app{out: stream{Writer: out}, err: stream{Writer: saying}, env: env, registry: registry}
		c := a.main(ctx, append([]string{"tap", "--listen", "127.0.0.1:0"}, args...))
		saying.Close()
		code <- c
	}()
	lines := bufio.NewReader(said)
	first, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	rest := make(chan string, 1)
	go func() {
		all, _ := io.ReadAll(lines)
		rest <- string(all)
	}()
	return regexp.MustCompile(`http://127\.0\.0\.1:\d+/v1`).FindString(first), func() string {
		t.Helper()
		cancel()
		if got := <-code; got != exitOK {
			t.Errorf("exit code %d", got)
		}
		shown, err := os.ReadFile(out.Name())
		if err := errors.Join(err, out.Close()); err != nil {
			t.Fatal(err)
		}
		return string(shown) + first + <-rest
	}
}
