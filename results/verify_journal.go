package results

import (
	"errors"
	"maps"
	"slices"
)

// readJournal holds the journal to its chain and its end.
func (v *verifier) readJournal() {
	data, ok := v.data[journalFile]
	if !ok {
		return
	}
	j, err := decodeJournal(data)
	switch {
	case errors.Is(err, ErrJournal):
		v.report(journalFile, 0, "%v", err)
		return
	case err != nil: // of another version
		v.reportAs(stepContents, journalFile, 0, "%v", err)
		return
	}
	m := v.manifest
	if j.Torn > 0 || j.Head != m.Journal.Head || len(j.Records) != m.Journal.Records {
		v.report(journalFile, 0, "it has %d records with the head %s, and %s lists %d with %s", len(j.Records), j.Head, manifestFile, m.Journal.Records, m.Journal.Head)
		return
	}
	v.journal = j
	type call struct {
		key     string
		attempt int
	}
	open := map[call]int{} // announced, and nothing tells what came of it
	durable := map[call]bool{}
	var plan Record
	for i, r := range j.Records {
		line := i + 1
		if (r.Type == RecordOpen) != (i == 0) || (r.Type == RecordClose) != (line == len(j.Records)) {
			v.report(journalFile, line, "a record %q stands here: it begins with %q and ends with %q, and holds each once", r.Type, RecordOpen, RecordClose)
		}
		switch r.Type {
		case RecordOpen:
			if r.Execution != m.ExecID || r.Case != m.CaseID || r.CaseDigest != "" && r.CaseDigest != m.Digests.Case {
				v.report(journalFile, line, "it is of case %q in execution %q, and %s of %q in %q", r.Case, r.Execution, manifestFile, m.CaseID, m.ExecID)
			}
		case RecordPlan:
			plan = r
		case RecordIntent:
			c := call{r.CallKey, r.Attempt}
			if open[c]++; durable[c] { // another is made again by whoever goes on
				v.report(journalFile, line, "try %d of call %s is announced twice", r.Attempt, r.CallKey)
			}
			durable[c] = r.Durable
		case RecordResult, RecordFailure:
			c := call{r.CallKey, r.Attempt}
			if open[c] == 0 {
				v.report(journalFile, line, "an outcome of try %d of call %s that no record announces", r.Attempt, r.CallKey)
			}
			delete(open, c)
		case RecordClose:
			if r.Text != m.Status {
				v.report(journalFile, line, "it was closed as %q, and %s says %q", r.Text, manifestFile, m.Status)
			}
		}
	}
	if plan.Plan != m.Digests.Plan {
		v.report(journalFile, 0, "its last plan is %q, and %s lists %s", plan.Plan, manifestFile, m.Digests.Plan)
	}
	if p := &v.bundle.Plan; !v.broken && (plan.Generations != p.Generations() || plan.Retrievals != len(p.Retrievals)) {
		v.report(journalFile, 0, "its last plan has %d generations and %d retrievals, and %s %d and %d", plan.Generations, plan.Retrievals, planFile, p.Generations(), len(p.Retrievals))
	}
	v.checkBegun()
	v.InDoubt = len(open)
}

// checkBegun holds the journal to the pins that it was begun with, and what it took from another execution to the observations that say so.
func (v *verifier) checkBegun() {
	if v.broken {
		return
	}
	pins, err := begunPins(&v.bundle)
	if len(v.journal.Records) == 0 {
		return // which was reported
	}
	if begun := v.journal.Records[0].PinsDigest; err != nil || begun != "" && begun != pins {
		v.report(journalFile, 1, "it was begun with the pins %s, and what %s says was declared is %s", begun, pinsFile, pins)
	}
	o := &v.bundle.Observations
	here := map[string]bool{} // calls that were made in this execution
	if o.Rewriting != nil {
		here[o.Rewriting.CallKey] = !o.Rewriting.FromJournal
	}
	for i := range o.Retrievals {
		here[o.Retrievals[i].CallKey] = !o.Retrievals[i].FromJournal
	}
	for i := range o.Trials {
		here[o.Trials[i].CallKey] = !o.Trials[i].FromJournal
	}
	for i := range o.Judgements {
		here[o.Judgements[i].CallKey] = !o.Judgements[i].FromJournal
	}
	from := map[string]int{} // the place of the last intent or outcome of each call, where it was taken from another execution
	for i, r := range v.journal.Records {
		switch {
		case r.Type == RecordInDoubt: // of another execution: it is made again here
		case r.From == "":
			delete(from, r.CallKey)
		case r.From == v.manifest.ExecID:
			v.report(journalFile, i+1, "call %s is said to be of another execution, and names this one", r.CallKey)
		default:
			from[r.CallKey] = i
		}
	}
	for _, key := range slices.Sorted(maps.Keys(from)) {
		if here[key] {
			v.report(journalFile, from[key]+1, "call %s is said to be of execution %q, and was made in this one", key, v.journal.Records[from[key]].From)
		}
	}
}
