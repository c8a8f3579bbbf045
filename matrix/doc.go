// Package matrix is the domain of Culprit: cases, runs, cells, traces, and how an experiment expands into a plan.
//
// Start from [Experiment] (what production is and what is run), [Case] (one query with its evidence contract),
// [Plan] (the cells of one case) and [Observations] (what was recorded from outside). Data flows one way:
// experiment → plan → observations → verdict → bundle → report.
//
// The package holds values and pure functions. It imports the standard library alone and reads no file, clock,
// environment or network, so that everything derived from observations can be recomputed from a bundle.
package matrix
