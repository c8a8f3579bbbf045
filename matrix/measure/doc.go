// Package measure computes the numbers that a verdict prints and decides by: retrieval and judged metrics, intervals, and what repeated
// trials show.
//
// Start from [Ranking], made by [Judge] from graded items or by [JudgeGroups] from the ranks of required evidence; from [Wilson95] for the
// display of k passes of n; from [Sequential] for whether a configuration passes or fails; and from [Attribute] for where a failure comes
// from. A [Value] is a number or the reason why there is none; NaN does not occur. Functions that return plain numbers say what they return
// for counts that cannot be. Some functions have no caller outside of tests yet: the sections of the specification are here as a whole.
//
// What is printed from exact arithmetic is the same bytes on every machine: metrics are fractions of integers, nDCG's logarithms and the
// bounds of [ClopperPearsonLower] are computed with math/big, and arithmetic in floating point keeps its products from being fused with
// its sums. Logarithms, exponentials and beta functions may differ between processors in their last bits: decisions on them leave a slack
// of 1e-12, and what is printed of them is rounded. Nothing is random. The package keeps some thousand results of each costly pure
// function, has no other state and is safe for concurrent use.
package measure
