package runner

import (
	"slices"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/matrix"
)

// What a comparison of stored vectors takes at the most (docs/identity.md): the texts of the sample as they are and under each
// prefix; of some that stay open, the store's neighbours and the start of the text.
const (
	identityPasses   = 10 // of all texts
	identityCalls    = 14
	identitySearches = 8
	identityTexts    = 192 // in the calls that are not over all texts
)

// sharedCalls are made for all cases: documents are embedded for a store that makes its own vectors, and the sample afresh. Both
// need a store.
func (r *reckoning) sharedCalls() {
	if r.e.WithoutStore() {
		return
	}
	const storeBatch = batch // as the embedded store has it
	batch := TextsPerCall(r.e.Backends.Embedder)
	if r.e.Backends.Store.Free() && r.chunks > 0 {
		calls := r.chunks/storeBatch*upTo(storeBatch, batch) + upTo(r.chunks%storeBatch, batch)
		worst, expected := margin(&r.corpus, r.chunks), r.corpus
		r.add("", cellDocuments, r.need(matrix.RoleEmbedder, calls, worst, 0, 0), r.need(matrix.RoleEmbedder, calls, &expected, 0, 0))
	}
	if n := r.e.Checks.Sample; n > 0 {
		if r.chunks > 0 {
			n = min(n, r.chunks)
		}
		all := identityPasses*n + identityTexts
		worst, _ := r.tokensOf(all)
		_, expected := r.tokensOf(n)
		most := r.need(matrix.RoleEmbedder, identityCalls+identityPasses*(n/batch), margin(worst, all), 0, 0)
		most.Add(r.need(matrix.RoleStore, identitySearches, nil, 0, 0))
		r.add("", cellSample, most, r.need(matrix.RoleEmbedder, 1+n/batch, expected, 0, 0))
	}
}

// upTo is how many calls so many texts take.
func upTo(texts, most int) int { return (texts + most - 1) / most }

// searches adds the retrievals of a case. A search of a live store is made twice, as production makes it and to its full depth.
func (r *reckoning) searches(c *matrix.Case, plan *matrix.Plan) {
	if r.e.WithoutStore() { // the service is asked, for what its store finds
		question := r.counted(c.Question())
		r.add(c.ID, string(matrix.CellC), r.need(matrix.RoleGenerator, 1, margin(question, 1), 0, 0), r.need(matrix.RoleGenerator, 1, question, 0, 0))
		return
	}
	each := 2
	if r.e.Backends.Store.Free() {
		each = 1
	}
	typed, written := r.counted(c.Question()), r.queries(c)
	for _, p := range plan.Retrievals {
		searches, question := r.e.Pipeline.Rewrite.Searches(), written
		if p.Cell == matrix.ProbeAsTyped {
			searches, question = 1, typed
		}
		perSearch := each * searches
		worst, expected := r.need(matrix.RoleStore, perSearch, nil, 0, 0), nothing()
		if p.Cell == matrix.ControlRerank {
			worst = nothing()
		}
		embedding := []matrix.CellID{matrix.CellC, matrix.ProbeAsTyped, matrix.ProbeIndexEmbed, matrix.ProbeUncached, matrix.ProbeLater}
		if r.embeds() && slices.Contains(embedding, p.Cell) {
			worst.Add(r.need(matrix.RoleEmbedder, searches, margin(question, searches), 0, 0))
		}
		if p.Cell == matrix.ProbeUncached { // the query in two more forms
			worst.Add(r.need(matrix.RoleEmbedder, 1, margin(bothOf(question, question), 2), 0, 0))
		}
		if p.Condition == "" {
			expected = r.need(matrix.RoleStore, perSearch, nil, 0, 0)
			if r.embeds() && p.Cell == matrix.CellC {
				expected.Add(r.need(matrix.RoleEmbedder, searches, question, 0, 0))
			}
		}
		r.reranks(p.Cell, typed, &worst, &expected)
		r.add(c.ID, string(p.Cell), worst, expected)
	}
	if len(plan.Retrievals) > 0 && r.embeds() && c.HasGold() && r.e.Checks.Sample > 0 {
		gold := keepItems * len(c.Evidence.Required)
		all := identityPasses*gold + identityTexts
		worst, _ := r.tokensOf(all)
		_, expected := r.tokensOf(len(c.Evidence.Required))
		most := r.need(matrix.RoleEmbedder, identityCalls, margin(worst, all), 0, 0)
		most.Add(r.need(matrix.RoleStore, max(identitySearches, gold), nil, 0, 0))
		r.add(c.ID, cellSample, most, r.need(matrix.RoleEmbedder, 1, expected, 0, 0))
	}
}

// reranks adds the calls of the reranker: one of C, and three of its control.
func (r *reckoning) reranks(cell matrix.CellID, question *int64, worst, expected *Need) {
	if r.e.Pipeline.Rerank == nil || r.e.Backends.Reranker == nil {
		return
	}
	switch cell {
	case matrix.CellC:
		most, usual := r.rerank(r.e.Pipeline.Search.K, question)
		worst.Add(most)
		expected.Add(usual)
	case matrix.ControlRerank:
		two, _ := r.tokensOf(2)
		worst.Add(r.need(matrix.RoleReranker, 3, margin(bothOf(two, times(question, 7)), 8), 0, 3))
	}
}

// rerank is what the reranker takes for so many items.
func (r *reckoning) rerank(items int, question *int64) (worst, expected Need) {
	most, mean := r.tokensOf(items)
	questions, searches := times(question, items), adapters.Searches(items)
	return r.need(matrix.RoleReranker, 1, margin(bothOf(most, questions), 2*items), 0, searches),
		r.need(matrix.RoleReranker, 1, bothOf(mean, questions), 0, searches)
}
