package results

import "maps"

// doubts counts the calls of a journal that were announced and of which nothing tells what came of them: nobody knows whether they were
// made, and are billed. One that is made again is another call: it has an outcome of its own.
type doubts struct {
	open   map[string]string // the role of durable calls that were announced and have no outcome, by call key
	tries  int               // of which it was said what is done about them
	others map[doubted]bool  // those of another execution
	paid   map[string]int    // calls of this execution besides of which an outcome tells that they may have to be paid for, by role
}

// doubted is a try of another execution.
type doubted struct {
	from ExecutionID
	key  string
}

// take reads one record.
func (d *doubts) take(r *Record) {
	if d.open == nil {
		*d = doubts{open: map[string]string{}, others: map[doubted]bool{}, paid: map[string]int{}}
	}
	switch {
	case r.Type == RecordInDoubt && r.From != "":
		d.others[doubted{r.From, r.CallKey}] = true
	case r.Type == RecordInDoubt:
		d.tries++
		delete(d.open, r.CallKey)
	case r.Type == RecordIntent && r.Durable && r.From == "":
		if d.open[r.CallKey] = r.Role; r.Role == "" { // the journal is older than these names
			d.paid[""]++
		}
	case r.Type == RecordResult || r.Type == RecordFailure:
		if role, ok := d.open[r.CallKey]; ok && !r.Unmade && r.Spent.Calls > 0 {
			d.paid[role]++
		}
		delete(d.open, r.CallKey)
	}
}

// count returns how many there are.
func (d *doubts) count() int { return len(d.open) + d.tries + len(d.others) }

// Bill is what the journals of an execution tell of its own calls.
type Bill struct {
	paid      map[string]int
	InDoubt   int // calls that were announced and of which nothing tells what came of them, those among them that were made again
	Elsewhere int // calls in doubt of other executions, that were made again here
}

// Paid counts the calls to the backends in some roles of which an outcome tells that they may have to be paid for.
func (b *Bill) Paid(roles []string) (n int) {
	for _, role := range roles {
		n += b.paid[role]
	}
	return n
}

func (d *doubts) bill() Bill {
	return Bill{paid: maps.Clone(d.paid), InDoubt: len(d.open) + d.tries, Elsewhere: len(d.others)}
}

func (j *Journal) doubts() (d doubts) {
	for i := range j.Records {
		d.take(&j.Records[i])
	}
	return d
}

// Bill returns what the journal tells of the calls of its own execution.
func (j *Journal) Bill() Bill {
	d := j.doubts()
	return d.bill()
}

// InDoubt counts the calls that were announced and of which nothing tells what came of them, those among them that were made again, and those
// of other executions that were made again here.
func (j *Journal) InDoubt() int {
	d := j.doubts()
	return d.count()
}

// Bill returns what the journal of the case tells so far, as [Journal.Bill] does.
func (w *CaseWriter) Bill() Bill {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.doubts.bill()
}

// InDoubt counts the calls of the case that were announced and of which nothing tells what came of them, as [Journal.InDoubt] does.
func (w *CaseWriter) InDoubt() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.doubts.count()
}

// doubt takes note of what is in doubt of a case that has no bundle yet.
func (e *Execution) doubt(name string, b Bill) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.doubts == nil {
		e.doubts = map[string]Bill{}
	}
	e.doubts[name] = b
}

// Doubts counts the calls in doubt of the cases that have no bundle, those of other executions that were made again among them: elsewhere.
func (e *Execution) Doubts() (n, elsewhere int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, of := range e.doubts {
		n, elsewhere = n+of.InDoubt+of.Elsewhere, elsewhere+of.Elsewhere
	}
	return n, elsewhere
}
