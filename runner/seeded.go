package runner

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

// swap is the gold context with one fact of one item changed. A cell whose item has no such fact is not run.
func (r *caseRun) swap(cell matrix.PlannedCell) made {
	gold := r.goldContext()
	if len(gold) == 0 {
		return made{reason: matrix.NotRunNoGoldText}
	}
	texts := make([]string, len(gold))
	for i := range gold {
		texts[i] = gold[i].Text.Value
	}
	item := cell.Item - 1
	span := r.c.Evidence.Required[item].AnyOf[verdict.GoldText(&r.obs.Store, item).Alternative].Span
	text, swapped, ok := verdict.SwapFact(r.c, texts, item, span)
	if !ok {
		return made{reason: verdict.NoSwap}
	}
	gold[item].Text = matrix.NewText(text)
	gold[item].Units = r.count(text)
	return made{packed: gold, swapped: &swapped}
}

// amongSeeded is the gold at one place among seeded items. A context with more of them holds those of the smaller ones.
func (r *caseRun) amongSeeded(cell matrix.PlannedCell) made {
	gold := r.goldContext()
	if len(gold) == 0 {
		return made{reason: matrix.NotRunNoGoldText}
	}
	if r.seeded == nil {
		r.seeded = r.draw()
	}
	if len(r.seeded) < cell.Seeded {
		return made{reason: fmt.Sprintf(matrix.NotRunFewSeeded, cell.Seeded, len(r.seeded))}
	}
	m := made{packed: slices.Clone(r.seeded[:cell.Seeded])}
	for _, p := range m.packed {
		m.seeded = append(m.seeded, p.ID)
	}
	m.packed = numbered(slices.Insert(m.packed, cell.Place-1, gold...))
	return m
}

// draw lists what may stand beside the gold: what production's search ranked, which is the noise that production has, and then the sample of
// the store, each in an order that their ids decide. None of it is evidence, a declared distractor, the same text as another, or
// something that the asker may not see.
func (r *caseRun) draw() []matrix.Packed {
	type drawn struct {
		seed uint64
		hit  matrix.Hit
	}
	var ranked, all []drawn
	for _, h := range r.obs.Retrievals[0].Candidates {
		hash := fnv.New64a()
		hash.Write([]byte(h.ID))
		ranked = append(ranked, drawn{spread(hash.Sum64()), h})
	}
	slices.SortFunc(ranked, func(a, b drawn) int { return cmp.Compare(a.seed, b.seed) })
	all = append(all, ranked...)
	for _, v := range r.presence.sample {
		it := v.item
		all = append(all, drawn{v.seed, matrix.Hit{
			ID: it.ID, Source: it.Source, Revision: it.Revision, Text: matrix.NewText(it.Text), Access: it.Access, Metadata: it.Metadata, Sensitivity: r.level(it.Access, it.Metadata),
		}})
	}
	out := []matrix.Packed{}
	for _, d := range all {
		h := d.hit
		unfit := h.Text.Value == "" || !r.c.As.Authorised(h.Access, h.Metadata) || r.isAnyGold(h.ID, h.Source, h.Revision, h.Text) || r.declared(h.ID, h.Source) ||
			slices.ContainsFunc(out, func(p matrix.Packed) bool { return p.ID == h.ID || p.Text.Ref == h.Text.Ref })
		if !unfit {
			out = append(out, matrix.Packed{ID: h.ID, Source: h.Source, Revision: h.Revision, Text: h.Text, Access: h.Access, Units: r.count(h.Text.Value), Sensitivity: h.Sensitivity})
		}
	}
	return out
}

// declared reports whether the case names an item as a distractor.
func (r *caseRun) declared(id, source string) bool {
	return slices.ContainsFunc(r.c.Evidence.Distractors, func(d matrix.Distractor) bool { return d.Source == id || d.Source == source })
}
