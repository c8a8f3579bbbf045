package runner

import (
	"context"
	"errors"

	"github.com/culprit-rag/culprit/crash"
	"github.com/culprit-rag/culprit/experiments"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/results"
)

// observed is a case between its last call and its seal.
type observed struct {
	lc           *experiments.LoadedCase
	plan         *matrix.Plan
	writer       *results.CaseWriter
	observations *matrix.Observations
	features     *verdict.Features
}

// observeCase makes all calls of one case. With hold, A's request is made twice to hold the generator to its word.
func (s *session) observeCase(ctx context.Context, execution *results.Execution, lc *experiments.LoadedCase, plan *matrix.Plan, hold bool) (_ *observed, err error) {
	c := &lc.Case
	_, pinsDigest, err := s.begunPins()
	if err != nil {
		return nil, err
	}
	writer, err := execution.Case(c, plan.CaseDigest, pinsDigest)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, writer.Abort())
		}
	}()
	defer crash.Catch(&err)
	if err := writer.Plan(plan); err != nil {
		return nil, err
	}
	observations, features, err := s.observe(ctx, c, plan, writer, s.recordedStore())
	if err != nil {
		return nil, err
	}
	if hold && s.broke(observations) {
		// The generator gave two answers to one request: from here on it is repeated like any stochastic one. What it has said
		// so far is kept, the two answers among it.
		if plan, err = s.plan(c, true); err != nil {
			return nil, err
		}
		if err := writer.Plan(plan); err != nil {
			return nil, err
		}
		if observations, features, err = s.observe(ctx, c, plan, writer, observations); err != nil {
			return nil, err
		}
	}
	return &observed{lc, plan, writer, observations, features}, nil
}

// seal judges an observed case and seals its bundle.
func (s *session) seal(o *observed) (_ *results.CaseSummary, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, o.writer.Abort())
		}
	}()
	defer crash.Catch(&err)
	c := &o.lc.Case
	o.observations = o.observations.Restrict()
	evaluation := verdict.EvaluateDigested("", s.experiment, c, o.plan, o.observations, o.features) // the seal makes the digest
	pins, err := s.pinsAfter(o.observations)
	if err != nil {
		return nil, err
	}
	path, err := o.writer.Seal(results.Bundle{
		Case: *c, CaseSource: o.lc.Source, Experiment: *s.experiment, Pins: pins, Plan: *o.plan,
		Observations: *o.observations, Features: *o.features, Evaluation: evaluation, Status: results.StatusOf(o.observations),
	})
	if err != nil {
		return nil, err
	}
	s.progress.finished(c.ID)
	s.reuse.ids.add(c.ID, o.observations)
	s.reuse.models.add(s.experiment, o.observations)
	s.ledger.finished(c.ID)
	summary := results.Summarise(evaluation, s.experiment, o.observations, path)
	summary.Settle(s.experiment, o.writer.Bill())
	return &summary, nil
}

func (s *session) plan(c *matrix.Case, hold bool) (*matrix.Plan, error) {
	if s.recording != nil {
		_, hold = s.recording.Plan.Cell(matrix.CellAgain)
	}
	plan, err := matrix.Expand(s.experiment, c, s.deterministic)
	if err == nil && hold {
		plan.HoldToWord()
	}
	return plan, err
}

// broke reports whether A's repeated request got another answer, and remembers what was seen.
func (s *session) broke(o *matrix.Observations) bool {
	var once, again *matrix.Trial
	for i := range o.Trials {
		switch t := &o.Trials[i]; t.Cell {
		case matrix.CellA:
			once = t
		case matrix.CellAgain:
			again = t
		}
	}
	if once == nil || again == nil || once.Status != matrix.StatusOK || again.Status != matrix.StatusOK || once.Cached || again.Cached {
		return false
	}
	s.observed = matrix.Yes
	if once.Answer.Ref == again.Answer.Ref {
		return false
	}
	s.observed, s.deterministic = matrix.No, false
	s.warn("the generator declares that equal requests get equal answers, and gave two answers to one request: every cell is repeated")
	return true
}
