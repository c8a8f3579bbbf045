// Package adaptertest is the contract of package adapters as tests: every adapter and every wrapper passes the same suites.
//
// A suite is a tree of subtests that do not depend on each other. An adapter calls it from a test of its own and brings a
// harness that opens it, such as [StoreHarness] for [TestVectorStore]. What an adapter does not declare is skipped, except
// that asking for it must be refused. A fault that is found in one adapter becomes a case here first.
package adaptertest
