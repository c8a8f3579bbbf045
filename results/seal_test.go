package results

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/culprit-rag/culprit/matrix"
)

func TestSealAndOpen(t *testing.T) {
	t.Parallel()
	e := newTestExecution(t, t.TempDir())
	want := testBundle(t, "long-haul", 5)
	want.Observations.Trials[2].Answer = matrix.NewText("") // an empty answer is a text
	want.Observations.Trials[3].Answer = matrix.NewText("not UTF-8: \xff\xfe\x00 <b>")
	reobserve(t, &want)
	path, err := writeCase(e, want, false)
	if err != nil {
		t.Fatal(err)
	}
	if path != filepath.Join(e.Dir(), "long-haul.bundle.zip") {
		t.Errorf("path %q", path)
	}
	got := checkBundle(t, path)
	got.Experiment.Backends.Store.Settings = nil // {} and absent settings are the same
	want.Path, want.Manifest, want.Status, want.Environment = path, got.Manifest, StatusComplete, got.Environment
	want.Evaluation.ObservationDigest = got.Manifest.Digests.Observation
	want.Pins.Schema = PinsSchema
	if diff := cmp.Diff(want, *got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	j, err := ReadJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, r := range j.Records {
		types = append(types, r.Type)
	}
	if got := strings.Join(types, " "); got != "open plan"+strings.Repeat(" intent result", 5)+" close" {
		t.Errorf("journal: %s", got)
	}
	if left := workLeft(t, e.out); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the bundle is open to others: %v, %v", info.Mode(), err)
	}
}

// Two executions that saw the same write the same derived and input files, whatever the clock, the order of the calls and
// the retries were.
func TestDerivedFilesDependOnObservationsAlone(t *testing.T) {
	t.Parallel()
	e := newTestExecution(t, t.TempDir())
	first := testBundle(t, "same", 8)
	second := testBundle(t, "same", 8)
	for i := range second.Observations.Trials {
		tr := &second.Observations.Trials[i]
		tr.At, tr.LatencyMS, tr.RequestID, tr.Attempts = "2027-01-01T00:00:00Z", 999, "r-1", 3
	}
	second.Observations.Retrievals[0].LatencyMS = 77
	e2 := newTestExecution(t, t.TempDir())
	var calls atomic.Int64
	e2.now = func() time.Time { return testTime.Add(time.Hour * time.Duration(8-calls.Add(1))) } // a clock that goes back
	a, err := writeCase(e, first, false)
	if err != nil {
		t.Fatal(err)
	}
	b, err := writeCase(e2, second, true)
	if err != nil {
		t.Fatal(err)
	}
	left, right := checkBundle(t, a), checkBundle(t, b)
	a, b = unpack(t, a), unpack(t, b)
	if left.Manifest.Digests != right.Manifest.Digests {
		t.Errorf("digests differ: %+v, %+v", left.Manifest.Digests, right.Manifest.Digests)
	}
	for _, f := range left.Manifest.Files {
		if f.Class != ClassObserved && !bytes.Equal(read(t, a, f.Path), read(t, b, f.Path)) {
			t.Errorf("%s differs", f.Path)
		}
	}
	third := testBundle(t, "same", 8)
	third.Observations.Trials[0].Answer = matrix.NewText("another answer")
	reobserve(t, &third)
	c, err := writeCase(newTestExecution(t, t.TempDir()), third, false)
	if err != nil {
		t.Fatal(err)
	}
	if checkBundle(t, c).Manifest.Digests.Observation == left.Manifest.Digests.Observation {
		t.Error("another answer has the same observation digest")
	}
}

func read(tb testing.TB, dir, name string) []byte {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func TestSealRefusesWhatDoesNotBelongTogether(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Bundle){
		"another case":               func(b *Bundle) { b.Case.ID = "other" },
		"a case that was changed":    func(b *Bundle) { b.Case.Query = "other?" },
		"a verdict on other answers": func(b *Bundle) { b.Observations.Trials[0].Answer = matrix.NewText("x") },
		"a text that is not at hand": func(b *Bundle) { b.Observations.Trials[0].Answer.Value = "" },
		"an unknown status":          func(b *Bundle) { b.Status = "fine" },
		"a number that is not exact": func(b *Bundle) { b.Plan.Cells[0].Repeats = 1 << 60 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newTestExecution(t, t.TempDir())
			b := testBundle(t, "odd", 2)
			digest, err := matrix.Digest(&b.Case)
			if err != nil {
				t.Fatal(err)
			}
			w, err := e.Case(&b.Case, digest, "")
			if err != nil {
				t.Fatal(err)
			}
			change(&b)
			if path, err := w.Seal(b); err == nil || !strings.Contains(err.Error(), `odd": `) || strings.Contains(err.Error(), `case "odd"`) {
				t.Errorf("sealed as %q, %v", path, err)
			}
			if err := w.Abort(); err != nil {
				t.Error(err)
			}
			if names := checkFolder(t, e.out); len(names) > 0 {
				t.Errorf("bundles %v", names)
			}
		})
	}
}

// FORMAT.md, 4: a case has one writer.
func TestOneWriterForACase(t *testing.T) {
	t.Parallel()
	e := newTestExecution(t, t.TempDir())
	b := testBundle(t, "mine", 1)
	w, err := e.Case(&b.Case, "", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Case(&b.Case, "", ""); !errors.Is(err, ErrLocked) {
		t.Errorf("want locked, got %v", err)
	}
	if _, err := w.Seal(b); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Case(&b.Case, "", ""); !errors.Is(err, os.ErrExist) {
		t.Errorf("want exists, got %v", err)
	}
	if _, err := w.Seal(b); err == nil {
		t.Error("sealed twice")
	}
	if err := w.Abort(); err != nil {
		t.Errorf("abort after seal: %v", err)
	}
	checkBundle(t, filepath.Join(e.Dir(), "mine.bundle.zip"))
}

// FORMAT.md, 4 and 5: work with a call that cannot be repeated for nothing is kept, and nobody takes it over.
func TestAbortKeepsPaidWork(t *testing.T) {
	t.Parallel()
	e := newTestExecution(t, t.TempDir())
	b := testBundle(t, "paid", 1)
	w, err := e.Case(&b.Case, "", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Intent(Intent{CallKey: "k", Attempt: 1, Durable: true}); err != nil {
		t.Fatal(err)
	}
	if err := w.Note("given up"); err != nil {
		t.Fatal(err)
	}
	if err := w.Abort(); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Case(&b.Case, "", ""); !errors.Is(err, ErrUnfinished) {
		t.Errorf("want unfinished, got %v", err)
	}
	if err := e.Finish(Summary{}); err != nil {
		t.Fatal(err)
	}
	j, err := decodeJournal(read(t, e.workDir("paid"), journalFile))
	if err != nil {
		t.Fatal(err)
	}
	if last := j.Records[len(j.Records)-1]; last.Type != RecordNote || last.Text != "the work was given up" || len(j.Records) != 4 {
		t.Errorf("records %+v", j.Records)
	}
}

func TestLongResponseIsCutAndSaysSo(t *testing.T) {
	t.Parallel()
	e := newTestExecution(t, t.TempDir())
	b := testBundle(t, "long", 0)
	w, err := e.Case(&b.Case, "", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Outcome(Outcome{CallKey: "k", Status: matrix.StatusError, Error: &matrix.CallError{Kind: "permanent"}, Response: make([]byte, MaxResponse+1)}); err != nil {
		t.Fatal(err)
	}
	path, err := w.Seal(b)
	if err != nil {
		t.Fatal(err)
	}
	j, err := ReadJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	r := j.Records[1]
	if r.Type != RecordFailure || !r.ResponseCut || r.ResponseSize != MaxResponse+1 || len(read(t, unpack(t, path), blobPath(r.Response))) != KeptOfResponse {
		t.Errorf("record %+v", r)
	}
	checkBundle(t, path)
}

// Trials of a case end in any order, and cases side by side.
func TestManyWritersAtOnce(t *testing.T) {
	t.Parallel()
	e := newTestExecution(t, t.TempDir())
	var wg sync.WaitGroup
	for c := range 4 {
		wg.Go(func() {
			b := testBundle(t, fmt.Sprintf("case-%d", c), 16)
			w, err := e.Case(&b.Case, "", "")
			if err != nil {
				t.Error(err)
				return
			}
			var calls sync.WaitGroup
			for _, trial := range b.Observations.Trials {
				calls.Go(func() {
					durable := trial.Rep%2 == 0
					err := w.Intent(Intent{CallKey: trial.CallKey, Attempt: 1, Request: []byte("the same request"), Durable: durable})
					err = errors.Join(err, w.Outcome(Outcome{CallKey: trial.CallKey, Attempt: 1, Status: matrix.StatusOK, Response: []byte(trial.Answer.Value), Durable: durable}))
					if err != nil {
						t.Error(err)
					}
				})
			}
			calls.Wait()
			if _, err := w.Seal(b); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if names := checkFolder(t, e.out); len(names) != 4 {
		t.Errorf("bundles %v", names)
	}
}
