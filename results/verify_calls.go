package results

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/culprit-rag/culprit/matrix"
)

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
	came := func(key string) (*Record, bool) {
		at, came := outcomes[key]
		return &v.journal.Records[at], came && intents[key]
	}
	v.checkOtherOutcomes(came)
}

// checkOtherOutcomes holds what is no trial to what the journal says came of its call.
func (v *verifier) checkOtherOutcomes(came func(key string) (*Record, bool)) {
	o := &v.bundle.Observations
	check := func(file string, line int, key string, status matrix.Status, told bool, response *matrix.Text) {
		r, is := came(key)
		switch {
		case !is && told && (status == matrix.StatusOK || status == matrix.StatusTruncated || status == matrix.StatusFiltered):
			v.report(file, line, "%s does not tell of its call %s", journalFile, key)
		case !is, status == matrix.StatusNotRun && r.Status == matrix.StatusError: // it was to be tried again, and that was not done
		case r.Status != status:
			v.report(file, line, "its status is %q, and by %s it is %q", status, journalFile, r.Status)
		case response != nil && !v.isResponse(r, *response):
			v.report(file, line, "its answer is %s, and %s says %q", response.Ref, journalFile, r.Response)
		}
	}
	if w := o.Rewriting; w != nil {
		answer := &w.Answer
		if w.Refused {
			answer = nil // which stands in a field of its own
		}
		check(rewritingFile, 1, w.CallKey, w.Status, true, answer)
	}
	for i := range o.Retrievals {
		r := &o.Retrievals[i]
		if r.By == "" { // what a service tells with its answer has the status of that
			told := r.Cell.Run() == matrix.RetrievalRun && r.SameAs == "" && r.Reason != matrix.SearchedNothing
			check(retrievalsFile, i+1, r.CallKey, r.Status, told, nil)
		}
	}
	for i := range o.Judgements {
		j := &o.Judgements[i]
		check(judgementsFile, i+1, j.CallKey, j.Status, j.SameAs == "", &j.Response)
	}
}

// isResponse reports whether an answer is what is kept of a response, as far as both are here.
func (v *verifier) isResponse(r *Record, answer matrix.Text) bool {
	if r.Response == answer.Ref || answer.Ref == "" && r.Status == matrix.StatusError {
		return true
	}
	response, here := v.blob(r.Response)
	if !here || answer.Withheld() {
		return v.withheld[r.Response] || answer.Withheld() && here
	}
	return r.ResponseCut || matrix.Clamp(string(response), matrix.MaxAnswer) == answer.Value
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
