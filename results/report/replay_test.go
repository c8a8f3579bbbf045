package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"

	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/results"
)

// A report is drawn from the bytes of what is derived: what a replay derives is drawn as what [results.Open] reads from these bytes.
func TestReplayedReport(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("../testdata/golden/*.bundle.zip")
	if err != nil || len(paths) == 0 {
		t.Fatal(len(paths), err)
	}
	for _, path := range paths {
		r, err := results.ReplayBundle(path)
		if err != nil {
			t.Fatal(err)
		}
		var pages [2]bytes.Buffer
		for i, derived := range []func(*results.Bundle) error{
			func(b *results.Bundle) error {
				b.Features, b.Evaluation = r.Bundle.Features, r.Bundle.Evaluation
				return nil
			},
			func(b *results.Bundle) error {
				b.Features, b.Evaluation = verdict.Features{}, verdict.Evaluation{}
				features, evaluation, err := r.Derived()
				return errors.Join(err, json.Unmarshal(features, &b.Features), json.Unmarshal(evaluation, &b.Evaluation))
			},
		} {
			b, err := results.Open(path)
			if err == nil {
				err = derived(b)
			}
			if err == nil {
				err = Explain(&pages[i], b, Options{Full: true})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(pages[0].Bytes(), pages[1].Bytes()) {
			t.Errorf("%s: what is derived is drawn otherwise than what is read from its bytes", path)
		}
	}
}
