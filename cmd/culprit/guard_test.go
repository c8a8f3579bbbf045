//go:build unix

package main

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/culprit-rag/culprit/runner"
)

type brokenWriter struct{ wrote chan struct{} }

func (w brokenWriter) Write([]byte) (int, error) {
	select {
	case w.wrote <- struct{}{}:
	default:
	}
	panic("as scripted")
}

// TestProgressMayFail: a mistake in the drawing of the line does not end the process.
func TestProgressMayFail(t *testing.T) {
	t.Parallel()
	w := brokenWriter{make(chan struct{}, 1)}
	p := &progress{w: w, live: true, every: 0}
	r := p.runner()
	if r == nil {
		t.Fatal("nothing is shown")
	}
	p.mu.Lock()
	p.step = &runner.Step{}
	p.mu.Unlock()
	<-w.wrote
	close(p.done)
	p.done = nil
	p.ticking.Wait()
}

// TestInterruptIsHeardBehindAMistake: where nobody can be told of the first interrupt, the second cancels all the same.
func TestInterruptIsHeardBehindAMistake(t *testing.T) { //nolint:paralleltest // it is the process that is interrupted
	ctx, drain, stop := interrupts(t.Context(), func() { panic("as scripted") })
	defer stop()
	for _, done := range []<-chan struct{}{drain, ctx.Done()} {
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Fatal("it is not heard")
		}
	}
}
