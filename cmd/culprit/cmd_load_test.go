package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/qdrant/go-client/qdrant"

	"github.com/culprit-rag/culprit/adapters/qdrant/qdranttest"
	"github.com/culprit-rag/culprit/adapters/weaviate/weaviatetest"
)

const storesExample = "../../experiments/examples/stores"

// liveStore is a server, and a name for a collection of the test's own.
type liveStore struct {
	profile, address, key, collection string
}

func (s liveStore) args(command, path string, more ...string) []string {
	args := []string{command, path, "--profile", s.profile, "--set", "backends.store.address=" + s.address, "--set", "backends.store.collection=" + s.collection}
	if s.key != "" {
		args = append(args, "--set", "backends.store.api_key_env=LOAD_TEST_KEY")
	}
	return append(args, more...)
}

func qdrantStore(t *testing.T) liveStore {
	t.Helper()
	server := qdranttest.Start(t, qdranttest.Options{})
	s := liveStore{"qdrant", server.Address, server.APIKey, server.Name(t)}
	t.Setenv("LOAD_TEST_KEY", s.key)
	client := server.Client(t)
	t.Cleanup(func() { _ = client.DeleteCollection(context.Background(), s.collection) }) //nolint:usetesting // the test's own context has ended
	return s
}

func weaviateStore(t *testing.T) liveStore {
	t.Helper()
	server := weaviatetest.Shared(t)
	t.Setenv("LOAD_TEST_KEY", server.Key)
	return liveStore{"weaviate", server.Address, server.Key, fmt.Sprintf("Example%d", time.Now().UnixNano())}
}

// TestLoadAndRun goes the way of a user: the documents of one experiment into every store, and the same verdicts out of it.
func TestLoadAndRun(t *testing.T) {
	env := cached(t)
	verdicts := func(t *testing.T, args ...string) map[string]string {
		t.Helper()
		stdout, stderr, code := invoke(t.Context(), env, append(args, "--json", "--results", t.TempDir())...)
		if code != 3 { // bonus-date blocks: a leak must stop a release
			t.Fatalf("exit code %d\n%s", code, stderr)
		}
		var run struct {
			Cases []struct {
				ID, Outcome string
				Defects     []struct{ Stage, Label string }
				Retrieval   struct{ Ranks map[string]*int }
			}
		}
		if err := json.Unmarshal([]byte(stdout), &run); err != nil {
			t.Fatal(err)
		}
		out := map[string]string{}
		for _, c := range run.Cases {
			says := c.Outcome
			for _, d := range c.Defects {
				says += " " + d.Stage + "/" + d.Label
			}
			for source, rank := range c.Retrieval.Ranks {
				if rank != nil && *rank <= 5 { // behind them the scores tie, and each store orders its own ids
					says += fmt.Sprintf(" %s=%d", source, *rank)
				}
			}
			out[c.ID] = says
		}
		return out
	}
	want := verdicts(t, "run", storesExample)
	if len(want) != 10 {
		t.Fatalf("%d cases", len(want))
	}
	for name, open := range map[string]func(*testing.T) liveStore{"qdrant": qdrantStore, "weaviate": weaviateStore} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			for _, ends := range []string{"created", "nothing to do"} {
				stdout, stderr, code := invoke(t.Context(), env, s.args("load", storesExample)...)
				line := fmt.Sprintf("%s collection %q at %s: 50 documents (hashing, 1024 dimensions); %s\n", s.profile, s.collection, s.address, ends)
				if code != 0 || stdout != line || stderr != "" {
					t.Fatalf("exit code %d, %q on stdout, want %q; stderr:\n%s", code, stdout, line, stderr)
				}
			}
			if diff := cmp.Diff(want, verdicts(t, s.args("run", storesExample)...)); diff != "" {
				t.Errorf("verdicts (-embedded +%s):\n%s", name, diff)
			}
			stdout, stderr, code := invoke(t.Context(), env, s.args("load", storesExample, "--set", "backends.embedder.dimensions=512", "--set", "pins.index.dimensions=512")...)
			if code != 2 || stdout != "" || !strings.Contains(stderr, "the vector of document \"home/desk\" has 1024 dimensions, and those of backends.embedder have 512") {
				t.Errorf("other dimensions: exit code %d, stdout %q, stderr %q", code, stdout, stderr)
			}
			stdout, stderr, code = invoke(t.Context(), env, s.args("load", storesExample, "--set", "backends.embedder.model=hashing-2")...)
			if code != 2 || stdout != "" || !strings.Contains(stderr, "the embedding model: hashing there, hashing-2 now") || !strings.Contains(stderr, "--recreate") {
				t.Errorf("another model: exit code %d, stdout %q, stderr %q", code, stdout, stderr)
			}
			stdout, stderr, code = invoke(t.Context(), env, s.args("load", storesExample, "--set", "backends.embedder.model=hashing-2", "--recreate")...)
			if code != 0 || !strings.HasSuffix(stdout, "(hashing-2, 1024 dimensions); recreated\n") || stderr != "" {
				t.Errorf("recreated: exit code %d, stdout %q, stderr %q", code, stdout, stderr)
			}
		})
	}
}

func TestLoadComplains(t *testing.T) {
	t.Parallel()
	env := cached(t)
	bare := filepath.Join(t.TempDir(), "experiment.yaml")
	text := `culprit: v1
name: bare
backends:
  store: {adapter: qdrant, address: "127.0.0.1:1", collection: docs}
  embedder: {adapter: embedded}
  generator: {adapter: embedded}
pipeline: {search: {mode: dense, k: 3}, prompt: {user: "{{query}}"}}
cases: [{id: a, query: Why?, expect: abstain}]
`
	if err := os.WriteFile(bare, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		args   []string
		code   int
		stdout string
		stderr []string
	}{
		{"embedded", []string{storesExample}, 0, "stores: the embedded store fills itself from its documents at the first run; nothing to load\n", nil},
		{"no documents", []string{bare}, 2, "", []string{"culprit: backends.store.documents is missing"}},
		{"an embedder that is none", []string{storesExample, "--set", "backends.embedder.adapter=openia"}, 2, "", []string{"openia"}},
		{"a store that is none", []string{storesExample, "--set", "backends.store.adapter=milvus"}, 2, "", []string{"milvus"}},
		{"a profile that is none", []string{storesExample, "--profile", "qdrnt"}, 2, "", []string{`did you mean "qdrant"?`}},
		{"nobody there", []string{storesExample, "--profile", "qdrant", "--set", "backends.store.address=127.0.0.1:1"}, 5, "", []string{"backends.store.address 127.0.0.1:1"}},
		{"nobody there", []string{storesExample, "--profile", "weaviate", "--set", "backends.store.address=127.0.0.1:1"}, 5, "", []string{"backends.store.address 127.0.0.1:1"}},
		{"a key that is not set", []string{storesExample, "--profile", "qdrant", "--set", "backends.store.api_key_env=NO_SUCH_KEY"}, 2, "", []string{"backends.store.api_key_env", `"NO_SUCH_KEY"`}},
		{"two experiments", []string{"a", "b"}, 2, "", []string{"at most one experiment"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			stdout, stderr, code := invoke(t.Context(), env, append([]string{"load"}, tt.args...)...)
			if code != tt.code || stdout != tt.stdout {
				t.Errorf("exit code %d, want %d; stdout %q, want %q; stderr:\n%s", code, tt.code, stdout, tt.stdout, stderr)
			}
			for _, part := range tt.stderr {
				if !strings.Contains(stderr, part) {
					t.Errorf("stderr lacks %q:\n%s", part, stderr)
				}
			}
		})
	}
}

// TestLoadInterrupted stops a load by a signal, and takes it up.
func TestLoadInterrupted(t *testing.T) {
	const documents = 20_000
	s := qdrantStore(t)
	dir := t.TempDir()
	var lines bytes.Buffer
	for i := range documents {
		fmt.Fprintf(&lines, "{\"id\":\"d%d\",\"text\":\"Document %d stands on shelf %d.\"}\n", i, i, i%97)
	}
	experiment := fmt.Sprintf(`culprit: v1
name: large
backends:
  store: {adapter: qdrant, address: %q, collection: %q, documents: docs.jsonl}
  embedder: {adapter: embedded, dimensions: 32}
  generator: {adapter: embedded}
pipeline: {search: {mode: dense, k: 3}, prompt: {user: "{{query}}"}}
cases: [{id: a, query: Why?, expect: abstain}]
profiles: {qdrant: {}}
`, s.address, s.collection)
	for name, text := range map[string][]byte{"docs.jsonl": lines.Bytes(), "experiment.yaml": []byte(experiment)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	client := (&qdranttest.Server{Address: s.address, APIKey: s.key}).Client(t)
	count := func() uint64 {
		n, err := client.Count(t.Context(), &qdrant.CountPoints{CollectionName: s.collection, Exact: qdrant.PtrOf(true)})
		if err != nil {
			return 0 // it is not made yet
		}
		return n
	}
	program, err := exec.LookPath("culprit")
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), program, s.args("load", dir)...)
	command.Env = append(os.Environ(), "CULPRIT_CACHE="+t.TempDir())
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); count() == 0; time.Sleep(time.Millisecond) { // nothing tells when the first batch is written
		if time.Now().After(deadline) {
			t.Fatal("nothing is written after a minute")
		}
	}
	if err := command.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	err = command.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 130 || stdout.Len() > 0 {
		t.Fatalf("%v, stdout %q, stderr %q", err, stdout.String(), stderr.String())
	}
	for _, part := range []string{"interrupted: ", "of 20000 documents are written", `"` + s.collection + `" is marked as unfinished`, "go on with: culprit load " + dir} {
		if !strings.Contains(stderr.String(), part) {
			t.Errorf("stderr lacks %q:\n%s", part, stderr.String())
		}
	}
	before := count()
	if before == 0 || before >= documents {
		t.Fatalf("%d documents are there after the interrupt", before)
	}
	out, errs, code := invoke(t.Context(), cached(t), s.args("load", dir)...)
	if want := fmt.Sprintf("20000 documents (hashing, 32 dimensions); continued, %d written\n", documents-before); code != 0 || !strings.HasSuffix(out, want) {
		t.Errorf("exit code %d, %q on stdout, want it to end in %q; stderr:\n%s", code, out, want, errs)
	}
	if n := count(); n != documents {
		t.Errorf("%d documents are there", n)
	}
}
