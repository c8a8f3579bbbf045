package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/adapters/qdrant/qdranttest"
	"github.com/culprit-rag/culprit/adapters/weaviate/weaviatetest"
)

// keyed is a real server that only lets those in who bring a key.
type keyed struct {
	profile, address, write, read string
}

// TestKeysOfLiveStores fills, probes and runs the example on servers that ask for a key. The key works, a wrong one is named by
// its setting, and none is written or shown anywhere.
func TestKeysOfLiveStores(t *testing.T) {
	t.Parallel()
	const secret = "k3y-for-the-engine-93b1"
	engine := qdranttest.Start(t, qdranttest.Options{APIKey: secret})
	server := weaviatetest.Start(t, weaviatetest.Options{Keys: true})
	for _, k := range []keyed{
		{"qdrant", engine.Address, secret, secret},
		{"weaviate", server.Address, weaviatetest.AdminKey, weaviatetest.ReadOnlyKey},
	} {
		t.Run(k.profile, func(t *testing.T) {
			t.Parallel()
			results := t.TempDir()
			var said strings.Builder
			with := func(key string, args ...string) (string, int) {
				base := cached(t)
				env := func(name string) string {
					if name == "STORE_KEY" {
						return key
					}
					return base(name)
				}
				args = append(args, "--profile", k.profile, "--set", "backends.store.address="+k.address, "--set", "backends.store.api_key_env=STORE_KEY")
				stdout, stderr, code := invoke(t.Context(), env, args...)
				said.WriteString(stdout + stderr)
				return stdout + stderr, code
			}
			const example = "../../experiments/examples/stores"
			if out, code := with(k.write, "load", example); code != exitOK {
				t.Fatalf("load: exit %d\n%s", code, out)
			}
			if out, code := with(k.read, "probe", example); code != 3 || !strings.Contains(out, "index/missing") || !strings.Contains(out, "access/leak") {
				t.Errorf("probe: exit %d\n%s", code, out)
			}
			if out, code := with(k.read, "run", example, "--results", results); code != 3 || !strings.Contains(out, "7 failing, 3 passing, 0 inconclusive") {
				t.Errorf("run: exit %d\n%s", code, out)
			}
			for _, wrong := range []string{"not-the-key-at-all", ""} {
				out, code := with(wrong, "probe", example)
				want := "api_key_env"
				if !strings.Contains(out, want) || !slices.Contains([]int{exitUsage, exitEnvironment}, code) {
					t.Errorf("probe with the key %q: exit %d\n%s", wrong, code, out)
				}
			}
			for _, key := range []string{k.write, k.read, "not-the-key-at-all"} {
				if strings.Contains(said.String(), key) {
					t.Errorf("the key %q is shown", key)
				}
				notIn(t, results, key)
			}
		})
	}
}

func notIn(t *testing.T, folder, key string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), key) {
			t.Errorf("%s holds a key", path)
		}
		files++
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("looking for keys in %d files: %v", files, err)
	}
}
