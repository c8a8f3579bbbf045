package main

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/qdrant"
	"github.com/culprit-rag/culprit/adapters/weaviate"
)

// measured is what one operation cost a store.
type measured struct {
	name  string
	calls string
	bytes int
}

// TestStoreCostsAreDocumented fills both engines with the example, puts a recording proxy before each, and holds the table of
// docs/stores.md to what goes through it.
func TestStoreCostsAreDocumented(t *testing.T) {
	q, w := qdrantStore(t), weaviateStore(t)
	env := cached(t)
	perStore := map[string][]measured{}
	for _, s := range []liveStore{q, w} {
		if _, stderr, code := invoke(t.Context(), env, s.args("load", storesExample)...); code != 0 {
			t.Fatalf("load: exit code %d\n%s", code, stderr)
		}
		record := recordGRPC
		if s.profile == weaviate.Name {
			record = recordHTTP
		}
		seen, address := record(t, s.address)
		s.address = address
		perStore[s.profile] = measureStore(t, s, seen)
		seen.reset()
		_, stderr, code := invoke(t.Context(), env, s.args("probe", storesExample, "--json")...)
		if code != 3 {
			t.Fatalf("probe: exit code %d\n%s", code, stderr)
		}
		calls, size := seen.total()
		perStore[s.profile] = append(perStore[s.profile], measured{"`culprit probe` of the 10 cases, in all", fmt.Sprintf("%d calls", calls), size})
	}
	var table strings.Builder
	table.WriteString("\n| what is asked | Qdrant | | Weaviate | |\n|---|---|---|---|---|\n")
	for i, m := range perStore[qdrant.Name] {
		other := perStore[weaviate.Name][i]
		fmt.Fprintf(&table, "| %s | %s | %s | %s | %s |\n", m.name, m.calls, kilo(m.bytes), other.calls, kilo(other.bytes))
	}
	table.WriteString("\n")
	documented(t, "measured: costs", table.String(), aboutTheSame)
}

// measureStore makes each operation once, as a run makes it.
func measureStore(t *testing.T, s liveStore, seen *traffic) []measured {
	t.Helper()
	registry, err := builtIn()
	if err != nil {
		t.Fatal(err)
	}
	settings := map[string]any{
		"address": s.address, "collection": s.collection,
		"fields": map[string]any{"text": "text", "source": "source", "revision": "revision", "access": "access", "embed_model": "embed_model"},
	}
	if s.key != "" {
		settings["api_key_env"] = "LOAD_TEST_KEY"
	}
	if s.profile == qdrant.Name {
		settings["vector"], settings["keyword"] = "dense", map[string]any{"vector": "bm25"}
	}
	raw, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	store, err := registry.Store(t.Context(), s.profile, adapters.Config{Settings: raw, Secrets: &adapters.Secrets{}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	list := []measured{taken("opening", seen)}
	var items []string
	vector := make([]float32, 1024)
	for i := range vector {
		vector[i] = float32(i%7 + 1) // no two items are as near
	}
	search := func(r adapters.SearchRequest) func() error {
		return func() error {
			r.Query, r.Vector = "annual leave", vector
			_, err := store.Search(t.Context(), r)
			return err
		}
	}
	scan := func(vectors bool) func() error {
		return func() error {
			items = nil
			report, err := store.Scan(t.Context(), adapters.ScanRequest{Vectors: vectors}, func(i adapters.Item) error {
				items = append(items, i.ID)
				return nil
			})
			if err == nil && report.Scanned != 50 {
				err = fmt.Errorf("%d items", report.Scanned)
			}
			return err
		}
	}
	if _, err := store.Describe(t.Context()); err != nil { // it looks up once what it keeps
		t.Fatal(err)
	}
	for _, op := range []struct {
		name string
		do   func() error
	}{
		{"describing, with the cheap fingerprint", func() error { _, err := store.Describe(t.Context()); return err }},
		{"a scan of 50 items", scan(false)},
		{"a scan of 50 items with vectors", scan(true)},
		{"32 items with vectors", func() error {
			_, err := store.Fetch(t.Context(), adapters.FetchRequest{IDs: items[:32], Vectors: true})
			return err
		}},
		{"a keyword search, k 3", search(adapters.SearchRequest{Mode: "keyword", Limit: 3})},
		{"a dense search, k 3", search(adapters.SearchRequest{Mode: "dense", Limit: 3})},
		{"a dense search, exact, k 3", search(adapters.SearchRequest{Mode: "dense", Limit: 3, Exact: true})},
		{"a hybrid search, k 3", search(adapters.SearchRequest{Mode: "hybrid", Limit: 3})},
		{"the score of one named item", func() error {
			return search(adapters.SearchRequest{Mode: "dense", Limit: 1, Exact: true, Only: items[:1]})()
		}},
	} {
		seen.reset()
		if err := op.do(); err != nil {
			t.Fatalf("%s: %s: %v", s.profile, op.name, err)
		}
		list = append(list, taken(op.name, seen))
	}
	return list
}

// taken sums up what was recorded.
func taken(name string, seen *traffic) measured {
	m := measured{name: name}
	var parts []string
	for _, n := range seen.names() {
		parts = append(parts, fmt.Sprintf("%d %s", seen.calls[n], strings.ReplaceAll(n, "POST /v1/graphql", "query")))
	}
	m.calls = strings.Join(parts, ", ")
	_, m.bytes = seen.total()
	return m
}

// kilo writes bytes as kB.
func kilo(n int) string { return fmt.Sprintf("%.0f kB", math.Ceil(float64(n)/1000)) }

// aboutTheSame holds where two tables differ by no more than a tenth in what is not the same each time: kB, for times and
// versions are in the answers, and the calls of a whole probe, which may have read a page ahead.
func aboutTheSame(want, got string) bool {
	a, b := strings.Fields(want), strings.Fields(got)
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] == b[i] {
			continue
		}
		x, errX := strconv.ParseFloat(a[i], 64)
		y, errY := strconv.ParseFloat(b[i], 64)
		if unit := next(a, i); unit != "kB" && unit != "calls" || errX != nil || errY != nil || math.Abs(x-y) > max(1, x/10) {
			return false
		}
	}
	return true
}

func next(words []string, i int) string {
	if i+1 < len(words) {
		return words[i+1]
	}
	return ""
}
