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
	Evaluation verdict.Evaluation `json:"evaluation"`
}

// Grid is the cutoffs and budgets of a sweep; every pair is a point.
type Grid struct {
	K       []int
	Budgets []matrix.Budget
}

// Sweep judges every case at every point of the grid. Nothing is written. A search, and a request to a deterministic
// generator, that several points share is made once.
func Sweep(ctx context.Context, l *experiments.Loaded, o Options, grid Grid) (_ []SweepPoint, err error) {
	s, err := start(ctx, l, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	shared := *s.backends
	shared.store = &onceStore{VectorStore: s.store, answers: map[string]adapters.SearchResponse{}}
	if s.deterministic {
		shared.generator = &onceGenerator{Generator: s.generator, answers: map[string]adapters.GenerateResponse{}}
	}
	s.progress.begin("judging points", len(l.Cases)*len(grid.Budgets)*len(grid.K))
	var points []SweepPoint
	for i := range l.Cases {
		c := &l.Cases[i].Case
		for _, budget := range grid.Budgets {
			for _, k := range grid.K {
				e := l.Experiment
				e.Pipeline.Search.K = k
				e.Pipeline.Search.Depth = max(e.Pipeline.Search.Depth, k)
				e.Pipeline.Assemble.Budget = budget
				at := s.with(&e, &shared)
				plan, err := at.plan(c, false)
				if err != nil {
					return points, err
				}
				observations, err := at.observe(ctx, c, plan, discard{})
				if err != nil {
					return points, fmt.Errorf("case %q at k %d, budget %s: %w", c.ID, k, budget, err)
				}
				_, evaluation, err := at.evaluate(c, plan, observations)
				if err != nil {
					return points, err
				}
				points = append(points, SweepPoint{Case: c.ID, K: k, Budget: budget, Evaluation: evaluation})
				s.progress.finished(c.ID)
			}
		}
	}
	return points, nil
}

// with is the same session on other settings of the same backends.
func (s *session) with(e *matrix.Experiment, b *backends) *session {
	return &session{
		backends: b, experiment: e, presence: s.presence, identity: s.identity, count: s.count, now: s.now,
		progress: s.progress, deterministic: s.deterministic, observed: s.observed,
	}
}

// discard keeps no journal: a sweep is not evidence, and nothing of it is resumed.
type discard struct{}

func (discard) Intent(results.Intent) error   { return nil }
func (discard) Outcome(results.Outcome) error { return nil }

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
