// Package results keeps what an execution saw: one bundle for each case, and a summary over all cases.
//
// Start from [NewExecution], [Execution.Case] and [CaseWriter.Seal] to write, and from [Open], [FindCase] and
// [ReadSummary] to read. FORMAT.md says which file holds what, and what is true on disk at any moment.
//
// The package does not call backends, judge cases or draw screens.
//
// Guarantees: a file named *.bundle.zip is whole, whenever the process was killed and however full the disk was. A call
// is in the journal before it is made. Derived files are the same bytes for the same observations. An [Execution] and a
// [CaseWriter] may be used by several goroutines at once. Writing and sealing a case of 50 calls takes some 15 ms, most of it
// waiting for the disk, and reading it back 3 ms (BenchmarkSeal, BenchmarkOpen).
package results
