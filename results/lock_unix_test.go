//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package results

import (
	"errors"
	"syscall"
	"testing"
)

// A lock that was given back is free, also while a process that is just being started still holds the open folder.
func TestLockIsGivenBack(t *testing.T) {
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
	held, err := syscall.Dup(int(w.lock.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(held) }()
	if _, err := e.Case(&b.Case, "", ""); !errors.Is(err, ErrLocked) {
		t.Errorf("want locked, got %v", err)
	}
	if err := w.Abort(); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Case(&b.Case, "", ""); !errors.Is(err, ErrUnfinished) {
		t.Errorf("want unfinished, got %v", err)
	}
	if left, err := Unfinished(e.out); err != nil || len(left) != 1 {
		t.Errorf("unfinished %q, %v", left, err)
	}
}
