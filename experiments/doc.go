// Package experiments reads and checks what a user writes: experiment files, profiles, cases, prompts and documents.
//
// Start from [Load], which turns a file into a [Loaded]: the resolved experiment, its cases and its [DocumentSet]. [Schema]
// returns the JSON Schema that both Load and an editor check with; [Init] writes a first experiment; [Find] lists those
// below a folder.
//
// Data flows one way: bytes → positioned tree ([parse]) → includes, profile and --set merged → JSON Schema → values of
// package matrix → lint. Every value keeps the place where it was written, so every [Problem] names file, line and column,
// and one pass reports all of them. Nothing is opened that an experiment does not name, files outside its folder only on
// request, and no network is touched.
//
// The package does not run anything: whether evidence is really in a store is found out by a run.
//
// A [DocumentSet] may be iterated by several goroutines at once; it reads its files again on every iteration, in a fixed
// order, and holds one document at a time. Everything else here is called once, from one goroutine.
package experiments
