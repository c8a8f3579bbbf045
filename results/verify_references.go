package results

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

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
	if len(p.Retrievals) > 0 && !slices.ContainsFunc(o.Retrievals, func(r matrix.Retrieval) bool { return r.Cell == p.Retrievals[0].Cell }) {
		v.report(retrievalsFile, 0, "the search %q is planned, and was neither observed nor is it %q", p.Retrievals[0].Cell, matrix.StatusNotRun)
	}
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
		if t.Status == matrix.StatusNotRun && (t.Rep > 1 || t.Cell == matrix.CellA) && !failed {
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

// checkCalls holds what was observed to the journal, both ways: a call of the journal is of this case, its key is its own, and its
// answer is the one that was observed.
func (v *verifier) checkCalls() {
	o := &v.bundle.Observations
	observed := map[string]bool{}
	for i := range o.Retrievals {
		observed[o.Retrievals[i].CallKey] = true
	}
	for i := range o.Judgements {
		observed[o.Judgements[i].CallKey] = true
	}
	if o.Rewriting != nil {
		observed[o.Rewriting.CallKey] = true
	}
	trials := map[string]*matrix.Trial{}
	for i := range o.Trials {
		t := &o.Trials[i]
		trials[t.CallKey], observed[t.CallKey] = t, true
	}
	planned := map[matrix.CellID]bool{}
	for _, s := range v.bundle.Plan.Retrievals {
		planned[s.Cell] = true
	}
	intents, outcomes := map[string]bool{}, map[string]int{} // the last, as a place
	for i, r := range v.journal.Records {
		switch r.Type {
		case RecordInDoubt:
			delete(outcomes, r.CallKey)
		case RecordIntent:
			delete(outcomes, r.CallKey) // what came of an earlier try is not what was observed
			intents[r.CallKey] = true
			if r.Call == nil {
				v.report(journalFile, i+1, "it announces no call")
				continue
			}
			if key, err := r.Call.Key(); err != nil || key != r.CallKey || r.Call.Case != v.manifest.Digests.Case {
				v.report(journalFile, i+1, "its call key is not that of its call, or it is a call of another case")
			}
			if t := trials[r.CallKey]; t != nil && t.By == "" && t.Sensitivity != matrix.Restricted && !slices.ContainsFunc(t.Prompt, func(m matrix.PromptMessage) bool { return m.Text.Restricted }) {
				if input, err := matrix.GenerateInput(t.Prompt, t.Seed); err != nil || r.Call.Input != input || r.Call.Cell != t.Cell || r.Call.Rep != t.Rep {
					v.report(journalFile, i+1, "call %s is not of the prompt and the seed of repetition %d of cell %q", r.CallKey, t.Rep, t.Cell)
				}
			}
			// What a control saw stands with the facts of the store, and what a probe counted may stand in another one's line.
			probe := planned[r.Call.Cell] && r.Call.Cell != matrix.CellC
			if !observed[r.CallKey] && !probe {
				v.report(journalFile, i+1, "call %s (%s of cell %q) was announced, and what came of it was not observed", r.CallKey, r.Call.Step, r.Call.Cell)
			}
		case RecordResult, RecordFailure:
			outcomes[r.CallKey] = i
		}
	}
	for i := range o.Trials {
		t := &o.Trials[i]
		at, came := outcomes[t.CallKey]
		switch from := trials[t.SameAs]; {
		case came && intents[t.CallKey]:
			v.checkAnswer(i+1, t, at)
		case from != nil:
			v.checkSame(i+1, t, from)
		case t.Cached:
			v.checkCached(i+1, t)
		case t.Attempts > 0 && !intents[t.CallKey] || t.SameAs != "" || t.Status != matrix.StatusNotRun && t.Status != matrix.StatusError: // which no try may have come of
			v.report(generationsFile, i+1, "%s does not tell of its call %s", journalFile, t.CallKey)
		}
	}
}

// checkAnswer holds a trial to what the journal says came of its call.
func (v *verifier) checkAnswer(line int, t *matrix.Trial, at int) {
	r := &v.journal.Records[at]
	where := fmt.Sprintf("%s:%d", journalFile, at+1)
	switch {
	case t.Status == matrix.StatusNotRun && r.Status == matrix.StatusError:
		return // it was to be tried again, and that was not done
	case t.SameAs != "" || t.Cached:
		v.report(generationsFile, line, "its answer is said to be from elsewhere, and %s tells of its call", where)
	}
	switch {
	case r.Status != t.Status:
		v.report(generationsFile, line, "its status is %q, and %s says %q", t.Status, where, r.Status)
		return
	case r.FinishReason != t.FinishReason:
		v.report(generationsFile, line, "its finish reason is %q, and %s says %q", t.FinishReason, where, r.FinishReason)
	}
	if !t.AnswerLossy && r.Response == t.Answer.Ref || t.Answer.Ref == "" && t.Status == matrix.StatusError {
		return
	}
	response, here := v.blob(r.Response)
	if !here || t.Answer.Withheld() {
		if !v.withheld[r.Response] && r.Response != "" || !t.AnswerLossy && t.Refusal.Ref == "" {
			v.report(generationsFile, line, "its answer is %s, and %s says %q", t.Answer.Ref, where, r.Response)
		}
		return
	}
	said := string(response)
	if said == "" {
		said = t.Refusal.Value // which has a field of its own
	}
	kept, lossy := matrix.ReadAnswer(said)
	switch {
	case r.ResponseCut:
		for range utf8.UTFMax - 1 { // a character may be cut in two
			if r, size := utf8.DecodeLastRuneInString(said); r == utf8.RuneError && size == 1 {
				said = said[:len(said)-1]
			}
		}
		kept, _ = matrix.ReadAnswer(said)
		if !strings.HasPrefix(t.Answer.Value, kept) {
			v.report(generationsFile, line, "its answer is %s, and does not begin as the response of %s", t.Answer.Ref, where)
		}
	case kept != t.Answer.Value || lossy && !t.AnswerLossy || !lossy && t.AnswerLossy && len(response) > 0:
		v.report(generationsFile, line, "its answer is %s, and %s says %q", t.Answer.Ref, where, r.Response)
	}
}

// blob reads a blob again, without its salt; ok is false where it is not here.
func (v *verifier) blob(ref string) (data []byte, ok bool) {
	if !v.has[ref] {
		return nil, false
	}
	name := refPath(ref)
	at := slices.IndexFunc(v.manifest.Files, func(f File) bool { return f.Path == name })
	data, err := v.files.read(name, v.manifest.Files[at].Size)
	if err != nil {
		v.report(name, 0, "%v", err)
		return nil, false
	}
	if v.manifest.Files[at].Restricted {
		data = data[min(saltSize, len(data)):]
	}
	return data, true
}

// checkSame holds a trial to the one whose answer it was given, because it would have asked the same.
func (v *verifier) checkSame(line int, t, from *matrix.Trial) {
	asks := func(t *matrix.Trial) (refs []string) {
		for _, m := range t.Prompt {
			refs = append(refs, m.Role, m.Text.Ref)
		}
		return refs
	}
	switch {
	case !v.bundle.Plan.Deterministic || t.Cell == matrix.CellAgain:
		v.report(generationsFile, line, "it is said to be the same as call %s, and by the plan each is asked", t.SameAs)
	case from.SameAs != "" || t.Seed != from.Seed || t.By == "" && !slices.Equal(asks(t), asks(from)):
		v.report(generationsFile, line, "it is said to be the same as call %s, which asked something else", t.SameAs)
	case t.Answer.Ref != from.Answer.Ref || t.Refusal.Ref != from.Refusal.Ref || t.AnswerLossy != from.AnswerLossy || t.Status != from.Status || t.Reason != from.Reason ||
		t.FinishReason != from.FinishReason || t.ModelReported != from.ModelReported || t.SystemFingerprint != from.SystemFingerprint:
		v.report(generationsFile, line, "it is said to be the same as call %s, which was answered otherwise", t.SameAs)
	}
}

// checkCached holds a trial to the answers that the experiment declares to be cached.
func (v *verifier) checkCached(line int, t *matrix.Trial) {
	faults := v.bundle.Experiment.Pipeline.Faults
	if faults == nil || !slices.ContainsFunc(faults.Cache, func(c matrix.CachedAnswer) bool {
		return t.Answer.Withheld() || c.Answer == t.Answer.Value
	}) {
		v.report(generationsFile, line, "its answer is said to be from production's cache, and the experiment declares no such one")
	}
}
