// Package adaptertest runs the suites of package conformance as tests of Go: every adapter and every wrapper passes the same suites.
//
// An adapter calls a suite from a test of its own and brings a harness that opens it, such as [StoreHarness] for
// [TestVectorStore].
package adaptertest
