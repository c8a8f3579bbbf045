package results

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culprit-rag/culprit/matrix"
)

// What a killed run left is told apart from what a live one is working on.
func TestUnfinished(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "results")
	check := func(when string, want ...string) {
		t.Helper()
		got, err := Unfinished(out)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	check("without a folder")
	e, err := NewExecution(out, "travel-policy", testTime)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	w, err := e.Case(&matrix.Case{ID: "live", Query: "q"}, "", "")
	if err != nil {
		t.Fatal(err)
	}
	check("while it is worked on")
	dead := filepath.Join(out, workFolder, string(e.ID()), "dead")
	if err := os.MkdirAll(dead, 0o700); err != nil {
		t.Fatal(err)
	}
	check("a folder that may be about to be locked")
	if err := os.WriteFile(filepath.Join(dead, lockFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	check("beside one that nobody holds", dead)
	if err := w.Abort(); err != nil {
		t.Fatal(err)
	}
	check("after the live one ended", dead)
}
