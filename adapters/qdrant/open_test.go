package qdrant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/qdrant/qdranttest"
)

// plain is a collection with one dense vector of 4 dimensions and a sparse one, and n items with the payload given.
func plain(tb testing.TB, s *qdranttest.Server, n int, payload map[string]any) string {
	tb.Helper()
	name := s.Name(tb)
	s.Create(tb, qdranttest.Collection{
		Name:    name,
		Vectors: map[string]*qdrant.VectorParams{"dense": {Size: 4, Distance: qdrant.Distance_Dot}, "title": {Size: 3, Distance: qdrant.Distance_Dot}},
		Sparse:  map[string]*qdrant.SparseVectorParams{"words": {}},
	})
	var points []*qdrant.PointStruct
	for i := range n {
		points = append(points, &qdrant.PointStruct{
			Id: qdrant.NewIDNum(uint64(i)), Payload: qdrant.NewValueMap(payload),
			Vectors: qdrant.NewVectorsMap(map[string]*qdrant.Vector{"dense": qdrant.NewVector(float32(i), 1, 0, 0)}),
		})
	}
	s.Upsert(tb, name, points...)
	return name
}

func TestOpenOnWhatIsNotThere(t *testing.T) {
	t.Parallel()
	server := sharedServer(t)
	texts := plain(t, server, 3, map[string]any{"text": "a", "title": "b"})
	none := plain(t, server, 3, map[string]any{"title": "b", "meta": map[string]any{"body": "c"}})
	numbers := plain(t, server, 3, map[string]any{"text": 7, "title": "b"})
	lists := plain(t, server, 3, map[string]any{"text": []any{"one", "two"}})
	empty := plain(t, server, 0, nil)
	for _, tt := range []struct {
		name, collection, more string
		kind                   adapters.Kind
		names                  []string
	}{
		{"an unknown collection", "no-such", "", adapters.KindNotFound, []string{"backends.store.collection", texts}},
		{"no named vector is chosen", texts, "", adapters.KindInvalid, []string{"backends.store.vector", `"dense", "title"`}},
		{"an unknown vector", texts, `"vector": "dens"`, adapters.KindInvalid, []string{"backends.store.vector", `"dens"`, `"dense", "title"`}},
		{"an unknown sparse vector", texts, `"vector": "dense", "keyword": {"vector": "bm25"}`, adapters.KindInvalid, []string{"backends.store.keyword.vector", `"words"`}},
		{"no text field", none, `"vector": "dense"`, adapters.KindInvalid, []string{"backends.store.fields.text", `"text"`, `"meta.body", "title"`}},
		{"a text field of numbers", numbers, `"vector": "dense"`, adapters.KindInvalid, []string{"backends.store.fields.text", "a number", `"title"`}},
		{"a text field of lists", lists, `"vector": "dense"`, adapters.KindInvalid, []string{"backends.store.fields.text", "a list"}},
		{"a nested text field", none, `"vector": "dense", "fields": {"text": "meta.body"}`, "", nil},
		{"no items", empty, `"vector": "dense"`, "", nil},
		{"all is well", texts, `"vector": "dense", "keyword": {"vector": "words"}`, "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, err := open(t.Context(), adapters.Config{Settings: settingsFor(server, tt.collection, tt.more), Secrets: secretsOf(server)})
			if tt.kind != "" {
				wantError(t, err, tt.kind, tt.names...)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWrongDimensions(t *testing.T) {
	t.Parallel()
	server := sharedServer(t)
	s := openOn(t, server, plain(t, server, 3, map[string]any{"text": "a"}), `"vector": "dense"`)
	_, err := s.Search(t.Context(), adapters.SearchRequest{Mode: modeDense, Vector: make([]float32, 7), Limit: 1})
	wantError(t, err, adapters.KindInvalid, "7 dimensions", "has 4", "backends.store.vector")
}

func openOn(t *testing.T, server *qdranttest.Server, collection, more string) *store {
	t.Helper()
	s, err := open(t.Context(), adapters.Config{Settings: settingsFor(server, collection, more), Secrets: secretsOf(server)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestTextsOfDifferentKinds(t *testing.T) {
	t.Parallel()
	server := sharedServer(t)
	name := plain(t, server, 10, map[string]any{"text": 7})
	server.Upsert(t, name, &qdrant.PointStruct{Id: qdrant.NewIDNum(99), Vectors: qdrant.NewVectorsMap(nil), Payload: qdrant.NewValueMap(map[string]any{"text": "a"})})
	server.Upsert(t, name, &qdrant.PointStruct{Id: qdrant.NewIDNum(98), Vectors: qdrant.NewVectorsMap(nil), Payload: qdrant.NewValueMap(map[string]any{"text": []any{"a"}})})
	s := openOn(t, server, name, `"vector": "dense"`)
	_, report, err := scanAll(t.Context(), s, nil)
	if err != nil || report.Scanned != 12 || !strings.Contains(report.Unread, "11 items hold a list or a number") {
		t.Errorf("%+v, %v", report, err)
	}
}

func TestAliasesAndMetadata(t *testing.T) {
	t.Parallel()
	server := sharedServer(t)
	name := server.Name(t)
	server.Create(t, qdranttest.Collection{
		Name: name, Vectors: map[string]*qdrant.VectorParams{"": {Size: 4, Distance: qdrant.Distance_Cosine, Datatype: qdrant.Datatype_Float16.Enum()}},
		Metadata: map[string]any{"embedding": map[string]any{"model": "suite-model", "query_prefix": "query: ", "passage_prefix": ""}, "revision": 3},
		Indexes:  map[string]qdrant.FieldType{"model": qdrant.FieldType_FieldTypeKeyword},
	})
	server.Upsert(t, name,
		&qdrant.PointStruct{Id: qdrant.NewIDNum(1), Vectors: qdrant.NewVectors(1, 0, 0, 0), Payload: qdrant.NewValueMap(map[string]any{"text": "a", "model": "x"})},
		&qdrant.PointStruct{Id: qdrant.NewIDNum(2), Vectors: qdrant.NewVectors(0, 1, 0, 0), Payload: qdrant.NewValueMap(map[string]any{"text": "b"})})
	server.Alias(t, name+"-live", name)
	info, err := openOn(t, server, name+"-live", `"fields": {"embed_model": "model"}`).Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if info.Collection != name || !slices.ContainsFunc(info.Notes, func(n string) bool { return strings.Contains(n, "is an alias of") }) {
		t.Errorf("collection %q, notes %q", info.Collection, info.Notes)
	}
	if info.EmbedModel != "suite-model" || info.Revision != "3" || info.QueryPrefix == nil || *info.QueryPrefix != "query: " || info.PassagePrefix == nil || *info.PassagePrefix != "" {
		t.Errorf("model %q, revision %q, prefixes %v and %v", info.EmbedModel, info.Revision, info.QueryPrefix, info.PassagePrefix)
	}
	if info.VectorType != "float16" || info.Dimensions != 4 || info.DeclaredPerItem["x"] != 1 || info.DeclaredPerItem[""] != 1 {
		t.Errorf("%+v", info)
	}
	other := server.Name(t)
	server.Create(t, qdranttest.Collection{Name: other, Vectors: map[string]*qdrant.VectorParams{"": {Size: 4, Distance: qdrant.Distance_Cosine}}})
	s := openOn(t, server, name+"-live", "")
	before, err := s.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	server.Alias(t, name+"-live", other)
	if moved, err := s.Describe(t.Context()); err != nil || moved.Fingerprint == before.Fingerprint || moved.Collection != other {
		t.Errorf("after the alias was moved: %q, %v", moved.Collection, err)
	}
}

func TestKeysAreSentAndNeverShown(t *testing.T) {
	t.Parallel()
	server := qdranttest.Start(t, qdranttest.Options{APIKey: "sk-canary-7f3a9e"})
	name := plain(t, server, 3, map[string]any{"text": "a"})
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("sk-canary-7f3a9e\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"RIGHT": "sk-canary-7f3a9e", "WRONG": "sk-canary-wrong"}
	for _, tt := range []struct {
		how string
		ok  bool
	}{
		{`"api_key_env": "RIGHT"`, true},
		{`"api_key_file": ` + strconv.Quote(file), true},
		{`"token_env": "RIGHT"`, true},
		{`"token_file": ` + strconv.Quote(file), true},
		{`"api_key_env": "WRONG"`, false},
		{`"token_env": "WRONG"`, false},
		{`"vector": "dense"`, false},
	} {
		bare := *server
		bare.APIKey = ""
		settings := settingsFor(&bare, name, strings.TrimSuffix(`"vector": "dense", `+strings.TrimPrefix(tt.how, `"vector": "dense"`), ", "))
		secrets := &adapters.Secrets{Env: func(name string) (string, bool) { value, ok := env[name]; return value, ok }}
		s, err := open(t.Context(), adapters.Config{Settings: settings, Secrets: secrets})
		if !tt.ok {
			wantError(t, err, adapters.KindUnauthorised, "backends.store.api_key_env")
			if strings.Contains(err.Error(), "canary") {
				t.Errorf("%s: the key is shown: %v", tt.how, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.how, err)
			continue
		}
		if _, report, err := scanAll(t.Context(), s, nil); err != nil || report.Scanned != 3 {
			t.Errorf("%s: %+v, %v", tt.how, report, err)
		}
		info, err := s.Describe(t.Context())
		if err != nil || !slices.ContainsFunc(info.Notes, func(n string) bool { return strings.Contains(n, "without TLS") }) {
			t.Errorf("%s: no note on the missing TLS in %q, %v", tt.how, info.Notes, err)
		}
		_ = s.Close()
	}
}

func TestNothingIsWritten(t *testing.T) {
	t.Parallel()
	server := sharedServer(t)
	name := plain(t, server, 3, map[string]any{"text": "a"})
	s := openOn(t, server, name, `"vector": "dense"`)
	ctx, points, collections := t.Context(), s.grpc.Points(), s.grpc.Collections()
	ids := qdrant.NewPointsSelector(qdrant.NewIDNum(1))
	for method, try := range map[string]func() error{
		"Upsert": func() error { _, err := points.Upsert(ctx, &qdrant.UpsertPoints{CollectionName: name}); return err },
		"Delete": func() error {
			_, err := points.Delete(ctx, &qdrant.DeletePoints{CollectionName: name, Points: ids})
			return err
		},
		"SetPayload": func() error {
			_, err := points.SetPayload(ctx, &qdrant.SetPayloadPoints{CollectionName: name, PointsSelector: ids})
			return err
		},
		"ClearPayload": func() error {
			_, err := points.ClearPayload(ctx, &qdrant.ClearPayloadPoints{CollectionName: name, Points: ids})
			return err
		},
		"UpdateVectors": func() error {
			_, err := points.UpdateVectors(ctx, &qdrant.UpdatePointVectors{CollectionName: name})
			return err
		},
		"UpdateBatch": func() error {
			_, err := points.UpdateBatch(ctx, &qdrant.UpdateBatchPoints{CollectionName: name})
			return err
		},
		"CreateFieldIndex": func() error {
			_, err := points.CreateFieldIndex(ctx, &qdrant.CreateFieldIndexCollection{CollectionName: name, FieldName: "text"})
			return err
		},
		"Create": func() error {
			_, err := collections.Create(ctx, &qdrant.CreateCollection{CollectionName: "new"})
			return err
		},
		"drop": func() error {
			_, err := collections.Delete(ctx, &qdrant.DeleteCollection{CollectionName: name})
			return err
		},
		"UpdateAliases": func() error { _, err := collections.UpdateAliases(ctx, &qdrant.ChangeAliases{}); return err },
		"snapshot": func() error {
			_, err := s.grpc.Snapshots().Create(ctx, &qdrant.CreateSnapshotRequest{CollectionName: name})
			return err
		},
		"a stream": func() error {
			_, err := s.grpc.Conn().NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, qdrant.Points_Upsert_FullMethodName)
			return err
		},
	} {
		var refused *WriteError
		if err := try(); !errors.As(err, &refused) {
			t.Errorf("%s: %v, want a *WriteError", method, err)
		}
	}
	if _, report, err := scanAll(ctx, s, nil); err != nil || report.Scanned != 3 {
		t.Errorf("afterwards: %+v, %v", report, err)
	}
}

func TestWrongAddresses(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	unused := closed.Addr().String()
	closed.Close()
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	encrypted := func(http2 bool) string {
		s := httptest.NewUnstartedServer(http.NotFoundHandler())
		s.EnableHTTP2, s.Config.ErrorLog = http2, log.New(io.Discard, "", 0)
		s.StartTLS()
		t.Cleanup(s.Close)
		return strings.TrimPrefix(s.URL, "https://")
	}
	f := newFake(t, 1)
	for _, tt := range []struct {
		name, address, tls string
		kind               adapters.Kind
		names              []string
	}{
		{"no server", unused, "false", adapters.KindTransient, []string{unused, "backends.store.address", "no server answers"}},
		{"no host", "no-such-host.invalid:6334", "false", adapters.KindInvalid, []string{"no-such-host.invalid", "backends.store.address", "no such host"}},
		{"an HTTP server", strings.TrimPrefix(web.URL, "http://"), "false", adapters.KindInvalid, []string{"backends.store.address", "6334", "HTTP server"}},
		{"TLS to a server without", f.address, "true", adapters.KindInvalid, []string{f.address, "backends.store.tls to false"}},
		{"a certificate that nobody vouches for", encrypted(true), "true", adapters.KindInvalid, []string{"backends.store.tls.ca_file"}},
		{"an HTTPS server", encrypted(false), "true", adapters.KindInvalid, []string{"backends.store.address", "6334", "HTTP server"}},
		{"a URL", "http://localhost:6334", "false", adapters.KindInvalid, []string{"backends.store.address", "it is a URL"}},
		{"no port", "localhost:", "false", adapters.KindInvalid, []string{"backends.store.address"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := open(t.Context(), adapters.Config{Settings: []byte(`{"collection": "docs", "address": ` + strconv.Quote(tt.address) + `, "tls": ` + tt.tls + `}`)})
			wantError(t, err, tt.kind, tt.names...)
		})
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	server := qdranttest.Start(t, qdranttest.Options{TLS: true})
	name := plain(t, server, 3, map[string]any{"text": "a"})
	ca := strconv.Quote(server.CAFile)
	s := openOn(t, server, name, `"vector": "dense", "tls": {"ca_file": `+ca+`}`)
	if _, report, err := scanAll(t.Context(), s, nil); err != nil || report.Scanned != 3 {
		t.Errorf("%+v, %v", report, err)
	}
	for tls, names := range map[string][]string{
		`true`: {"backends.store.tls.ca_file"},
		`{"ca_file": ` + ca + `, "server_name": "qdrant.example"}`: {"backends.store.tls.ca_file", "server_name"},
		`{"ca_file": "missing.pem"}`:                               {"backends.store.tls.ca_file"},
		`false`:                                                    {"backends.store.tls", server.Address},
	} {
		_, err := open(t.Context(), adapters.Config{Settings: settingsFor(server, name, `"tls": `+tls)})
		kind := adapters.KindInvalid
		if tls == `false` {
			kind = adapters.KindTransient
		}
		wantError(t, err, kind, names...)
	}
}

func TestOpenHonoursItsTimeout(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // connections are taken by the system, and nobody answers
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	settings := json.RawMessage(fmt.Sprintf(`{"address": %q, "collection": "docs", "fields": {"text": "text"}}`, silent.Addr()))
	start := time.Now()
	_, err = open(t.Context(), adapters.Config{Settings: settings, Timeout: 200 * time.Millisecond})
	wantError(t, err, adapters.KindTimeout)
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestOpenHonoursItsContext(t *testing.T) {
	t.Parallel()
	f := newFake(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := open(ctx, adapters.Config{Settings: f.settings("")})
	wantError(t, err, adapters.KindCanceled)
}
