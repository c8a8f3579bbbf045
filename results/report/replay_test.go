package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
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

// Two long texts are shown from where they part, in whole characters.
func TestFromDifference(t *testing.T) {
	long := strings.Repeat("é", 200)
	for name, tc := range map[string]struct{ a, b, wantA, wantB string }{
		"short":                {"pass", "fail", "pass", "fail"},
		"part early":           {"a" + long, "b" + long, "a" + long, "b" + long},
		"part late":            {long + "a", long + "b", "…" + strings.Repeat("é", 20) + "a", "…" + strings.Repeat("é", 20) + "b"},
		"in a character":       {long + "é", long + "è", "…" + strings.Repeat("é", 20) + "é", "…" + strings.Repeat("é", 20) + "è"},
		"one is the beginning": {long, long + "b", "…" + strings.Repeat("é", 20), "…" + strings.Repeat("é", 20) + "b"},
		"one is empty":         {"", long, "", long},
	} {
		if a, b := fromDifference(tc.a, tc.b); a != tc.wantA || b != tc.wantB {
			t.Errorf("%s: want %q and %q, got %q and %q", name, tc.wantA, tc.wantB, a, b)
		}
	}
}
