package weaviate

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/weaviate/weaviate-go-client/v4/weaviate/batch"
	"github.com/weaviate/weaviate-go-client/v4/weaviate/data"
	"github.com/weaviate/weaviate-go-client/v4/weaviate/schema"
	"github.com/weaviate/weaviate/entities/models"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/weaviate/weaviatetest"
)

// TestNothingCanBeWritten tries to write through the store's own connection, with a key that may.
func TestNothingCanBeWritten(t *testing.T) {
	t.Parallel()
	server := weaviatetest.Shared(t)
	class, id := weaviatetest.ClassName(t), weaviatetest.ID(1)
	server.Create(t, weaviatetest.MultiTenant(weaviatetest.Unnamed(class, "cosine", weaviatetest.Text("body", "word")), false))
	server.Tenants(t, class, "ACTIVE", "acme")
	object := weaviatetest.Object(class, id, map[string]any{"body": "x"}, []float32{1, 0})
	object.Tenant = "acme"
	server.Insert(t, object)
	seen := record(t, server)
	through := server
	through.Address = seen.Address
	s := opened(t, through, settings{"address": seen.Address, "collection": class, "fields": settings{"text": "body"}})
	before, err := s.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	sc, ctx := schema.New(s.conn), t.Context()
	for what, write := range map[string]func() error{
		"create a class": func() error { return sc.ClassCreator().WithClass(weaviatetest.Unnamed("Another", "cosine")).Do(ctx) },
		"delete a class": func() error { return sc.ClassDeleter().WithClassName(class).Do(ctx) },
		"delete all":     func() error { return sc.AllDeleter().Do(ctx) },
		"add a property": func() error {
			return sc.PropertyCreator().WithClassName(class).WithProperty(weaviatetest.Text("more", "word")).Do(ctx)
		},
		"change a class": func() error {
			return sc.ClassUpdater().WithClass(&models.Class{Class: class, Description: "x"}).Do(ctx)
		},
		"add a tenant": func() error {
			return sc.TenantsCreator().WithClassName(class).WithTenants(models.Tenant{Name: "globex"}).Do(ctx)
		},
		"change a tenant": func() error {
			return sc.TenantsUpdater().WithClassName(class).WithTenants(models.Tenant{Name: "acme", ActivityStatus: "INACTIVE"}).Do(ctx)
		},
		"delete a tenant": func() error { return sc.TenantsDeleter().WithClassName(class).WithTenants("acme").Do(ctx) },
		"create an object": func() error {
			_, err := data.New(s.conn, nil).Creator().WithClassName(class).WithID(weaviatetest.ID(2)).Do(ctx)
			return err
		},
		"write a batch": func() error {
			_, err := batch.New(s.conn, nil, nil).ObjectsBatcher().WithObjects(object).Do(ctx)
			return err
		},
		"a query that is none": func() error {
			_, err := s.graphql.Raw().WithQuery(`mutation{x}`).Do(ctx)
			return err
		},
	} {
		if err := unwrapFault(write()); !errors.Is(err, errWrite) {
			t.Errorf("%s: %v, want a refusal", what, err)
		}
	}
	if written := seen.Writes(); len(written) > 0 {
		t.Errorf("the server was asked to change: %q", written)
	}
	after, err := s.Describe(t.Context())
	if err != nil || after.Fingerprint != before.Fingerprint {
		t.Errorf("the fingerprint was %s and is %s, %v", before.Fingerprint, after.Fingerprint, err)
	}
	wantError(t, s.failure(ctx, "search", errWrite), adapters.KindUnsupported)
}

func TestPermit(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		method, path, body string
		want               bool
	}{
		{"GET", "/v1/meta", "", true},
		{"GET", "/v1/schema", "", true},
		{"GET", "/v1/schema/Docs", "", true},
		{"GET", "/v1/schema/Docs/tenants", "", true},
		{"GET", "/v1/schema/Docs/shards", "", true},
		{"GET", "/v1/objects", "", true},
		{"GET", "/v1/nodes/Docs", "", true},
		{"GET", "/v1/backups/s3", "", false},
		{"GET", "/v1/schema/Docs/tenants/x", "", false},
		{"GET", "/v1/schema/..%2F..%2Fx", "", true}, // one name, whatever is in it
		{"HEAD", "/v1/meta", "", false},
		{"DELETE", "/v1/schema/Docs", "", false},
		{"POST", "/v1/objects", "", false},
		{"PUT", "/v1/schema/Docs/shards", "", false},
		{"POST", "/v1/graphql", `{"query":"{Get{Docs{_additional{id}}}}"}`, true},
		{"POST", "/v1/graphql", `{"query":"{Aggregate{Docs{meta{count}}}}"}`, true},
		{"POST", "/v1/graphql", `{"query":"{Get{Docs(bm25:{query:\"} mutation{\"}){_additional{id}}}}"}`, true},
		{"POST", "/v1/graphql", `{"query":"{Get{Docs(bm25:{query:\"\\\\\"}){_additional{id}}}} mutation{x}"}`, false},
		{"POST", "/v1/graphql", `{"query":"mutation{Get{x}}"}`, false},
		{"POST", "/v1/graphql", `{"query":"{Get{Docs{x}}} mutation{x}"}`, false},
		{"POST", "/v1/graphql", `{"query":"{Get{Docs{x}}}{Get{x}}"}`, false},
		{"POST", "/v1/graphql", `{"query":"{Explore{x}}"}`, false},
		{"POST", "/v1/graphql", `{"query":"{Get{Docs{x}}"}`, false},
		{"POST", "/v1/graphql", `{"query":"{Get{Docs{x}}}","operationName":"x"}`, false},
		{"POST", "/v1/graphql", `{"query":"{Get{Docs{x}}}","variables":{"a":1}}`, false},
		{"POST", "/v1/graphql", `not JSON`, false},
		{"POST", "/v1/graphql", "", false},
		{"GET", "/v1/graphql", "", false},
	} {
		req, err := http.NewRequestWithContext(t.Context(), test.method, "http://server"+test.path, strings.NewReader(test.body))
		if err != nil {
			t.Fatal(err)
		}
		if err := permit(req); (err == nil) != test.want || err != nil && !errors.Is(err, errWrite) {
			t.Errorf("%s %s %s: %v, want it let through: %t", test.method, test.path, test.body, err, test.want)
		}
	}
}
