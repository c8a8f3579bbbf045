package adaptertest_test

import (
	"maps"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/adapters/adaptertest"
)

const chosen = "ADAPTERTEST_DEFECT"

// TestDefectsAreFound breaks a good store in one way after the other: a suite that cannot fail proves nothing.
func TestDefectsAreFound(t *testing.T) {
	t.Parallel()
	all := plainDefects()
	maps.Copy(all, peculiarDefects)
	for name, defect := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBrokenStore$/^"+strings.ReplaceAll(defect.finder, " ", "_"))
			command.Env = append(os.Environ(), chosen+"="+name)
			out, err := command.CombinedOutput()
			if strings.Contains(string(out), "no tests to run") {
				t.Fatalf("no subtest begins with %q", defect.finder)
			}
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestBrokenStore/") {
				t.Errorf("%q does not fail (%v)\n%s", defect.finder, err, out)
			}
		})
	}
}

// TestBrokenStore runs the suite on the defect that TestDefectsAreFound has chosen.
func TestBrokenStore(t *testing.T) {
	name := os.Getenv(chosen)
	if name == "" {
		t.Skip("no defect is chosen")
	}
	if defect, ok := peculiarDefects[name]; ok {
		adaptertest.TestVectorStore(t, peculiar(t, defect.store))
		return
	}
	adaptertest.TestVectorStore(t, plain(t, plainDefects()[name].store))
}

// TestGoodStores: what the defects are made from passes. The two stores differ in all that a harness may declare.
func TestGoodStores(t *testing.T) {
	t.Parallel()
	for name, good := range map[string]func(*testing.T, broken) adaptertest.StoreHarness{"plain": plain, "peculiar": peculiar} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			adaptertest.TestVectorStore(t, good(t, broken{}))
		})
	}
}
