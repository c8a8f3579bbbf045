package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/adaptertest"
	"github.com/culprit-rag/culprit/adapters/plugin"
	"github.com/culprit-rag/culprit/adapters/plugin/examples/pinecone/pineconetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	key           = "pc-canary-4711"
	declaredModel = "model-of-the-index"
)

var fieldMap = map[string]string{
	"text": "body", "source": "doc_id", "revision": "edition_of_doc", "access": "groups", "indexed_at": "indexed", "updated_at": "changed",
	"embed_model": "embedding_model",
}

// build builds the plugin as an author does.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), name)
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

func settingsFor(server *pineconetest.Server, change map[string]any) map[string]any {
	settings := map[string]any{
		"index": "handbook", "api_key_env": "PINECONE_KEY", "control": server.Control, "host": server.Host, "fields": fieldMap,
	}
	for setting, value := range change {
		settings[setting] = value
	}
	return settings
}

func openPlugin(t *testing.T, program string, settings map[string]any) (adapters.VectorStore, error) {
	t.Helper()
	data, err := json.Marshal(map[string]any{"path": program, "env": []string{"PINECONE_KEY"}, "settings": settings})
	if err != nil {
		t.Fatal(err)
	}
	return plugin.Factory().OpenStore(t.Context(), adapters.Config{Settings: data, Secrets: &adapters.Secrets{Env: func(name string) (string, bool) {
		if name == "PINECONE_KEY" {
			return key, true
		}
		return os.LookupEnv(name)
	}}})
}

func TestSuiteAcrossTheWire(t *testing.T) {
	t.Parallel()
	program := build(t)
	square := func(x float64) float64 { return x * x }
	for metric, h := range map[string]adaptertest.StoreHarness{
		"cosine":     {Distance: "cosine"},
		"dotproduct": {Distance: "dot"},
		"euclidean":  {Distance: "euclid", LowerIsBetter: true, Score: square},
	} {
		t.Run(metric, func(t *testing.T) {
			t.Parallel()
			f := &filled{
				program: program, t: t, namespaces: map[string]string{},
				server: pineconetest.Start(t, pineconetest.Options{Key: key, Metric: metric, Model: declaredModel}),
			}
			h.Capabilities = adapters.StoreCapabilities{Modes: []string{"dense"}, Threshold: true, Filter: true, Vectors: true, Only: true}
			h.ID = func(n int) string { return fmt.Sprintf("doc%d#chunk \"%d\"", n*77%1009, n) }
			h.Types, h.ModelsUntold, h.NeedsVectors, h.EmbedModel = true, true, true, declaredModel
			h.Open = func(t *testing.T, c adaptertest.Corpus) adapters.VectorStore {
				t.Helper()
				return f.open(t, f.namespace(c))
			}
			h.Change = func(t *testing.T, c adaptertest.Corpus) adaptertest.Collection {
				t.Helper()
				return changing{f, f.fill("own of "+t.Name(), c)}
			}
			h.Writes = f.writes
			adaptertest.TestVectorStore(t, h)
		})
	}
}

// filled are the namespaces of one run of the suite.
type filled struct {
	program string
	server  *pineconetest.Server
	t       *testing.T

	mu         sync.Mutex
	namespaces map[string]string // digest of a corpus → namespace
}

func (f *filled) namespace(c adaptertest.Corpus) string {
	data, err := json.Marshal(c)
	if err != nil {
		f.t.Fatal(err)
	}
	digest := fmt.Sprintf("%x", sha256.Sum256(data))
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.namespaces[digest] == "" {
		f.namespaces[digest] = f.fill("n"+digest[:12], c)
	}
	return f.namespaces[digest]
}

func (f *filled) fill(namespace string, c adaptertest.Corpus) string {
	for _, item := range c.Items {
		if item.Collection == "" {
			f.server.Put(namespace, record(item))
		}
	}
	return namespace
}

func (f *filled) open(t *testing.T, namespace string) adapters.VectorStore {
	t.Helper()
	store, err := openPlugin(t, f.program, settingsFor(f.server, map[string]any{"namespace": namespace}))
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func (f *filled) writes() []string {
	called := f.server.Called()
	if len(called) == 0 {
		return []string{"nothing was called at all"}
	}
	return slices.DeleteFunc(called, func(call string) bool {
		return slices.Contains([]string{"GET /indexes/handbook", "Query", "Fetch", "List", "DescribeIndexStats"}, call)
	})
}

// record lays an item out.
func record(item adapters.Item) pineconetest.Record {
	metadata := map[string]any{"body": item.Text}
	for field, value := range map[string]string{"doc_id": item.Source, "edition_of_doc": item.Revision, "embedding_model": item.EmbedModel} {
		if value != "" {
			metadata[field] = value
		}
	}
	if len(item.Access) > 0 {
		metadata["groups"] = anys("", item.Access)
	}
	if !item.IndexedAt.IsZero() {
		metadata["indexed"], metadata["changed"] = item.IndexedAt.Format(time.RFC3339Nano), item.UpdatedAt.Format("2006-01-02 15:04:05.999999999")
	}
	for field, values := range item.Metadata {
		metadata[field] = anys(field, values)
		if len(values) == 1 {
			metadata[field] = anys(field, values)[0]
		}
	}
	return pineconetest.Record{ID: item.ID, Values: item.Vector, Metadata: metadata}
}

func anys(field string, values []string) []any {
	list := make([]any, len(values))
	for i, value := range values {
		list[i] = value
		switch adaptertest.FieldKind(field) {
		case adaptertest.KindNumber:
			list[i], _ = strconv.ParseFloat(value, 64)
		case adaptertest.KindBoolean:
			list[i] = value == "true"
		}
	}
	return list
}

// changing is a namespace that changes while it is read.
type changing struct {
	*filled

	name string
}

func (c changing) Open(t *testing.T) adapters.VectorStore { t.Helper(); return c.open(t, c.name) }

func (c changing) Put(_ *testing.T, items ...adapters.Item) {
	for _, item := range items {
		c.server.Put(c.name, record(item))
	}
}

func (c changing) Delete(_ *testing.T, ids ...string) { c.server.Delete(c.name, ids...) }

func (c changing) SetText(_ *testing.T, id, text string) {
	c.server.Change(c.name, id, func(r *pineconetest.Record) {
		metadata := map[string]any{}
		for field, value := range r.Metadata {
			metadata[field] = value
		}
		metadata["body"] = text
		r.Metadata = metadata
	})
}

func (c changing) SetVector(_ *testing.T, id string, vector []float32) {
	c.server.Change(c.name, id, func(r *pineconetest.Record) { r.Values = vector })
}

func TestPodsProveNothingMissing(t *testing.T) {
	t.Parallel()
	server := pineconetest.Start(t, pineconetest.Options{Key: key, Pods: true})
	server.Put(defaultNamespace, pineconetest.Record{ID: "a", Values: make([]float32, pineconetest.Dimensions)})
	store := openDirect(t, server, nil)
	visited := 0
	report, err := store.Scan(t.Context(), adapters.ScanRequest{}, func(adapters.Item) error { visited++; return nil })
	if err != nil || visited != 0 || report.Counted != 1 || !strings.Contains(report.Unread, "pods") {
		t.Errorf("%d visited, %+v, %v, want nothing visited and all unread", visited, report, err)
	}
	info, err := store.Describe(t.Context())
	if err != nil || info.Count != 1 || info.Fingerprint == "" || !strings.Contains(strings.Join(info.Notes, " "), "nothing can be proved to be missing") {
		t.Errorf("%+v, %v", info, err)
	}
}

func TestStatisticsThatLagProveNothing(t *testing.T) {
	t.Parallel()
	server := pineconetest.Start(t, pineconetest.Options{Lag: 1})
	for _, id := range []string{"a", "b"} {
		server.Put(defaultNamespace, pineconetest.Record{ID: id, Values: make([]float32, pineconetest.Dimensions)})
	}
	report, err := openDirect(t, server, nil).Scan(t.Context(), adapters.ScanRequest{}, func(adapters.Item) error { return nil })
	if want := (adapters.ScanReport{Scanned: 2, Counted: 1}); err != nil || report != want {
		t.Errorf("%+v, %v, want %+v", report, err, want)
	}
}

// openDirect opens the store in this process.
func openDirect(t *testing.T, server *pineconetest.Server, change map[string]any) *store {
	t.Helper()
	s, err := opened(t, server, change)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func opened(t *testing.T, server *pineconetest.Server, change map[string]any) (*store, error) {
	t.Helper()
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	data, err := json.Marshal(settingsFor(server, change))
	if err != nil {
		t.Fatal(err)
	}
	return open(t.Context(), adapters.Config{Settings: data, Secrets: &adapters.Secrets{Env: func(name string) (string, bool) {
		return map[string]string{"PINECONE_KEY": key, "OLD_KEY": "pc-revoked"}[name], true
	}}})
}

func TestSettingsThatDoNotFit(t *testing.T) {
	t.Parallel()
	server := pineconetest.Start(t, pineconetest.Options{Key: key})
	for name, tt := range map[string]struct {
		change map[string]any
		kind   adapters.Kind
		want   string
	}{
		"no key":           {map[string]any{"api_key_env": ""}, adapters.KindInvalid, "api_key_env"},
		"another key":      {map[string]any{"api_key_env": "OLD_KEY"}, adapters.KindUnauthorised, "api_key_env"},
		"no such index":    {map[string]any{"index": "nowhere"}, adapters.KindNotFound, `"nowhere"`},
		"no control plane": {map[string]any{"control": "http://127.0.0.1:1"}, adapters.KindTransient, "setting control"},
		"no host":          {map[string]any{"host": "http://"}, adapters.KindInvalid, "setting host"},
		"a path":           {map[string]any{"host": "https://example.test/index"}, adapters.KindInvalid, "setting host"},
		"another setting":  {map[string]any{"collection": "x"}, adapters.KindInvalid, "collection"},
	} {
		_, err := opened(t, server, tt.change)
		if adapters.KindOf(err) != tt.kind || !strings.Contains(fmt.Sprint(err), tt.want) {
			t.Errorf("%s: %v, want kind %q and %q", name, err, tt.kind, tt.want)
		}
		if strings.Contains(fmt.Sprint(err), "canary") || strings.Contains(fmt.Sprint(err), "revoked") {
			t.Errorf("%s: %v shows the key", name, err)
		}
	}
	sparse := pineconetest.Start(t, pineconetest.Options{Vector: "sparse"})
	if _, err := opened(t, sparse, nil); !errors.Is(err, adapters.ErrUnsupported) {
		t.Errorf("an index of sparse vectors: %v, want an error that is ErrUnsupported", err)
	}
}

func TestFailuresHaveTheirKinds(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]adapters.Kind{
		http.StatusUnauthorized: adapters.KindUnauthorised, http.StatusForbidden: adapters.KindUnauthorised, http.StatusNotFound: adapters.KindNotFound,
		http.StatusTooManyRequests: adapters.KindRateLimited, http.StatusBadRequest: adapters.KindInvalid,
		http.StatusInternalServerError: adapters.KindTransient, http.StatusServiceUnavailable: adapters.KindTransient, http.StatusTeapot: adapters.KindPermanent,
	} {
		if _, err := opened(t, pineconetest.Start(t, pineconetest.Options{Describe: code}), nil); adapters.KindOf(err) != want {
			t.Errorf("the control plane answers %d: %v, want kind %q", code, err, want)
		}
	}
	for code, want := range map[codes.Code]adapters.Kind{
		codes.Unauthenticated: adapters.KindUnauthorised, codes.PermissionDenied: adapters.KindUnauthorised, codes.NotFound: adapters.KindNotFound,
		codes.ResourceExhausted: adapters.KindRateLimited, codes.InvalidArgument: adapters.KindInvalid, codes.Unavailable: adapters.KindTransient,
		codes.Internal: adapters.KindTransient, codes.DeadlineExceeded: adapters.KindTimeout, codes.DataLoss: adapters.KindPermanent,
	} {
		store := openDirect(t, pineconetest.Start(t, pineconetest.Options{Code: code}), nil)
		for what, call := range map[string]func() error{
			"describe": func() error { _, err := store.Describe(t.Context()); return err },
			"fetch": func() error {
				_, err := store.Fetch(t.Context(), adapters.FetchRequest{IDs: []string{"a"}})
				return err
			},
			"search": func() error {
				_, err := store.Search(t.Context(), adapters.SearchRequest{Mode: "dense", Limit: 1, Vector: make([]float32, pineconetest.Dimensions)})
				return err
			},
			"scan": func() error {
				_, err := store.Scan(t.Context(), adapters.ScanRequest{}, func(adapters.Item) error { return nil })
				return err
			},
		} {
			if err := call(); adapters.KindOf(err) != want {
				t.Errorf("%s answers %s: %v, want kind %q", what, code, err, want)
			}
		}
	}
}

// TestNothingElseIsCalled asks the guards directly for what the client could do as well.
func TestNothingElseIsCalled(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"Upsert", "Delete", "Update", "CreateNamespace", "DeleteNamespace", "ListNamespaces"} {
		invoke := func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
			t.Errorf("%s was let through", method)
			return nil
		}
		if err := guard(t.Context(), "/VectorService/"+method, nil, nil, nil, invoke); !errors.Is(err, adapters.ErrUnsupported) {
			t.Errorf("%s: %v, want an error that is ErrUnsupported", method, err)
		}
	}
	s := openDirect(t, pineconetest.Start(t, pineconetest.Options{}), nil)
	if err := s.conn.DeleteAllVectorsInNamespace(t.Context()); adapters.KindOf(err) != adapters.KindUnsupported {
		t.Errorf("deleting by the plugin's own connection: %v", err)
	}
	if err := s.client.DeleteIndex(t.Context(), "handbook"); adapters.KindOf(err) != adapters.KindUnsupported {
		t.Errorf("deleting the index by the plugin's own client: %v", err)
	}
	if _, err := s.client.ListIndexes(t.Context()); adapters.KindOf(err) != adapters.KindUnsupported {
		t.Errorf("listing indexes by the plugin's own client: %v", err)
	}
}
