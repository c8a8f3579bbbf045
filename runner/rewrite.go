package runner

import (
	"context"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/results"
)

// rewrite lets the generator write what is searched for, once for the case: C and its probes search for that, and A is made of C.
// A failing call is an observation, after which nothing is searched for.
func (r *caseRun) rewrite(ctx context.Context) error {
	if r.plan.Rewrite == nil {
		return nil
	}
	settings := r.experiment.Pipeline.Rewrite
	out := &matrix.Rewriting{ModelRequested: r.generatorInfo.Model, Seed: settings.Seed, Queries: []string{}}
	out.Prompt = []matrix.PromptMessage{{Role: "user", Text: matrix.NewText(r.rewriteTemplate.RenderRewrite(r.c))}}
	call := matrix.Call{
		Case: r.plan.CaseDigest, Cell: matrix.CellC, Step: "rewrite", Rep: 1,
		Provider: r.experiment.Backends.Generator.Adapter, Model: r.generatorInfo.Model, Params: r.plan.Rewrite.Settings,
	}
	var err error
	if call.Input, err = matrix.RewriteInput(out.Prompt); err != nil {
		return err
	}
	out.Prompt[0].Tokens = r.count(out.Prompt[0].Text.Value)
	if out.CallKey, err = call.Key(); err != nil {
		return err
	}
	r.obs.Rewriting = out
	if r.before.known() && r.before.Rewriting != nil && r.before.Rewriting.CallKey == out.CallKey {
		r.obs.Rewriting = r.before.Rewriting
		return nil
	}
	off := r.ledger.offs[r.experiment.Backends.Generator]
	if known, notMade, err := r.recall(call, out.CallKey, !r.generatorInfo.Local); err != nil || known != nil || notMade != "" {
		if known != nil {
			known.Rewriting.Prompt, known.Rewriting.FromJournal = out.Prompt, true
			*out = *known.Rewriting
			off.remember(out.Error)
		} else if err == nil {
			out.Status, out.Reason, out.Asked = matrix.StatusNotRun, notMade, r.leftOut(out.CallKey)
		}
		return err
	}
	if reason := off.reason(); reason != "" {
		out.Status, out.Reason = matrix.StatusNotRun, reason
		return nil
	}
	callCtx, journal := r.begin(ctx, call, out.CallKey, !r.generatorInfo.Local)
	temperature := settings.Temperature.Float()
	req := adapters.GenerateRequest{
		Messages:    []adapters.Message{{Role: out.Prompt[0].Role, Text: out.Prompt[0].Text.Value}},
		Temperature: &temperature, Seed: &settings.Seed, MaxTokens: settings.MaxTokens,
	}
	out.At = r.stamp()
	response, failure := r.generator.Generate(callCtx, req)
	if gaveUp(ctx, failure) {
		return ctx.Err()
	}
	if err := r.ledger.overBudget(failure); err != nil {
		return err
	}
	if failure != nil {
		out.Status, out.Error = matrix.StatusError, callError(failure)
	} else {
		recordRewriting(out, response, settings)
	}
	out.Attempts = journal.made(matrix.RoleGenerator)
	if len(journal.asked) != 1 || journal.asked[0].Untold+journal.asked[0].Unpaid > 0 {
		out.Asked = journal.asked
	}
	kept := *out
	kept.Prompt = nil // the call key stands for it
	return journal.end(results.Outcome{Status: out.Status, Error: out.Error, Response: []byte(response.Text), FinishReason: out.FinishReason, LatencyMS: out.LatencyMS}, recorded{Rewriting: &kept})
}

// recordRewriting copies a response into the rewriting and reads the queries out of it.
func recordRewriting(out *matrix.Rewriting, response adapters.GenerateResponse, settings *matrix.Rewrite) {
	t := matrix.Trial{}
	record(&t, &response)
	out.Answer, out.FinishReason, out.ModelReported, out.SystemFingerprint = t.Answer, t.FinishReason, t.ModelReported, t.SystemFingerprint
	out.Usage, out.RequestID, out.LatencyMS, out.Status = t.Usage, t.RequestID, t.LatencyMS, t.Status
	out.Notes, out.Metadata = t.Notes, t.Metadata
	if out.Status != matrix.StatusOK {
		return // half a query is none
	}
	if response.Refusal != "" {
		out.Refused = true
		return
	}
	if queries := settings.Queries(t.Answer.Value); queries != nil {
		out.Queries = queries
	}
}

// queries is what production searches for, none where its rewriting gave none. A service tells it behind its own search.
func (r *caseRun) queries() []string {
	switch {
	case len(r.obs.Retrievals) > 0 && r.obs.Retrievals[0].By != "":
		return []string{r.obs.Retrievals[0].QueryEffective}
	case r.queryTemplate != nil:
		return []string{r.queryTemplate.RenderQuery(r.c)}
	case r.obs.Rewriting == nil:
		return []string{r.c.Question()}
	}
	return r.experiment.Pipeline.Rewrite.Searched(r.c, r.obs.Rewriting)
}

// unwritten says why production has nothing to search for, "" where it has, be it an empty query.
func (r *caseRun) unwritten() string {
	w := r.obs.Rewriting
	if w == nil || w.Status == matrix.StatusOK {
		return ""
	}
	reason := matrix.NotRunUnwritten
	switch {
	case w.Error != nil:
		return reason + w.Error.String()
	case w.Status == matrix.StatusFiltered:
		return reason + "blocked by the provider (content filter)"
	case w.Status == matrix.StatusTruncated:
		return reason + "stopped at the output limit: raise pipeline.rewrite.max_tokens"
	}
	return reason + w.Reason
}

// searchAll makes the searches of a retrieval that has several, each as production makes it, and merges what they return.
func (r *caseRun) searchAll(ctx context.Context, s search, out *matrix.Retrieval) error {
	out.Merge = r.experiment.Pipeline.Rewrite.Merge
	rankings := make([][]matrix.Hit, 0, len(s.queries))
	for _, query := range s.queries {
		one := *out
		one.QueryEffective, one.Searches, one.Merge, one.Candidates = query, nil, "", []matrix.Hit{}
		response, err := r.ask(ctx, s, query, &one)
		if err != nil {
			return err
		}
		r.recordHits(&one, response)
		out.Searches = append(out.Searches, matrix.Searched{
			Query: one.QueryEffective, Filter: one.Filter, LowerIsBetter: one.LowerIsBetter, Candidates: one.Candidates, Deeper: one.Deeper, Cap: one.Cap,
		})
		out.EmbedModel, out.QueryPrefix, out.Deeper = one.EmbedModel, one.QueryPrefix, out.Deeper || one.Deeper
		rankings = append(rankings, one.Candidates)
	}
	out.Candidates = matrix.MergeHits(out.Merge, rankings, out.K, out.Depth)
	return nil
}
