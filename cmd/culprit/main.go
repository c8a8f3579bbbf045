// Command culprit runs a substitution matrix over a retrieval-augmented generation pipeline and names the stage that broke.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"golang.org/x/term"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/embedded"
	"github.com/culprit-rag/culprit/adapters/openai"
	"github.com/culprit-rag/culprit/adapters/plugin"
	"github.com/culprit-rag/culprit/adapters/qdrant"
	"github.com/culprit-rag/culprit/adapters/remote"
	"github.com/culprit-rag/culprit/adapters/rerank"
	"github.com/culprit-rag/culprit/adapters/weaviate"
)

func main() { os.Exit(culprit()) }

// culprit runs the program on the process's own streams, arguments and environment, and returns its exit code.
func culprit() int {
	// Reading thousands of cases leaves a heap that a run would let grow to twice its size; collecting earlier keeps the peak
	// near what is needed, for a few percent of time.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(25)
	}
	// A heap of a few megabytes is then collected many times a second. This counts as live and is never touched, so that it takes no
	// memory and lets the heap of every run grow by a quarter of it more.
	ballast := make([]byte, 10<<20)
	defer runtime.KeepAlive(ballast)
	registry, err := builtIn()
	if err != nil {
		fmt.Fprintln(os.Stderr, "culprit:", err)
		return exitInternal
	}
	a := &app{out: terminal(os.Stdout), err: terminal(os.Stderr), env: os.Getenv, registry: registry}
	return a.main(context.Background(), os.Args[1:])
}

// builtIn returns the adapters, among them the one that runs plugins.
func builtIn() (*adapters.Registry, error) {
	return adapters.NewRegistry(embedded.Factory(), openai.Factory(), plugin.Factory(), qdrant.Factory(), remote.Factory(), rerank.Factory(), weaviate.Factory())
}

// terminal describes a stream of the process.
func terminal(f *os.File) stream {
	s := stream{Writer: f}
	if width, _, err := term.GetSize(int(f.Fd())); err == nil {
		s.terminal, s.width = true, width
	}
	return s
}
