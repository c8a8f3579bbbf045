// Package report draws results for a person: [Run] one execution over its cases, [Explain] one case from the query to the
// answer. [Safe] is the one way in which text of a store, a model, a document or a case reaches a terminal.
//
// The package decides nothing: every word of a verdict comes from the evaluation, every number from the records. It reads
// no clock, environment or terminal; colour and width are the caller's to choose.
package report
