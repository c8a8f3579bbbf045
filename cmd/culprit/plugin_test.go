package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/embedded"
	"github.com/culprit-rag/culprit/adapters/plugin/sdk"
	"github.com/culprit-rag/culprit/adapters/pythontest"
)

// modelsPlugin is the embedded models as a plugin, which passes every suite.
func modelsPlugin() {
	factory := embedded.Factory()
	factory.Name, factory.OpenStore = "models", nil
	sdk.Serve("1.0.0", factory)
}

// brokenPlugin is a store that keeps no promise.
func brokenPlugin() {
	sdk.Serve("0.1.0", adapters.Factory{
		Name:   "broken",
		Schema: map[adapters.Role]json.RawMessage{adapters.RoleStore: json.RawMessage(`{"type": "object"}`)},
		OpenStore: func(context.Context, adapters.Config) (adapters.VectorStore, error) {
			return brokenStore{}, nil
		},
	})
}

type brokenStore struct{}

func (brokenStore) Close() error { return nil }

func (brokenStore) Capabilities() adapters.StoreCapabilities {
	return adapters.StoreCapabilities{Modes: []string{"keyword"}, Filter: true}
}

func (brokenStore) Describe(context.Context) (adapters.StoreInfo, error) {
	return adapters.StoreInfo{Engine: "broken", Collection: "\x1b[2Jmain", Count: 7}, nil
}

func (brokenStore) Search(_ context.Context, req adapters.SearchRequest) (adapters.SearchResponse, error) {
	if len(req.Filter) > 0 {
		return adapters.SearchResponse{}, &adapters.Error{Adapter: "broken", Op: "search", Kind: adapters.KindUnsupported, Err: errors.New("no filters yet")}
	}
	one := adapters.Hit{Item: adapters.Item{ID: "x"}, Rank: 1}
	return adapters.SearchResponse{Hits: []adapters.Hit{one, one}}, nil
}

func (brokenStore) Scan(context.Context, adapters.ScanRequest, func(adapters.Item) error) (adapters.ScanReport, error) {
	panic("scan: not written yet")
}

func (brokenStore) Fetch(context.Context, adapters.FetchRequest) ([]adapters.Item, error) {
	return nil, nil
}

// TestPluginTestOnTheExample builds the example as its guide says, and runs the suite on it by the command.
func TestPluginTestOnTheExample(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "filestore")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../adapters/plugin/examples/filestore").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	stdout, stderr, code := invoke(t.Context(), os.Getenv, "plugin", "test", program, "--settings", `{"path": "{fixture}"}`)
	if code != exitOK || !strings.Contains(stdout, " 0 failed, ") || strings.Contains(stdout, "it needs other items") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	fixture, _, _ := invoke(t.Context(), os.Getenv, "plugin", "fixture")
	file := filepath.Join(t.TempDir(), "fixture.jsonl")
	if err := os.WriteFile(file, []byte(fixture), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code = invoke(t.Context(), os.Getenv, "plugin", "test", program, "--settings", `{"path": "`+file+`"}`)
	if code != exitOK || !strings.Contains(stdout, " 0 failed, ") || !strings.Contains(stdout, "it needs other items") {
		t.Errorf("filled before: exit code %d\n%s%s", code, stdout, stderr)
	}
	judgesAlike(t, program)
}

// TestPluginTestOnThePythonExamples runs the suite by the command on the store to copy, and on the embedder that docs/plugins-python.md shows.
func TestPluginTestOnThePythonExamples(t *testing.T) {
	t.Parallel()
	pythontest.Need(t, "Python and packages for it")
	kit := os.DirFS("../../adapters/plugin/examples/python")
	packages, err := fs.ReadFile(kit, "requirements.txt")
	if err != nil {
		t.Fatal(err)
	}
	python, err := pythontest.Install(t.Context(), "plugin-kit", fstest.MapFS{"requirements.txt": {Data: packages}})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../docs/plugins-python.md")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(text), "```python\n")
	letters, _, _ := strings.Cut(shown, "```\n")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "letters.py"), []byte(letters), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"culprit_plugin.py", "plugin_pb2.py", "plugin_pb2_grpc.py", "words_store.py"} {
		file, err := fs.ReadFile(kit, name)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), file, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, settings := range map[string]string{"letters.py": `{}`, "words_store.py": `{"path": "{fixture}"}`} {
		stdout, stderr, code := invoke(t.Context(), os.Getenv, "plugin", "test", "--settings", settings, python, "--", filepath.Join(dir, name))
		if code != exitOK || !strings.Contains(stdout, " 0 failed, ") || strings.Contains(stdout, "it needs other items") {
			t.Errorf("%s: exit code %d\n%s%s", name, code, stdout, stderr)
		}
	}
	judgesAlike(t, python, filepath.Join(dir, "words_store.py"))
}

// judgesAlike runs travel-policy, named by a relative path, over its documents in a plugin: the verdicts are those of the embedded store.
func judgesAlike(t *testing.T, program string, args ...string) {
	t.Helper()
	store, err := json.Marshal(map[string]any{"adapter": "plugin", "path": program, "args": args, "settings": map[string]any{"path": "policy.jsonl"}})
	if err != nil {
		t.Fatal(err)
	}
	want, _ := verdicts(t, examplesDir+"travel-policy")
	got, _ := verdicts(t, examplesDir+"travel-policy", "--set", "backends.store="+string(store))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s gives travel-policy other verdicts (-embedded +plugin):\n%s", program, diff)
	}
}
