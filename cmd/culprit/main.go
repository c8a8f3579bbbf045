// Command culprit runs a substitution matrix over a retrieval-augmented generation pipeline and names the stage that broke.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"golang.org/x/term"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/embedded"
)

func main() { os.Exit(culprit()) }

func culprit() int {
	ctx, drain, stop := interrupts(context.Background())
	defer stop()
	registry, err := adapters.NewRegistry(embedded.Factory())
	if err != nil {
		fmt.Fprintln(os.Stderr, "culprit:", err)
		return exitInternal
	}
	a := &app{
		out: os.Stdout, err: os.Stderr, env: os.Getenv, registry: registry, drain: drain,
		outIsTerminal: term.IsTerminal(int(os.Stdout.Fd())), errIsTerminal: term.IsTerminal(int(os.Stderr.Fd())), width: 100,
	}
	if w, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil && w >= 60 {
		a.width = min(w, 140)
	}
	return a.main(ctx, os.Args[1:])
}

// interrupts turns the first interrupt into a drain, and the second into a cancelled context. stop waits for its goroutine.
func interrupts(parent context.Context) (ctx context.Context, drain <-chan struct{}, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	draining, done := make(chan struct{}), make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		defer close(done)
		for n := 0; n < 2; n++ {
			select {
			case <-ctx.Done():
				return
			case <-signals:
			}
			if n == 0 {
				close(draining)
			}
		}
		cancel()
	}()
	return ctx, draining, func() { signal.Stop(signals); cancel(); <-done }
}

// app is the program with everything from outside handed in: nothing else reads the process's streams or environment.
type app struct {
	out, err      io.Writer
	env           func(string) string
	registry      *adapters.Registry
	drain         <-chan struct{}
	outIsTerminal bool
	errIsTerminal bool
	width         int
}

// Exit codes that are not a verdict's; culprit help exit-codes prints the table.
const (
	exitOK          = 0
	exitInternal    = 1
	exitUsage       = 2
	exitEnvironment = 5
	exitInterrupted = 130
)

// exitError carries an exit code to the top, with nothing more to say where err is nil.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func usage(format string, args ...any) error {
	return &exitError{code: exitUsage, err: fmt.Errorf(format, args...)}
}

// main runs one command line and returns its exit code.
func (a *app) main(ctx context.Context, args []string) int {
	root := a.root()
	root.SetArgs(args)
	root.SetOut(a.out)
	root.SetErr(a.err)
	err := root.ExecuteContext(ctx)
	var exit *exitError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, context.Canceled):
		a.complain(errors.New("cancelled; the bundles of cases that were finished are kept"))
		return exitInterrupted
	case errors.As(err, &exit):
		if exit.err != nil {
			a.complain(exit.err)
		}
		return exit.code
	}
	a.complain(err)
	return exitInternal
}

// cacheDir is where a store that can be made again is kept.
func (a *app) cacheDir() (string, error) {
	if dir := a.env("CULPRIT_CACHE"); dir != "" {
		return dir, nil
	}
	for _, base := range []struct{ variable, below string }{{"XDG_CACHE_HOME", "culprit"}, {"HOME", ".cache/culprit"}, {"LocalAppData", "culprit"}} {
		if dir := a.env(base.variable); dir != "" {
			return filepath.Join(dir, filepath.FromSlash(base.below)), nil
		}
	}
	return "", usage("no folder for the cache: set CULPRIT_CACHE")
}

// colour reports whether the answer may be coloured.
func (a *app) colour() bool {
	return a.outIsTerminal && a.env("NO_COLOR") == "" && a.env("TERM") != "dumb"
}
