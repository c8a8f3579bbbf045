package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/culprit-rag/culprit/results/report"
	"github.com/culprit-rag/culprit/runner"
)

// progress shows one line on the terminal while work is long, and takes it away again. Nothing is shown elsewhere.
type progress struct {
	w       io.Writer // nil: nothing is shown
	width   int
	mu      sync.Mutex
	shown   bool
	last    time.Time
	started time.Time
	step    *runner.Step  // the last one; nil before the first
	done    chan struct{} // closed by clear
	ticking sync.WaitGroup
}

// between two redraws; work that ends within the first of them shows nothing.
const (
	redraw = 100 * time.Millisecond
	tick   = 500 * time.Millisecond
)

func (a *app) progress() *progress {
	now := time.Now()
	p := &progress{last: now, started: now, width: a.err.width}
	if a.err.terminal && !a.json {
		p.w = a.err
	}
	return p
}

// runner returns what the runner reports to, nil where nothing is shown. The line goes on counting seconds between two steps,
// so that a call that takes long does not look like one that hangs; clear ends it.
func (p *progress) runner() *runner.Progress {
	if p.w == nil {
		return nil
	}
	p.done = make(chan struct{})
	p.ticking.Go(func() {
		tick := time.NewTicker(tick)
		defer tick.Stop()
		for {
			select {
			case <-p.done:
				return
			case <-tick.C:
				p.again()
			}
		}
	})
	return &runner.Progress{Show: p.show}
}

func (p *progress) show(s runner.Step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step = &s
	p.draw()
}

// again draws the last step.
func (p *progress) again() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.step != nil {
		p.draw()
	}
}

// draw writes the line, unless it was written just now. The lock is held.
func (p *progress) draw() {
	if time.Since(p.last) < redraw {
		return
	}
	s := p.step
	p.last, p.shown = time.Now(), true
	text := fmt.Sprintf("%s  %d", s.Phase, s.Done)
	if s.Total > 0 {
		text += fmt.Sprintf(" of %d", s.Total)
	}
	if s.Unit != "" {
		text += " " + s.Unit
	}
	if s.Generations > 0 {
		text += "   " + counted(s.Generations, "generation", "generations")
	}
	text += "   " + time.Since(p.started).Round(time.Second).String()
	if s.Last != "" {
		text += "   " + s.Last
	}
	// A line that wraps could not be taken away again.
	fmt.Fprintf(p.w, "\r\x1b[K%s", report.Fit(text, max(p.width-1, 1)))
}

// above runs say where the line is not in its way; the next step draws the line again.
func (p *progress) above(say func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
	say()
}

// clear takes the line away for good.
func (p *progress) clear() {
	if p.done != nil {
		close(p.done)
		p.done = nil
		p.ticking.Wait()
	}
	p.above(func() {})
}
