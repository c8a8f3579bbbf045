// Package qdranttest runs Qdrant's own engine behind Qdrant's gRPC API, for tests: [Start] starts a server of its own for a
// test on a free loopback port, and [Server.Create] and [Server.Upsert] fill it through the official client.
//
// The server is the Python program in the folder engine. What it needs is installed once, into the user's cache folder.
// Where CULPRIT_QDRANT_ADDR (host:port, and CULPRIT_QDRANT_API_KEY) names a server, tests run against that one instead, as
// far as they ask for nothing that only the engine server can be told. With -short, or CULPRIT_TEST_SHORT=1, they are skipped.
package qdranttest
