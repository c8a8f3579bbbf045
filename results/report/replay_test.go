package report

import (
	"path/filepath"
	"testing"

	"github.com/culprit-rag/culprit/results"
)

// By the same rules the report of a bundle that was replayed is the one of the bundle that was sealed.
func TestReplayedReport(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("../testdata/golden/*.bundle.zip")
	if err != nil || len(paths) == 0 {
		t.Fatal(len(paths), err)
	}
	for _, path := range paths {
		sealed, err := results.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		r, err := results.ReplayBundle(path)
		if err != nil {
			t.Fatal(err)
		}
		if same, err := SameReport(sealed, r.Bundle); err != nil || r.Same && !same {
			t.Errorf("%s: another report of the same bytes, %v", path, err)
		}
		r.Bundle.Evaluation.Summary += " and more"
		if same, err := SameReport(sealed, r.Bundle); err != nil || same {
			t.Errorf("%s: a report of another evaluation is taken for the same, %v", path, err)
		}
	}
}
