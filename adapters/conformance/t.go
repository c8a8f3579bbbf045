package conformance

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
)

// T is what a suite needs of whoever runs it: a test of Go, by package adaptertest, or [Run].
type T interface {
	Helper()
	// Run runs f as a part of its own and waits for it.
	Run(name string, f func(T)) bool
	// Context ends before the cleanups run.
	Context() context.Context
	Cleanup(f func())
	Error(args ...any)
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Skip(args ...any)
	Skipf(format string, args ...any)
}

// State is how a part of a suite ended.
type State string

// The states.
const (
	Passed  State = "passed"
	Failed  State = "failed"
	Skipped State = "skipped"
)

// Outcome is the end of one part of a suite.
type Outcome struct {
	Name  string // with the names of the parts that it is in: "filters/a list of values"
	State State
	Said  []string // what was expected and what came; why it was skipped
}

// Run runs a suite outside of a test of Go and returns how each of its parts ended, in order. A part that has parts of its own is
// listed only where it says something itself. A panic is a failure.
func Run(ctx context.Context, suite func(T)) []Outcome {
	var list []Outcome
	root := &part{ctx: ctx, all: &list}
	root.do(suite)
	if len(root.outcome.Said) > 0 {
		root.outcome.Name, root.outcome.State = "the suite", root.state()
		list = append(list, root.outcome)
	}
	return list
}

// part is a T that keeps what is said. It may be used by several goroutines, as a test of Go may.
type part struct {
	ctx context.Context
	all *[]Outcome

	mu       sync.Mutex
	outcome  Outcome
	failed   bool
	skipped  bool
	cleanups []func()
}

// do runs f on a goroutine of its own, so that Fatal and Skip can end it, and waits.
func (p *part) do(f func(T)) {
	ctx, cancel := context.WithCancel(p.ctx)
	p.ctx = ctx
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer p.clean()
		defer cancel()
		defer p.caught()
		f(p)
	}()
	<-done
}

func (p *part) caught() {
	if r := recover(); r != nil {
		at := strings.Split(string(debug.Stack()), "\n")
		p.say(true, fmt.Sprintf("panic: %v, at %s", r, strings.Join(at[:min(len(at), 12)], " ")))
	}
}

func (p *part) clean() {
	for len(p.cleanups) > 0 {
		last := len(p.cleanups) - 1
		f := p.cleanups[last]
		p.cleanups = p.cleanups[:last]
		f()
	}
}

func (p *part) say(failed bool, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed = p.failed || failed
	p.outcome.Said = append(p.outcome.Said, strings.TrimSpace(text))
}

func (p *part) state() State {
	switch {
	case p.failed:
		return Failed
	case p.skipped:
		return Skipped
	}
	return Passed
}

func (p *part) Helper() {}

func (p *part) Run(name string, f func(T)) bool {
	if err := p.ctx.Err(); err != nil {
		return false
	}
	if p.outcome.Name != "" {
		name = p.outcome.Name + "/" + name
	}
	sub := &part{ctx: p.ctx, all: p.all, outcome: Outcome{Name: name}}
	before := len(*p.all)
	sub.do(f)
	sub.outcome.State = sub.state()
	if parts := len(*p.all) > before; !parts || len(sub.outcome.Said) > 0 {
		*p.all = append(*p.all, sub.outcome)
	}
	return !sub.failed
}

func (p *part) Context() context.Context { return p.ctx }

func (p *part) Cleanup(f func()) { p.cleanups = append(p.cleanups, f) }

func (p *part) Error(args ...any) { p.say(true, fmt.Sprintln(args...)) }

func (p *part) Errorf(format string, args ...any) { p.say(true, fmt.Sprintf(format, args...)) }

func (p *part) Fatal(args ...any) {
	p.Error(args...)
	runtime.Goexit()
}

func (p *part) Fatalf(format string, args ...any) {
	p.Errorf(format, args...)
	runtime.Goexit()
}

func (p *part) Skip(args ...any) {
	p.say(false, fmt.Sprintln(args...))
	p.skipped = true
	runtime.Goexit()
}

func (p *part) Skipf(format string, args ...any) { p.Skip(fmt.Sprintf(format, args...)) }
