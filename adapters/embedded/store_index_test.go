package embedded

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/culprit-rag/culprit/adapters"
)

func TestIndexSettings(t *testing.T) {
	t.Parallel()
	embedder := hashing(t, `{"dimensions": 64, "query_prefix": "q: ", "passage_prefix": "p: "}`)
	for _, test := range []struct {
		settings, model, prefix, query string
		dimensions                     int
	}{
		{`{}`, "hashing", "p: ", "q: ", 64},
		{`{"model": "old"}`, "old", "p: ", "q: ", 64},
		{`{"passage_prefix": ""}`, "hashing", "", "q: ", 64},
		{`{"passage_prefix": "passage: ", "query_prefix": "query: "}`, "hashing", "passage: ", "query: ", 64},
		{`{"dimensions": 48}`, "hashing", "p: ", "q: ", 48},
	} {
		s := mustOpen(t, t.TempDir(), `{"index": `+test.settings+`}`, ports(), embedder)
		info, err := s.Describe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if info.EmbedModel != test.model || *info.PassagePrefix != test.prefix || *info.QueryPrefix != test.query || info.Dimensions != test.dimensions {
			t.Errorf("index %s: %+v", test.settings, info)
		}
		response, err := embedder.Embed(t.Context(), adapters.EmbedRequest{
			Texts: []string{ports()[0].Text}, Purpose: adapters.ForPassage, Model: test.model, Prefix: &test.prefix,
		})
		if err != nil {
			t.Fatal(err)
		}
		want := response.Vectors[0]
		if test.dimensions < len(want) {
			want = cut(want, test.dimensions)
		}
		if diff := cmp.Diff(want, fetchOne(t, s, "a").Vector); diff != "" {
			t.Errorf("index %s: vector (-want +got):\n%s", test.settings, diff)
		}
	}
	_, err := open(t, t.TempDir(), `{"index": {"dimensions": 65}}`, ports(), embedder)
	if adapters.KindOf(err) != adapters.KindInvalid || !strings.Contains(err.Error(), "65") || !strings.Contains(err.Error(), "64") {
		t.Errorf("more dimensions than the embedder has: %v", err)
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	docs := ports()
	docs[0].EmbedModel, docs[1].EmbedModel = "x", "y"
	s := mustOpen(t, t.TempDir(), `{"index": {"revision": "r7"}, "faults": {"move": {"b": "other"}}}`, docs, nil)
	info, err := s.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(info.Engine, "embedded (SQLite 3.") || info.Revision != "r7" || info.Distance != "" || info.Dimensions != 0 ||
		info.QueryPrefix != nil || info.PassagePrefix != nil || info.EmbedModel != "" {
		t.Errorf("%+v", info)
	}
	if !maps.Equal(info.DeclaredPerItem, map[string]int{"x": 1, "": 2}) || !slices.Equal(info.Collections, []string{"main", "other"}) {
		t.Errorf("declared %v, collections %q", info.DeclaredPerItem, info.Collections)
	}
	info, err = mustOpen(t, t.TempDir(), `{}`, ports(), nil).Describe(t.Context())
	if err != nil || info.DeclaredPerItem != nil || info.Revision == "" || !strings.HasPrefix(info.Fingerprint, info.Revision) {
		t.Errorf("%+v, %v", info, err)
	}
}

// The fingerprint is one of a set: it does not depend on the order in which documents come, and follows swapped vectors.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	embedder := hashing(t, `{"dimensions": 64}`)
	take := func(settings string, docs corpus) string {
		info, err := mustOpen(t, t.TempDir(), settings, docs, embedder).Describe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return info.Fingerprint
	}
	backwards := ports()
	slices.Reverse(backwards)
	first := take(`{}`, ports())
	if take(`{}`, backwards) != first {
		t.Error("it depends on the order of the documents")
	}
	if take(`{"fusion_k": 3, "distance": "dot", "keyword": {"operator": "and"}}`, ports()) != first {
		t.Error("it depends on how the store is searched")
	}
	seen := map[string]string{first: "no fault"}
	for _, settings := range []string{
		`{"faults": {"vectors": {"a": {"swap": "b"}}}}`, `{"faults": {"vectors": {"a": {"zero": true}}}}`, `{"faults": {"vectors": {"a": {"none": true}}}}`,
		`{"faults": {"ghost": ["a"]}}`, `{"faults": {"replace": {"a": {"text": ""}}}}`, `{"faults": {"duplicate": {"a": 1}}}`,
		`{"faults": {"move": {"a": "x"}}}`, `{"keyword": {"stem": false}}`, `{"index": {"model": "x"}}`,
	} {
		fingerprint := take(settings, ports())
		if before, ok := seen[fingerprint]; ok {
			t.Errorf("%s has the fingerprint of %s", settings, before)
		}
		seen[fingerprint] = settings
	}
}

func TestDotProduct(t *testing.T) {
	t.Parallel()
	docs := corpus{{ID: "long", Vector: []float32{3, 4}}, {ID: "zero", Vector: []float32{0, 0}}, {ID: "near", Vector: []float32{1, 0}}, {ID: "away", Vector: []float32{-2, 0}}}
	s := mustOpen(t, t.TempDir(), `{"distance": "dot"}`, docs, nil)
	response, err := s.Search(t.Context(), adapters.SearchRequest{Mode: modeDense, Vector: []float32{2, 0}, Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	want := []struct {
		id    string
		score float64
	}{{"long", 6}, {"near", 2}, {"zero", 0}, {"away", -4}}
	for i, hit := range response.Hits {
		if hit.ID != want[i].id || math.Abs(*hit.Score-want[i].score) > 1e-6 {
			t.Errorf("rank %d is %q with %v, want %v", i+1, hit.ID, *hit.Score, want[i])
		}
	}
}

func TestFusion(t *testing.T) {
	t.Parallel()
	embedder := hashing(t, `{"dimensions": 64}`)
	s := mustOpen(t, t.TempDir(), `{"fusion_k": 10}`, ports(), embedder)
	response, err := s.Search(t.Context(), adapters.SearchRequest{Mode: modeHybrid, Query: "hours", Vector: storeVectorOf(t, embedder, "port fee"), Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{"a": 1. / 11, "b": 1. / 12, "c": 1. / 13, "d": 1./11 + 1./14}
	got := map[string]float64{}
	for _, hit := range response.Hits {
		got[hit.ID] = *hit.Score
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("scores (-want +got):\n%s", diff)
	}
}

func TestStoreSchema(t *testing.T) {
	t.Parallel()
	var schema any
	if err := json.Unmarshal(storeSchema, &schema); err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("store.json", schema); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("store.json")
	if err != nil {
		t.Fatal(err)
	}
	for settings, valid := range map[string]bool{
		`{}`: true,
		`{"documents": "corpus.jsonl", "chunk": {"by": "heading"}, "collection": "main", "distance": "dot", "fusion_k": 60, "file": "x",
		  "keyword": {"stem": true, "token_chars": "-_+", "fold_accents": true, "operator": "or", "stopwords": "english"},
		  "index": {"model": "hashing", "dimensions": 512, "passage_prefix": "p", "query_prefix": "q", "revision": "r"},
		  "faults": {"omit": ["a"], "replace": {"a": {"text": "", "access": "x", "metadata": {"k": ["v"]}}}, "move": {"a": "b"}, "duplicate": {"a": 5}, "ghost": ["a"],
		    "vectors": {"a": {"zero": true}, "b": {"swap": "a"}, "c": {"prefix": ""}}, "approximate": ["a"], "filter": "open"}}`: true,
		`{"surprise": 1}`:                                              false,
		`{"distance": "euclid"}`:                                       false,
		`{"keyword": {"token_chars": "a b"}}`:                          false,
		`{"keyword": {"token_chars": "\u0007"}}`:                       false,
		`{"fusion_k": 0}`:                                              false,
		`{"faults": {"vectors": {"a": {}}}}`:                           false,
		`{"faults": {"vectors": {"a": {"zero": false}}}}`:              false,
		`{"faults": {"duplicate": {"a": 0}}}`:                          false,
		`{"faults": {"replace": {"a": {}}}}`:                           false,
		`{"faults": {"vectors": {"a": {"zero": true, "none": true}}}}`: false,
	} {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(settings))
		if err != nil {
			t.Fatal(err)
		}
		if err := compiled.Validate(value); (err == nil) != valid {
			t.Errorf("%s: %v, want valid %t", settings, err, valid)
		}
		if _, err := readStoreSettings([]byte(settings)); valid && err != nil {
			t.Errorf("%s: the schema accepts what cannot be read: %v", settings, err)
		}
	}
}
