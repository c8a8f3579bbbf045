package runner

import "sync"

// Progress is told how far the work is. Its Show is called on the goroutine that did the work, one call at a time.
type Progress struct {
	Show func(Step)

	mu     sync.Mutex
	step   Step
	asks   int // generations of the cases that have come to them
	asking int // these cases
}

// Step is how far the work is: Done of Total (0: unknown) in the current phase.
type Step struct {
	Phase       string
	Done, Total int
	Unit        string
	Generations int
	About       int    // generations in all, reckoned from the cases that have come to them; 0: not known yet
	Last        string // id of the case that was finished last
}

func (p *Progress) update(change func(*Step)) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.step)
	p.Show(p.step)
}

func (p *Progress) begin(phase string, total int) {
	p.update(func(s *Step) { s.Phase, s.Done, s.Total, s.Unit, s.Last = phase, 0, total, "", "" })
}

func (p *Progress) generated() { p.update(func(s *Step) { s.Generations++ }) }

// asksFor is told how many generations a case asks for, and whether it is one more.
func (p *Progress) asksFor(n int, another bool) {
	p.update(func(s *Step) {
		if p.asks += n; another {
			p.asking++
		}
		s.About = p.asks * max(s.Total, p.asking) / max(p.asking, 1)
	})
}

func (p *Progress) finished(id string) {
	p.update(func(s *Step) { s.Done, s.Last = s.Done+1, id })
}

// every is how many scanned items go by between two updates.
const every = 4096

func (p *Progress) scanned(n int) {
	if n%every == 0 {
		p.update(func(s *Step) { s.Done = n })
	}
}

// storeProgress is what a store that builds its own index reports to.
func (p *Progress) storeProgress() func(done, total int, unit string) {
	if p == nil {
		return nil
	}
	return func(done, total int, unit string) {
		p.update(func(s *Step) { s.Phase, s.Done, s.Total, s.Unit = "building the index", done, total, unit })
	}
}
