package results

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/culprit-rag/culprit/matrix"
)

// The helper is this test binary again. It writes a case, then kills itself at one step of writing the next.
const (
	crashFolder = "CULPRIT_TEST_CRASH_FOLDER"
	crashStep   = "CULPRIT_TEST_CRASH_STEP"
)

func TestMain(m *testing.M) {
	if out := os.Getenv(crashFolder); out != "" {
		if err := killAt(out, os.Getenv(crashStep)); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("survived")
		os.Exit(0)
	}
	identified = func(Tool) bool { return true } // the tests are built without a commit
	os.Exit(m.Run())
}

// killAt is what runs in the process that TestKilledWriter starts.
func killAt(out, step string) error {
	at, err := strconv.Atoi(step)
	if err != nil {
		return err
	}
	armed, n := false, 0
	e, err := newExecution(out, "travel-policy", testTime, func(kind, name string) error {
		if !armed {
			return nil
		}
		if n++; n == at {
			fmt.Printf("dies at %s %s\n", kind, name)
			return errors.Join(syscall.Kill(os.Getpid(), syscall.SIGKILL), errors.New("still alive"))
		}
		return nil
	})
	if err != nil {
		return err
	}
	before, err := makeBundle("before", 0)
	if err != nil {
		return err
	}
	killed, err := makeBundle("killed", 1)
	if err != nil {
		return err
	}
	if err := e.Keep(Invocation{Pins: killed.Pins}, nil); err != nil {
		return err
	}
	if _, err := writeCase(e, before, false); err != nil {
		return err
	}
	armed = true
	if err := writeCalls(e, killed, out); err != nil {
		return err
	}
	return e.Finish(Summary{})
}

// writeCalls is writeCase with calls that leave a trace outside: one file for each call that was made, and another for each that was
// made again. Calls that earlier work has answers to are not made.
func writeCalls(e *Execution, b Bundle, out string) error {
	w, err := e.Case(&b.Case, "", "")
	if err != nil {
		return err
	}
	for _, t := range b.Observations.Trials {
		attempt := 1
		if p := w.Past(t.CallKey); p != nil {
			if p.Observed != nil {
				if string(p.Observed) != "observed "+t.Answer.Value {
					return fmt.Errorf("call %s has the answer %q", t.CallKey, p.Observed)
				}
				if err := w.Reuse(p); err != nil {
					return err
				}
				continue
			}
			attempt += p.Tries
		}
		call := matrix.Call{Step: "generate", Rep: t.Rep}
		if err := w.Intent(Intent{CallKey: t.CallKey, Call: call, Attempt: attempt, Request: []byte("ask"), Durable: true, Spent: Spent{Calls: 1}}); err != nil {
			return err
		}
		name := filepath.Join(out, "called-"+strings.TrimPrefix(t.CallKey, "sha256:"))
		if _, err := os.Stat(name); err == nil {
			name = strings.Replace(name, "called-", "again-", 1)
		}
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			return err
		}
		if err := w.Outcome(Outcome{
			CallKey: t.CallKey, Attempt: attempt, Status: matrix.StatusOK, Response: []byte(t.Answer.Value), Durable: true,
			Spent: Spent{Calls: 1}, Observed: []byte("observed " + t.Answer.Value),
		}); err != nil {
			return err
		}
	}
	_, err = w.Seal(b)
	return err
}

// TestKilledWriter kills the writer at every step there is. FORMAT.md, 1 to 3: what is named a bundle is whole, and every
// call that was made stands in the journal.
func TestKilledWriter(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts some hundred processes")
	}
	// In the middle of a record, after an intent, in a blob and after it, while sealing, before and after the final name, and before
	// the work is cleared away.
	phases := []string{"write journal.jsonl", "sync journal.jsonl", "write blobs.pack", "done blobs.pack", "write bundle.tmp", "sync bundle.tmp", "rename 2026", "done 2026", "remove .work"}
	seen := map[string]bool{}
	for step := 1; ; step++ {
		out := memoryDir(t)
		cmd := exec.Command(os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), crashFolder+"="+out, crashStep+"="+strconv.Itoa(step))
		stdout, err := cmd.CombinedOutput()
		survived := strings.Contains(string(stdout), "survived")
		var exit *exec.ExitError
		if !survived && (!errors.As(err, &exit) || exit.ExitCode() != -1) {
			t.Fatalf("step %d: %v: %s", step, err, stdout)
		}
		names := checkFolder(t, out)
		if !slices.Contains(names, "before") {
			t.Errorf("step %d: the case that was finished before is lost", step)
		}
		checkCalls(t, out)
		for _, phase := range phases {
			seen[phase] = seen[phase] || strings.Contains(string(stdout), "dies at "+phase)
		}
		ids, err := Executions(out)
		if err != nil || len(ids) != 1 {
			t.Fatalf("step %d: executions %v, %v", step, ids, err)
		}
		if s, err := ReadSummary(out, ids[0]); err != nil || len(s.Cases) != len(names) && s.Rebuilt {
			t.Errorf("step %d: summary %+v, %v", step, s, err)
		}
		if !survived {
			goOn(t, out, ids[0])
		}
		if survived {
			if !slices.Contains(names, "killed") {
				t.Error("the helper survived and its bundle is missing")
			}
			break
		}
	}
	for _, phase := range phases {
		if !seen[phase] {
			t.Errorf("the writer was never killed at %q", phase)
		}
	}
}

// checkCalls finds an intent for every call that was made, and every blob that a journal names.
func checkCalls(t *testing.T, out string) {
	t.Helper()
	glob := func(pattern ...string) []string {
		paths, err := filepath.Glob(filepath.Join(append([]string{out}, pattern...)...))
		if err != nil {
			t.Fatal(err)
		}
		return paths
	}
	var records []Record
	bundles := glob("*", "killed.bundle.zip")
	for _, path := range bundles {
		j, err := ReadJournal(path)
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, j.Records...)
	}
	for _, work := range glob(workFolder, "*", "killed") {
		j, err := decodeJournal(readIfThere(t, work, journalFile))
		if err != nil {
			t.Fatalf("%s: %v", work, err)
		}
		blobs, _, err := decodePack(readIfThere(t, work, packFile))
		if err != nil {
			t.Fatalf("%s: %v", work, err)
		}
		for _, r := range j.Records {
			for _, ref := range []string{r.Request, r.Response, r.Observed, r.Plan} {
				if _, ok := blobs[ref]; ref != "" && !ok {
					t.Errorf("%s: a record of type %s names the blob %s, which is not there", work, r.Type, ref)
				}
			}
		}
		records = append(records, j.Records...)
	}
	if left, err := Unfinished(out); err != nil || len(bundles) > 0 && len(left) > 0 {
		t.Errorf("%v is called unfinished beside its bundle, %v", left, err)
	}
	intended := map[string]bool{}
	for _, r := range records {
		if r.Type == RecordIntent {
			intended[strings.TrimPrefix(r.CallKey, "sha256:")] = true
		}
	}
	for _, path := range glob("called-*") {
		if key := strings.TrimPrefix(filepath.Base(path), "called-"); !intended[key] {
			t.Errorf("call %s was made and no journal knows of it", key)
		}
	}
}

// readIfThere reads a file that a process may not have begun before it was killed.
func readIfThere(t *testing.T, dir, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if ignoreMissing(err) != nil {
		t.Fatal(err)
	}
	return data
}
