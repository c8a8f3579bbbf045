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
	mu      sync.Mutex
	w       io.Writer
	shown   bool
	last    time.Time
	started time.Time
}

// between two redraws; work that ends within the first of them shows nothing.
const redraw = 100 * time.Millisecond

func (a *app) progress() *progress {
	if !a.errIsTerminal {
		return &progress{}
	}
	now := time.Now()
	return &progress{w: a.err, last: now, started: now}
}

// runner returns what the runner reports to, nil where nothing is shown.
func (p *progress) runner() *runner.Progress {
	if p.w == nil {
		return nil
	}
	return &runner.Progress{Show: p.show}
}

func (p *progress) show(s runner.Step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.last) < redraw {
		return
	}
	p.last, p.shown = time.Now(), true
	line := fmt.Sprintf("%s  %d", s.Phase, s.Done)
	if s.Total > 0 {
		line += fmt.Sprintf(" of %d", s.Total)
	}
	if s.Unit != "" {
		line += " " + s.Unit
	}
	if s.Generations > 0 {
		line += fmt.Sprintf("   %d generations", s.Generations)
	}
	if s.Last != "" {
		line += "   " + report.Safe(s.Last)
	}
	fmt.Fprintf(p.w, "\r\x1b[K%s   %s", line, time.Since(p.started).Round(time.Second))
}

// clear takes the line away.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}
