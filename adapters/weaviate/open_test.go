package weaviate

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/weaviate/weaviatetest"
)

// wantError holds an error to its kind and to what it must name.
func wantError(t *testing.T, err error, kind adapters.Kind, names ...string) {
	t.Helper()
	var typed *adapters.Error
	if !errors.As(err, &typed) || typed.Kind != kind {
		t.Errorf("%v, want an error of kind %s", err, kind)
		return
	}
	for _, name := range names {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("the error %q does not name %q", err, name)
		}
	}
	if strings.Contains(err.Error(), `Get "`) || strings.Contains(err.Error(), "dial tcp") {
		t.Errorf("the error %q is in the words of net", err)
	}
}

// opening opens a store that cannot be opened.
func opening(t *testing.T, s settings, key string) error {
	t.Helper()
	if key != "" {
		s = s.with(settings{"api_key_env": "THE_KEY"})
	}
	store, err := Factory().OpenStore(t.Context(), config(t, s, key))
	if err == nil {
		store.Close()
	}
	return err
}

func TestWhatIsNotThereIsNamed(t *testing.T) {
	t.Parallel()
	server := weaviatetest.Shared(t)
	plain, named := weaviatetest.ClassName(t), weaviatetest.ClassName(t)
	server.Create(t, weaviatetest.Unnamed(plain, "cosine", weaviatetest.Text("body", "word"), weaviatetest.Property("pages", "int"), weaviatetest.Texts("lines", "word")))
	server.Create(t, weaviatetest.Named(named, map[string]string{"title": "dot", "content": "cosine"}, weaviatetest.Text("body", "word")))
	base := settings{"address": server.Address, "collection": plain, "fields": settings{"text": "body"}}
	for _, test := range []struct {
		name  string
		more  settings
		kind  adapters.Kind
		names []string
	}{
		{"class", settings{"collection": "Nowhere"}, adapters.KindNotFound, []string{`"Nowhere"`, "backends.store.collection", plain, named}},
		{"named vector", settings{"collection": named, "vector": "headline"}, adapters.KindInvalid, []string{`"headline"`, "backends.store.vector", `"title"`, `"content"`}},
		{"vector that has no name", settings{"collection": named}, adapters.KindInvalid, []string{"backends.store.vector", `"title"`}},
		{"name of the only vector", settings{"vector": "title"}, adapters.KindInvalid, []string{`"title"`, "backends.store.vector"}},
		{"text property", settings{"fields": settings{"text": "contents"}}, adapters.KindInvalid, []string{`"contents"`, "fields.text", `"body"`}},
		{"text in a number", settings{"fields": settings{"text": "pages"}}, adapters.KindInvalid, []string{`"pages"`, "int", "fields.text", `"body"`}},
		{"text in a list", settings{"fields": settings{"text": "lines"}}, adapters.KindInvalid, []string{`"lines"`, "text[]", "fields.text", `"body"`}},
		{"keyword property", settings{"keyword": settings{"fields": []string{"headline^2"}}}, adapters.KindInvalid, []string{`"headline"`, "keyword.fields", `"body"`}},
		{"tenants", settings{"tenants": []string{"acme"}}, adapters.KindInvalid, []string{"backends.store.tenants"}},
		{"key in the environment", settings{"api_key_env": "NOT_SET"}, adapters.KindInvalid, []string{"api_key_env", "NOT_SET"}},
		{"authority", settings{"tls": settings{"ca_file": "/nowhere/ca.pem"}}, adapters.KindInvalid, []string{"tls.ca_file"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			wantError(t, opening(t, base.with(test.more), ""), test.kind, test.names...)
		})
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	server := weaviatetest.Start(t, weaviatetest.Options{Keys: true})
	class := weaviatetest.ClassName(t)
	server.Create(t, weaviatetest.Unnamed(class, "cosine", weaviatetest.Text("body", "word")))
	server.Insert(t, weaviatetest.Object(class, weaviatetest.ID(1), map[string]any{"body": "x"}, []float32{1, 0}))
	base := settings{"address": server.Address, "collection": class, "fields": settings{"text": "body"}}

	wantError(t, opening(t, base, "not-the-key-of-anybody"), adapters.KindUnauthorised, "api_key_env", "THE_KEY")
	wantError(t, opening(t, base, ""), adapters.KindUnauthorised, "api_key_env")
	if err := opening(t, base, "not-the-key-of-anybody"); strings.Contains(err.Error(), "not-the-key") {
		t.Errorf("the key stands in %q", err)
	}

	reader := server
	reader.Key = weaviatetest.ReadOnlyKey
	seen := record(t, server)
	reader.Address = seen.Address
	s := opened(t, reader, base.with(settings{"address": seen.Address}))
	for what, call := range map[string]func() error{
		"Describe": func() error { _, err := s.Describe(t.Context()); return err },
		"Scan": func() error {
			_, err := s.Scan(t.Context(), adapters.ScanRequest{Vectors: true}, func(adapters.Item) error { return nil })
			return err
		},
		"Fetch": func() error {
			_, err := s.Fetch(t.Context(), adapters.FetchRequest{IDs: []string{weaviatetest.ID(1)}})
			return err
		},
		"Search": func() error {
			_, err := s.Search(t.Context(), adapters.SearchRequest{Mode: modeDense, Vector: []float32{1, 0}, Limit: 3, Exact: true})
			return err
		},
	} {
		if err := call(); err != nil {
			t.Errorf("%s with a key that may only read: %v", what, err)
		}
	}
	if len(seen.keys) != 1 || !seen.keys["Bearer "+weaviatetest.ReadOnlyKey] {
		t.Errorf("%d other keys were sent, or none", len(seen.keys))
	}
}

// TestUnreachable gives addresses at which there is no Weaviate, or not in this way.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	server := weaviatetest.Shared(t)
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains of those that it is here to refuse
	secure.StartTLS()
	defer secure.Close()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }))
	defer web.Close()
	away := httptest.NewServer(http.RedirectHandler("http://127.0.0.1:1/", http.StatusMovedPermanently))
	defer away.Close()
	cut := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer cut.Close()
	hole := blackHole(t)
	base := settings{"collection": "Any"}
	for _, test := range []struct {
		name, address string
		more          settings
		kind          adapters.Kind
		names         []string
	}{
		{"nobody listens", freeAddress(t), nil, adapters.KindTransient, []string{"backends.store.address"}},
		{"no host", "no-such-host.invalid:8080", nil, adapters.KindInvalid, []string{"backends.store.address", "no such host"}},
		{"not in this way", host(cut), nil, adapters.KindTransient, []string{"backends.store.address", "backends.store.tls"}},
		{"gRPC port", server.GRPCAddress, nil, adapters.KindInvalid, []string{"backends.store.address", "gRPC"}},
		{"HTTPS as HTTP", host(secure), nil, adapters.KindInvalid, []string{"backends.store.tls"}},
		{"HTTP as HTTPS", server.Address, settings{"tls": true}, adapters.KindInvalid, []string{"backends.store.tls"}},
		{"unknown authority", host(secure), settings{"tls": true}, adapters.KindInvalid, []string{"backends.store.tls.ca_file"}},
		{"another web server", host(web), nil, adapters.KindInvalid, []string{"backends.store.address"}},
		{"redirect", host(away), nil, adapters.KindInvalid, []string{"backends.store.address"}},
		{"black hole", hole, nil, adapters.KindTimeout, []string{"backends.store.address"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.address == "" {
				t.Skip("the port is not known: the server was not started here")
			}
			cfg := config(t, base.with(test.more).with(settings{"address": test.address}), "")
			cfg.Timeout = 2 * time.Second
			start := time.Now()
			store, err := Factory().OpenStore(t.Context(), cfg)
			if err == nil {
				store.Close()
			}
			wantError(t, err, test.kind, test.names...)
			if took := time.Since(start); took > 3*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}

func host(s *httptest.Server) string { return s.Listener.Addr().String() }

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// blackHole takes connections, and never says a word.
func blackHole(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String() // the kernel accepts them
}
