package results

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/culprit-rag/culprit/matrix"
)

// TestFailingDisk fails at every step of writing one case, as a full disk does: half of the data is written, then nothing
// more. FORMAT.md, 3 and 5: there is no bundle, nothing is left behind, and the error says where.
func TestFailingDisk(t *testing.T) {
	t.Parallel()
	for at := 1; ; at++ {
		out := memoryDir(t)
		armed, step, failed := false, 0, ""
		e, err := newExecution(out, "travel-policy", testTime, func(kind, name string) error {
			if !armed {
				return nil
			}
			if step++; step >= at {
				if failed == "" {
					failed = kind + " " + name
				}
				return syscall.ENOSPC
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := writeCase(e, testBundle(t, "before", 0), false); err != nil {
			t.Fatal(err)
		}
		armed = true
		path, err := writeCase(e, testBundle(t, "full", 1), false)
		armed = false
		names := strings.Join(checkFolder(t, out), " ")
		switch {
		case err == nil:
			if names != "before full" {
				t.Fatalf("no error, and the bundles are %q", names)
			}
			if at < 25 {
				t.Fatalf("only %d steps were tried", at)
			}
			return
		case !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), `full`) || !strings.Contains(err.Error(), out):
			t.Errorf("at %s: the error names no place: %v", failed, err)
		case path == "" && names != "before" && !strings.HasPrefix(failed, "done 2026") && !strings.HasPrefix(failed, "remove .work"):
			t.Errorf("at %s: the bundles are %q", failed, names)
		}
		if left := workLeft(t, out); len(left) > 0 {
			t.Errorf("at %s: %v is left", failed, left)
		}
		if err := e.Finish(Summary{}); err != nil {
			t.Errorf("at %s: the summary can no longer be written: %v", failed, err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

// After a failed write of the journal nothing more is written to it, even where the disk has room again: what came next would
// merge with the half of a line that is there. So no call is made any more, and there is no bundle.
func TestJournalEndsWithAFailedWrite(t *testing.T) {
	t.Parallel()
	out := memoryDir(t)
	full := false
	e, err := newExecution(out, "travel-policy", testTime, func(step, name string) error {
		if full && step == stepWrite && name == journalFile {
			return syscall.ENOSPC
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	b := testBundle(t, "long-haul", 0)
	w, err := e.Case(&b.Case, "", "")
	if err != nil {
		t.Fatal(err)
	}
	intent := Intent{CallKey: "sha256:1", Attempt: 1, Durable: true} // so that Abort keeps the work
	if err := w.Intent(intent); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(e.workDir(w.name), journalFile)
	content := func() string {
		t.Helper()
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	whole := content()
	full = true
	if err := w.Note("torn"); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("got %v", err)
	}
	full = false
	torn := content()
	if len(torn) <= len(whole) || strings.HasSuffix(torn, "\n") {
		t.Fatalf("no half of a line is there: %q", torn)
	}
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"note", func() error { return w.Note("more") }},
		{"intent", func() error { return w.Intent(intent) }},
		{"outcome", func() error {
			return w.Outcome(Outcome{CallKey: "sha256:1", Attempt: 1, Status: matrix.StatusOK, Durable: true})
		}},
		{"plan", func() error { return w.Plan(&b.Plan) }},
		{"seal", func() error { _, err := w.Seal(b); return err }},
		{"abort", w.Abort},
	} {
		if err := step.do(); step.name != "abort" && !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: want the first error again, got %v", step.name, err)
		}
		if got := content(); got != torn {
			t.Fatalf("%s writes on: %q", step.name, strings.TrimPrefix(got, torn))
		}
	}
	if names := checkFolder(t, out); len(names) > 0 {
		t.Errorf("there are bundles: %v", names)
	}
	if j, err := decodeJournal([]byte(torn)); err != nil || len(j.Records) != 2 || j.Torn != len(torn)-len(whole) {
		t.Errorf("want the two records before it and %d bytes torn off, got %+v, %v", len(torn)-len(whole), j, err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

func workLeft(t *testing.T, out string) []string {
	t.Helper()
	var left []string
	err := filepath.WalkDir(filepath.Join(out, workFolder), func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err == nil && !entry.IsDir() {
			left = append(left, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return left
}

// A summary replaces the one before it whole or not at all.
func TestFailingSummaryKeepsTheOldOne(t *testing.T) {
	t.Parallel()
	full := false
	e, err := newExecution(t.TempDir(), "travel-policy", testTime, func(string, string) error {
		if full {
			return syscall.ENOSPC
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Finish(Summary{Name: "first"}); err != nil {
		t.Fatal(err)
	}
	full = true
	if err := e.Finish(Summary{Name: "second"}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("want no space, got %v", err)
	}
	s, err := ReadSummary(e.out, e.ID())
	if err != nil || s.Name != "first" {
		t.Errorf("got %+v, %v", s, err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// TestFullDisk writes cases to a real file system of one megabyte until it is full.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	if os.Getuid() != 0 {
		t.Skip("mounting a small file system needs root; TestFailingDisk stands in for it")
	}
	if msg, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", out).CombinedOutput(); err != nil {
		t.Skipf("cannot mount a small file system here (%v: %s); TestFailingDisk stands in for it", err, msg)
	}
	t.Cleanup(func() {
		if msg, err := exec.Command("umount", out).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, msg)
		}
	})
	e := newTestExecution(t, out)
	written := 0
	for ; written < 1000; written++ {
		if _, err := writeCase(e, testBundle(t, "case-"+strings.Repeat("i", written+1), 5), false); err != nil {
			if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "case-i") || !strings.Contains(err.Error(), out) {
				t.Errorf("got %v", err)
			}
			break
		}
	}
	if written == 0 || written == 1000 {
		t.Fatalf("%d cases were written to a megabyte", written)
	}
	if names := checkFolder(t, out); len(names) != written {
		t.Errorf("%d cases were written, and there are %v", written, names)
	}
	if left := workLeft(t, out); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
	// What was given up made room: a smaller case goes on.
	if _, err := writeCase(e, testBundle(t, "small", 0), false); err != nil && !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
}

func TestReadOnlyFolder(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := NewExecution(file, "x", testTime); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v", err)
	}
}

// Where the file system cannot be synced as a whole, a bundle is sealed when it was synced on its own, and its journal and blobs before it.
func TestWithoutSyncOfAll(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	synced, renamed := map[string]bool{}, false
	e, err := newExecution(t.TempDir(), "travel-policy", testTime, func(step, name string) error {
		mu.Lock()
		defer mu.Unlock()
		renamed = renamed || step == stepRename && strings.HasPrefix(name, "2026")
		if step == stepSync && !renamed {
			synced[name] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	e.sync = func(*os.File) error { return syscall.ENOSYS }
	path, err := writeCase(e, testBundle(t, "slow", 0), true)
	if err != nil {
		t.Fatal(err)
	}
	checkBundle(t, path)
	for _, name := range []string{sealFile, journalFile, packFile, "."} {
		if !synced[name] {
			t.Errorf("%s was not synced before the bundle had its name", name)
		}
	}
	if err := errors.Join(e.Finish(Summary{}), e.Close()); err != nil {
		t.Error(err)
	}
}

// Where the file system cannot be synced as a whole, every file and the folder is synced on its own, each once.
func TestSyncEach(t *testing.T) {
	t.Parallel()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := root.Close(); err != nil {
			t.Error(err)
		}
	}()
	var mu sync.Mutex
	var synced []string
	d := newDisk(root, func(step, name string) error {
		if step == stepSync {
			mu.Lock()
			defer mu.Unlock()
			synced = append(synced, name)
		}
		return nil
	})
	for _, name := range []string{"a", "b"} {
		if err := d.write(name, []byte(name)); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := d.syncEach(); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(synced)
	if want := []string{".", "a", "b"}; !slices.Equal(synced, want) {
		t.Errorf("want %v, got %v", want, synced)
	}
}
