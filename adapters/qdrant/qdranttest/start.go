package qdranttest

import (
	"context"
	"os"
	"testing"

	"github.com/culprit-rag/culprit/adapters/pythontest"
)

// Need skips the test where only what needs nothing but Go is to be run.
func Need(tb testing.TB) {
	tb.Helper()
	pythontest.Need(tb, "a Qdrant server")
}

// External returns the server that the environment names, or nil. It is shared with whoever else uses it: [Server.Name]
// makes names for it.
func External() *Server {
	address := os.Getenv("CULPRIT_QDRANT_ADDR")
	if address == "" {
		return nil
	}
	return &Server{Address: address, APIKey: os.Getenv("CULPRIT_QDRANT_API_KEY")}
}

// Start returns a server for the test and stops it afterwards. It is that of the environment where one is named and the
// options ask for nothing in particular. A machine that cannot run it, without Python say, fails the test.
func Start(tb testing.TB, o Options) *Server {
	tb.Helper()
	Need(tb)
	if s := External(); s != nil && o == (Options{}) {
		return s
	}
	s, err := Launch(context.WithoutCancel(tb.Context()), o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("stopping the engine server: %v", err)
		}
	})
	return s
}
