package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/adaptertest"
	"github.com/culprit-rag/culprit/adapters/plugin"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// build builds the plugin as an author does.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "filestore")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

func openPlugin(t *testing.T, program, file string) (adapters.VectorStore, error) {
	t.Helper()
	sum, err := plugin.Sum(program)
	if err != nil {
		t.Fatal(err)
	}
	settings, err := json.Marshal(map[string]any{"path": program, "checksum": sum, "mtls": "on", "settings": map[string]any{"path": filepath.Base(file)}})
	if err != nil {
		t.Fatal(err)
	}
	return plugin.Factory().OpenStore(t.Context(), adapters.Config{Settings: settings, Dir: filepath.Dir(file)})
}

func TestSuiteAcrossTheWire(t *testing.T) {
	t.Parallel()
	program := build(t)
	adaptertest.TestVectorStore(t, adaptertest.StoreHarness{
		Capabilities: adapters.StoreCapabilities{Modes: []string{"keyword", "dense"}, Exact: true, Vectors: true},
		Distance:     "cosine",
		Open: func(t *testing.T, c adaptertest.Corpus) adapters.VectorStore {
			t.Helper()
			var text strings.Builder
			if err := c.WriteJSONL(&text); err != nil {
				t.Fatal(err)
			}
			store, err := openPlugin(t, program, write(t, text.String()))
			if err != nil {
				t.Fatal(err)
			}
			return store
		},
	})
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "items.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFilesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	program := build(t)
	for name, tt := range map[string]struct {
		file string
		kind adapters.Kind
		want string
	}{
		"no file":         {filepath.Join(t.TempDir(), "none.jsonl"), adapters.KindNotFound, "none.jsonl"},
		"no JSON":         {write(t, "{\"id\": \"a\", \"text\": \"x\"}\nhello\n"), adapters.KindInvalid, "items.jsonl:2"},
		"no id":           {write(t, `{"text": "x"}`), adapters.KindInvalid, "items.jsonl:1: an item has no id"},
		"uneven vectors":  {write(t, "{\"id\": \"a\", \"vector\": [1]}\n\n{\"id\": \"b\", \"vector\": [1, 2]}"), adapters.KindInvalid, "items.jsonl:3"},
		"a vector of NaN": {write(t, `{"id": "a", "vector": [NaN]}`), adapters.KindInvalid, "items.jsonl:1"},
	} {
		store, err := openPlugin(t, program, tt.file)
		if err == nil {
			_ = store.Close()
		}
		if adapters.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want kind %q and %q", name, err, tt.kind, tt.want)
		}
	}
}
