package results

import (
	"reflect"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

// checkTrials holds each trial to its cell: context, prompt, seed and key.
func (v *verifier) checkTrials() {
	b := &v.bundle
	o, e := &b.Observations, &b.Experiment
	plain := e.Pipeline.WithReferencePrompt()
	prompter, mistakes := matrix.NewPrompter(&e.Pipeline)
	reference, more := matrix.NewPrompter(&plain)
	if len(mistakes)+len(more) > 0 {
		return // of which nothing could be made
	}
	retrievals := map[string]*matrix.Retrieval{}
	for i := range o.Retrievals {
		retrievals[o.Retrievals[i].CallKey] = &o.Retrievals[i]
	}
	for i := range o.Trials {
		t, line := &o.Trials[i], i+1
		cell, planned := b.Plan.Cell(t.Cell)
		if !planned {
			continue // which was reported
		}
		v.checkSettings(generationsFile, line, setting{"seed", t.Seed, e.Pipeline.Generate.Seed + int64(t.Rep-1)})
		for j := range t.Packed {
			if t.Packed[j].Position != j+1 {
				v.report(generationsFile, line, "item %q stands in place %d of its context, and has the position %d", t.Packed[j].ID, j+1, t.Packed[j].Position)
			}
		}
		if t.By != "" {
			v.checkServed(line, t)
			continue
		}
		if e.Backends.Generator == nil {
			continue
		}
		v.checkContext(line, t, &cell, retrievals[t.Retrieval])
		withheld := slices.ContainsFunc(t.Packed, func(p matrix.Packed) bool { return p.Text.Withheld() })
		if by := prompter; !withheld && (t.Status != matrix.StatusNotRun || len(t.Prompt) > 0) {
			if t.Cell.ReferencePrompt() {
				by = reference
			}
			v.checkPrompt(generationsFile, line, t.Prompt, by.Messages(&b.Case, t.Packed))
		}
		if v.nameable(t.CallKey, t.Prompt) {
			v.checkKey(generationsFile, line, t.CallKey, matrix.Call{
				Case: v.manifest.Digests.Case, Cell: t.Cell, Step: "generate", Rep: t.Rep, Provider: e.Backends.Generator.Adapter, Model: t.ModelRequested, Params: cell.Settings,
			}, func() (string, error) { return matrix.GenerateInput(t.Prompt, t.Seed) })
		}
	}
}

// nameable reports whether the key of a call follows from its prompt: that of a call that was made of restricted texts is random.
func (v *verifier) nameable(key string, prompt []matrix.PromptMessage) bool {
	return !v.restricted[key] && !slices.ContainsFunc(prompt, func(m matrix.PromptMessage) bool { return m.Text.Restricted })
}

// checkServed holds a call of the user's own service to what it says was asked. A context that the service was given is told by itself.
func (v *verifier) checkServed(line int, t *matrix.Trial) {
	b := &v.bundle
	call, made := v.calls[t.CallKey]
	if !made || t.Cell.Run() != matrix.Production || v.restricted[t.CallKey] {
		return
	}
	p := &b.Experiment.Pipeline
	filter := p.Search.Filter.Resolve(b.Case.As)
	call.Cell, call.Step, call.Rep = t.Cell, "generate", t.Rep
	v.checkKey(generationsFile, line, t.CallKey, call, func() (string, error) {
		return matrix.ServiceInput(&b.Case, filter, p.Search.K, nil, &t.Seed)
	})
}

// checkContext follows each item of a context to where it is from.
func (v *verifier) checkContext(line int, t *matrix.Trial, cell *matrix.PlannedCell, from *matrix.Retrieval) {
	b := &v.bundle
	o, faults := &b.Observations, matrix.Faults{}
	if b.Experiment.Pipeline.Faults != nil {
		faults = *b.Experiment.Pipeline.Faults
	}
	if from == nil && len(o.Retrievals) > 0 {
		from = &o.Retrievals[0]
	}
	var kept []matrix.Hit
	if from != nil {
		kept = from.Kept()
	}
	taken := map[int]bool{} // ranks that are packed or dropped
	for i := range t.Packed {
		p := &t.Packed[i]
		taken[p.Rank] = true
		var want *matrix.Hit
		switch {
		case p.Gold && (v.isGold(p.ID, p.Text) || t.Swapped != nil && cell.Item > 0 && i == cell.Item-1):
			continue
		case p.Rank > len(kept):
		case p.Rank > 0 && !p.Gold:
			want = &kept[p.Rank-1]
		case p.ID == t.Irrelevant && p.ID != "", slices.Contains(t.Seeded, p.ID):
			if want = candidate(o, p.ID); want == nil || want.Text.Ref == "" {
				continue // of the store, of which no more is kept
			}
		case (t.Cell.Variant() == matrix.WithSuperseded || t.Cell.Variant() == matrix.WithDistractor) && declared(&b.Case, p), served(o, p):
			continue
		}
		switch {
		case want == nil:
			v.report(generationsFile, line, "item %q of its context is of no retrieval, no evidence and nothing else that the cell puts in", p.ID)
		case faults.Relabel[want.ID] == p.ID && p.ID != "" && sameText(p, want):
		case p.ID != want.ID || p.Source != want.Source || p.Revision != want.Revision || !sameText(p, want):
			v.report(generationsFile, line, "item %q of its context is not the item %q that was retrieved", p.ID, want.ID)
		}
	}
	for _, d := range t.Dropped {
		if taken[d.Rank] = true; d.Rank < 1 || d.Rank > len(kept) || kept[d.Rank-1].ID != d.ID {
			v.report(generationsFile, line, "item %q is said to be left out, and was not retrieved in rank %d", d.ID, d.Rank)
		}
	}
	assembled := t.Cell == matrix.CellA || cell.Condition == matrix.IfDecides && t.Cell != matrix.RungPacked && t.Cell != matrix.RungPrompt
	if !assembled || t.Status == matrix.StatusNotRun || from == nil || from.By != "" {
		return
	}
	for i := range kept {
		if !taken[i+1] && !slices.Contains(faults.Drop, kept[i].ID) {
			v.report(generationsFile, line, "item %q was retrieved, and is neither in its context nor said to be left out", kept[i].ID)
		}
	}
}

// sameText reports whether a packed item has the text of the one that was retrieved, or says that it was cut and has the beginning of it.
func sameText(p *matrix.Packed, want *matrix.Hit) bool {
	return p.Text.Ref == want.Text.Ref || p.Cut && (p.Text.Withheld() || want.Text.Withheld() || strings.HasPrefix(want.Text.Value, p.Text.Value))
}

func candidate(o *matrix.Observations, id string) *matrix.Hit {
	if len(o.Retrievals) == 0 {
		return nil
	}
	hits := o.Retrievals[0].Candidates
	if i := slices.IndexFunc(hits, func(h matrix.Hit) bool { return h.ID == id }); i >= 0 {
		return &hits[i]
	}
	return nil
}

// declared reports whether an item is a distractor of the case, with the text that the case gives it.
func declared(c *matrix.Case, p *matrix.Packed) bool {
	return slices.ContainsFunc(c.Evidence.Distractors, func(d matrix.Distractor) bool {
		return (d.Source == p.ID || d.Source == p.Source) && (d.Text == "" || p.Text.Withheld() || d.Text == p.Text.Value)
	})
}

// served reports whether an item is one that the user's own service told to be in its context.
func served(o *matrix.Observations, p *matrix.Packed) bool {
	return slices.ContainsFunc(o.Trials, func(t matrix.Trial) bool {
		return t.By != "" && t.Cell == matrix.CellA && slices.ContainsFunc(t.Packed, func(s matrix.Packed) bool { return s.ID == p.ID && s.Text.Ref == p.Text.Ref })
	})
}

// checkJudgement holds a question to the judge to what it is about, and what was read to what the judge answered.
func (v *verifier) checkJudgement(line int, j *matrix.Judgement) {
	b := &v.bundle
	o := &b.Observations
	if b.Experiment.Judge == nil || b.Experiment.Backends.Judge == nil || b.Pins.Judge == nil {
		v.report(judgementsFile, line, "the experiment has no judge")
		return
	}
	v.checkSettings(judgementsFile, line, setting{"prompt_digest", j.PromptDigest, b.Pins.Judge.Prompt})
	asked := j.CallKey
	if j.SameAs != "" {
		asked = j.SameAs
		at := slices.IndexFunc(o.Judgements, func(from matrix.Judgement) bool { return from.CallKey == j.SameAs })
		if at < 0 || o.Judgements[at].SameAs != "" || !sameJudgement(j, &o.Judgements[at]) {
			v.report(judgementsFile, line, "it is said to be the same as call %s, which asked something else or was answered otherwise", j.SameAs)
			return
		}
	}
	if call, made := v.calls[asked]; made && v.nameable(j.CallKey, j.Prompt) {
		call.Case, call.Cell, call.Step, call.Rep, call.Provider = v.manifest.Digests.Case, j.Cell, "judge", j.Rep, b.Experiment.Backends.Judge.Adapter
		v.checkKey(judgementsFile, line, j.CallKey, call, func() (string, error) { return matrix.JudgeInput(j) })
	}
	at := slices.IndexFunc(o.Trials, func(t matrix.Trial) bool {
		return t.Cell == j.Cell && (t.Rep == j.Rep || j.Rep == 0) && t.Status != matrix.StatusNotRun
	})
	if at < 0 {
		return // which was reported
	}
	t := &o.Trials[at]
	about := verdict.Question{Answer: verdict.ReadAnswer(b.Experiment.Pipeline.Answer, t).Text}
	var texts []matrix.Text // that are put to the judge
	switch j.Kind {
	case matrix.JudgeClaim, matrix.JudgeStatements, matrix.JudgeAnswerRelevancy:
		if !t.Answer.Withheld() {
			texts = append(texts, matrix.Text{Value: about.Answer})
		}
		if relevancy := b.Experiment.Judge.AnswerRelevancy; relevancy != nil {
			about.Questions = relevancy.Questions
		}
	case matrix.JudgeContextPrecision:
		if j.Position < 1 || j.Position > len(t.Packed) || t.Packed[j.Position-1].ID != j.Item {
			v.report(judgementsFile, line, "it judges item %q in place %d, which does not stand there", j.Item, j.Position)
			return
		}
		texts = append(texts, t.Packed[j.Position-1].Text)
	case matrix.JudgeFaithfulness, matrix.JudgeContextRecall:
		for i := range t.Packed {
			texts = append(texts, t.Packed[i].Text)
		}
		about.Numbered = len(b.Case.Reference())
		if j.Kind == matrix.JudgeFaithfulness {
			texts = append(texts, j.Statements...)
			from := slices.IndexFunc(o.Judgements, func(s matrix.Judgement) bool {
				return s.Kind == matrix.JudgeStatements && s.Cell == j.Cell && s.Rep == j.Rep
			})
			if from < 0 || j.Void == "" && !slices.Equal(values(j.Statements), values(o.Judgements[from].Statements)) {
				v.report(judgementsFile, line, "its statements are not those that were found in the answer")
				return
			}
			about.Numbered = len(o.Judgements[from].Statements)
		}
	}
	for _, text := range texts {
		if n := len(j.Prompt); n == 0 || !j.Prompt[n-1].Text.Withheld() && !text.Withheld() && !strings.Contains(j.Prompt[n-1].Text.Value, text.Value) {
			v.report(judgementsFile, line, "its prompt does not hold what it judges")
			break
		}
	}
	v.checkRead(line, j, about, !t.Answer.Withheld())
}

// sameJudgement reports whether two questions have one prompt and one answer.
func sameJudgement(a, b *matrix.Judgement) bool {
	refs := func(j *matrix.Judgement) (refs []string) {
		for _, m := range j.Prompt {
			refs = append(refs, m.Role, m.Text.Ref)
		}
		return append(refs, j.Response.Ref, string(j.Status), j.Void)
	}
	return slices.Equal(refs(a), refs(b))
}

// checkRead reads the judge's answer again. Another version may read it otherwise.
func (v *verifier) checkRead(line int, j *matrix.Judgement, about verdict.Question, answered bool) {
	const replaced = "\uFFFD" // what is no text is read otherwise before it is kept
	if j.Status != matrix.StatusOK || j.Void == verdict.JudgeRefused || j.Response.Withheld() || j.Quote.Withheld() || !answered && j.Kind == matrix.JudgeClaim ||
		strings.Contains(j.Response.Value, replaced) {
		return
	}
	again := matrix.Judgement{Kind: j.Kind, Structured: j.Structured}
	verdict.ReadJudgement(&again, j.Response.Value, about)
	told := []any{j.Word, j.Supported, j.Useful, j.Noncommittal, j.Quote.Value, values(j.Questions)}
	read := []any{again.Word, again.Supported, again.Useful, again.Noncommittal, again.Quote.Value, values(again.Questions)}
	if j.Kind == matrix.JudgeStatements {
		told, read = append(told, values(j.Statements)), append(read, values(again.Statements))
	}
	if j.Kind != matrix.JudgeAnswerRelevancy { // whose questions may have no vectors to be compared by
		told, read = append(told, j.Void != ""), append(read, again.Void != "")
	}
	if !reflect.DeepEqual(told, read) {
		v.reportAs(v.unlessOther(), judgementsFile, line, "it is told as %s, and read again it is %s", shown(told), shown(read))
	}
}

// values are what texts hold; of one that is withheld, nothing.
func values(texts []matrix.Text) []string {
	out := make([]string, len(texts))
	for i := range texts {
		out[i] = texts[i].Value
	}
	return out
}

// unlessOther is the step of what another version may make otherwise.
func (v *verifier) unlessOther() string {
	if sameEvaluator(v.manifest) {
		return v.step
	}
	return stepEvaluator
}
