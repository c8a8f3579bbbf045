package results

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/matrix"
)

const heldKey = "zq81-correct-horse-battery"

func holdsKey(text []byte) bool { return strings.Contains(string(text), heldKey) }

// TestNoSecretIsWritten puts a key in each place of a case. What holds one is not written, and a response that does is a failed call.
func TestNoSecretIsWritten(t *testing.T) {
	t.Parallel()
	tests := map[string]func(b *Bundle){
		"a text": func(b *Bundle) {
			b.Observations.Retrievals[0].Candidates[0].Text = matrix.NewText("the key is " + heldKey)
		},
		"a name":         func(b *Bundle) { b.Observations.Trials[0].ModelReported = heldKey },
		"the experiment": func(b *Bundle) { b.Experiment.Pipeline.Prompt.User = heldKey },
		"the source":     func(b *Bundle) { b.CaseSource = []byte(heldKey) },
		"a restricted text": func(b *Bundle) {
			b.Observations.Retrievals[0].Candidates[0].Text = matrix.NewText(heldKey)
			b.Observations.Retrievals[0].Candidates[0].Sensitivity = matrix.Restricted
		},
		"a request": func(b *Bundle) { b.Observations.Trials[0].Prompt[1].Text = matrix.NewText(heldKey) },
	}
	for name, put := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := t.TempDir()
			e := newTestExecution(t, out)
			e.Guard(holdsKey)
			b := testBundle(t, "keyed", 2)
			put(&b)
			b.Evaluation.ObservationDigest = ""
			if _, err := writeCase(e, b, true); !errors.Is(err, ErrSecret) {
				t.Errorf("error %v, want %v", err, ErrSecret)
			}
			nowhere(t, out)
		})
	}
	t.Run("a response", func(t *testing.T) {
		t.Parallel()
		out := t.TempDir()
		e := newTestExecution(t, out)
		e.Guard(holdsKey)
		w, err := e.Case(&matrix.Case{ID: "keyed"}, "", "")
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Intent(Intent{CallKey: "k", Attempt: 1, Durable: true}); err != nil {
			t.Fatal(err)
		}
		if err := w.Outcome(Outcome{CallKey: "k", Attempt: 1, Status: matrix.StatusOK, Response: []byte("here: " + heldKey), Durable: true}); err != nil {
			t.Fatal(err)
		}
		data, err := w.journal.read()
		if err != nil {
			t.Fatal(err)
		}
		j, err := decodeJournal(data)
		if err != nil {
			t.Fatal(err)
		}
		if last := j.Records[len(j.Records)-1]; last.Type != RecordFailure || last.Error == nil || last.Error.Kind != matrix.KindSecret || last.Response != "" {
			t.Errorf("the outcome is %+v", last)
		}
		nowhere(t, out)
		if err := w.Abort(); err != nil {
			t.Error(err)
		}
	})
	t.Run("the summary", func(t *testing.T) {
		t.Parallel()
		out := t.TempDir()
		e := newTestExecution(t, out)
		e.Guard(holdsKey)
		s := Summary{Cases: make([]CaseSummary, 400)}
		for i := range s.Cases {
			s.Cases[i].Summary = strings.Repeat("x", 7*i%31)
		}
		s.Cases[333].Summary = heldKey
		if err := e.Finish(s); !errors.Is(err, ErrSecret) {
			t.Errorf("error %v, want %v", err, ErrSecret)
		}
		nowhere(t, out)
	})
}

// nowhere fails where a file below a folder holds the key.
func nowhere(t *testing.T, out string) {
	t.Helper()
	err := filepath.WalkDir(out, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if holdsKey(data) {
			t.Errorf("%s holds the key", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
