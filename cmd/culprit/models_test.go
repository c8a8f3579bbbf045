package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/adapters/openai/openaitest"
)

const modelKey = "sk-sentinel-9f2c41d7e0"

// asksModels writes an experiment whose embedder and generator are behind a server, and returns its file.
func asksModels(t *testing.T, embedder, generator string) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "experiment.yaml")
	settings := func(url string) string {
		return "{adapter: openai, base_url: " + url + ", model: " + openaitest.FakeModel + ", api_key_env: MODEL_KEY}\n"
	}
	experiment := "culprit: v1\nname: models\nbackends:\n" +
		"  store: {adapter: embedded, documents: [{id: a, source: a.md, text: The new rules apply from the first of May.}, {id: b, source: b.md, text: Trains are free on Sundays.}]}\n" +
		"  embedder: " + settings(embedder) + "  generator: " + settings(generator) + `
pipeline:
  search: {mode: dense, k: 1}
  assemble: {budget: 300 words}
  prompt: {user: "{{#context}}[{{id}}] {{text}}\n{{/context}}{{query}}"}
  generate: {temperature: 0, seed: 0, max_tokens: 100}
runs: {repeats: 2}
limits: {retries: 1, timeout: 2s}
cases: [case.yaml]
`
	one := "id: rules\nquery: When do the new rules apply?\nrisk: blocking\nevidence: {required: [{source: a.md, span: from the first of May}]}\nclaims: [{id: day, any: [first of May]}]\n"
	if err := errors.Join(os.WriteFile(file, []byte(experiment), 0o600), os.WriteFile(filepath.Join(dir, "case.yaml"), []byte(one), 0o600)); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestRunWithModelServer runs a whole experiment against a server, healthy and with each fault.
func TestRunWithModelServer(t *testing.T) {
	t.Parallel()
	echo := func(r *http.Request) string { // as a server that is debugged does
		return `{"error": {"message": "who is ` + r.Header.Get("Authorization") + `?", "code": "invalid_api_key"}}`
	}
	for _, tt := range []struct {
		name   string
		script []openaitest.FakeReply
		code   int
		says   string
	}{
		{"healthy", nil, exitOK, `"outcome": "pass"`},
		{"a wrong key", []openaitest.FakeReply{{Status: 401, Echo: echo}}, exitEnvironment, "MODEL_KEY"},
		{"a login page", []openaitest.FakeReply{{Body: "<html><title>Sign in</title></html>"}}, exitEnvironment, "a web page came"},
		{"a server that is broken", []openaitest.FakeReply{{Status: 500, Body: "oops"}}, exitEnvironment, "500 Internal Server Error"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			embedder := openaitest.StartFake(t, openaitest.FakeOptions{Key: modelKey})
			f := openaitest.StartFake(t, openaitest.FakeOptions{Key: modelKey})
			f.Script(tt.script...)
			folder, cache := t.TempDir(), t.TempDir()
			env := func(name string) string {
				return map[string]string{"CULPRIT_CACHE": cache, "MODEL_KEY": modelKey}[name]
			}
			stdout, stderr, code := invoke(t.Context(), env, "run", asksModels(t, embedder.URL, f.URL), "--repeats", "5", "--results", folder)
			explained, _, _ := invoke(t.Context(), env, "explain", "--results="+folder, "rules", "--json")
			if code != tt.code || !strings.Contains(explained, tt.says) {
				t.Errorf("exit code %d, want %d and %q\n%s%s%s", code, tt.code, tt.says, stdout, stderr, explained)
			}
		})
	}
}

// TestRunBehindACache asks a gateway that serves each answer from its cache, and looks for what is said of that.
func TestRunBehindACache(t *testing.T) {
	t.Parallel()
	embedder := openaitest.StartFake(t, openaitest.FakeOptions{Key: modelKey})
	f := openaitest.StartFake(t, openaitest.FakeOptions{Key: modelKey})
	served := openaitest.FakeAnswer("From the first of May.", "stop")
	served.Body = strings.Replace(served.Body, `"id": "chatcmpl-1", `, "", 1)
	served.Header = map[string]string{"Helicone-Cache": "HIT"}
	f.Script(served)
	folder, cache := t.TempDir(), t.TempDir()
	env := func(name string) string {
		return map[string]string{"CULPRIT_CACHE": cache, "MODEL_KEY": modelKey}[name]
	}
	stdout, stderr, code := invoke(t.Context(), env, "run", asksModels(t, embedder.URL, f.URL), "--results", folder, "--json")
	explained, more, _ := invoke(t.Context(), env, "explain", "--results="+folder, "rules")
	if code != exitHeld { // copies show nothing: one trial is left
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	for what, text := range map[string]string{"run --json": stdout, "explain": strings.Join(strings.Fields(explained+more), " ")} {
		isIn(t, what, text, "by the header helicone-cache: HIT", "1 of 2 repeats of A have the text of an earlier one, and their headers say that a cache served them")
	}
}

// TestRunCountsWhatIsPaid counts no call as paid that cannot have been: one that never arrived, or was refused.
func TestRunCountsWhatIsPaid(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		generator func(*openaitest.Fake) string
		script    openaitest.FakeReply
		paid      bool
	}{
		{"none listens", func(*openaitest.Fake) string { return "http://127.0.0.1:1/v1" }, openaitest.FakeReply{}, false},
		{"no TLS", func(f *openaitest.Fake) string { return strings.Replace(f.URL, "http:", "https:", 1) }, openaitest.FakeReply{}, false},
		{"too many requests", func(f *openaitest.Fake) string { return f.URL }, openaitest.FakeReply{Status: 429, Body: `{"error": "slow down"}`}, false},
		{"a reset, which may have cost something", func(f *openaitest.Fake) string { return f.URL }, openaitest.FakeReply{Reset: true}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			embedder := openaitest.StartFake(t, openaitest.FakeOptions{Key: modelKey})
			f := openaitest.StartFake(t, openaitest.FakeOptions{Key: modelKey})
			f.Script(tt.script)
			cache := t.TempDir()
			env := func(name string) string {
				return map[string]string{"CULPRIT_CACHE": cache, "MODEL_KEY": modelKey}[name]
			}
			stdout, stderr, _ := invoke(t.Context(), env, "run", asksModels(t, embedder.URL, tt.generator(f)), "--results", t.TempDir())
			want := len(embedder.Requests())
			if tt.paid {
				want += len(f.Requests())
			}
			if says := fmt.Sprintf(", %d paid", want); want == 0 || !strings.Contains(stdout, says) {
				t.Errorf("want %q\n%s%s", says, stdout, stderr)
			}
		})
	}
}

// TestRunWithoutEmbedder ends before any case, and says which variable holds the wrong key.
func TestRunWithoutEmbedder(t *testing.T) {
	t.Parallel()
	embedder := openaitest.StartFake(t, openaitest.FakeOptions{Key: "another"})
	generator := openaitest.StartFake(t, openaitest.FakeOptions{Key: modelKey})
	cache := t.TempDir()
	env := func(name string) string {
		return map[string]string{"CULPRIT_CACHE": cache, "MODEL_KEY": modelKey}[name]
	}
	stdout, stderr, code := invoke(t.Context(), env, "run", asksModels(t, embedder.URL, generator.URL), "--results", t.TempDir())
	if code != exitEnvironment || !strings.Contains(stderr, `backends.embedder.api_key_env (the variable "MODEL_KEY")`) {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	if n, m := len(embedder.Requests()), len(generator.Requests()); n != 1 || m != 0 {
		t.Errorf("%d calls of the embedder and %d of the generator, want 1 and 0", n, m)
	}
}
