// Package measure computes the numbers that a verdict prints: retrieval metrics and intervals.
//
// Start from [Ranking], made by [Judge] from graded items or by [JudgeGroups] from the ranks of required evidence, and from
// [Wilson95] for the display of k passes of n. A [Value] is a number or the reason why there is none; NaN does not occur.
//
// Results are the same bytes on every machine: metrics are fractions of integers, nDCG's logarithms and the bounds of
// [ClopperPearsonLower] are computed with math/big, and the one computation in floating point keeps its products from being fused with
// its sums. The package has no state and is safe for concurrent use.
package measure
