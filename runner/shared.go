package runner

import (
	"errors"
	"sync"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/experiments"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/results"
)

// shared counts the calls that serve all cases: the embedding of documents, and the comparison of stored vectors. They stand in no journal.
// Each that leaves the machine or costs money is kept as announced before it is made, and as made when its answer is there.
type shared struct {
	keep func(results.Shared) error // nil: nothing is kept

	mu sync.Mutex
	results.Shared
}

// attempt counts a try, before it is made and after it. It returns when that is kept.
func (s *shared) attempt(role string, far bool, a adapters.Attempt) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !far && a.Done && !a.Unmade:
		s.Near = matrix.AddAsked(s.Near, askedBy(role, a))
		return nil
	case !far:
		return nil
	case a.Done:
		if !a.Unmade {
			s.Far = matrix.AddAsked(s.Far, askedBy(role, a))
			s.Spent.Add(results.Spent(a.Spent))
		}
		if s.Open--; s.Open == 0 {
			s.Most = results.Spent{}
		}
	default:
		s.Open++
		s.Most.Add(results.Spent(a.Spent))
	}
	if s.keep == nil {
		return nil
	}
	err := s.keep(s.Shared)
	if err != nil && !a.Done {
		s.Open-- // it is not made
	}
	return err
}

// reuse counts answers that were not asked for again.
func (s *shared) reuse(asked matrix.Asked) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Near = matrix.AddAsked(s.Near, asked)
}

func (s *shared) now() results.Shared {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Shared
}

// failedStart ends an execution that asked somebody for something and could not begin its first case, so that the ledger says what.
func failedStart(e *results.Execution, l *experiments.Loaded, o *Options, failure error) error {
	summary := results.NewSummary(e.ID(), &l.Experiment)
	summary.Bundles, summary.Planned, summary.Stopped = e.Dir(), len(l.Cases), whyStopped(failure)
	summary.Share(&l.Experiment, o.shared.now(), nil, nil, 0, 0)
	summary.Total()
	if o.ExitCode != nil {
		summary.Exit = o.ExitCode(failure)
	}
	return errors.Join(e.Forget(), e.Finish(summary))
}
