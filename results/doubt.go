package results

// doubts counts the calls of a journal that were announced and of which nothing tells what came back: nobody knows whether they are
// billed. One that was made again and came back then counts among the calls of its observation, with every try.
type doubts struct {
	tries  map[string]int   // in doubt, by call key
	told   map[string]bool  // by call key: the last try came back
	others map[doubted]bool // those of another execution
}

// doubted is a try of another execution.
type doubted struct {
	from ExecutionID
	key  string
}

// take reads one record.
func (d *doubts) take(r *Record) {
	if d.tries == nil {
		*d = doubts{tries: map[string]int{}, told: map[string]bool{}, others: map[doubted]bool{}}
	}
	switch {
	case r.Type == RecordInDoubt && r.From != "":
		d.others[doubted{r.From, r.CallKey}] = true
	case r.Type == RecordInDoubt:
		d.tries[r.CallKey]++
		d.told[r.CallKey] = false
	case r.Type == RecordResult || r.Type == RecordFailure:
		d.told[r.CallKey] = true
	}
}

// count returns how many there are.
func (d *doubts) count() int {
	n := len(d.others)
	for key, tries := range d.tries {
		if !d.told[key] {
			n += tries
		}
	}
	return n
}

// InDoubt counts the calls that were announced and of which nothing tells what came back, those of other executions among them that were
// made again here.
func (j *Journal) InDoubt() int {
	var d doubts
	for i := range j.Records {
		d.take(&j.Records[i])
	}
	return d.count()
}

// InDoubt counts the calls of the case that were announced and of which nothing tells what came back, as [Journal.InDoubt] does.
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
