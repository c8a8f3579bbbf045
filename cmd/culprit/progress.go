package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/culprit-rag/culprit/crash"
	"github.com/culprit-rag/culprit/results/report"
	"github.com/culprit-rag/culprit/runner"
)

// progress shows one line on the terminal while work is long, and takes it away again. Elsewhere it writes a plain line every
// minute, so that a log shows that the work goes on; between JSON records, nothing.
type progress struct {
	w       io.Writer // nil: nothing is shown
	live    bool      // on a terminal
	every   time.Duration
	width   int
	mu      sync.Mutex
	shown   bool
	last    time.Time
	started time.Time
	step    *runner.Step  // the last one; nil before the first
	done    chan struct{} // closed by clear
	ticking sync.WaitGroup
}

// between two lines; work that ends within the first of them shows nothing.
const (
	redraw = 100 * time.Millisecond
	plain  = time.Minute
	tick   = 500 * time.Millisecond
)

func (a *app) progress() *progress {
	now := time.Now()
	p := &progress{last: now, started: now, width: a.err.width, live: a.err.terminal, every: plain}
	if p.live {
		p.every = redraw
	}
	if !a.json {
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
	done := make(chan struct{})
	p.done = done // clear forgets it, which the goroutine must not see
	p.ticking.Go(func() {
		var mistake error
		defer crash.Catch(&mistake) // a line that cannot be drawn ends no run that has paid for calls
		tick := time.NewTicker(tick)
		defer tick.Stop()
		for {
			select {
			case <-done:
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
	if time.Since(p.last) < p.every {
		return
	}
	s := p.step
	p.last, p.shown = time.Now(), p.live
	text := strconv.Itoa(s.Done)
	if s.Total > 0 {
		text += fmt.Sprintf(" of %d", s.Total)
	}
	if s.Unit != "" {
		text += " " + s.Unit
	}
	parts := []string{text}
	switch {
	case s.About > 0:
		parts = append(parts, fmt.Sprintf("%d of about %s", s.Generations, counted(max(s.About, s.Generations), "generation", "generations")))
	case s.Generations > 0:
		parts = append(parts, counted(s.Generations, "generation", "generations"))
	}
	parts = append(parts, time.Since(p.started).Round(time.Second).String())
	if !p.live {
		line(p.w, s.Phase+": "+strings.Join(parts, ", "))
		return
	}
	if s.Last != "" {
		parts = append(parts, s.Last)
	}
	// A line that wraps could not be taken away again.
	fmt.Fprintf(p.w, "\r\x1b[K%s", report.Fit(s.Phase+"  "+strings.Join(parts, "   "), max(p.width-1, 1)))
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
