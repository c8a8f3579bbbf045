package runner

import (
	"context"
	"fmt"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/results"
)

// askJudge makes one call and records what came back. A failing call is an observation, and so is one for which the budget
// leaves no room: what was answered before it is kept.
func (r *caseRun) askJudge(ctx context.Context, q *judging) error {
	j, settings := &q.judgement, r.experiment.Judge
	off := r.ledger.offs[r.experiment.Backends.Judge]
	if known, notMade, err := r.recall(q.call, j.CallKey, !r.judgeInfo.Local); err != nil || known != nil || notMade != "" {
		if known != nil {
			known.Judgement.Prompt, known.Judgement.FromJournal = j.Prompt, true
			*j = *known.Judgement
			off.remember(j.Error)
		} else if err == nil {
			j.Status, j.Reason, j.Asked = matrix.StatusNotRun, notMade, r.leftOut(j.CallKey)
		}
		return err
	}
	if reason := off.reason(); reason != "" {
		j.Status, j.Reason = matrix.StatusNotRun, reason
		return nil
	}
	callCtx, journal := r.begin(ctx, q.call, j.CallKey, !r.judgeInfo.Local)
	temperature := settings.Temperature.Float()
	req := adapters.GenerateRequest{Messages: q.messages, Temperature: &temperature, Seed: &settings.Seed, MaxTokens: settings.MaxTokens}
	for _, m := range q.messages {
		journal.privately(j.Sensitivity, append(journal.private, m.Text)...)
	}
	if j.Structured {
		req.Format = &q.format
	}
	var response adapters.GenerateResponse
	var failure error
	half := r.half(j.CallKey)
	if half != nil {
		half.Prompt = j.Prompt
		*j, response.Text = *half, half.Response.Value
	} else {
		j.At = r.stamp()
		response, failure = r.judge.Generate(callCtx, req)
	}
	if gaveUp(ctx, failure) {
		return ctx.Err()
	}
	if over := r.ledger.overBudget(failure); over != nil { // each try that was made has its outcome
		j.Status, j.Reason, j.Asked = matrix.StatusNotRun, over.Error(), journal.asked
		journal.stop()
		journal.cancel()
		return nil
	}
	if reason := off.reason(); failure != nil && reason != "" && journal.made(matrix.RoleJudge) == 0 { // given up before its turn came
		j.Status, j.Reason = matrix.StatusNotRun, reason
	} else if failure != nil {
		j.Status, j.Error = matrix.StatusError, journal.conceal(callError(failure))
	} else {
		if half == nil {
			recordJudgement(j, response, q.about)
			kept := *j
			kept.Prompt = nil
			journal.half = &kept
		}
		r.compareQuestions(callCtx, j)
		if j.Error != nil && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	j.Attempts = journal.made(matrix.RoleJudge)
	if len(journal.asked) != 1 || journal.asked[0].Untold+journal.asked[0].Unpaid > 0 {
		j.Asked = journal.asked
	}
	kept := *j
	kept.Prompt = nil // the call key stands for it
	return journal.end(results.Outcome{Status: j.Status, Error: j.Error, Response: []byte(response.Text), FinishReason: j.FinishReason, LatencyMS: j.LatencyMS}, recorded{Judgement: &kept})
}

// recordJudgement copies a response into the judgement and reads it.
func recordJudgement(j *matrix.Judgement, response adapters.GenerateResponse, about verdict.Question) {
	j.Response = matrix.NewText(matrix.Clamp(response.Text, maxAnswer))
	j.FinishReason, j.ModelReported, j.SystemFingerprint, j.RequestID = response.FinishReason, response.ModelReported, response.SystemFingerprint, response.RequestID
	j.Usage = matrix.Usage{InputTokens: response.InputTokens, OutputTokens: response.OutputTokens, CachedInputTokens: response.CachedInputTokens}
	j.LatencyMS = response.WireTime.Milliseconds()
	if !j.Structured {
		j.Notes = append(j.Notes, "this judge cannot be held to a form: the prompt asks for it")
	}
	j.Notes = append(j.Notes, response.Notes...)
	switch {
	case response.FinishReason == adapters.FinishContentFilter:
		j.Status, j.Void = matrix.StatusFiltered, "the provider blocked the judge"
	case response.FinishReason == adapters.FinishLength:
		j.Status, j.Void = matrix.StatusTruncated, "the judge's answer was cut off at judge.max_tokens"
	case response.Refusal != "":
		j.Status, j.Void = matrix.StatusOK, verdict.JudgeRefused
	default:
		j.Status = matrix.StatusOK
		verdict.ReadJudgement(j, response.Text, about)
	}
}

// compareQuestions holds the questions that the judge found against the case's own, by the vectors of the experiment's embedder.
func (r *caseRun) compareQuestions(ctx context.Context, j *matrix.Judgement) {
	if j.Kind != matrix.JudgeAnswerRelevancy || j.Status != matrix.StatusOK || j.Void != "" || j.Noncommittal || len(j.Questions) == 0 {
		return
	}
	texts := []string{r.c.Question()}
	for _, q := range j.Questions {
		texts = append(texts, q.Value)
	}
	vectors, reused, err := r.embed(ctx, adapters.EmbedRequest{Texts: texts, Purpose: adapters.ForQuery})
	noteReused(ctx, reused)
	if err != nil {
		j.Status, j.Error = matrix.StatusError, callError(fmt.Errorf("embedding the questions: %w", err))
		return
	}
	if j.EmbedModel = vectors[0].model; j.EmbedModel == "" {
		j.EmbedModel = r.embedderInfo.Model
	}
	for _, v := range vectors[1:] {
		c := cosine(vectors[0].vector, v.vector)
		if c == nil {
			j.Void, j.Cosines = "a question has no vector that could be compared", nil
			return
		}
		j.Cosines = append(j.Cosines, *c)
	}
}
