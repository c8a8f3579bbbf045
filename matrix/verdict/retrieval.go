package verdict

import "fmt"

func (x *facts) retrievalResult() RetrievalResult {
	out := RetrievalResult{Gold: x.goldRanks()}
	if x.search == nil || len(x.gold) == 0 {
		return out
	}
	for _, k := range x.cutoffs() {
		n := 0
		for _, g := range x.gold {
			if g.place.BySpan > 0 && g.place.BySpan <= k {
				n++
			}
		}
		out.Metrics = append(out.Metrics, Metric{Name: fmt.Sprintf("recall@%d", k), Value: fmt.Sprintf("%.6f", float64(n)/float64(len(x.gold)))})
	}
	return out
}

func wilson(k, n int) []string { return nil }
