package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/results"
)

// repair builds the context of a repair or a rung: production with exactly that one change. What it searches for was searched for by C or
// one of its probes; only the reranker may have to be asked again.
func (r *caseRun) repair(ctx context.Context, cell matrix.CellID) (made, error) {
	production := &r.obs.Retrievals[0]
	if why := r.ledger.sparing(); why != "" {
		return made{reason: why}, nil
	}
	switch cell {
	case matrix.RungPrompt:
		return made{packed: r.goldContext()}, nil
	case matrix.RepairPrompt, matrix.RepairPastCache:
		return made{packed: r.packed, dropped: r.dropped, retrieval: production.CallKey}, nil
	case matrix.RungPacked:
		return made{packed: r.withGold(), dropped: r.dropped, retrieval: production.CallKey}, nil
	case matrix.RepairBudget, matrix.RepairNoDedupe:
		settings := r.experiment.Pipeline.Assemble
		if cell == matrix.RepairBudget {
			settings.Budget = matrix.Budget{}
		} else {
			settings.Dedupe = "none"
		}
		packed, dropped := r.assemble(production, settings)
		return made{packed: packed, dropped: dropped, retrieval: production.CallKey}, nil
	}
	out, reason, err := r.repairedSearch(ctx, cell)
	if err != nil || reason != "" {
		return made{reason: reason}, err
	}
	packed, dropped := r.assemble(out, r.experiment.Pipeline.Assemble)
	return made{packed: packed, dropped: dropped, retrieval: out.CallKey}, nil
}

// repairedSearch is the retrieval of a repair. It is made once, however often the cell is repeated.
func (r *caseRun) repairedSearch(ctx context.Context, cell matrix.CellID) (_ *matrix.Retrieval, reason string, err error) {
	if known := r.retrievalOf(cell); known != nil {
		return known, known.Reason, nil
	}
	from := r.retrievalOf(cell.Search())
	if from == nil || from.Status != matrix.StatusOK {
		return nil, fmt.Sprintf(matrix.NotRunSearch, cell.Search()), nil
	}
	out := *from
	out.Cell, out.Named, out.Reranked, out.RerankNotes, out.At, out.LatencyMS, out.SameAs = cell, nil, nil, nil, "", 0, ""
	out.RerankModel, out.RerankTop, out.RerankOrder, out.RerankFloor = "", 0, "", nil
	out.Asked = []matrix.Asked{{Role: matrix.RoleStore, Reused: 1}}
	deepest := r.deepestGold(from)
	switch cell {
	case matrix.RepairMoreK:
		if deepest == 0 {
			return nil, matrix.NotRunTooDeep, nil
		}
		out.K = max(deepest, out.K)
	case matrix.RungCandidates, matrix.RungReranked:
		out.Candidates = r.goldAhead(from.Candidates)
	}
	out.Depth = max(out.K, deepest)
	out.Candidates = slices.Clone(out.Candidates[:min(len(out.Candidates), out.Depth)])
	if reason, err := r.readTexts(ctx, out.PassedOn()); err != nil || reason != "" {
		return nil, reason, err
	}
	if err := r.rerankRepaired(ctx, &out, from, cell); err != nil {
		return nil, "", err
	}
	r.obs.Retrievals = append(r.obs.Retrievals, out)
	if out.Status != matrix.StatusOK {
		return &out, matrix.NotRunNotRanked, nil
	}
	return &r.obs.Retrievals[len(r.obs.Retrievals)-1], "", nil
}

func (r *caseRun) retrievalOf(cell matrix.CellID) *matrix.Retrieval {
	for i := range r.obs.Retrievals {
		if r.obs.Retrievals[i].Cell == cell {
			return &r.obs.Retrievals[i]
		}
	}
	return nil
}

// rerankRepaired lets the reranker order what the repair passes on, as a call of its own.
func (r *caseRun) rerankRepaired(ctx context.Context, out, from *matrix.Retrieval, cell matrix.CellID) error {
	call := matrix.Call{Case: r.plan.CaseDigest, Cell: cell, Step: "retrieve", Rep: 1, Provider: r.experiment.Backends.Store.Adapter}
	var err error
	if call.Input, err = matrix.RepairInput(from.CallKey, out.K, out.PassedOn()); err != nil {
		return err
	}
	if out.CallKey, err = call.Key(); err != nil {
		return err
	}
	switch {
	case r.experiment.Pipeline.Rerank == nil, cell == matrix.RepairNoRerank:
		return nil
	case cell == matrix.RepairReversed:
		out.RerankModel, out.RerankTop, out.RerankOrder = from.RerankModel, from.RerankTop, from.RerankOrder
		out.Reranked = slices.Clone(from.Reranked)
		slices.Reverse(out.Reranked)
		for i := range out.Reranked {
			out.Reranked[i].Rank = i + 1
		}
		return nil
	case cell == matrix.RungReranked:
		out.RerankModel, out.RerankTop, out.RerankOrder = from.RerankModel, from.RerankTop, from.RerankOrder
		out.Reranked = r.goldAhead(from.Reranked)
		return nil
	}
	known, notMade, err := r.recall(call, out.CallKey, !r.rerankerInfo.Local)
	switch {
	case err != nil:
		return err
	case known != nil:
		*out = *known.Retrieval
		out.FromJournal = true
		return nil
	case notMade != "":
		out.Status, out.Reason, out.Asked = matrix.StatusNotRun, notMade, r.leftOut(out.CallKey)
		return nil
	}
	callCtx, journal := r.begin(ctx, call, out.CallKey, !r.rerankerInfo.Local)
	if err := r.rerank(callCtx, out); err != nil {
		return err
	}
	out.Asked = matrix.AddAsked(out.Asked, journal.asked...)
	return journal.end(results.Outcome{Status: out.Status, Error: out.Error}, recorded{Retrieval: out})
}

// deepestGold is the rank down to which every required item is found, 0 where one is not.
func (r *caseRun) deepestGold(q *matrix.Retrieval) int {
	deepest := 0
	for i := range r.c.Evidence.Required {
		at := slices.IndexFunc(q.Candidates, func(h matrix.Hit) bool { return r.isGold(i, h.ID, h.Source, h.Revision, h.Text) })
		if at < 0 {
			return 0
		}
		deepest = max(deepest, at+1)
	}
	return deepest
}

// goldAhead puts the gold items in front of a ranking.
func (r *caseRun) goldAhead(hits []matrix.Hit) []matrix.Hit {
	var out []matrix.Hit
	for _, p := range r.goldContext() {
		out = append(out, matrix.Hit{ID: p.ID, Source: p.Source, Revision: p.Revision, Text: p.Text, Sensitivity: p.Sensitivity})
	}
	for _, h := range hits {
		if !slices.ContainsFunc(out, func(g matrix.Hit) bool { return g.ID == h.ID }) {
			out = append(out, h)
		}
	}
	for i := range out {
		out[i].Rank = i + 1
	}
	return out
}

// withGold puts the gold into production's context where its rank would have put it, in the order in which production packs. It takes the place
// of what was packed there in its stead. An item that the retrieval did not keep has no rank, and goes where the first would.
func (r *caseRun) withGold() []matrix.Packed {
	kept := r.obs.Retrievals[0].Kept()
	type ranked struct {
		rank int
		item matrix.Packed
	}
	var items []ranked
	for i, g := range r.goldContext() {
		at := slices.IndexFunc(kept, func(h matrix.Hit) bool { return h.ID == g.ID || r.isGold(i, h.ID, h.Source, h.Revision, h.Text) })
		items = append(items, ranked{at + 1, g})
	}
	gold := items
	for _, p := range r.packed {
		if !slices.ContainsFunc(gold, func(g ranked) bool { return g.item.ID == p.ID || g.rank == p.Rank }) {
			items = append(items, ranked{p.Rank, p})
		}
	}
	slices.SortStableFunc(items, func(a, b ranked) int { return cmp.Compare(a.rank, b.rank) })
	if r.experiment.Pipeline.Assemble.Order == "reverse" {
		slices.Reverse(items)
	}
	packed := make([]matrix.Packed, len(items))
	for i := range items {
		packed[i] = items[i].item
	}
	return numbered(packed)
}

// readTexts fetches the texts of items below the window in which they are recorded.
func (r *caseRun) readTexts(ctx context.Context, hits []matrix.Hit) (reason string, err error) {
	var ids []string
	for _, h := range hits {
		if h.Text.Ref == "" {
			ids = append(ids, h.ID)
		}
	}
	if len(ids) == 0 {
		return "", nil
	}
	items, failure := r.store.Fetch(ctx, adapters.FetchRequest{IDs: ids})
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(failure, ErrNotRecorded):
		return "", failure
	case failure != nil:
		return matrix.NotRunNoTexts + callError(failure).String(), nil
	}
	for i := range hits {
		if at := slices.IndexFunc(items, func(it adapters.Item) bool { return it.ID == hits[i].ID }); hits[i].Text.Ref == "" && at >= 0 {
			hits[i].Text = matrix.NewText(items[at].Text)
		}
	}
	return "", nil
}
