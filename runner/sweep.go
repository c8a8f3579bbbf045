package runner

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/experiments"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/results"
)

// SweepPoint is the verdict of one case at one cutoff and budget.
type SweepPoint struct {
	Case       string             `json:"case"`
	K          int                `json:"k"`
	Budget     matrix.Budget      `json:"budget"`
	Top        int                `json:"top,omitempty"` // what the reranker passes on
	Evaluation verdict.Evaluation `json:"evaluation"`
}

// Grid is the cutoffs and budgets of a sweep; every combination is a point. Points come by case, budget, Top and K.
type Grid struct {
	K       []int
	Budgets []matrix.Budget
	Top     []int // cutoffs behind a reranker; empty: the experiment's own
}

// Sweep judges every case at every point of the grid. Nothing is written. A search, and a request to a deterministic
// generator, that several points share is made once.
func Sweep(ctx context.Context, l *experiments.Loaded, o Options, grid Grid) (_ []SweepPoint, err error) {
	var s *session
	defer o.tellAsked(&l.Experiment, &s)()
	s, err = start(ctx, l, o, false)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	shared := *s.backends
	shared.store = &onceStore{VectorStore: s.store, answers: map[string]adapters.SearchResponse{}}
	if s.deterministic {
		shared.generator = &onceGenerator{Generator: s.generator, answers: map[string]adapters.GenerateResponse{}}
	}
	all := grid.points(l.Experiment.Pipeline.Rerank)
	s.progress.begin("judging points", len(l.Cases)*len(all))
	var points []SweepPoint
	for i := range l.Cases {
		c := &l.Cases[i].Case
		var rewritten *matrix.Observations
		for _, point := range all {
			e := l.Experiment
			e.Judge = nil          // a sweep asks none
			e.Runs.Repairs = false // the points show what a change does
			e.Pipeline.Search.K = point.K
			e.Pipeline.Search.Depth = max(e.Pipeline.Search.Depth, point.K)
			e.Pipeline.Assemble.Budget = point.Budget
			if own := e.Pipeline.Rerank; own != nil {
				rerank := *own
				rerank.Top = point.Top
				e.Pipeline.Rerank = &rerank
			}
			at := s.with(&e, &shared)
			plan, err := at.plan(c, false)
			if err != nil {
				return points, err
			}
			observations, features, err := at.observe(ctx, c, plan, discard{}, rewritten)
			if err != nil {
				return points, fmt.Errorf("case %q at k %d, budget %s: %w", c.ID, point.K, point.Budget, err)
			}
			if observations.Rewriting != nil && rewritten == nil { // one rewriting, so that the points differ in nothing else
				rewritten = &matrix.Observations{Rewriting: observations.Rewriting, Store: matrix.StoreFacts{Embed: observations.Store.Embed}}
			}
			if point.Evaluation, err = verdict.Evaluate(&e, c, plan, observations, features); err != nil {
				return points, err
			}
			point.Case = c.ID
			points = append(points, point)
			s.progress.finished(c.ID)
		}
	}
	return points, nil
}

// points lists every combination, without a case and its verdict.
func (g Grid) points(own *matrix.Rerank) []SweepPoint {
	tops := g.Top
	switch {
	case own == nil:
		tops = []int{0} // nothing is reranked
	case len(tops) == 0:
		tops = []int{own.Top}
	}
	var points []SweepPoint
	for _, budget := range g.Budgets {
		for _, top := range tops {
			for _, k := range g.K {
				points = append(points, SweepPoint{K: k, Budget: budget, Top: top})
			}
		}
	}
	return points
}

// with is the same session on other settings of the same backends.
func (s *session) with(e *matrix.Experiment, b *backends) *session {
	return &session{
		backends: b, experiment: e, presence: s.presence, identity: s.identity, count: s.count, now: s.now,
		progress: s.progress, deterministic: s.deterministic, observed: s.observed, reuse: s.reuse, notes: s.notes, flow: s.flow,
	}
}

// discard keeps no journal: a sweep is not evidence, and nothing of it is resumed.
type discard struct{}

func (discard) Intent(results.Intent) error   { return nil }
func (discard) Outcome(results.Outcome) error { return nil }
func (discard) Past(string) *results.Past     { return nil }
func (discard) Reuse(*results.Past) error     { return nil }
func (discard) TryID(string, int) string      { return "" }

// onceStore makes each search once.
type onceStore struct {
	adapters.VectorStore
	mu      sync.Mutex // held over the search, so that two equal ones do not both go out
	answers map[string]adapters.SearchResponse
}

func (o *onceStore) Search(ctx context.Context, req adapters.SearchRequest) (adapters.SearchResponse, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	threshold := ""
	if req.Threshold != nil {
		threshold = fmt.Sprint(*req.Threshold)
	}
	key := fmt.Sprintf("%q %q %v %d %#v %s %t %q", req.Mode, req.Query, req.Vector, req.Limit, req.Filter, threshold, req.Exact, req.Only)
	if known, ok := o.answers[key]; ok {
		return known, nil
	}
	answer, err := o.VectorStore.Search(ctx, req)
	if err == nil {
		o.answers[key] = answer
	}
	return answer, err
}

// onceGenerator makes each generation once; it is used for deterministic generators alone.
type onceGenerator struct {
	adapters.Generator
	mu      sync.Mutex
	answers map[string]adapters.GenerateResponse
}

func (o *onceGenerator) Generate(ctx context.Context, req adapters.GenerateRequest) (adapters.GenerateResponse, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	key := fmt.Sprintf("%#v", req.Messages) // everything else is the same at every point of a sweep
	if known, ok := o.answers[key]; ok {
		return known, nil
	}
	answer, err := o.Generator.Generate(ctx, req)
	if err == nil {
		o.answers[key] = answer
	}
	return answer, err
}
