// Package python_test runs the example plugins in Python, each started by the host, through the suites.
package python_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"go.uber.org/goleak"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/adaptertest"
	"github.com/culprit-rag/culprit/adapters/plugin"
	"github.com/culprit-rag/culprit/adapters/pythontest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// install returns a Python with what these files list, the second without what its packages depend on.
func install(t *testing.T, name, noDeps string, lists ...string) string {
	t.Helper()
	pythontest.Need(t, "Python and packages for it")
	var all bytes.Buffer
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	program := fstest.MapFS{"requirements.txt": {Data: all.Bytes()}}
	if noDeps != "" {
		text, err := os.ReadFile(noDeps)
		if err != nil {
			t.Fatal(err)
		}
		program["requirements-no-deps.txt"] = &fstest.MapFile{Data: text}
	}
	python, err := pythontest.Install(t.Context(), name, fs.FS(program))
	if err != nil {
		t.Fatal(err)
	}
	return python
}

// config starts a plugin of this folder with its own settings.
func config(t *testing.T, python, file string, settings any, more map[string]any) adapters.Config {
	t.Helper()
	sum, err := plugin.Sum(file)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]any{
		"path": python, "args": []string{"-B", file}, "checksum": map[string]string{file: sum}, "settings": settings, "start_timeout": "2m",
	}
	for key, value := range more {
		all[key] = value
	}
	data, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return adapters.Config{Settings: data, Dir: ".", Secrets: &adapters.Secrets{Env: func(name string) (string, bool) {
		if name == "MILVUS_TOKEN" {
			return token, true
		}
		return os.LookupEnv(name)
	}}}
}

func TestEmbedder(t *testing.T) {
	python := install(t, "minilm-plugin", "requirements-minilm-no-deps.txt", "requirements-minilm.txt")
	adaptertest.TestEmbedder(t, adaptertest.EmbedderHarness{
		Harness: adaptertest.Harness[adapters.Embedder]{Open: func(ctx context.Context) (adapters.Embedder, error) {
			return plugin.Factory().OpenEmbedder(ctx, config(t, python, "minilm_embedder.py", map[string]any{"query_prefix": "query: "}, nil))
		}},
		Unit:      true,
		MaxTokens: 256,
	})
}

// TestGeneratedCode compares what is committed with the protocol that it was made from.
func TestGeneratedCode(t *testing.T) {
	proto, err := os.ReadFile(filepath.Join("..", "..", "proto", "v1", "plugin.proto"))
	if err != nil {
		t.Fatal(err)
	}
	stubs, err := os.ReadFile("plugin_pb2.pyi")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(proto)) {
		if name, is := strings.CutPrefix(line, "message "); is {
			if name = strings.Fields(name)[0]; !strings.Contains(string(stubs), "class "+name+"(") {
				t.Errorf("plugin_pb2.pyi lacks %s: run generate.sh", name)
			}
		}
	}
}
