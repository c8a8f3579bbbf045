package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/culprit-rag/culprit/crash"
)

// interruptSignals are what a person or a supervisor stops a program with.
func interruptSignals() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM} }

// interrupts turns the first interrupt into a drain, which told is called for, and the second into a cancelled context; a
// third finds the process as it is without us. A command that does not call it is ended by the first. stop waits for the
// goroutine that listens.
func interrupts(parent context.Context, told func()) (ctx context.Context, drain <-chan struct{}, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	draining, done := make(chan struct{}), make(chan struct{})
	signal.Notify(signals, interruptSignals()...)
	go func() {
		defer close(done)
		defer signal.Stop(signals)
		for n := range 2 {
			select {
			case <-ctx.Done():
				return
			case <-signals:
			}
			if n == 0 {
				close(draining)
				_ = crash.Guard(func() error { told(); return nil })() // the second interrupt is still to be heard
			}
		}
		cancel()
	}()
	return ctx, draining, func() { cancel(); <-done }
}
