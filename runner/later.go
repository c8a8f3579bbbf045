package runner

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/culprit-rag/culprit/adapters"
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
	if err != nil {
		return err
	}
	r.obs.Retrievals = append(r.obs.Retrievals, again)
	if r.recording != nil || !r.misses(&again) {
		return nil
	}
	return r.scanAgain(ctx)
}

// scanAgain looks for absent evidence where no search can hide it: what keeps it from the search that was made again may be another
// fault than the late write. It is for a store that says it is not what it was; any other holds what was scanned.
func (r *caseRun) scanAgain(ctx context.Context) error {
	now, err := r.store.Describe(ctx)
	if err != nil || now.Fingerprint == r.storeInfo.Fingerprint {
		return ctx.Err()
	}
	gold, err := r.later.scan(ctx, r.store, now.Fingerprint)
	if err != nil {
		return err
	}
	r.obs.Store.Gold = slices.Clone(r.obs.Store.Gold) // that of the case, over all its sessions
	for i, g := range gold[r.c.ID] {
		if now := &r.obs.Store.Gold[i]; len(now.Exact)+len(now.Folded) == 0 {
			now.Later = holder(&g)
		}
	}
	return nil
}

// rescan keeps the last scan that was made again, so that a store which stays as it is is read once for all cases.
type rescan struct {
	experiment *matrix.Experiment
	cases      []*matrix.Case

	mu   sync.Mutex
	of   string // fingerprint of what was read
	gold map[string][]matrix.GoldFacts
}

// scan returns what the store holds of the gold of every case. What a scan that fails has not seen is not there; the error is that of ctx.
func (p *rescan) scan(ctx context.Context, store adapters.VectorStore, fingerprint string) (map[string][]matrix.GoldFacts, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gold == nil || p.of != fingerprint {
		wanted, now := newSearchParty(p.experiment, p.cases), &presence{gold: map[string][]matrix.GoldFacts{}}
		_, err := store.Scan(ctx, adapters.ScanRequest{}, func(item adapters.Item) error { wanted.see(&item, nil); return nil })
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		wanted.collect(now)
		if err != nil {
			return now.gold, nil //nolint:nilerr // what it saw is there, and the next case asks again
		}
		p.of, p.gold = fingerprint, now.gold
	}
	return p.gold, nil
}
