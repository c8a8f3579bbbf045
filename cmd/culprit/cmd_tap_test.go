package main

import (
	"bufio"
	"context"
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
	registry, err := builtIn()
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	said, saying := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	code := make(chan int, 1)
	go func() {
		a := &app{out: stream{Writer: out}, err: stream{Writer: saying}, env: func(string) string { return "" }, registry: registry}
		c := a.main(ctx, []string{"tap", "--upstream", model.URL + "/v1", "--listen", "127.0.0.1:0", "--record", record})
		saying.Close()
		code <- c
	}()
	first, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	base := regexp.MustCompile(`http://127\.0\.0\.1:\d+/v1`).FindString(first)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/chat/completions", strings.NewReader(`{"model":"m\u001b[2J","messages":[{"role":"user","content":"key sk-sentinel-123456"}]}`))
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
	cancel()
	if got := <-code; got != exitOK {
		t.Errorf("exit code %d", got)
	}
	shown, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	if want := "1 message of 2 words · 200 stop, 1 token"; !strings.Contains(string(shown), want) || strings.Contains(string(shown), "\x1b") {
		t.Errorf("shown: %q, want %q and no escape sequence", shown, want)
	}
	if !strings.Contains(string(kept), `"request_id":"r-1"`) || !strings.Contains(string(kept), "[redacted]") || strings.Contains(string(kept), "sk-sentinel") {
		t.Errorf("recorded: %s", kept)
	}
	if info, err := os.Stat(record); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the record is open to others: %v %v", info.Mode(), err)
	}
}
