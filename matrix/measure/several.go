package measure

import (
	"cmp"
	"slices"
)

// Holm adjusts the p of several tests of one family (Holm 1979): with p in ascending order, the j-th becomes the largest of
// min(1, (S-i+1)·p_i) over i ≤ j. The order of the result is that of p.
// What is not a probability counts as 1. Compare one with a level as p ≤ level + 1e-12.
func Holm(p []float64) []float64 {
	p = known(p)
	adjusted, largest := make([]float64, len(p)), 0.0
	for i, at := range ascending(p) {
		largest = max(largest, min(1, float64(float64(len(p)-i)*p[at])))
		adjusted[at] = largest
	}
	return adjusted
}

// BenjaminiHochberg returns the q of each p: the smallest false discovery rate at which it is among the discoveries (Benjamini and
// Hochberg 1995), the smallest of min(1, S·p_i/i) over i ≥ j in ascending order. The order of the result is that of p.
func BenjaminiHochberg(p []float64) []float64 {
	p = known(p)
	q, smallest := make([]float64, len(p)), 1.0
	order := ascending(p)
	for i := len(order) - 1; i >= 0; i-- {
		smallest = min(smallest, float64(float64(len(p))*p[order[i]])/float64(i+1))
		q[order[i]] = smallest
	}
	return q
}

// known returns p, with 1 for what is not a probability: it shows nothing.
func known(p []float64) []float64 {
	p = slices.Clone(p)
	for i := range p {
		if !(p[i] >= 0 && p[i] <= 1) {
			p[i] = 1
		}
	}
	return p
}

// ascending returns the places of p from its smallest to its largest.
func ascending(p []float64) []int {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	return order
}
