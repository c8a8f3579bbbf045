package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// An execution of some cases, which stands in the ledger from its begin to its end.
func ledgered(tb testing.TB, out string, cases ...string) *Execution {
	tb.Helper()
	e := newTestExecution(tb, out)
	b := testBundle(tb, "any", 1)
	if err := e.Begin(&b.Experiment, cases, cases, false); err != nil {
		tb.Fatal(err)
	}
	for _, id := range cases {
		if _, err := writeCase(e, testBundle(tb, id, 1), false); err != nil {
			tb.Fatal(err)
		}
	}
	return e
}

func everyExecution(ExecutionID) bool { return true }

func TestLedgerNamesEveryExecution(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	done, killed := ledgered(t, out, "a", "b"), ledgered(t, out, "a")
	if err := done.Finish(Summary{Exit: 3, Stopped: StoppedLimit, Totals: Totals{Calls: 7}}); err != nil {
		t.Fatal(err)
	}
	l, err := ReadLedger(out)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range l.Records {
		got = append(got, fmt.Sprintf("%s %s %d %d %s %d", r.Type, r.Execution, r.Cases, r.Exit, r.Stopped, r.Bundles))
	}
	want := []string{
		fmt.Sprintf("begin %s 2 0  0", done.ID()), fmt.Sprintf("begin %s 1 0  0", killed.ID()), fmt.Sprintf("end %s 0 3 limits.budget 2", done.ID()),
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q, want %q", got, want)
	}
	begin, other := l.Records[0], l.Records[1]
	if begin.PinsDigest != other.PinsDigest || begin.Experiment != other.Experiment || begin.CasesSum == other.CasesSum {
		t.Errorf("one experiment over two sets of cases: %+v, %+v", begin, other)
	}
	if info, err := os.Stat(filepath.Join(out, ledgerFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the ledger is open to others: %v, %v", info.Mode(), err)
	}
	if problems, err := l.Check(out, everyExecution); err != nil || len(problems) > 0 {
		t.Errorf("problems: %q, %v", problems, err)
	}
}

// Attack 12: what was run and is not shown, or was put in its place.
func TestLedgerShowsWhatWasPicked(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		pick func(t *testing.T, out string, first, second *Execution)
		want string
	}{
		"an execution that was taken away": {func(t *testing.T, _ string, first, _ *Execution) { removeAll(t, first.Dir()) }, "its folder is gone"},
		"a bundle that was taken away": {func(t *testing.T, _ string, first, _ *Execution) {
			removeAll(t, filepath.Join(first.Dir(), "a"+archiveSuffix))
		}, "left 2 bundles, and holds others now (1)"},
		"a bundle of another execution": {func(t *testing.T, _ string, first, second *Execution) {
			data := readAll(t, filepath.Join(second.Dir(), "a"+archiveSuffix))
			write(t, first.Dir(), "a"+archiveSuffix, data)
		}, "left 2 bundles, and holds others now (2)"},
		"a ledger that was cut": {func(t *testing.T, out string, _, _ *Execution) {
			data := readAll(t, filepath.Join(out, ledgerFile))
			write(t, out, ledgerFile, data[:bytes.IndexByte(data, '\n')+1])
		}, "is not in the ledger"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := t.TempDir()
			first, second := ledgered(t, out, "a", "b"), ledgered(t, out, "a")
			for _, e := range []*Execution{first, second} {
				if err := e.Finish(Summary{}); err != nil {
					t.Fatal(err)
				}
			}
			tc.pick(t, out, first, second)
			l, err := ReadLedger(out)
			if err != nil {
				t.Fatal(err)
			}
			problems, err := l.Check(out, everyExecution)
			if err != nil || len(problems) != 1 || !strings.Contains(problems[0], tc.want) {
				t.Errorf("problems %q, %v, and not one with %q", problems, err, tc.want)
			}
		})
	}
}

func removeAll(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

// Every byte of a ledger is under its chain, but for those of the lines behind it.
func TestLedgerIsNotChanged(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	ledgered(t, out, "a")
	ledgered(t, out, "b")
	whole := readAll(t, filepath.Join(out, ledgerFile))
	damaged := func(data []byte) bool {
		write(t, out, ledgerFile, data)
		l, err := ReadLedger(out)
		return errors.Is(err, ErrLedger) || err == nil && l.Torn > 0
	}
	for i := range whole {
		changed := bytes.Clone(whole)
		changed[i] ^= 1
		if !damaged(changed) {
			t.Fatalf("byte %d may be changed", i)
		}
	}
	first := bytes.IndexByte(whole, '\n') + 1
	for name, data := range map[string][]byte{
		"out of order": append(bytes.Clone(whole[first:]), whole[:first]...),
		"twice":        append(bytes.Clone(whole), whole[first:]...),
		"dropped":      whole[first:],
	} {
		if !damaged(data) {
			t.Errorf("a line may be %s", name)
		}
	}
}

// What a killed process left of a line is taken away by the next, which goes on with the chain; a damaged end is not built upon.
func TestLedgerGoesOnBehindATornLine(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	ledgered(t, out, "a")
	whole := readAll(t, filepath.Join(out, ledgerFile))
	for cut := range len(whole) {
		write(t, out, ledgerFile, append(bytes.Clone(whole), whole[:cut]...))
		e := newTestExecution(t, out)
		b := testBundle(t, "a", 1)
		if err := e.Begin(&b.Experiment, nil, nil, true); err != nil {
			t.Fatalf("%d bytes of a line: %v", cut, err)
		}
		l, err := ReadLedger(out)
		if err != nil || len(l.Records) != 2 || l.Records[1].Type != LedgerResume {
			t.Fatalf("%d bytes of a line: %+v, %v", cut, l, err)
		}
	}
	whole[10] ^= 1
	write(t, out, ledgerFile, whole)
	e := newTestExecution(t, out)
	b := testBundle(t, "a", 1)
	if err := e.Begin(&b.Experiment, nil, nil, false); !errors.Is(err, ErrLedger) {
		t.Errorf("built upon a damaged line: %v", err)
	}
}

func TestLedgerOfManyAtOnce(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	const executions = 12
	var wait sync.WaitGroup
	for range executions {
		e := newTestExecution(t, out)
		wait.Go(func() {
			b := testBundle(t, "a", 1)
			if err := e.Begin(&b.Experiment, nil, nil, false); err != nil {
				t.Error(err)
			}
			if err := e.Finish(Summary{}); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	l, err := ReadLedger(out)
	if err != nil || len(l.Records) != 2*executions {
		t.Fatalf("%d records, %v", len(l.Records), err)
	}
}

// Of an execution that did not end, how it ended and how many calls it made is not known, also where it had ended before.
func TestExecutedIsUnknownUntilItEnds(t *testing.T) {
	t.Parallel()
	const id = "20261129T200000Z-k3f9qa"
	begin, end := LedgerRecord{Type: LedgerBegin, Execution: id, Cases: 2}, LedgerRecord{Type: LedgerEnd, At: "x", Execution: id, Stopped: StoppedLimit, Calls: 7, InDoubt: 1}
	for _, tt := range []struct {
		name    string
		records []LedgerRecord
		want    string
	}{
		{"killed", []LedgerRecord{begin}, `{"execution":"` + id + `","planned":2,"outcomes":{}}`},
		{"ended", []LedgerRecord{begin, end}, `{"execution":"` + id + `","planned":2,"ended":"x","exit":0,"stopped":"limits.budget","calls":7,"in_doubt":1,"outcomes":{}}`},
		{"gone on with", []LedgerRecord{begin, end, {Type: LedgerResume, Execution: id, Cases: 2}}, `{"execution":"` + id + `","planned":2,"resumed":1,"outcomes":{}}`},
	} {
		l := Ledger{Records: tt.records}
		if got, err := json.Marshal(l.Executed(nil)[0]); err != nil || string(got) != tt.want {
			t.Errorf("%s: got %s, %v", tt.name, got, err)
		}
	}
}

// Nobody goes on behind a damage, wherever it is: what comes later would seem to vouch for it.
func TestBeginRefusesADamagedLedger(t *testing.T) {
	t.Parallel()
	for name, resumed := range map[string]bool{"run": false, "resume": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := t.TempDir()
			e := ledgered(t, out)
			ledgered(t, out)
			path := filepath.Join(out, ledgerFile)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			data = bytes.Replace(data, []byte(`"t":"begin"`), []byte(`"t":"bogus"`), 1) // in the first line
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			b := testBundle(t, "any", 1)
			err = e.Begin(&b.Experiment, nil, nil, resumed)
			if !errors.Is(err, ErrLedger) || !strings.Contains(err.Error(), "line 1: ") || !strings.Contains(err.Error(), "move it away to begin a new one") {
				t.Errorf("got %v", err)
			}
			if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, data) {
				t.Errorf("it was changed: %v", err)
			}
		})
	}
}
