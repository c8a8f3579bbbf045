// Service is a small retrieval-augmented generation service, for trying out culprit against a pipeline of one's own:
//
//	go run ./experiments/examples/remote/service
//
// It answers POST /ask as docs/remote.md describes it: with an answer from what it retrieves, from a given context, or with its
// retrieval alone. It stands on the standard library alone.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	listen := flag.String("listen", "localhost:8077", "the address to listen at")
	corpus := flag.String("corpus", "experiments/examples/remote/policy.jsonl", "the documents, as JSONL")
	model := flag.String("model", "", "the base URL of an OpenAI-compatible model; without one, a stand-in copies a sentence of the context")
	name := flag.String("model-name", "smollm2-135m-instruct", "the model to ask for")
	noContext := flag.Bool("no-context", false, "take no context, as most services do not")
	mask := flag.Bool("mask", false, "mask the figures of every answer but those from a given context: a defect behind the model, which no trace shows")
	flag.Parse()
	index, err := readIndex(filepath.FromSlash(*corpus))
	if err != nil {
		return err
	}
	s := &service{index: index, takesContext: !*noContext, masks: *mask, generate: extract}
	if *model != "" {
		s.generate = chat(*model, *name)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", *listen)
	if err != nil {
		return err
	}
	fmt.Printf("listening on http://%s/ask\n", listener.Addr())
	server := &http.Server{Handler: s.handler(), ReadHeaderTimeout: time.Minute}
	go func() {
		<-ctx.Done()
		_ = server.Close() // nothing is kept
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// What goes over the wire; docs/remote.md describes the whole of it.
type (
	request struct {
		RequestID string  `json:"request_id"`
		Query     string  `json:"query"`
		K         int     `json:"k"`
		Context   *[]item `json:"context"`
		Answer    bool    `json:"answer"`
		Params    struct {
			Temperature *float64 `json:"temperature"`
			Seed        *int64   `json:"seed"`
			MaxTokens   int      `json:"max_tokens"`
		} `json:"params"`
	}
	item struct {
		ID     string   `json:"id"`
		Source string   `json:"source"`
		Text   string   `json:"text"`
		Score  *float64 `json:"score,omitempty"`
	}
	message struct {
		Role string `json:"role"`
		Text string `json:"text"`
	}
	trace struct {
		RequestID    string    `json:"request_id"`
		Candidates   []item    `json:"candidates,omitempty"`
		Packed       []item    `json:"packed"`
		Prompt       []message `json:"prompt"`
		Answer       *string   `json:"answer,omitempty"`
		FinishReason string    `json:"finish_reason,omitempty"`
		Model        string    `json:"model_reported,omitempty"`
	}
)

// service is the pipeline: search, pack, prompt, answer.
type service struct {
	index        *index
	takesContext bool
	masks        bool
	generate     func(ctx context.Context, id string, prompt []message, r *request) (answer, finish, model string, err error)
}

func (s *service) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ask/capabilities", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, map[string]any{"name": "travel-service", "version": "1", "context": s.takesContext, "retrieval": true})
	})
	mux.HandleFunc("POST /ask", s.ask)
	return mux
}

const (
	budget       = 50 // words of context
	defaultItems = 2
	systemPrompt = "Answer from the context only and cite the id of what you use, like [c00].\nIf the context does not hold the answer, say: I don't know."
)

func (s *service) ask(w http.ResponseWriter, r *http.Request) {
	var req request
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&req); err != nil {
		reply(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
		return
	}
	out := trace{RequestID: req.RequestID}
	if req.Context != nil && s.takesContext {
		out.Packed = *req.Context
	} else {
		k := req.K
		if k == 0 {
			k = defaultItems
		}
		out.Candidates = s.index.search(req.Query)
		out.Packed = pack(out.Candidates[:min(k, len(out.Candidates))])
	}
	out.Prompt = render(out.Packed, req.Query)
	if req.Answer {
		answer, finish, model, err := s.generate(r.Context(), req.RequestID, out.Prompt, &req)
		if err != nil {
			reply(w, http.StatusBadGateway, map[string]string{"error": err.Error()})
			return
		}
		if s.masks && req.Context == nil {
			answer = figures.ReplaceAllString(answer, "**")
		}
		out.Answer, out.FinishReason, out.Model = &answer, finish, model
	}
	reply(w, http.StatusOK, out)
}

// figures are what a filter of personal data takes for telephone numbers.
var figures = regexp.MustCompile(`\b[0-9]+\b`)

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // who asked may be gone
}
