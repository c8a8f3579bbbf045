package runner

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/results"
)

const maxAnswer = matrix.MaxAnswer

// trials runs the cells that generate, round by round: what was seen decides what is asked for next. Within a round the calls run side
// by side, and each writes its own place.
func (r *caseRun) trials(ctx context.Context) (err error) {
	if r.packed, r.dropped, err = r.productionContext(ctx); err != nil {
		return err
	}
	r.goldOfTrace(r.packed)
	for wants := verdict.First(r.plan); len(wants) > 0; {
		if err := r.round(ctx, wants); err != nil {
			return err
		}
		r.inPlanOrder()
		if wants, err = r.next(); err != nil {
			return err
		}
	}
	return nil
}

// next says what is asked for in the next round, and keeps the features that it was decided from.
func (r *caseRun) next() ([]verdict.Want, error) {
	features, err := verdict.ExtractMore(r.experiment, r.c, &r.obs, r.features, r.answerKeys)
	if err != nil {
		return nil, err
	}
	r.features = &features
	return verdict.Next(r.experiment, r.c, r.plan, &r.obs, r.features), nil
}

// inPlanOrder puts the trials in the order of the plan, then by repetition.
func (r *caseRun) inPlanOrder() {
	place := map[matrix.CellID]int{}
	for i, c := range r.plan.Cells {
		place[c.Cell] = i
	}
	slices.SortStableFunc(r.obs.Trials, func(a, b matrix.Trial) int {
		return cmp.Or(cmp.Compare(place[a.Cell], place[b.Cell]), cmp.Compare(a.Rep, b.Rep))
	})
}

// round makes the trials that are asked for and that there are none of yet. Contexts are built first, so that identical requests to a
// deterministic generator are seen before any is made.
func (r *caseRun) round(ctx context.Context, wants []verdict.Want) error {
	before := len(r.obs.Trials)
	var todo []int
	all := 0
	for _, want := range wants {
		all += want.Reps
	}
	r.obs.Trials = slices.Grow(r.obs.Trials, max(0, all-before))
	for _, want := range wants {
		cell, ok := r.plan.Cell(want.Cell)
		if !ok {
			return fmt.Errorf("cell %q is not in the plan", want.Cell)
		}
		more, err := r.repeat(ctx, cell, want.Reps)
		if err != nil {
			return err
		}
		todo = append(todo, more...)
	}
	r.progress.asksFor(len(todo), before == 0 && (!r.before.known() || len(r.before.Trials) == 0))
	// By repetition, so that A and B stand side by side in time and a provider that changes meanwhile changes both.
	slices.SortStableFunc(todo, func(a, b int) int { return r.obs.Trials[a].Rep - r.obs.Trials[b].Rep })
	err := r.flow.ask(ctx, r.plan, len(todo), func(ctx context.Context, n int, came func()) error {
		return r.generate(ctx, &r.obs.Trials[todo[n]], came)
	})
	if err != nil {
		return err
	}
	for i := before; i < len(r.obs.Trials); i++ {
		if t := &r.obs.Trials[i]; t.SameAs != "" {
			copyAnswer(t, &r.obs.Trials[r.byKey(t.SameAs)])
		}
	}
	return nil
}

// repeat adds the trials of a cell up to that repetition, and returns the places of those that are to be asked. A cell that cannot be
// run gets one trial, which says why.
func (r *caseRun) repeat(ctx context.Context, cell matrix.PlannedCell, reps int) (todo []int, err error) {
	have := 0
	for i := range r.obs.Trials {
		if r.obs.Trials[i].Cell == cell.Cell {
			have++
		}
	}
	made, err := r.contextOf(ctx, cell)
	if err != nil {
		return nil, err
	}
	if r.obs.Retrievals[0].Status != matrix.StatusOK && r.pipeline == nil {
		failed := matrix.NotRunNoSearch
		if r.obs.Retrievals[0].Status == matrix.StatusNotRun {
			failed = fmt.Sprintf(matrix.NotRunSearch, matrix.CellC)
		}
		made.reason = cmp.Or(r.unwritten(), failed)
	}
	if made.reason != "" {
		reps = min(reps, have+1)
	}
	var prompt []matrix.PromptMessage
	for rep := have + 1; rep <= reps; rep++ {
		t := matrix.Trial{
			Cell: cell.Cell, Rep: rep, Packed: made.packed, Dropped: made.dropped, Irrelevant: made.irrelevant, Retrieval: made.retrieval,
			Seeded: made.seeded, Swapped: made.swapped,
			Seed: r.experiment.Pipeline.Generate.Seed + int64(rep-1),
		}
		if known := r.service.first; known != nil && cell.Cell == matrix.CellA && rep == 1 {
			r.obs.Trials = append(r.obs.Trials, *known)
			r.first[r.calls[known.CallKey].Input] = known.CallKey
			continue
		}
		if made.reason != "" {
			t.Status, t.Reason, t.Packed = matrix.StatusNotRun, made.reason, []matrix.Packed{}
		}
		if prompt == nil && t.Status != matrix.StatusNotRun && !r.serves(cell.Cell) {
			prompt = r.prompt(cell.Cell, t.Packed)
		}
		r.classify(&t)
		if err := r.prepare(&t, cell.Settings, prompt); err != nil {
			return nil, err
		}
		input := r.calls[t.CallKey].Input
		switch {
		case t.Status == matrix.StatusNotRun:
		case t.Cached:
		case r.plan.Deterministic && cell.Cell != matrix.CellAgain && r.first[input] != "":
			t.SameAs = r.first[input]
		case r.before.trial(t.CallKey) != nil:
			known := r.before.trial(t.CallKey)
			copyAnswer(&t, known)
			t.RequestID, t.At, t.LatencyMS, t.Attempts = known.RequestID, known.At, known.LatencyMS, known.Attempts
			t.Untold, t.Unpaid = known.Untold, known.Unpaid
		default:
			r.first[input] = t.CallKey
			todo = append(todo, len(r.obs.Trials))
		}
		r.obs.Trials = append(r.obs.Trials, t)
	}
	return todo, nil
}

// copyAnswer gives a trial the answer to the identical request that was made once.
func copyAnswer(to, from *matrix.Trial) {
	to.Answer, to.Refusal, to.AnswerLossy, to.FinishReason, to.ModelReported, to.SystemFingerprint = from.Answer, from.Refusal, from.AnswerLossy, from.FinishReason, from.ModelReported, from.SystemFingerprint
	to.Usage, to.Status, to.Reason, to.Error = from.Usage, from.Status, from.Reason, from.Error
	to.Notes, to.Metadata, to.Outside = from.Notes, from.Metadata, from.Outside
}

func (r *caseRun) byKey(key string) int {
	for i := range r.obs.Trials {
		if r.obs.Trials[i].CallKey == key {
			return i
		}
	}
	return -1
}

// prepare names the call by its prompt, and serves the answer from production's cache where that would.
func (r *caseRun) prepare(t *matrix.Trial, settings string, prompt []matrix.PromptMessage) error {
	if r.serves(t.Cell) {
		return r.prepareService(t)
	}
	call := matrix.Call{
		Case: r.plan.CaseDigest, Cell: t.Cell, Step: "generate", Rep: t.Rep,
		Provider: r.experiment.Backends.Generator.Adapter, Model: r.generatorInfo.Model, Params: settings,
	}
	t.ModelRequested = r.generatorInfo.Model
	t.Prompt = prompt
	for _, m := range prompt {
		t.PromptTokensLocal += m.Tokens
	}
	var err error
	if call.Input, err = matrix.GenerateInput(prompt, t.Seed); err != nil {
		return err
	}
	if t.CallKey, err = call.Key(); err != nil {
		return err
	}
	r.calls[t.CallKey] = call
	production := t.Cell.Run() == matrix.Production && t.Cell != matrix.CellAgain && t.Cell != matrix.RepairPastCache
	if production && t.Status != matrix.StatusNotRun {
		if answer, ok := r.cached(); ok {
			t.Status, t.Cached, t.FinishReason, t.Answer = matrix.StatusOK, true, adapters.FinishStop, matrix.NewText(answer)
		}
	}
	return nil
}

// prompt renders the messages of a cell exactly as they are sent, and counts their tokens.
func (r *caseRun) prompt(cell matrix.CellID, packed []matrix.Packed) []matrix.PromptMessage {
	prompter := r.prompter
	if cell.ReferencePrompt() {
		prompter = r.plainPrompter
	}
	out := []matrix.PromptMessage{}
	for _, m := range prompter.Messages(r.c, packed) {
		out = append(out, matrix.PromptMessage{Role: m.Role, Text: matrix.NewText(m.Text), Tokens: r.count(m.Text)})
	}
	return out
}

// generate makes one call and records what came back. A failing call is an observation.
func (r *caseRun) generate(ctx context.Context, t *matrix.Trial, came func()) error {
	off := r.ledger.offs[r.asks(t.Cell)]
	durable := r.serves(t.Cell) || !r.generatorInfo.Local
	if done, err := r.answeredBefore(t, durable); done || err != nil {
		return err
	}
	if reason := off.reason(); reason != "" {
		t.Status, t.Reason = matrix.StatusNotRun, reason
		return nil
	}
	if r.serves(t.Cell) {
		return r.serve(ctx, t)
	}
	callCtx, journal := r.begin(ctx, r.calls[t.CallKey], t.CallKey, durable)
	g := r.experiment.Pipeline.Generate
	req := adapters.GenerateRequest{MaxTokens: g.MaxTokens, Stop: g.Stop, Seed: &t.Seed}
	temperature := g.Temperature.Float()
	req.Temperature = &temperature
	if g.TopP != nil {
		topP := g.TopP.Float()
		req.TopP = &topP
	}
	req.Format = answerFormat(r.experiment.Pipeline.Answer)
	for _, m := range t.Prompt {
		req.Messages = append(req.Messages, adapters.Message{Role: m.Role, Text: m.Text.Value})
		journal.privately(t.Sensitivity, append(journal.private, m.Text.Value)...)
	}
	t.At = r.stamp()
	response, failure := r.generator.Generate(callCtx, req)
	came()
	if gaveUp(ctx, failure) {
		return ctx.Err()
	}
	if err := r.ledger.overBudget(failure); err != nil {
		return err
	}
	t.Attempts, t.Outside = journal.made(matrix.RoleGenerator), !r.generatorInfo.Local
	t.Untold, t.Unpaid = untold(journal.asked)
	if failure != nil {
		off.failed(t, failure, usageOf(&response))
		t.Error = journal.conceal(t.Error)
	} else {
		record(t, &response)
	}
	r.progress.generated()
	return r.generated(journal, t, response.Text)
}

// generated writes the outcome. It stands apart so that a call that waits holds no room for it.
func (r *caseRun) generated(journal *begun, t *matrix.Trial, text string) error {
	return journal.end(results.Outcome{Status: t.Status, Error: t.Error, Response: []byte(text), FinishReason: t.FinishReason, LatencyMS: t.LatencyMS}, recorded{Trial: answerOf(t)})
}

// answerOf is what the journal keeps of a trial: all but what its call key stands for.
func answerOf(t *matrix.Trial) *matrix.Trial {
	kept := *t
	if t.By == "" {
		kept.Packed, kept.Dropped, kept.Prompt = nil, nil, nil
	}
	return &kept
}

// answeredBefore gives a trial what an earlier process was told, or why it is not asked again.
func (r *caseRun) answeredBefore(t *matrix.Trial, durable bool) (done bool, err error) {
	k, notMade, err := r.recall(r.calls[t.CallKey], t.CallKey, durable)
	if k == nil {
		if notMade != "" {
			t.Status, t.Reason = matrix.StatusNotRun, notMade
			for _, asked := range r.leftOut(t.CallKey) {
				t.Attempts, t.Untold, t.Unpaid, t.Outside = t.Attempts+asked.Calls, t.Untold+asked.Untold, t.Unpaid+asked.Unpaid, true
			}
		}
		return notMade != "", err
	}
	known := k.Trial
	copyAnswer(t, known)
	t.RequestID, t.At, t.LatencyMS, t.Attempts = known.RequestID, known.At, known.LatencyMS, known.Attempts
	t.Untold, t.Unpaid, t.FromJournal = known.Untold, known.Unpaid, true
	if known.By != "" {
		t.Sensitivity, t.AnswerSensitivity = known.Sensitivity, known.AnswerSensitivity
		t.Packed, t.Prompt, t.PromptTokensLocal, t.Unobserved = known.Packed, known.Prompt, known.PromptTokensLocal, known.Unobserved
		if k.Trace != nil {
			r.service.trace = *k.Trace
			r.noteAll(k.Trace.Notes)
		}
	}
	r.ledger.offs[r.asks(t.Cell)].remember(t.Error)
	r.progress.generated()
	return true, nil
}

func untold(asked []matrix.Asked) (untold, unpaid int) {
	for i := range asked {
		untold, unpaid = untold+asked[i].Untold, unpaid+asked[i].Unpaid
	}
	return untold, unpaid
}

// record copies a response into the trial.
func record(t *matrix.Trial, response *adapters.GenerateResponse) {
	text := response.Text
	if text == "" {
		text = response.Refusal
	}
	if len(text) > results.MaxResponse { // of which no more than a beginning is kept, so that nobody could judge it again
		t.Status, t.LatencyMS, t.Usage = matrix.StatusError, response.WireTime.Milliseconds(), usageOf(response)
		t.Error = &matrix.CallError{Kind: string(adapters.KindPermanent), Message: fmt.Sprintf("the answer is too large: it has %d bytes, and %d are read", len(text), results.MaxResponse)}
		return
	}
	text, t.AnswerLossy = matrix.ReadAnswer(text)
	t.Answer = matrix.NewText(text)
	if response.Refusal != "" {
		t.Refusal = matrix.NewText(matrix.Clamp(response.Refusal, maxAnswer))
	}
	t.FinishReason, t.ModelReported, t.SystemFingerprint, t.RequestID = response.FinishReason, response.ModelReported, response.SystemFingerprint, response.RequestID
	t.Usage = usageOf(response)
	t.Notes, t.Metadata = told(*response)
	t.LatencyMS = response.WireTime.Milliseconds()
	switch response.FinishReason {
	case adapters.FinishContentFilter:
		t.Status = matrix.StatusFiltered
	case adapters.FinishLength:
		t.Status = matrix.StatusTruncated
	default:
		t.Status = matrix.StatusOK
	}
}

func usageOf(r *adapters.GenerateResponse) matrix.Usage {
	return matrix.Usage{InputTokens: r.InputTokens, OutputTokens: r.OutputTokens, CachedInputTokens: r.CachedInputTokens, ReasoningTokens: r.ReasoningTokens}
}

// cached answers as production's cache in front of the generator would.
func (r *caseRun) cached() (string, bool) {
	mine := wordCounts(r.c.Question())
	for _, entry := range r.faults().Cache {
		least := 1.0
		if entry.Similarity != nil {
			least = entry.Similarity.Float()
		}
		const rounding = 1e-9
		if wordCosine(mine, wordCounts(entry.Query)) >= least-rounding {
			return entry.Answer, true
		}
	}
	return "", false
}

func wordCounts(s string) map[string]float64 {
	counts := map[string]float64{}
	for _, w := range strings.FieldsFunc(strings.ToLower(s), func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) }) {
		counts[w]++
	}
	return counts
}

func wordCosine(a, b map[string]float64) float64 {
	var dot, na, nb float64
	for w, n := range a {
		dot += n * b[w]
		na += n * n
	}
	for _, n := range b {
		nb += n * n
	}
	if na == 0 || nb == 0 {
		return 0
	}
	return dot / math.Sqrt(na*nb)
}
