package weaviate

import (
	"slices"
	"strings"
	"testing"

	"github.com/weaviate/weaviate/entities/models"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/weaviate/weaviatetest"
)

// tenantClass has tenants acme (objects 0..9), globex (10..19) and initech (20..29), which is not active. Any read would wake it.
func tenantClass(t *testing.T, server weaviatetest.Server) string {
	t.Helper()
	class := weaviatetest.ClassName(t)
	server.Create(t, weaviatetest.MultiTenant(weaviatetest.Unnamed(class, "cosine", properties("word")...), true))
	tenants := []string{"acme", "globex", "initech"}
	server.Tenants(t, class, "ACTIVE", tenants...)
	var objects []*models.Object
	for n := range 30 {
		o := weaviatetest.Object(class, weaviatetest.ID(n), map[string]any{"body": "invoice", "embed_model": "m"}, []float32{float32(n + 1), 1})
		o.Tenant = tenants[n/10]
		objects = append(objects, o)
	}
	server.Insert(t, objects...)
	server.Tenants(t, class, "INACTIVE", "initech")
	return class
}

func TestTenants(t *testing.T) {
	t.Parallel()
	server := weaviatetest.Shared(t)
	class := tenantClass(t, server)
	s := opened(t, server, on(server, class))

	info, err := s.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if info.Count != 20 || info.Dimensions != 2 || info.DeclaredPerItem["m"] != 20 {
		t.Errorf("%d items of %d dimensions, models %v, want 20 of 2", info.Count, info.Dimensions, info.DeclaredPerItem)
	}
	if notes := strings.Join(info.Notes, "\n"); !strings.Contains(notes, `"initech"`) || !strings.Contains(notes, "autoTenantActivation") {
		t.Errorf("the notes %q do not tell what is not read", notes)
	}

	seen := map[string]int{}
	report, err := s.Scan(t.Context(), adapters.ScanRequest{Vectors: true}, func(item adapters.Item) error {
		seen[strings.Join(item.Metadata["tenant"], ",")]++
		return nil
	})
	if err != nil || report.Scanned != 20 || report.Counted != 20 || !strings.Contains(report.Unread, `"initech"`) || report.LeftOut != "" {
		t.Errorf("%+v, %v", report, err)
	}
	if seen["acme"] != 10 || seen["globex"] != 10 {
		t.Errorf("scanned by tenant: %v", seen)
	}

	for _, test := range []struct {
		name   string
		filter []adapters.Condition
		want   int
	}{
		{"every tenant that is active", nil, 20},
		{"one", []adapters.Condition{{Field: "tenant", AnyOf: []string{"acme"}}}, 10},
		{"two", []adapters.Condition{{Field: "tenant", AnyOf: []string{"acme", "globex"}}}, 20},
		{"one that does not exist", []adapters.Condition{{Field: "tenant", AnyOf: []string{"nobody"}}}, 0},
		{"not one", []adapters.Condition{{Field: "tenant", AnyOf: []string{"acme"}, Not: true}}, 10},
		{"two at once", []adapters.Condition{{Field: "tenant", AnyOf: []string{"acme"}}, {Field: "tenant", AnyOf: []string{"globex"}}}, 0},
		{"no value", []adapters.Condition{{Field: "tenant"}}, 0},
		{"a number", []adapters.Condition{{Field: "tenant", AnyOf: []string{"1"}, Typed: true}}, 0},
	} {
		for _, req := range []adapters.SearchRequest{
			{Mode: modeDense, Vector: []float32{1, 1}},
			{Mode: modeDense, Vector: []float32{1, 1}, Exact: true},
			{Mode: modeKeyword, Query: "invoice"},
			{Mode: modeHybrid, Query: "invoice", Vector: []float32{1, 1}},
		} {
			req.Filter, req.Limit = test.filter, 100
			response, err := s.Search(t.Context(), req)
			if err != nil || len(response.Hits) != test.want {
				t.Errorf("%s, %s: %d hits, %v, want %d", test.name, req.Mode, len(response.Hits), err, test.want)
			}
			if !slices.IsSortedFunc(response.Hits, func(a, b adapters.Hit) int {
				return ranking{}.order(scored{object{id: a.ID}, *a.Score}, scored{object{id: b.ID}, *b.Score})
			}) {
				t.Errorf("%s, %s: the tenants' rankings are not merged by score", test.name, req.Mode)
			}
		}
	}
	_, err = s.Search(t.Context(), adapters.SearchRequest{Mode: modeKeyword, Query: "invoice", Limit: 3, Filter: []adapters.Condition{{Field: "tenant", AnyOf: []string{"initech"}}}})
	wantError(t, err, adapters.KindPermanent, `"initech"`, "not active")

	asked := []string{weaviatetest.ID(15), weaviatetest.ID(3), weaviatetest.ID(25)}
	items, err := s.Fetch(t.Context(), adapters.FetchRequest{IDs: asked, Vectors: true})
	if err != nil || len(items) != 2 || items[0].ID != asked[0] || items[1].Metadata["tenant"][0] != "acme" {
		t.Errorf("fetched %+v, %v", items, err)
	}
	if status := server.TenantStatus(t, class, "initech"); isActive(status) {
		t.Errorf("the tenant that was not active is %s", status)
	}
}

func TestTenantsThatAreNamed(t *testing.T) {
	t.Parallel()
	server := weaviatetest.Shared(t)
	class := tenantClass(t, server)
	base := on(server, class)
	wantError(t, opening(t, base.with(settings{"tenants": []string{"acme", "umbrella"}}), server.Key), adapters.KindNotFound, `"umbrella"`, "backends.store.tenants")

	s := opened(t, server, base.with(settings{"tenants": []string{"acme"}, "tenant_field": "owner"}))
	report, err := scanAll(t.Context(), s, func(item adapters.Item) error {
		if got := item.Metadata["owner"]; len(got) != 1 || got[0] != "acme" {
			t.Errorf("item of tenant %q", got)
		}
		return nil
	})
	if err != nil || report.Scanned != 10 || report.Counted != 10 || report.Unread != "" || !strings.HasPrefix(report.LeftOut, "2 of 3 tenants") {
		t.Errorf("%+v, %v, want 10 items, nothing unread and two tenants left out", report, err)
	}
	s = opened(t, server, base.with(settings{"tenants": []string{"acme", "initech"}}))
	if report, err := scanAll(t.Context(), s, ignore); err != nil || report.Scanned != 10 || !strings.Contains(report.Unread, `"initech"`) {
		t.Errorf("%+v, %v, want what is not active told", report, err)
	}
}
