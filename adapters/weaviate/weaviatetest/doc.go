// Package weaviatetest starts a real Weaviate for tests, and fills it.
//
// Start from [Shared], the one server of a test process, with [Main] in TestMain, and from [Start] for a server with settings
// of its own. The server is built from the Go module in the folder server, once for each version, into the user's cache
// folder; the program in the folder prepare does it before the tests. Every server listens on free ports, keeps its data in a
// folder of its own, and ends with the process that started it.
//
// Where CULPRIT_WEAVIATE_ADDR (host:port) is set, Shared is that server, with the key in CULPRIT_WEAVIATE_API_KEY. Tests are
// skipped in short mode, by -short or CULPRIT_TEST_SHORT=1; a server that cannot be built or started is a failure.
package weaviatetest
