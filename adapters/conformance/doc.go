// Package conformance is the contract of package adapters as suites: every adapter, every wrapper and every plugin passes the same
// ones. Package adaptertest runs them as tests of Go; [Run] runs them in the program, for authors of plugins.
//
// A suite is a tree of parts that do not depend on each other, run over a harness that opens the backend, such as [StoreHarness] for
// [Store]. What a backend does not declare is skipped, except that asking for it must be refused. A fault that is found in one
// adapter becomes a case here first.
package conformance
