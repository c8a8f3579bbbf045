package weaviate

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/culprit-rag/culprit/adapters/weaviate/weaviatetest"
)

// recorder passes requests on to a server, and keeps what a test asks about them.
type recorder struct {
	Address string

	mu     sync.Mutex
	writes []string        // the requests that are no reads
	keys   map[string]bool // the Authorization headers that came
}

func record(t *testing.T, server weaviatetest.Server) *recorder {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 32, IdleConnTimeout: time.Minute}
	r := &recorder{keys: map[string]bool{}}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.note(req)
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return // the caller is gone
		}
		out, err := http.NewRequestWithContext(req.Context(), req.Method, "http://"+server.Address+req.URL.RequestURI(), bytes.NewReader(body))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		out.Header = req.Header.Clone()
		resp, err := transport.RoundTrip(out)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		for name, values := range resp.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body) // where it is cut, so is the answer
	}))
	t.Cleanup(func() { front.Close(); transport.CloseIdleConnections() })
	r.Address = strings.TrimPrefix(front.URL, "http://")
	return r
}

func (r *recorder) note(req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys[req.Header.Get("Authorization")] = true
	if req.Method != http.MethodGet && req.URL.Path != "/v1/graphql" { // this server's GraphQL has no mutations
		r.writes = append(r.writes, req.Method+" "+req.URL.Path)
	}
}

func (r *recorder) Writes() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.writes
}
