// Package runner carries a plan out: it opens the backends, proves presence in the store, runs the pipeline with a full
// trace at every boundary, and hands each case's observations to the evaluator and its bundle to results.
//
// Start from [Run]. Work is bounded by the experiment's limits; results are ordered by the plan and never by scheduling;
// identical calls are made once. A failing call is an observation, not an error of the run: an error returned by Run means
// that the work itself could not go on (bad backend, full disk, cancelled).
package runner
