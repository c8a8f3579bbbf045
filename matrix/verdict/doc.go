// Package verdict turns observations into a verdict: claims and other facts are read from the texts ([Extract]), then
// ordered stage isolation names the stage that broke ([Evaluate]). It is pure: the same observations give the same bytes.
//
// Start from [Evaluation], the outcome of one case, and [Rules], the ordered table that decides it. Texts are needed by
// Extract alone, so that labels can be decided again from a bundle whose texts are withheld.
package verdict
