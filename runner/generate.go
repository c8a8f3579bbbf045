package runner

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/results"
)

// maxAnswer is the most of an answer that is kept and judged; the rest is cut and said so.
const maxAnswer = 1 << 20

// trials runs every cell that generates. Contexts are built first, so that identical requests to a deterministic generator
// are seen before any is made; then the calls run side by side, and each writes its own place of the plan's order.
func (r *caseRun) trials(ctx context.Context) error {
	production, dropped, err := r.productionContext(ctx)
	if err != nil {
		return err
	}
	r.goldOfTrace(production)
	var todo []int
	first := map[string]string{} // input digest → call key of the trial that makes the call
	copies := map[int]int{}
	r.obs.Trials = slices.Grow(r.obs.Trials, r.plan.Generations())
	for _, cell := range r.plan.Cells {
		packed, irrelevant, reason := r.context(cell, production)
		if r.obs.Retrievals[0].Status != matrix.StatusOK && r.pipeline == nil {
			reason = cmp.Or(r.unwritten(), "the search of C failed")
		}
		var prompt []matrix.PromptMessage
		for rep := 1; rep <= cell.Repeats; rep++ {
			t := matrix.Trial{Cell: cell.Cell, Rep: rep, Packed: packed, Irrelevant: irrelevant, Seed: r.experiment.Pipeline.Generate.Seed + int64(rep-1)}
			if cell.Cell.Run() == matrix.Production || cell.Base == matrix.CellA {
				t.Retrieval = r.obs.Retrievals[0].CallKey
			}
			if cell.Cell == matrix.CellA {
				t.Dropped = dropped
			}
			if known := r.service.first; known != nil && cell.Cell == matrix.CellA && rep == 1 {
				r.obs.Trials, r.inputs = append(r.obs.Trials, *known), append(r.inputs, r.service.input)
				first[r.service.input] = known.CallKey
				continue
			}
			if reason != "" {
				t.Status, t.Reason, t.Packed = matrix.StatusNotRun, reason, []matrix.Packed{}
			}
			if rep == 1 && t.Status != matrix.StatusNotRun && !r.serves(cell.Cell) {
				prompt = r.prompt(packed)
			}
			if err := r.prepare(&t, prompt); err != nil {
				return err
			}
			i := len(r.obs.Trials)
			r.obs.Trials = append(r.obs.Trials, t)
			switch {
			case t.Status == matrix.StatusNotRun:
			case t.Cached:
			case r.plan.Deterministic && cell.Cell != matrix.CellAgain && first[r.inputs[i]] != "":
				r.obs.Trials[i].SameAs = first[r.inputs[i]]
				copies[i] = r.byKey(first[r.inputs[i]])
			case r.before.trial(t.CallKey) != nil:
				known := r.before.trial(t.CallKey)
				copyAnswer(&r.obs.Trials[i], known)
				kept := &r.obs.Trials[i]
				kept.RequestID, kept.At, kept.LatencyMS, kept.Attempts = known.RequestID, known.At, known.LatencyMS, known.Attempts
				kept.Untold, kept.Unpaid = known.Untold, known.Unpaid
			default:
				first[r.inputs[i]] = t.CallKey
				todo = append(todo, i)
			}
		}
	}
	r.progress.asksFor(len(todo), !r.before.known() || len(r.before.Trials) == 0)
	// By repetition, so that A and B stand side by side in time and a provider that changes meanwhile changes both.
	slices.SortStableFunc(todo, func(a, b int) int { return r.obs.Trials[a].Rep - r.obs.Trials[b].Rep })
	err = r.flow.ask(ctx, r.plan, len(todo), func(ctx context.Context, n int, came func()) error {
		return r.generate(ctx, &r.obs.Trials[todo[n]], came)
	})
	if err != nil {
		return err
	}
	for i, from := range copies {
		copyAnswer(&r.obs.Trials[i], &r.obs.Trials[from])
	}
	return nil
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
func (r *caseRun) prepare(t *matrix.Trial, prompt []matrix.PromptMessage) error {
	if r.serves(t.Cell) {
		return r.prepareService(t)
	}
	call := matrix.Call{
		Case: r.plan.CaseDigest, Cell: t.Cell, Step: "generate", Rep: t.Rep,
		Provider: r.experiment.Backends.Generator.Adapter, Model: r.generatorInfo.Model, Params: r.plan.Cells[0].Settings,
	}
	t.ModelRequested = r.generatorInfo.Model
	t.Prompt = prompt
	for _, m := range prompt {
		t.PromptTokensLocal += m.Tokens
	}
	asked := slices.Clone(prompt)
	for i := range asked { // how it is counted here is no part of what is asked
		asked[i].Tokens = 0
	}
	var err error
	if call.Input, err = matrix.Digest(struct {
		Prompt []matrix.PromptMessage
		Seed   int64
	}{asked, t.Seed}); err != nil {
		return err
	}
	r.inputs = append(r.inputs, call.Input)
	if t.CallKey, err = call.Key(); err != nil {
		return err
	}
	r.calls[t.CallKey] = call
	if t.Cell == matrix.CellA && t.Status != matrix.StatusNotRun {
		if answer, ok := r.cached(); ok {
			t.Status, t.Cached, t.FinishReason, t.Answer = matrix.StatusOK, true, adapters.FinishStop, matrix.NewText(answer)
		}
	}
	return nil
}

// prompt renders the messages exactly as they are sent, and counts their tokens.
func (r *caseRun) prompt(packed []matrix.Packed) []matrix.PromptMessage {
	var out []matrix.PromptMessage
	for _, m := range r.prompter.Messages(r.c, packed) {
		out = append(out, matrix.PromptMessage{Role: m.Role, Text: matrix.NewText(m.Text), Tokens: r.count(m.Text)})
	}
	return out
}

// generate makes one call and records what came back. A failing call is an observation.
func (r *caseRun) generate(ctx context.Context, t *matrix.Trial, came func()) error {
	off := r.ledger.offs[r.asks(t.Cell)]
	if reason := off.reason(); reason != "" {
		t.Status, t.Reason = matrix.StatusNotRun, reason
		return nil
	}
	if r.serves(t.Cell) {
		return r.serve(ctx, t)
	}
	callCtx, journal := r.begin(ctx, r.calls[t.CallKey], t.CallKey, !r.generatorInfo.Local)
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
	}
	t.At = r.stamp()
	response, failure := r.generator.Generate(callCtx, req)
	came()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := r.ledger.overBudget(failure); err != nil {
		return err
	}
	t.Attempts, t.Outside = journal.tries, !r.generatorInfo.Local
	t.Untold, t.Unpaid = untold(journal.asked)
	if failure != nil {
		off.failed(t, failure)
	} else {
		record(t, response)
	}
	r.progress.generated()
	return journal.end(results.Outcome{Status: t.Status, Error: t.Error, Response: []byte(response.Text), FinishReason: t.FinishReason, LatencyMS: t.LatencyMS})
}

func untold(asked []matrix.Asked) (untold, unpaid int) {
	for i := range asked {
		untold, unpaid = untold+asked[i].Untold, unpaid+asked[i].Unpaid
	}
	return untold, unpaid
}

// record copies a response into the trial.
func record(t *matrix.Trial, response adapters.GenerateResponse) {
	text := response.Text
	if text == "" {
		text = response.Refusal
	}
	if len(text) > maxAnswer {
		text, t.AnswerLossy = text[:maxAnswer], true
	}
	if !utf8.ValidString(text) {
		text, t.AnswerLossy = strings.ToValidUTF8(text, "\uFFFD"), true
	}
	t.Answer = matrix.NewText(text)
	if response.Refusal != "" {
		t.Refusal = matrix.NewText(clamp(response.Refusal, maxAnswer))
	}
	t.FinishReason, t.ModelReported, t.SystemFingerprint, t.RequestID = response.FinishReason, response.ModelReported, response.SystemFingerprint, response.RequestID
	t.Usage = matrix.Usage{InputTokens: response.InputTokens, OutputTokens: response.OutputTokens, CachedInputTokens: response.CachedInputTokens, ReasoningTokens: response.ReasoningTokens}
	t.Notes, t.Metadata = told(response)
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
