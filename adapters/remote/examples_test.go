package remote

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/adaptertest"
	"github.com/culprit-rag/culprit/adapters/pythontest"
)

const examples = "../../experiments/examples/remote"

// TestExamplesPassTheSuite holds the example services, over the adapter, to the contract. What each tells as its ranking is read off the
// wire first.
func TestExamplesPassTheSuite(t *testing.T) {
	t.Parallel()
	t.Run("go", func(t *testing.T) {
		t.Parallel()
		program := filepath.Join(t.TempDir(), "service")
		if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, examples+"/service").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		at := startExample(t, program, "--listen", "127.0.0.1:0", "--corpus", examples+"/policy.jsonl")
		var told struct {
			Candidates []struct {
				ID, Source, Text string
				Score            float64
			}
		}
		ask(t, at, fmt.Sprintf(`{"query": %q}`, flightQ), &told)
		var candidates []adapters.TraceItem
		for _, c := range told.Candidates {
			candidates = append(candidates, adapters.TraceItem{ID: c.ID, Source: c.Source, Text: &c.Text, Score: &c.Score})
		}
		exampleSuite(t, at, "", candidates, true)
	})
	t.Run("python", func(t *testing.T) {
		t.Parallel()
		python, err := exec.LookPath("python3")
		if err != nil {
			pythontest.Need(t, "python3")
			t.Fatal(err)
		}
		at := startExample(t, python, "-B", examples+"/service.py", "--port", "0")
		var told struct {
			Hits []struct {
				Doc, Body string
				Score     float64
			}
		}
		ask(t, at, fmt.Sprintf(`{"question": %q}`, flightQ), &told)
		var candidates []adapters.TraceItem
		for _, c := range told.Hits {
			candidates = append(candidates, adapters.TraceItem{ID: c.Doc, Text: &c.Body, Score: &c.Score})
		}
		exampleSuite(t, at, `, "map": {"request": "{question: .query, id: .request_id, top: .k}", "response": "{request_id: .id, answer: .result,
			candidates: [.hits[] | {id: .doc, text: .body, score}], packed: [.used[] | {id: .doc, text: .body}],
			prompt: [{role: \"system\", text: .instructions}, {role: \"user\", text: .input}]}"}`, candidates, false)
	})
}

func exampleSuite(t *testing.T, at, more string, candidates []adapters.TraceItem, reads bool) {
	t.Helper()
	if len(candidates) < 2 {
		t.Fatalf("it finds %v", candidates)
	}
	more = strings.NewReplacer("\n", " ", "\t", " ").Replace(more)
	adaptertest.TestPipeline(t, adaptertest.PipelineHarness{
		Query: flightQ, Candidates: candidates, Reads: reads,
		Harness: adaptertest.Harness[adapters.Pipeline]{Open: func(ctx context.Context) (adapters.Pipeline, error) {
			return openPipeline(ctx, adapters.Config{Settings: json.RawMessage(fmt.Sprintf(`{"url": %q, "deterministic": true%s}`, at, more))})
		}},
	})
}

// ask posts to a service as anybody would.
func ask(t *testing.T, at, body string, into any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		t.Fatal(err)
	}
}

// startExample starts a program that says where it listens; the end of the test kills it.
func startExample(t *testing.T, program string, args ...string) string {
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
