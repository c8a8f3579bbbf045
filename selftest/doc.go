// Package selftest injects known faults into healthy cases, runs the whole product on each, and counts how often the verdict is right.
//
// Start at [Run]: it invents corpora from a seed ([shapes]), breaks each in one known way ([faults]), loads the experiment as a user's
// file is loaded, runs it over the embedded backends, reads the sealed bundle and compares its verdict with what was broken. [Report] is
// the record of that; [Report.Text] and [Report.Markdown] show it.
//
// The same options give the same report, wall time aside. Bundles are written into a folder for temporary files and removed.
package selftest
