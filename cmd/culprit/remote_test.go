package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/embedded"
	"github.com/culprit-rag/culprit/adapters/pythontest"
	"github.com/culprit-rag/culprit/adapters/remote/tap"
	"github.com/culprit-rag/culprit/results"
)

const remoteExample = "../../experiments/examples/remote"

// exampleService builds the service of the example.
func exampleService(t *testing.T) string {
	t.Helper()
	service := filepath.Join(t.TempDir(), "service")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", service, "../../experiments/examples/remote/service").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return service
}

// TestRemoteExample holds the verdicts of the example's services to those of the pipeline that culprit composes itself, and what of
// them was not production to what each service cannot do.
func TestRemoteExample(t *testing.T) {
	t.Parallel()
	want, _ := verdicts(t, travelPolicy)
	service := exampleService(t)
	corpus := remoteExample + "/policy.jsonl"
	t.Run("takes a context", func(t *testing.T) {
		t.Parallel()
		at := startService(t, service, "--listen", "127.0.0.1:0", "--corpus", corpus)
		got, notProduction := verdicts(t, remoteExample, "--set", "backends.service.url="+at)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("verdicts (-composed +service):\n%s", diff)
		}
		if want := []string{"the probes of C: the search that pipeline.search declares, in backends.store"}; !slices.Equal(notProduction, want) {
			t.Errorf("not production: %q, want %q", notProduction, want)
		}
	})
	t.Run("without a store", func(t *testing.T) {
		t.Parallel()
		at := startService(t, service, "--listen", "127.0.0.1:0", "--corpus", corpus)
		folder := t.TempDir()
		if err := os.CopyFS(folder, os.DirFS(remoteExample)); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(folder, "experiment.yaml")
		whole, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		store := regexp.MustCompile(`(?m)^  store:.*\n(    .*\n)+`)
		if err := os.WriteFile(file, store.ReplaceAll(whole, nil), 0o600); err != nil {
			t.Fatal(err)
		}
		got, notProduction := verdicts(t, file, "--set", "backends.service.url="+at)
		want := maps.Clone(want)
		want["mileage-rate"], want["lie-flat-seat"] = "inconclusive", "inconclusive" // that they are missing, or rank nowhere, a store shows
		if diff := cmp.Diff(want, got); diff != "" || notProduction != nil {
			t.Errorf("verdicts (-composed +service), not production %q:\n%s", notProduction, diff)
		}
	})
	t.Run("an interface of its own", func(t *testing.T) {
		t.Parallel()
		python, err := exec.LookPath("python3")
		if err != nil {
			pythontest.Need(t, "python3")
			t.Fatal(err)
		}
		at := startService(t, python, "-B", remoteExample+"/service.py", "--port", "0")
		got, notProduction := verdicts(t, remoteExample, "--profile", "python", "--set", "backends.service.url="+at)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("verdicts (-composed +service):\n%s", diff)
		}
		if len(notProduction) != 2 || !strings.Contains(notProduction[0], "B and D: through pipeline.prompt and backends.generator") {
			t.Errorf("not production: %q", notProduction)
		}
	})
	t.Run("through a tap", func(t *testing.T) {
		t.Parallel()
		model := httptest.NewServer(chatModel(t))
		defer model.Close()
		upstream, err := url.Parse(model.URL)
		if err != nil {
			t.Fatal(err)
		}
		proxy, err := tap.New(tap.Options{Upstream: upstream})
		if err != nil {
			t.Fatal(err)
		}
		defer proxy.Close()
		between := httptest.NewServer(proxy)
		defer between.Close()
		at := startService(t, service, "--listen", "127.0.0.1:0", "--corpus", corpus, "--no-context", "--model", between.URL+"/v1")
		got, notProduction := verdicts(t, remoteExample, "--profile", "tap", "--set", "backends.service.url="+at, "--set", "backends.service.tap.url="+between.URL)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("verdicts (-composed +service):\n%s", diff)
		}
		if len(notProduction) == 0 || !strings.Contains(notProduction[0], "put into the service's own prompt by the tap") {
			t.Errorf("not production: %q", notProduction)
		}
	})
}

// TestRemoteExampleIsTheTravelPolicy holds the example's copies to be copies, without which its verdicts could not be compared.
func TestRemoteExampleIsTheTravelPolicy(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"policy.jsonl", "cases.yaml", "prompts/system.md", "prompts/user.md"} {
		a, err := os.ReadFile(filepath.Join(travelPolicy, name))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(remoteExample, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a, b) {
			t.Errorf("%s differs", name)
		}
	}
}

// verdicts runs an example and returns case → outcome and defects, with what of all cases was not production.
func verdicts(t *testing.T, example string, args ...string) (got map[string]string, notProduction []string) {
	t.Helper()
	stdout, stderr, code := invoke(t.Context(), cached(t), append([]string{"run", example, "--json", "--results", t.TempDir()}, args...)...)
	var s results.Summary
	if err := json.Unmarshal([]byte(stdout), &s); err != nil {
		t.Fatalf("exit %d: %v\n%s%s", code, err, stdout, stderr)
	}
	got = map[string]string{}
	for i := range s.Cases {
		c := &s.Cases[i]
		said := []string{string(c.Outcome), c.Qualifier}
		for _, d := range c.Defects {
			said = append(said, string(d.Stage)+"/"+d.Label)
		}
		got[c.ID] = strings.TrimSpace(strings.Join(said, " "))
		for _, part := range c.NotProduction {
			if !slices.Contains(notProduction, part) {
				notProduction = append(notProduction, part)
			}
		}
	}
	return got, notProduction
}

// startService starts a program that says where it listens.
func startService(t *testing.T, program string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, args...)
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Wait() }) // the test's context has killed it
	line, err := bufio.NewReader(stdout).ReadString('\n')
	at := regexp.MustCompile(`http://\S+`).FindString(line)
	if err != nil || at == "" {
		t.Fatalf("it says %q: %v", line, err)
	}
	return at
}

// chatModel is an OpenAI-compatible model that answers as the stand-in of travel-policy does.
func chatModel(t *testing.T) http.Handler {
	t.Helper()
	generator, err := embedded.Factory().OpenGenerator(t.Context(), adapters.Config{Settings: json.RawMessage(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Messages []struct{ Role, Content string } `json:"messages"`
		}
		data, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(data, &body)
		}
		req := adapters.GenerateRequest{}
		for _, m := range body.Messages {
			req.Messages = append(req.Messages, adapters.Message{Role: m.Role, Text: m.Content})
		}
		answer, failure := generator.Generate(r.Context(), req)
		if err != nil || failure != nil {
			t.Error(err, failure)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"model": "extractive", "choices": []any{map[string]any{
			"message": map[string]string{"role": "assistant", "content": answer.Text}, "finish_reason": "stop",
		}}})
	})
}
