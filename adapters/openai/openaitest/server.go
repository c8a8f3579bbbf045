package openaitest

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/adapters/pythontest"
)

//go:embed engine/*.py engine/*.txt
var engine embed.FS

// Server is a running model.
type Server struct {
	URL   string // of the generator and the embedder what a base_url is; of the reranker the endpoint itself
	Model string

	process *pythontest.Process
}

// Backends of the embedder: one model in two precisions.
const (
	Int8 = "onnx"
	FP32 = "numpy"
)

// The models' names.
const (
	GeneratorModel = "smollm2-135m-instruct"
	EmbedderModel  = "all-MiniLM-L6-v2"
	RerankerModel  = "all-MiniLM-L6-v2-late-interaction"
)

// Install makes the Python that all servers run on, where it was not made before, and returns it.
func Install(ctx context.Context) (string, error) {
	python, err := pythontest.Install(ctx, "openai", program())
	if err != nil {
		return "", fmt.Errorf("installing the models: %w", err)
	}
	return python, nil
}

func program() fs.FS {
	files, err := fs.Sub(engine, "engine")
	if err != nil {
		panic(err) // the folder is embedded
	}
	return files
}

// Launch starts one of the programs in the folder engine: "generator", "embedder" or "reranker", with its flags. The caller closes it.
func Launch(ctx context.Context, name string, flags ...string) (*Server, error) {
	python, err := Install(ctx)
	if err != nil {
		return nil, err
	}
	// Nothing is fetched from anywhere, and threads that wait for work leave the cores to those that have some.
	env := []string{"HF_HUB_OFFLINE=1", "TOKENIZERS_PARALLELISM=false", "GOMP_SPINCOUNT=20000", "OMP_WAIT_POLICY=passive"}
	p, err := pythontest.Start(ctx, python, program(), name+".py", env, func(string) ([]string, error) { return flags, nil })
	if err != nil {
		return nil, fmt.Errorf("starting the %s: %w", name, err)
	}
	port, model, _ := strings.Cut(p.Ready, " ")
	s := &Server{URL: "http://127.0.0.1:" + port + "/v1", Model: model, process: p}
	if name == "reranker" {
		s.URL = "http://127.0.0.1:" + port + "/rerank"
	}
	return s, nil
}

// Close stops the server. It may be called again.
func (s *Server) Close() error { return s.process.Close() }

// StartGenerator starts SmolLM2 for a test. Flags: --slots, --prompt-cache, --context, --threads.
func StartGenerator(tb testing.TB, flags ...string) *Server {
	tb.Helper()
	return start(tb, "generator", flags...)
}

// StartEmbedder starts MiniLM for a test, in the precision Int8 or FP32.
func StartEmbedder(tb testing.TB, backend string) *Server {
	tb.Helper()
	return start(tb, "embedder", "--backend", backend)
}

// StartReranker starts the reranker for a test. Flags: --shape cohere|tei, --most.
func StartReranker(tb testing.TB, flags ...string) *Server {
	tb.Helper()
	return start(tb, "reranker", flags...)
}

func start(tb testing.TB, name string, flags ...string) *Server {
	tb.Helper()
	pythontest.Need(tb, "a real model")
	s, err := Launch(context.WithoutCancel(tb.Context()), name, flags...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("stopping the %s: %v", name, err)
		}
	})
	return s
}
