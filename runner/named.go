package runner

import (
	"context"
	"slices"

	"github.com/culprit-rag/culprit/matrix"
)

const (
	// countedTo is how deep a gold item's place is counted at most.
	countedTo = 10_000
	// slack keeps an item at its own score where a store compares it in single precision.
	slack = 1e-5
)

// named asks for the gold items that production's ranking lacks by their ids, and counts how many items score better. The
// score is taken without the filter, which may hide the item; the place is the one that it has, or would have, behind it.
func (r *caseRun) named(ctx context.Context, s search) error {
	store := r.store.Capabilities()
	ids := r.belowDepth()
	if !store.Only || len(ids) == 0 {
		return nil
	}
	alone := s
	alone.only, alone.filter, alone.threshold, alone.exact = ids, nil, nil, store.Exact
	s.exact = s.exact || store.Exact && r.storeInfo.Count <= cheaplyExact
	found, err := r.retrieve(ctx, alone)
	if err != nil {
		return err
	}
	if found.Status == matrix.StatusOK && len(found.Named) == 0 { // else it was counted before
		for _, id := range ids {
			named := matrix.NamedHit{ID: id}
			if i := slices.IndexFunc(found.Candidates, func(h matrix.Hit) bool { return h.ID == id }); i >= 0 {
				named.Score = found.Candidates[i].Score
			}
			found.Named = append(found.Named, named)
		}
		if store.Threshold {
			if err := r.countAhead(ctx, s, &found); err != nil {
				return err
			}
		}
	}
	r.obs.Retrievals = append(r.obs.Retrievals, found)
	return nil
}

// belowDepth lists the items that hold gold, may be its item, and are not among production's candidates.
func (r *caseRun) belowDepth() []string {
	var out []string
	for _, g := range r.obs.Store.Gold {
		for _, id := range append(slices.Clone(g.Exact), g.Folded...) {
			ranked := slices.ContainsFunc(r.obs.Retrievals[0].Candidates, func(h matrix.Hit) bool { return h.ID == id })
			if !ranked && len(out) < keepItems && !slices.Contains(out, id) {
				out = append(out, id)
			}
		}
	}
	return out
}

// countAhead finds the places of the named items: everything that scores as well as the worst of them is listed, by id and score.
func (r *caseRun) countAhead(ctx context.Context, s search, found *matrix.Retrieval) error {
	worst := worstScore(found)
	if worst == nil {
		return nil
	}
	s.cell, s.reach = matrix.ProbeAhead, min(max(r.storeInfo.Count, 1), countedTo)
	limit := matrix.NewDecimal(*worst)
	s.threshold = &limit
	ahead, err := r.retrieve(ctx, s)
	found.Asked = matrix.AddAsked(found.AllAsked(), ahead.AllAsked()...)
	if err != nil || ahead.Status != matrix.StatusOK {
		return err
	}
	// The ids of thousands of items prove no more than their number.
	for i := range found.Named {
		n := &found.Named[i]
		if n.Score == nil {
			continue
		}
		at := slices.IndexFunc(ahead.Candidates, func(h matrix.Hit) bool { return h.ID == n.ID })
		switch full := len(ahead.Candidates) >= s.reach || ahead.Cap > 0 && len(ahead.Candidates) >= ahead.Cap; {
		case at >= 0:
			n.Rank = at + 1
		case full && len(ahead.Candidates) < r.storeInfo.Count:
			n.AtLeast = len(ahead.Candidates)
		default: // the filter keeps it out
			n.Rank = 1 + better(ahead.Candidates, n.Score.Float(), found.LowerIsBetter)
		}
	}
	return nil
}

// worstScore is the score of the item that is furthest down, a little worsened.
func worstScore(found *matrix.Retrieval) *float64 {
	var worst *float64
	for _, n := range found.Named {
		if n.Score == nil {
			continue
		}
		score := n.Score.Float()
		by := slack * max(1, score, -score)
		if !found.LowerIsBetter {
			by = -by
		}
		score += by
		if worst == nil || (score > *worst) == found.LowerIsBetter {
			worst = &score
		}
	}
	return worst
}

func better(hits []matrix.Hit, than float64, lowerIsBetter bool) int {
	n := 0
	for _, h := range hits {
		if h.Score != nil && h.Score.Float() != than && (h.Score.Float() > than) != lowerIsBetter {
			n++
		}
	}
	return n
}

// exactMayHelp reports whether an exact search could rank missed gold within k: where its own score is worse than that of the
// last item that production returns, exactness can only bring more items ahead of it. An exact search may have to read every
// vector of the store, so it is not made to see what is known.
func (r *caseRun) exactMayHelp() bool {
	c := &r.obs.Retrievals[0]
	if c.Mode != matrix.ModeDense || len(c.Candidates) < c.K || !r.store.Capabilities().Only {
		return true
	}
	last := c.Candidates[c.K-1].Score
	if last == nil {
		return true
	}
	mayHelp := func(score *matrix.Decimal) bool {
		return score != nil && (score.Float() == last.Float() || (score.Float() > last.Float()) != c.LowerIsBetter)
	}
	for i := c.K; i < len(c.Candidates); i++ {
		if h := &c.Candidates[i]; r.isAnyGold(h.ID, h.Source, h.Revision, h.Text) && mayHelp(h.Score) {
			return true
		}
	}
	missing := r.belowDepth()
	if len(missing) == 0 {
		return false
	}
	for i := range r.obs.Retrievals {
		if named := &r.obs.Retrievals[i]; named.Cell == matrix.ProbeNamed {
			return named.Status != matrix.StatusOK || slices.ContainsFunc(named.Named, func(n matrix.NamedHit) bool { return mayHelp(n.Score) })
		}
	}
	return true
}
