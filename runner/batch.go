package runner

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/crash"
	"github.com/culprit-rag/culprit/experiments"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/results"
)

// each runs work for every case. The first case goes alone where the generator calls itself deterministic, since its
// word decides how often all the others are repeated. Closing drain starts no further case. Where enter is not nil, a case begins
// when it has returned.
func (s *session) each(ctx context.Context, cases []experiments.LoadedCase, drain <-chan struct{}, enter, work func(context.Context, int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(s.experiment.Limits.Concurrency)
	var left atomic.Bool
	// start looks at the drain when a case has its turn, which may be long after it was queued.
	start := func(i int) error {
		select {
		case <-drain:
			left.Store(true)
			return nil
		default:
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		return work(ctx, i)
	}
	var entry error
	for i := range cases {
		if enter != nil {
			if entry = enter(ctx, i); entry != nil {
				break
			}
		}
		if i == 0 && s.deterministic {
			if err := start(i); err != nil {
				return err
			}
			continue
		}
		group.Go(crash.Guard(func() error { return start(i) }))
	}
	err := group.Wait()
	switch {
	case err != nil:
		return err
	case entry != nil:
		return entry
	case left.Load():
		return ErrDrained
	}
	return nil
}

// batch is how many cases are observed before they are judged. Each complete fingerprint reads the whole store, and what was
// observed before it waits for it; with the cheap one every case is judged at once.
func (s *session) batch(cases int) int {
	const between = 200 // two complete fingerprints
	if s.complete() {
		return between
	}
	return cases
}

// runBatch observes some cases and seals a bundle for each. With first, the first of them holds the generator to its word.
func (s *session) runBatch(ctx context.Context, execution *results.Execution, batch []experiments.LoadedCase, first bool, drain <-chan struct{}, into []*results.CaseSummary) (err error) {
	defer crash.Catch(&err)
	complete := s.complete()
	waiting := make([]*observed, len(batch))
	plans := make([]*matrix.Plan, len(batch))
	held := first && s.deterministic // by the first case
	enter := func(ctx context.Context, i int) (err error) {
		if plans[i], err = s.plan(&batch[i].Case, held && i == 0); err != nil {
			return fmt.Errorf("case %q: %w", batch[i].Case.ID, err)
		}
		return s.flow.enter(ctx, drain, plans[i])
	}
	err = s.each(ctx, batch, drain, enter, func(ctx context.Context, i int) error {
		o, err := s.observeCase(ctx, execution, &batch[i], plans[i], held && i == 0)
		plans[i] = nil
		if err == nil && complete {
			waiting[i] = o
			return nil
		}
		if err == nil {
			s.flow.write()
			into[i], err = s.seal(o)
			s.flow.written()
		}
		if err != nil {
			return fmt.Errorf("case %q: %w", batch[i].Case.ID, err)
		}
		return nil
	})
	if !complete {
		return err
	}
	content := s.contentNow(ctx)
	for i, o := range waiting {
		if o == nil {
			continue
		}
		o.observations.Store.ContentAfter = content
		sealed, sealErr := s.seal(o)
		if sealErr != nil {
			err = errors.Join(err, fmt.Errorf("case %q: %w", batch[i].Case.ID, sealErr))
			continue
		}
		into[i] = sealed
	}
	return err
}

// complete reports whether every item of the store is read before and after.
func (s *session) complete() bool {
	return s.experiment.Checks.Fingerprint == matrix.FingerprintComplete && s.experiment.Backends.Store != nil
}

// contentNow reads every item again, "" where that fails: then it is not known whether the index changed.
func (s *session) contentNow(ctx context.Context) string {
	if s.recording != nil {
		return s.recording.Observations.Store.ContentAfter
	}
	sum := &contentSum{}
	s.progress.begin("reading the store again", s.storeInfo.Count)
	report, err := s.store.Scan(ctx, s.fullScan(), func(item adapters.Item) error {
		sum.add(&item)
		s.progress.scanned(sum.items)
		return nil
	})
	if err != nil || report.Scanned != report.Counted {
		s.warn("the store could not be read again to the end, so that it is not known whether it changed")
		return ""
	}
	return sum.String()
}
