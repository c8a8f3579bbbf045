package main

import (
	"context"
	"errors"
	"io"
	"strconv"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/crash"
	"github.com/culprit-rag/culprit/experiments"
	"github.com/culprit-rag/culprit/results"
	"github.com/culprit-rag/culprit/results/report"
	"github.com/culprit-rag/culprit/runner"
)

// app is the program with everything from outside handed in. Only [interrupts] looks at the process itself.
//
//   - out carries the answer, as it can be piped on; with --json it is one versioned object.
//   - err carries progress (on a terminal only), warnings and errors; with --json each is one object on a line.
type app struct {
	out, err stream
	env      func(string) string
	registry *adapters.Registry
	keys     *adapters.Secrets // that were read so far; see secrets
	json     bool              // the command line asks for JSON
}

// stream is where something is written, and what is known of the place.
type stream struct {
	io.Writer
	terminal bool
	width    int // columns of the terminal
}

// sticky keeps the first error of a writer and writes nothing after it, so that a command need not look at every print:
// main looks at the end.
type sticky struct {
	w   io.Writer
	err error
}

func (s *sticky) Write(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.w.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	s.err = err
	return n, err
}

// Exit codes; culprit help exit-codes prints the table.
const (
	exitOK          = 0
	exitInternal    = 1
	exitUsage       = 2
	exitHeld        = 4
	exitEnvironment = 5
	exitInterrupted = 130
)

// main runs one command line and returns its exit code.
func (a *app) main(ctx context.Context, args []string) int {
	answer := &sticky{w: a.out.Writer}
	keys := a.secrets()
	out, errs := adapters.NewWriter(answer, keys.Redactor), adapters.NewWriter(a.err.Writer, keys.Redactor)
	a.out.Writer, a.err.Writer = out, errs
	defer func() { _ = errs.Flush() }() // nobody is left to be told
	root := a.root()                    //nolint:contextcheck // a command gets its context when it runs; local files are read without one
	a.json = asksForJSON(args)
	root.SetArgs(args)
	root.SetOut(a.out)
	root.SetErr(a.err)
	err := crash.Guard(func() error { return root.ExecuteContext(ctx) })()
	code := exitCode(err)
	_ = out.Flush() // answer keeps the error
	if answer.err != nil {
		// The answer is torn, whatever it was. A code that says more than "failed" is kept.
		err = writeError{answer.err}
		if code == exitOK {
			code = exitInternal
		}
	}
	if err != nil {
		a.complain(err, code)
	}
	return code
}

// writeError says that the answer did not get out.
type writeError struct{ error }

func (e writeError) Error() string { return "writing the answer: " + e.error.Error() }
func (e writeError) Unwrap() error { return e.error }

// exitCode is the one place that turns an error into an exit code.
func exitCode(err error) int {
	var finished *finishedError
	var usage *usageError
	var broken *brokenError
	var backend *adapters.Error
	var crashed *crash.Error
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &crashed):
		return exitInternal
	case errors.As(err, &finished):
		return finished.code
	case errors.As(err, &usage), errors.As(err, &broken):
		return exitUsage
	case errors.Is(err, context.Canceled), errors.Is(err, runner.ErrDrained):
		return exitInterrupted
	case errors.Is(err, runner.ErrBudget), errors.Is(err, results.ErrInDoubt):
		return exitHeld
	case errors.As(err, &backend) && backend.Kind == adapters.KindInvalid:
		return exitUsage // a setting that only the opened backend could refuse
	case errors.As(err, &backend):
		return exitEnvironment
	}
	return exitInternal
}

// finishedError carries the exit code of work that went to its end and has said everything already.
type finishedError struct{ code int }

func (e *finishedError) Error() string { return "" }

// finished returns nil for the code 0.
func finished(code int) error {
	if code == exitOK {
		return nil
	}
	return &finishedError{code}
}

// usageError is a mistake in the command line, or in what it names.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

// brokenError is an input with mistakes.
type brokenError struct {
	problems experiments.Problems
	files    int // that were read
}

func (e *brokenError) Error() string {
	return countProblems(e.problems, e.files) + ". Nothing was run."
}

const (
	defaultWidth = 110
	minWidth     = 50
	maxWidth     = 140
)

// columns is what COLUMNS asks for, 0 where it asks for nothing.
func (a *app) columns() int {
	n, err := strconv.ParseUint(a.env("COLUMNS"), 10, 16)
	if err != nil {
		return 0
	}
	return int(n)
}

// width is how many columns a screen has: COLUMNS, or else those of the terminal, or else of a common one.
func (a *app) width() int {
	switch asked := a.columns(); {
	case asked > 0:
		return max(asked, minWidth)
	case !a.out.terminal:
		return defaultWidth
	}
	return min(max(a.out.width, minWidth), maxWidth)
}

// whole reports whether lines may be as long as they like: nobody said how wide the page is.
func (a *app) whole() bool { return !a.out.terminal && a.columns() == 0 }

// drawing says how a screen about a folder of results is drawn.
func (a *app) drawing(results string) report.Options {
	o := report.Options{Color: a.out.terminal && a.env("NO_COLOR") == "" && a.env("TERM") != "dumb", Width: a.width(), Whole: a.whole()}
	if results != defaultResults {
		o.Results = results
	}
	return o
}
