package runner

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/results"
)

// Filter values that no item has: as a text, and as a number.
const (
	impossible       = "culprit-control-3f1c9a2e-no-such-value"
	impossibleNumber = "-917364829105.375"
)

// controlFilter searches with a value that cannot exist: whatever comes back went round the filter.
func (r *caseRun) controlFilter(ctx context.Context, s search) error {
	filter := slices.DeleteFunc(slices.Clone(r.experiment.Pipeline.Search.Filter), func(c matrix.Condition) bool { return c.Not })
	if len(filter) == 0 {
		return nil // a filter that only excludes is not emptied by an unknown value
	}
	if r.before.known() && r.before.Store.FilterControl != nil {
		r.obs.Store.FilterControl = r.before.Store.FilterControl
		return nil
	}
	s.filter = nil
	for _, c := range filter {
		value := impossible
		if c.Typed {
			value = impossibleNumber
		}
		s.filter = append(s.filter, matrix.Condition{Field: c.Field, AnyOf: []string{value}, Typed: c.Typed})
	}
	got, err := r.retrieve(ctx, s)
	if err != nil {
		return err
	}
	control := &matrix.FilterControl{Filter: s.filter, Returned: []string{}, Error: got.Error}
	for _, h := range got.Candidates[:min(len(got.Candidates), textWindow)] {
		control.Returned = append(control.Returned, h.ID)
	}
	r.obs.Store.FilterControl = control
	return nil
}

// controlRerank asks the reranker three things whose answers are known: the query itself beats an unrelated text, a text
// scores the same alone as in the list, and a text scores better once the query is appended to it.
func (r *caseRun) controlRerank(ctx context.Context) error {
	c := &r.obs.Retrievals[0]
	if len(c.Reranked) == 0 {
		return nil
	}
	if r.before.known() && r.before.Store.RerankControl != nil {
		r.obs.Store.RerankControl = r.before.Store.RerankControl
		return nil
	}
	control := &matrix.RerankControl{}
	r.obs.Store.RerankControl = control
	fail := func(err error) error {
		var work *workError
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &work):
			return work.err // the budget is used up, or the journal cannot be written: not a finding about the reranker
		}
		control.Error = callError(err)
		return nil
	}
	const unrelated = "zzqx vlorp"
	scores, err := r.rerankScores(ctx, c.Query, []string{c.Query, unrelated})
	if err != nil {
		return fail(err)
	}
	control.QueryScore, control.OtherScore, control.QueryFirst = decimal(scores[0]), decimal(scores[1]), scores[0] > scores[1]
	for _, h := range c.PassedOn() {
		if !r.isAnyGold(h.ID, h.Source, h.Revision, h.Text) {
			continue
		}
		control.GoldID = h.ID
		alone, err := r.rerankScores(ctx, c.Query, []string{h.Text.Value})
		if err != nil {
			return fail(err)
		}
		appended, err := r.rerankScores(ctx, c.Query, []string{h.Text.Value + " " + c.Query})
		if err != nil {
			return fail(err)
		}
		score := decimal(alone[0])
		control.GoldAlone, control.EndUnread = &score, alone[0] == appended[0]
		if i := slices.IndexFunc(c.Reranked, func(x matrix.Hit) bool { return x.ID == h.ID }); i >= 0 {
			control.GoldInList = c.Reranked[i].Score
		}
		break
	}
	return nil
}

// rerankScores returns one score for each document, in order. It is a call like any other, with a journal and a budget.
func (r *caseRun) rerankScores(ctx context.Context, query string, documents []string) ([]float64, error) {
	r.controls++
	call := matrix.Call{Case: r.plan.CaseDigest, Cell: matrix.ControlRerank, Step: "rerank", Rep: r.controls, Provider: r.experiment.Backends.Reranker.Adapter, Model: r.rerankerInfo.Model}
	var err error
	if call.Input, err = matrix.Digest(struct {
		Reranker  *matrix.Backend
		Query     string
		Documents []string
	}{r.experiment.Backends.Reranker, query, documents}); err != nil {
		return nil, err
	}
	key, err := call.Key()
	if err != nil {
		return nil, err
	}
	known, notMade, err := r.recall(call, key, !r.rerankerInfo.Local)
	switch {
	case err != nil:
		return nil, &workError{err}
	case known != nil:
		r.obs.Store.RerankControl.Asked = matrix.AddAsked(r.obs.Store.RerankControl.Asked, known.Asked...)
		return known.scores()
	case notMade != "":
		r.obs.Store.RerankControl.Asked = matrix.AddAsked(r.obs.Store.RerankControl.Asked, r.leftOut(key)...)
		return nil, errors.New(notMade)
	}
	callCtx, journal := r.begin(ctx, call, key, !r.rerankerInfo.Local)
	response, failure := r.reranker.Rerank(callCtx, adapters.RerankRequest{Query: query, Documents: documents})
	if gaveUp(ctx, failure) {
		return nil, &workError{ctx.Err()}
	}
	if err := r.ledger.overBudget(failure); err != nil {
		return nil, &workError{err}
	}
	control := r.obs.Store.RerankControl
	control.Asked = matrix.AddAsked(control.Asked, journal.asked...)
	outcome := results.Outcome{Status: matrix.StatusOK}
	if failure != nil {
		outcome.Status, outcome.Error = matrix.StatusError, callError(failure)
	}
	scores := make([]float64, len(documents))
	seen := 0
	for _, result := range response.Results {
		if result.Index >= 0 && result.Index < len(scores) {
			scores[result.Index] = result.Score
			seen++
		}
	}
	if failure == nil && seen != len(documents) {
		failure = errors.New("the reranker did not score every document of the control")
	}
	shown := recorded{Asked: journal.asked}
	if failure != nil {
		shown.Error = callError(failure)
	}
	for _, score := range scores {
		shown.Scores = append(shown.Scores, strconv.FormatFloat(score, 'g', -1, 64))
	}
	if err := journal.end(outcome, shown); err != nil {
		return nil, &workError{err}
	}
	return scores, failure
}

// scores are those of a control that an earlier process made.
func (k *recorded) scores() ([]float64, error) {
	if k.Error != nil {
		return nil, pastError{k.Error}
	}
	scores := make([]float64, len(k.Scores))
	for i, s := range k.Scores {
		var err error
		if scores[i], err = strconv.ParseFloat(s, 64); err != nil {
			return nil, err
		}
	}
	return scores, nil
}

// workError marks an error of the work itself among those of a backend.
type workError struct{ err error }

func (e *workError) Error() string { return e.err.Error() }
func (e *workError) Unwrap() error { return e.err }
