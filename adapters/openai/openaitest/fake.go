package openaitest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Fake is a stand-in for a server of OpenAI's API: for the faults that a real server will not produce on demand, for speed, and for
// what was really sent. Its generator repeats the user's words; its embedder and its reranker count words. It is safe for concurrent use.
type Fake struct {
	URL string // the base URL, with /v1

	options FakeOptions
	server  *httptest.Server
	ended   chan struct{} // closed when the test is over, for calls that hang

	mu          sync.Mutex // guards what is below
	script      []FakeReply
	requests    []FakeRequest
	connections int
}

// FakeOptions say what the server is. The zero value has no key and the model [FakeModel].
type FakeOptions struct {
	Model   string   // the one that it has; others are a 404
	Key     string   // that calls must carry
	Context int      // words that the model reads; 0: as many as there are
	Refuses []string // parameters that it does not take, and says so
	TEI     bool     // the reranker has TEI's shape
	Batch   int      // documents of one call to the reranker; 0: as many as there are
	TLS     bool
	Header  http.Header // of every answer
}

// FakeModel is the model of a Fake that is not told another.
const FakeModel = "fake-2026-01-01"

// FakeRequest is a call as it came.
type FakeRequest struct {
	Path   string // with the query
	Header http.Header
	Raw    []byte
	Body   map[string]any // nil: no JSON object
}

// StartFake starts one, and ends it with the test.
func StartFake(tb testing.TB, options FakeOptions) *Fake {
	tb.Helper()
	options.Model = cmp.Or(options.Model, FakeModel)
	f := &Fake{options: options, ended: make(chan struct{})}
	f.server = httptest.NewUnstartedServer(http.HandlerFunc(f.serve))
	f.server.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that fail on purpose
	f.server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.connections++
		}
	}
	if options.TLS {
		f.server.StartTLS()
	} else {
		f.server.Start()
	}
	tb.Cleanup(func() {
		close(f.ended)
		f.server.CloseClientConnections()
		f.server.Close()
	})
	f.URL = f.server.URL + "/v1"
	return f
}

// Script sets how the next calls are answered, in this order; the last one stays. Without any, the server is healthy.
func (f *Fake) Script(replies ...FakeReply) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.script = replies
}

// Requests returns the calls so far.
func (f *Fake) Requests() []FakeRequest {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]FakeRequest(nil), f.requests...)
}

// Connections returns how many connections were made so far.
func (f *Fake) Connections() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.connections
}

// Certificate returns the certificate of a server with TLS, in DER.
func (f *Fake) Certificate() []byte { return f.server.Certificate().Raw }

func (f *Fake) serve(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	request := FakeRequest{Path: r.URL.RequestURI(), Header: r.Header.Clone(), Raw: raw}
	_ = json.Unmarshal(raw, &request.Body) // what is no object has none
	reply, number := f.next(request)
	for name, values := range f.options.Header {
		w.Header()[name] = values
	}
	if reply != nil {
		f.send(w, r, *reply)
		return
	}
	if key := f.options.Key; key != "" && r.Header.Get("Authorization") != "Bearer "+key && r.Header.Get("Api-Key") != key {
		f.send(w, r, FakeError(http.StatusUnauthorized, "Incorrect API key provided.", "invalid_api_key", ""))
		return
	}
	for _, name := range f.options.Refuses {
		if _, sent := request.Body[name]; sent {
			f.send(w, r, FakeError(http.StatusBadRequest, fmt.Sprintf("Unsupported parameter: '%s' is not supported with this model.", name), "unsupported_parameter", name))
			return
		}
	}
	switch {
	case strings.HasSuffix(r.URL.Path, "/chat/completions"):
		f.send(w, r, f.chat(request, number))
	case strings.HasSuffix(r.URL.Path, "/embeddings"):
		f.send(w, r, f.embed(request))
	case strings.HasSuffix(r.URL.Path, "/rerank"):
		f.send(w, r, f.rerank(request))
	default:
		f.send(w, r, FakeReply{Status: http.StatusNotFound, Body: "404 page not found"})
	}
}

// next records a call and returns how the script answers it, nil for healthily.
func (f *Fake) next(request FakeRequest) (*FakeReply, int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = append(f.requests, request)
	if len(f.script) == 0 {
		return nil, len(f.requests)
	}
	reply := f.script[0]
	if len(f.script) > 1 {
		f.script = f.script[1:]
	}
	if reply.Healthy {
		return nil, len(f.requests)
	}
	return &reply, len(f.requests)
}
