package results

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/culprit-rag/culprit/matrix"
)

// goOn finishes what a killed writer has left. No call is made again that was not listed as in doubt, and nothing is left behind.
func goOn(t *testing.T, out string, id ExecutionID) {
	t.Helper()
	e, _, works, err := Resume(out, id)
	if errors.Is(err, ErrNotFound) {
		return // it was killed when everything was done
	}
	if err != nil {
		t.Fatal(err)
	}
	doubts := map[string]bool{}
	for _, w := range works {
		for _, p := range w.InDoubt() {
			doubts[strings.TrimPrefix(p.Key, "sha256:")] = true
		}
	}
	e.InDoubt(InDoubtRetry)
	b := testBundle(t, "killed", 1)
	sealed, err := e.Sealed(&b.Case)
	if err == nil && sealed == "" {
		err = writeCalls(e, b, out)
	}
	if err := errors.Join(err, e.Finish(Summary{}), e.Close()); err != nil {
		t.Fatal(err)
	}
	if names := checkFolder(t, out); !slices.Contains(names, "killed") {
		t.Errorf("bundles %v", names)
	}
	again, err := filepath.Glob(filepath.Join(out, "again-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range again {
		if key := strings.TrimPrefix(filepath.Base(path), "again-"); !doubts[key] {
			t.Errorf("call %s was made again, and nobody was told", key)
		}
	}
	if _, err := os.Stat(filepath.Join(out, workFolder)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("work is left: %v", err)
	}
}

// left writes a case of some calls and leaves it as a killed process does, the last call without its outcome.
func left(t *testing.T, trials int) (out string, id ExecutionID, folder string) {
	t.Helper()
	out = memoryDir(t)
	e, err := NewExecution(out, "travel-policy", testTime)
	if err != nil {
		t.Fatal(err)
	}
	b := testBundle(t, "killed", trials)
	if err := e.Keep(Invocation{Pins: b.Pins}, nil); err != nil {
		t.Fatal(err)
	}
	w, err := e.Case(&b.Case, "", "")
	if err != nil {
		t.Fatal(err)
	}
	for i, trial := range b.Observations.Trials {
		call := matrix.Call{Step: "generate", Rep: trial.Rep}
		err := w.Intent(Intent{CallKey: trial.CallKey, Call: call, Attempt: 1, Request: fmt.Append(nil, "ask ", i), Durable: true, Spent: Spent{Calls: 1, Tokens: 100}})
		if err == nil && i < len(b.Observations.Trials)-1 {
			err = w.Outcome(Outcome{CallKey: trial.CallKey, Attempt: 1, Status: matrix.StatusOK, Response: []byte(trial.Answer.Value), Durable: true, Spent: Spent{Calls: 1, Tokens: 9}, Observed: []byte("observed " + trial.Answer.Value)})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	// A process that is killed closes its files, and gives its locks back, without another word.
	if err := errors.Join(w.leave(), e.Close()); err != nil {
		t.Fatal(err)
	}
	return out, e.ID(), e.workDir("killed")
}

func TestResumeReadsWhatIsLeft(t *testing.T) {
	t.Parallel()
	out, id, _ := left(t, 4)
	e, _, works, err := Resume(out, id)
	if err != nil {
		t.Fatal(err)
	}
	w := works[0]
	if doubts := w.InDoubt(); len(works) != 1 || len(w.Calls) != 4 || len(doubts) != 1 || doubts[0].Call.Rep != 4 || w.Torn != 0 {
		t.Errorf("%d works, %d calls, in doubt %+v", len(works), len(w.Calls), doubts)
	}
	if w.Spent != (Spent{Calls: 4, Tokens: 3*9 + 100}) {
		t.Errorf("spent %+v: what is in doubt counts as much as it may have taken", w.Spent)
	}
	// Another process finds it locked, and says by whom.
	for name, err := range map[string]error{"resume": func() error { _, _, _, err := Resume(out, id); return err }(), "drop": func() error { _, err := Drop(out, id); return err }()} {
		if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), fmt.Sprintf("pid %d, host ", os.Getpid())) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	b := testBundle(t, "killed", 4)
	if _, err := e.Case(&b.Case, "", ""); !errors.Is(err, ErrInDoubt) {
		t.Errorf("nobody has said what to do about calls in doubt: %v", err)
	}
	for _, changed := range [][2]string{{"another", ""}, {"", "another"}} {
		if _, err := e.Case(&b.Case, changed[0], changed[1]); !errors.Is(err, ErrChanged) {
			t.Errorf("other digests %q: %v", changed, err)
		}
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	goOnWith(t, out, id, 4, InDoubtSkip)
	if _, err := Drop(out, id); !errors.Is(err, ErrNotFound) {
		t.Errorf("nothing is left to be dropped: %v", err)
	}
}

// goOnWith goes on with what left has written, and returns the journal.
func goOnWith(t *testing.T, out string, id ExecutionID, trials int, how string) *Journal {
	t.Helper()
	e, _, _, err := Resume(out, id)
	if err != nil {
		t.Fatal(err)
	}
	e.InDoubt(how)
	b := testBundle(t, "killed", trials)
	w, err := e.Case(&b.Case, "", "")
	if err != nil {
		t.Fatal(err)
	}
	if p := w.Past(b.Observations.Trials[trials-1].CallKey); p.Skipped != (how == InDoubtSkip) || p.Doubt {
		t.Errorf("the call in doubt is %+v", p)
	}
	path, err := w.Seal(b)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(e.Finish(Summary{}), e.Close()); err != nil {
		t.Fatal(err)
	}
	checkBundle(t, path)
	j, err := ReadJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// A record or blob that a killed process did not finish is cut off, and said so; the chain goes on behind what is whole.
func TestResumeCutsATornEnd(t *testing.T) {
	t.Parallel()
	for _, name := range []string{journalFile, packFile} {
		whole := 0
		for cut := 1; cut < 40; cut += 7 {
			out, id, folder := left(t, 3)
			data := read(t, folder, name)
			whole = len(data)
			// The whole end of the pack, and a part of the last line of the journal: that of the intent, or more.
			if err := os.WriteFile(filepath.Join(folder, name), append(data, data[:cut]...), 0o600); err != nil {
				t.Fatal(err)
			}
			j := goOnWith(t, out, id, 3, InDoubtRetry)
			if !slices.ContainsFunc(j.Records, func(r Record) bool {
				return r.Type == RecordNote && strings.Contains(r.Text, fmt.Sprintf("%d bytes", cut))
			}) {
				t.Errorf("%s: that %d of %d bytes were cut off is not said", name, cut, whole+cut)
			}
		}
	}
}

// A file that a killed process had not finished is in nobody's way, wherever it stands, and is taken away.
func TestResumeLeavesNoUnfinishedFile(t *testing.T) {
	t.Parallel()
	out, id, folder := left(t, 3)
	places := []string{folder, filepath.Dir(folder), filepath.Join(out, string(id))}
	for _, place := range places {
		for _, name := range []string{"1", "2", "3"} {
			write(t, place, tempPrefix+name, []byte(`{"torn`))
		}
	}
	goOnWith(t, out, id, 3, InDoubtRetry)
	for _, place := range places {
		entries, _ := os.ReadDir(place) // one that is gone holds none
		for _, entry := range entries {
			if strings.HasPrefix(entry.Name(), tempPrefix) {
				t.Errorf("%s is left in %s", entry.Name(), place)
			}
		}
	}
}

// What has been changed by so much as a bit is refused, or the calls that it bears on are in doubt: no answer is ever another one, and
// no call is forgotten. FORMAT.md, unfinished work.
func TestResumeFindsEveryChange(t *testing.T) {
	t.Parallel()
	out, id, folder := left(t, 3)
	b := testBundle(t, "killed", 3)
	check := func(what string) (refused bool) {
		t.Helper()
		e, _, works, err := Resume(out, id)
		if err != nil {
			if !errors.Is(err, ErrJournal) && !errors.Is(err, errPack) {
				t.Errorf("%s: %v", what, err)
			}
			return true
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		for i, trial := range b.Observations.Trials {
			p := works[0].Calls[trial.CallKey]
			switch {
			case p == nil:
				t.Errorf("%s: call %d is forgotten", what, i)
			case p.Observed != nil && string(p.Observed) != "observed "+trial.Answer.Value:
				t.Errorf("%s: call %d has the answer %q", what, i, p.Observed)
			case p.Observed == nil && !p.Doubt:
				t.Errorf("%s: call %d has neither an answer nor is it in doubt", what, i)
			}
		}
		return false
	}
	if check("unchanged") {
		t.Fatal("it is refused unchanged")
	}
	for _, name := range []string{journalFile, packFile} {
		path := filepath.Join(folder, name)
		data := read(t, folder, name)
		write := func(data []byte) {
			t.Helper()
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		refused := 0
		tried := 0
		for at := 0; at < len(data); at += 1 + at%3 {
			tried++
			changed := bytes.Clone(data)
			changed[at] ^= byte(1 << (at % 8))
			write(changed)
			if check(fmt.Sprintf("%s, a bit of byte %d (%q)", name, at, data[at])) {
				refused++
			}
		}
		if refused < tried*9/10 {
			t.Errorf("%s: %d of %d changes are refused", name, refused, tried)
		}
		write(data)
	}
	path := filepath.Join(folder, journalFile)
	data := read(t, folder, journalFile)
	lines := slices.Collect(strings.Lines(string(data)))
	for i := range lines {
		dropped := slices.Delete(slices.Clone(lines), i, i+1)
		twice := slices.Insert(slices.Clone(lines), i, lines[i])
		for what, changed := range map[string][]string{"dropped": dropped, "twice": twice} {
			if err := os.WriteFile(path, []byte(strings.Join(changed, "")), 0o600); err != nil {
				t.Fatal(err)
			}
			e, _, _, err := Resume(out, id)
			// That the end was cut off at a line, only who has seen the end can tell: the manifest of a bundle has its sum.
			if last := i == len(lines)-1 && what == "dropped"; err == nil && last {
				if err := e.Close(); err != nil {
					t.Fatal(err)
				}
			} else if !errors.Is(err, ErrJournal) {
				t.Errorf("line %d is %s: %v", i+1, what, err)
			}
		}
		if i > 0 {
			swapped := slices.Clone(lines)
			swapped[i-1], swapped[i] = swapped[i], swapped[i-1]
			if err := os.WriteFile(path, []byte(strings.Join(swapped, "")), 0o600); err != nil {
				t.Fatal(err)
			}
			if !check(fmt.Sprintf("lines %d and %d changed places", i, i+1)) {
				t.Errorf("lines %d and %d changed places, and nobody notices", i, i+1)
			}
		}
	}
}

// A new execution uses the finished calls of another one that did not finish the case, copies their records, and says where it has them
// from. Then the other is done with.
func TestFinishedCallsOfOthers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		pinsDigest string
		fresh      bool
		change     func(t *testing.T, folder string)
		later      time.Duration
		calls      int
		says       string
	}{
		{name: "the same", later: time.Hour, calls: 3},
		{name: "by a clock that went back", later: -time.Hour, calls: 3, says: "the clock has gone back"},
		{name: "other pins", pinsDigest: "others"},
		{name: "a fresh run", fresh: true},
		{name: "others may write there", says: "it is not this user's alone", change: func(t *testing.T, folder string) {
			t.Helper()
			if err := os.Chmod(folder, 0o770); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "a journal that others may write to", says: "it is not this user's alone", change: func(t *testing.T, folder string) {
			t.Helper()
			if err := os.Chmod(filepath.Join(folder, journalFile), 0o666); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "another user's", says: "belongs to user 65534", change: func(t *testing.T, folder string) {
			t.Helper()
			if os.Getuid() != 0 {
				t.Skip("only root can give a file away")
			}
			if err := os.Chown(filepath.Join(folder, journalFile), 65534, -1); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out, id, folder := left(t, 4)
			if tt.change != nil {
				tt.change(t, folder)
			}
			e, err := NewExecution(out, "travel-policy", testTime.Add(tt.later))
			if err != nil {
				t.Fatal(err)
			}
			if tt.fresh {
				e.Fresh()
			}
			b := testBundle(t, "killed", 4)
			w, err := e.Case(&b.Case, "", tt.pinsDigest)
			if err != nil {
				t.Fatal(err)
			}
			reused := 0
			for _, trial := range b.Observations.Trials {
				if p := w.Past(trial.CallKey); p != nil {
					if reused++; p.From != id || p.Doubt {
						t.Errorf("%+v", p)
					}
					if err := errors.Join(w.Reuse(p), w.Reuse(p)); err != nil { // the second time it is known
						t.Fatal(err)
					}
				}
			}
			if tt.calls > 0 {
				if _, _, _, err := Resume(out, id); err == nil || !errors.Is(err, ErrLocked) {
					t.Errorf("the other is gone on with meanwhile: %v", err)
				}
			}
			path, err := w.Seal(b)
			if err != nil {
				t.Fatal(err)
			}
			checkBundle(t, path)
			j, err := ReadJournal(path)
			if err != nil {
				t.Fatal(err)
			}
			copied := 0
			for _, r := range j.Records {
				if r.From == id && r.Type != RecordInDoubt {
					copied++
				}
			}
			says := strings.Join(e.Says(), "\n")
			if reused != tt.calls || copied != 2*tt.calls || !strings.Contains(says, tt.says) || tt.says == "" && says != "" {
				t.Errorf("%d calls were used, %d records copied, and it says %q", reused, copied, says)
			}
			if spent := SpentOf(j); spent != (Spent{}) {
				t.Errorf("it has spent %+v", spent)
			}
			unfinished, err := Unfinished(out)
			if done := len(unfinished) == 0; err != nil || done != (tt.calls > 0) {
				t.Errorf("unfinished: %v, %v", unfinished, err)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// BenchmarkJournal is what a durable call takes beside the call itself: its intent and its outcome, both on disk.
func BenchmarkJournal(b *testing.B) {
	e, err := NewExecution(b.TempDir(), "travel-policy", testTime)
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	w, err := e.Case(&matrix.Case{ID: "c", Query: "q"}, "", "")
	if err != nil {
		b.Fatal(err)
	}
	request, observed := bytes.Repeat([]byte("request "), 500), bytes.Repeat([]byte("observed "), 200)
	for i := 0; b.Loop(); i++ {
		key := matrix.DigestBytes(fmt.Append(nil, i))
		own := func(data []byte) []byte { return fmt.Append(data[:len(data):len(data)], i) }
		if err := w.Intent(Intent{CallKey: key, Attempt: 1, Request: own(request), Durable: true}); err != nil {
			b.Fatal(err)
		}
		if err := w.Outcome(Outcome{CallKey: key, Attempt: 1, Status: matrix.StatusOK, Response: own([]byte("answer")), Observed: own(observed), Durable: true}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/500, "%of50ms")
}

// What is dropped stands in the ledger: answers that were paid for are lost.
func TestDropIsLedgered(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		damage bool
		want   Dropped
	}{
		"whole":   {false, Dropped{Cases: 1, Calls: 4, Answers: 3, InDoubt: 1}},
		"damaged": {true, Dropped{Cases: 1, Unread: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, id, folder := left(t, 4)
			if tt.damage {
				data := read(t, folder, journalFile)
				data[20] ^= 1
				if err := os.WriteFile(filepath.Join(folder, journalFile), data, 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(out, workFolder, string(id), invocationFile), []byte("{"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			d, err := Drop(out, id)
			if err != nil {
				t.Fatal(err)
			}
			tt.want.Schema, tt.want.Execution = DroppedSchema, id
			if *d != tt.want {
				t.Errorf("got %+v, want %+v", *d, tt.want)
			}
			if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("it is still there: %v", err)
			}
			l, err := ReadLedger(out)
			if err != nil {
				t.Fatal(err)
			}
			r := l.Records[len(l.Records)-1]
			if got := (Dropped{DroppedSchema, r.Execution, r.Cases, r.Calls, r.Paid, r.Answers, r.InDoubt, r.Unread}); r.Type != LedgerDrop || got != tt.want {
				t.Errorf("the ledger says %+v", r)
			}
			if e := l.Executed(nil); len(e) != 1 || e[0].Dropped != r.At {
				t.Errorf("executed %+v", e)
			}
		})
	}
}
