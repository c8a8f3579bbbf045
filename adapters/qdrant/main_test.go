package qdrant

import (
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/culprit-rag/culprit/adapters/qdrant/qdranttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(served{m}) }

// served stops the server that the tests share before goroutines are counted.
type served struct{ *testing.M }

func (s served) Run() int {
	code := s.M.Run()
	if shared.server != nil {
		if err := shared.server.Close(); err != nil {
			code = max(code, 1)
		}
	}
	return code
}

// shared is the server of all tests that need nothing in particular of it.
var shared struct {
	once   sync.Once
	server *qdranttest.Server
	err    error
}

func sharedServer(tb testing.TB) *qdranttest.Server {
	tb.Helper()
	qdranttest.Need(tb)
	shared.once.Do(func() {
		if shared.server = qdranttest.External(); shared.server == nil {
			shared.server, shared.err = qdranttest.Launch(tb.Context(), qdranttest.Options{})
		}
	})
	if shared.err != nil {
		tb.Fatal(shared.err)
	}
	return shared.server
}
