package results

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
)

// ownFiles are the files of a bundle that are no blobs.
var ownFiles = []string{
	caseSourceFile, caseFile, experimentFile, pinsFile, planFile, journalFile, retrievalsFile, generationsFile, rewritingFile, judgementsFile,
	storeFile, environmentFile, featuresFile, evaluationFile,
}

// checkReferences follows every name in the bundle to what it names, and looks for what nothing names.
func (v *verifier) checkReferences() {
	for _, f := range v.manifest.Files {
		if blobRef(f.Path) == "" && !slices.Contains(ownFiles, f.Path) {
			v.report(f.Path, 0, "no bundle has a file of this name")
		}
	}
	if v.broken || v.journal == nil {
		return // what cannot be read would be missed everywhere
	}
	v.checkRestricted()
	v.checkBlobs()
	v.checkPlanned()
	v.checkReasons()
	v.checkCalls()
}

// checkBlobs holds the blobs to who names them.
func (v *verifier) checkBlobs() {
	by := map[string]string{} // who names a blob
	err := v.bundle.Observations.Texts(func(t *matrix.Text) error {
		by[t.Ref] = "the observations"
		return nil
	})
	if err != nil {
		v.report("", 0, "%v", err)
	}
	for i, r := range v.journal.Records {
		for _, ref := range []string{r.Request, r.Response} {
			if ref != "" && by[ref] == "" {
				by[ref] = fmt.Sprintf("%s:%d", journalFile, i+1)
			}
		}
	}
	for _, ref := range slices.Sorted(maps.Keys(by)) {
		if refPath(ref) == "" {
			v.report("", 0, "%s: %q is not a reference to a blob", by[ref], ref)
		} else if _, listed := v.has[ref]; !listed && !v.withheld[ref] {
			v.report(refPath(ref), 0, "%s needs it, and %s does not list it", by[ref], manifestFile)
		}
	}
	for _, ref := range slices.Sorted(maps.Keys(v.has)) {
		if by[ref] == "" {
			v.report(refPath(ref), 0, "nothing in the bundle names it")
		}
	}
}

// checkRestricted holds what is restricted to what the experiment declares: what may be withheld is not for the bundle to choose.
func (v *verifier) checkRestricted() {
	rules, o := v.bundle.Experiment.Sensitivity, &v.bundle.Observations
	if rules == nil {
		for _, f := range v.manifest.Files {
			if f.Restricted {
				v.report(f.Path, 0, "it is restricted, and the experiment declares no sensitivity")
			}
		}
	}
	for i := range o.Retrievals {
		r := &o.Retrievals[i]
		for _, hits := range [][]matrix.Hit{r.Candidates, r.Reranked} {
			for j := range hits {
				if h := &hits[j]; r.By == "" && h.Sensitivity != rules.Of(h.Access, h.Metadata) {
					v.report(retrievalsFile, i+1, "its item %q is called %q, and is %q by what the experiment declares", h.ID, h.Sensitivity, rules.Of(h.Access, h.Metadata))
				}
			}
		}
	}
	for i := range o.Trials {
		if t := &o.Trials[i]; t.By == "" && t.Sensitivity != rules.Prompt(t.Packed) || t.Status != matrix.StatusNotRun && t.AnswerSensitivity != rules.Answer(t.Sensitivity) {
			v.report(generationsFile, i+1, "it is called %q, and its answer %q, which does not follow from its context", t.Sensitivity, t.AnswerSensitivity)
		}
	}
	marked := o.Clone()
	unmark := func(t *matrix.Text) error { t.Restricted = false; return nil }
	err := errors.Join(marked.Texts(unmark), marked.Restrict().Texts(func(t *matrix.Text) error {
		if !t.Restricted && strings.HasPrefix(t.Ref, matrix.RestrictedRef) {
			return fmt.Errorf("text %s is restricted, and nothing that was observed is it that holds it", t.Ref)
		}
		return nil
	}))
	if err != nil {
		v.report("", 0, "%v", err)
	}
}

// checkOrder holds the trials to the order of the plan, and by repetition.
func (v *verifier) checkOrder() {
	place := map[matrix.CellID]int{}
	for i, c := range v.bundle.Plan.Cells {
		place[c.Cell] = i
	}
	trials := v.bundle.Observations.Trials
	for i := 1; i < len(trials); i++ {
		if a, b := &trials[i-1], &trials[i]; cmp.Or(cmp.Compare(place[a.Cell], place[b.Cell]), cmp.Compare(a.Rep, b.Rep)) > 0 {
			v.report(generationsFile, i+1, "repetition %d of cell %q stands behind repetition %d of cell %q, which is not the order of the plan", b.Rep, b.Cell, a.Rep, a.Cell)
		}
	}
}

// checkPlanned holds what was observed to the plan: each cell has trials, or one that says why it was not run.
func (v *verifier) checkPlanned() {
	p, o := &v.bundle.Plan, &v.bundle.Observations
	searches := map[matrix.CellID]bool{}
	for _, s := range p.Retrievals {
		searches[s.Cell] = true
	}
	cells := map[matrix.CellID]*matrix.PlannedCell{}
	for i := range p.Cells {
		c := &p.Cells[i]
		cells[c.Cell], searches[c.Cell] = c, true // a cell may have a retrieval of its own
	}
	keys, twice := map[string]bool{}, map[[2]string]bool{} // one call of a service is both a retrieval and a trial
	take := func(key, file string, line int) {
		if at := [2]string{file, key}; twice[at] {
			v.report(file, line, "call %s was observed twice", key)
		} else {
			keys[key], twice[at] = true, true
		}
	}
	if (o.Rewriting != nil) != (p.Rewrite != nil) {
		v.report(rewritingFile, 0, "it is there and the plan has no rewriting, or the other way round")
	}
	if o.Rewriting != nil {
		take(o.Rewriting.CallKey, rewritingFile, 1)
	}
	for i := range o.Retrievals {
		r := &o.Retrievals[i]
		if !searches[r.Cell] {
			v.report(retrievalsFile, i+1, "its cell %q is not in the plan", r.Cell)
		}
		take(r.CallKey, retrievalsFile, i+1)
	}
	switch at := slices.IndexFunc(o.Retrievals, func(r matrix.Retrieval) bool { return len(p.Retrievals) > 0 && r.Cell == p.Retrievals[0].Cell }); {
	case len(p.Retrievals) > 0 && at < 0:
		v.report(retrievalsFile, 0, "the search %q is planned, and was neither observed nor is it %q", p.Retrievals[0].Cell, matrix.StatusNotRun)
	case at > 0:
		v.report(retrievalsFile, at+1, "the search %q stands behind those that are made of it", o.Retrievals[at].Cell)
	}
	v.checkOrder()
	type trial struct {
		cell matrix.CellID
		rep  int
	}
	trials, seen := map[trial]bool{}, map[matrix.CellID]bool{}
	failed := slices.ContainsFunc(v.journal.Records, func(r Record) bool { return r.Type == RecordFailure || r.Type == RecordInDoubt })
	bad := func(status matrix.Status) bool { return status != matrix.StatusOK }
	failed = failed || v.manifest.Status != StatusComplete || o.Rewriting != nil && bad(o.Rewriting.Status) ||
		slices.ContainsFunc(o.Retrievals, func(r matrix.Retrieval) bool { return bad(r.Status) }) ||
		slices.ContainsFunc(o.Trials, func(t matrix.Trial) bool { return t.Status != matrix.StatusNotRun && bad(t.Status) })
	if is := StatusOf(o); v.manifest.Status == StatusComplete && is != StatusComplete {
		v.report(manifestFile, 0, "its status is %q, and calls are there that were not made: it is %q", v.manifest.Status, is)
	}
	for i := range o.Trials {
		t := &o.Trials[i]
		switch c := cells[t.Cell]; {
		case c == nil:
			v.report(generationsFile, i+1, "its cell %q is not in the plan", t.Cell)
		case trials[trial{t.Cell, t.Rep}]:
			v.report(generationsFile, i+1, "repetition %d of cell %q was observed twice", t.Rep, t.Cell)
		case t.Rep < 1 || t.Rep > c.Repeats:
			v.report(generationsFile, i+1, "repetition %d of cell %q, of which %d are planned", t.Rep, t.Cell, c.Repeats)
		}
		if t.Status == matrix.StatusNotRun && (t.Rep > 1 || t.Cell == matrix.CellA) && !failed && !elsewhere(t.Reason) && t.Reason != matrix.NotRunSparing {
			v.report(generationsFile, i+1, "repetition %d of cell %q is %q (%s), and no call had failed", t.Rep, t.Cell, t.Status, t.Reason)
		}
		if t.Retrieval != "" && !keys[t.Retrieval] {
			v.report(generationsFile, i+1, "its retrieval %s was not observed", t.Retrieval)
		}
		trials[trial{t.Cell, t.Rep}], seen[t.Cell] = true, true
		take(t.CallKey, generationsFile, i+1)
	}
	for i := range o.Trials {
		if t := &o.Trials[i]; t.Rep > 1 && !trials[trial{t.Cell, t.Rep - 1}] {
			v.report(generationsFile, i+1, "it is repetition %d of cell %q, and repetition %d was not observed", t.Rep, t.Cell, t.Rep-1)
		}
		if t := &o.Trials[i]; t.SameAs != "" && !keys[t.SameAs] {
			v.report(generationsFile, i+1, "it is said to be the same as call %s, which was not observed", t.SameAs)
		}
	}
	for _, c := range p.Cells {
		if !seen[c.Cell] && c.Condition != matrix.IfDecides {
			v.report(generationsFile, 0, "cell %q is planned, and was neither observed nor is it %q", c.Cell, matrix.StatusNotRun)
		}
	}
	for i := range o.Judgements {
		j := &o.Judgements[i]
		if j.Rep > 0 && !trials[trial{j.Cell, j.Rep}] || !seen[j.Cell] {
			v.report(judgementsFile, i+1, "it judges repetition %d of cell %q, which was not observed", j.Rep, j.Cell)
		}
		take(j.CallKey, judgementsFile, i+1)
	}
}
