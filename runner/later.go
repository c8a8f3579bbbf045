package runner

import (
	"context"
	"slices"
	"time"

	"github.com/culprit-rag/culprit/matrix"
)

// lookAgain makes production's search once more where the scan of the whole store did not find evidence: a store whose writes are
// not visible at once has it later. It waits until checks.second_look has passed since the scan, so that of many cases only the
// first wait.
func (r *caseRun) lookAgain(ctx context.Context) error {
	i := slices.IndexFunc(r.plan.Retrievals, func(p matrix.PlannedSearch) bool { return p.Cell == matrix.ProbeLater })
	absent := slices.ContainsFunc(r.obs.Store.Gold, func(g matrix.GoldFacts) bool { return len(g.Exact)+len(g.Folded) == 0 })
	if i < 0 || !absent || !r.obs.Store.Scan.Complete || r.obs.Retrievals[0].Status != matrix.StatusOK || !r.goldMissed() {
		return nil
	}
	wait := time.NewTimer(time.Duration(r.experiment.Checks.SecondLook) - time.Since(r.scanned))
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	s := r.production()
	s.cell = matrix.ProbeLater
	again, err := r.retrieve(ctx, s)
	if err == nil {
		r.obs.Retrievals = append(r.obs.Retrievals, again)
	}
	return err
}
