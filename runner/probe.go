package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/culprit-rag/culprit/experiments"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/results"
)

// Probe makes the store checks and the searches of C for every case, and asks no generator and no reranker. Without a store, the user's
// own service is asked what it can do, and for its retrieval where it stops before the answer. Nothing is written.
func Probe(ctx context.Context, l *experiments.Loaded, o Options) (_ *results.Probe, err error) {
	started := time.Now()
	var s *session
	defer o.tellAsked(&l.Experiment, &s)()
	s, err = start(ctx, l, o, true)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	probe := results.NewProbe(s.experiment, s.now())
	info := s.storeInfo
	probe.Store.Engine, probe.Store.Version, probe.Store.Collection = info.Engine, info.Version, info.Collection
	probe.Store.Items, probe.Store.Dimensions, probe.Store.Distance = info.Count, info.Dimensions, info.Distance
	probe.Notes, probe.Scan, probe.ScanMS = info.Notes, s.presence.scan, s.scanTook.Milliseconds()
	probe.Fresh = s.presence.fresh
	probe.Planned = len(l.Cases)
	if s.pipeline != nil {
		can := s.pipelineInfo
		probe.Service = &results.ProbedService{Name: can.Name, Version: can.Version, Context: can.Context, Through: can.Through, Retrieval: can.Retrieval}
	}
	complete := s.complete()
	waiting, seen := make([]*searched, len(l.Cases)), make([]*verdict.Examination, len(l.Cases))
	err = s.each(ctx, l.Cases, o.Drain, nil, func(ctx context.Context, i int) error {
		c := &l.Cases[i].Case
		found, err := s.search(ctx, c)
		if err == nil && complete {
			waiting[i] = found
		} else if err == nil {
			seen[i], err = s.examine(found)
		}
		if err != nil {
			return fmt.Errorf("case %q: %w", c.ID, err)
		}
		s.progress.finished(c.ID)
		return nil
	})
	if complete && ctx.Err() == nil {
		content := s.contentNow(ctx)
		for i, found := range waiting {
			if found == nil {
				continue
			}
			found.observations.Store.ContentAfter = content
			var wrong error
			if seen[i], wrong = s.examine(found); wrong != nil {
				err = errors.Join(err, fmt.Errorf("case %q: %w", found.c.ID, wrong))
			}
		}
	}
	for i, c := range seen {
		if c != nil {
			probe.Add(*c, len(l.Cases[i].Case.Evidence.Required))
		}
	}
	for _, w := range s.notes.list {
		if !slices.Contains(info.Notes, w) { // shown as notes of the store
			probe.Warnings = append(probe.Warnings, w)
		}
	}
	probe.Warnings = append(probe.Warnings, s.ledger.offs.warnings(s.experiment)...)
	probe.WallMS, probe.Stopped = time.Since(started).Milliseconds(), whyStopped(err)
	probe.Total()
	return probe, err
}

// tellAsked tells what was asked for, by a session and before it was one.
func (o *Options) tellAsked(e *matrix.Experiment, s **session) func() {
	o.shared = &shared{}
	return func() {
		if o.Asked == nil {
			return
		}
		shared := o.shared.now()
		asked := shared.Asked()
		if *s != nil {
			asked = matrix.AddAsked(asked, (*s).ledger.unfinished()...)
		}
		o.Asked(results.TotalsOf(e, asked))
	}
}

// searched is a case whose searches were made.
type searched struct {
	c            *matrix.Case
	plan         *matrix.Plan
	observations *matrix.Observations
}

// search makes the searches of C for one case, without the reranker, and takes the fingerprint behind them.
func (s *session) search(ctx context.Context, c *matrix.Case) (*searched, error) {
	plan, err := s.plan(c, false)
	if err != nil {
		return nil, err
	}
	plan.Retrievals = slices.DeleteFunc(plan.Retrievals, func(p matrix.PlannedSearch) bool { return p.Cell == matrix.ControlRerank })
	r, err := s.newCase(c, plan, unrecorded{}, nil)
	if err != nil {
		return nil, err
	}
	r.probing = true
	if err := r.retrieveAll(ctx); err != nil {
		return nil, err
	}
	if err := r.fingerprintAfter(ctx); err != nil {
		return nil, err
	}
	return &searched{c, plan, &r.obs}, nil
}

func (s *session) examine(f *searched) (*verdict.Examination, error) {
	features, err := verdict.Extract(s.experiment, f.c, f.observations)
	if err != nil {
		return nil, err
	}
	out := verdict.Examine(s.experiment, f.c, f.plan, f.observations, &features)
	return &out, nil
}

// unrecorded is the journal of a probe, which buys nothing that would have to be kept.
type unrecorded struct{}

func (unrecorded) Intent(results.Intent) error   { return nil }
func (unrecorded) Outcome(results.Outcome) error { return nil }
func (unrecorded) Past(string) *results.Past     { return nil }
func (unrecorded) Reuse(*results.Past) error     { return nil }
func (unrecorded) TryID(string, int) string      { return "" }
