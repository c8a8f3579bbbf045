package results

// doubts counts the calls of a journal that were announced and of which nothing tells what came of them: nobody knows whether they were
// made, and are billed. One that is made again is another call: it has an outcome of its own.
type doubts struct {
	open   map[string]bool  // durable calls that were announced and have no outcome, by call key
	tries  int              // of which it was said what is done about them
	others map[doubted]bool // those of another execution
}

// doubted is a try of another execution.
type doubted struct {
	from ExecutionID
	key  string
}

// take reads one record.
func (d *doubts) take(r *Record) {
	if d.open == nil {
		*d = doubts{open: map[string]bool{}, others: map[doubted]bool{}}
	}
	switch {
	case r.Type == RecordInDoubt && r.From != "":
		d.others[doubted{r.From, r.CallKey}] = true
	case r.Type == RecordInDoubt:
		d.tries++
		delete(d.open, r.CallKey)
	case r.Type == RecordIntent && r.Durable && r.From == "":
		d.open[r.CallKey] = true
	case r.Type == RecordResult || r.Type == RecordFailure:
		delete(d.open, r.CallKey)
	}
}

// count returns how many there are.
func (d *doubts) count() int { return len(d.open) + d.tries + len(d.others) }

// InDoubt counts the calls that were announced and of which nothing tells what came of them, those among them that were made again, and those
// of other executions that were made again here.
func (j *Journal) InDoubt() int {
	var d doubts
	for i := range j.Records {
		d.take(&j.Records[i])
	}
	return d.count()
}

// InDoubt counts the calls of the case that were announced and of which nothing tells what came of them, as [Journal.InDoubt] does.
func (w *CaseWriter) InDoubt() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.doubts.count()
}

// doubt takes note of what is in doubt of a case that has no bundle yet.
func (e *Execution) doubt(name string, n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.doubts == nil {
		e.doubts = map[string]int{}
	}
	e.doubts[name] = n
}

// Doubts counts the calls in doubt of the cases that have no bundle.
func (e *Execution) Doubts() (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, of := range e.doubts {
		n += of
	}
	return n
}
