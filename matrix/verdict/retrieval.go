package verdict

import (
	"fmt"
	"slices"

	"github.com/culprit-rag/culprit/matrix/measure"
)

// retrievalResult measures the production retrieval of the case: the full ranking before any rerank, by span. A case
// without gold, or one whose search was not observed, has no metrics.
func (x *facts) retrievalResult() RetrievalResult {
	out := RetrievalResult{Gold: x.goldRanks()}
	if x.search == nil || len(x.gold) == 0 || slices.ContainsFunc(x.gold, x.textless) {
		return out
	}
	ranks, byID := make([]int, len(x.gold)), make([]int, len(x.gold))
	for i, g := range x.gold {
		ranks[i], byID[i] = g.place.BySpan, g.place.BySource
	}
	ranking := measure.JudgeGroups(ranks, len(x.search.Candidates))
	add := func(name string, v measure.Value) {
		if v.OK() {
			out.Metrics = append(out.Metrics, Metric{Name: name, Value: v.Decimal()})
		}
	}
	for _, k := range x.cutoffs() {
		add(fmt.Sprintf("recall@%d", k), ranking.Recall(k))
	}
	k := x.search.K
	add(fmt.Sprintf("hit@%d", k), ranking.Hit(k))
	add(fmt.Sprintf("complete@%d", k), ranking.Complete(k))
	add(fmt.Sprintf("precision@%d", k), ranking.Precision(k))
	add(fmt.Sprintf("ndcg@%d", k), ranking.NDCG(k))
	add("rr", ranking.ReciprocalRank())
	// An item that carries the gold's source and not its words counts here alone: the difference is what an id hides.
	add(fmt.Sprintf("id_recall@%d", k), measure.JudgeGroups(byID, len(x.search.Candidates)).Recall(k))
	return out
}

// Wilson95 is the interval shown with a rate, as two decimals; it decides nothing. It is nil for counts that cannot be.
func Wilson95(k, n int) []string {
	i, ok := measure.Wilson95(k, n)
	if !ok {
		return nil
	}
	return []string{i.Lo, i.Hi}
}
