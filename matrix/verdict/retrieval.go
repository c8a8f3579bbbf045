package verdict

import (
	"slices"
	"strconv"

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
	cutoffs := x.cutoffs()
	out.Metrics = make([]Metric, 0, len(cutoffs)+6)
	for _, k := range cutoffs {
		add("recall@"+strconv.Itoa(k), ranking.Recall(k))
	}
	k := x.search.K
	at := "@" + strconv.Itoa(k)
	add("hit"+at, ranking.Hit(k))
	add("complete"+at, ranking.Complete(k))
	add("precision"+at, ranking.Precision(k))
	add("ndcg"+at, ranking.NDCG(k))
	add("rr", ranking.ReciprocalRank())
	// An item that carries the gold's source and not its words counts here alone: the difference is what an id hides.
	add("id_recall"+at, measure.JudgeGroups(byID, len(x.search.Candidates)).Recall(k))
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
