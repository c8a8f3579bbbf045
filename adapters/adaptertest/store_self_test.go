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
			command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestStore$/^"+strings.ReplaceAll(defect.finder, " ", "_"))
			command.Env = append(os.Environ(), chosen+"="+name)
			out, err := command.CombinedOutput()
			if strings.Contains(string(out), "no tests to run") {
				t.Fatalf("no subtest begins with %q", defect.finder)
			}
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestStore/") {
				t.Errorf("%q does not fail (%v)\n%s", defect.finder, err, out)
			}
		})
	}
}

// TestStore runs the suite on a store with the defect that TestDefectsAreFound has chosen, and on the good one where it has chosen none.
func TestStore(t *testing.T) {
	name := os.Getenv(chosen)
	if defect, ok := peculiarDefects[name]; ok {
		adaptertest.TestVectorStore(t, peculiar(t, defect.store))
		return
	}
	adaptertest.TestVectorStore(t, plain(t, plainDefects()[name].store))
}

// TestPeculiarStore: the other store that defects are made from passes as well. The two differ in all that a harness may declare.
func TestPeculiarStore(t *testing.T) {
	t.Parallel()
	adaptertest.TestVectorStore(t, peculiar(t, broken{}))
}
