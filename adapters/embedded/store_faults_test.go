package embedded

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culprit-rag/culprit/adapters"
)

// ports is a corpus in which "fee" finds a, b and c in this order in every mode.
func ports() corpus {
	return corpus{
		{ID: "a", Text: "Port fee.", Source: "s-a", Revision: "1", Access: []string{"staff"}, Metadata: map[string][]string{"tenant": {"acme"}}},
		{ID: "b", Text: "The port fee is 40.", Revision: "1", Metadata: map[string][]string{"tenant": {"globex"}}},
		{ID: "c", Text: "Every port guest pays a fee of 40 to the harbour office.", Revision: "1"},
		{ID: "d", Text: "Hours are nine to five."},
	}
}

// asking opens the corpus with the faults and returns the ids that "fee" finds in each mode, and the store.
func asking(t *testing.T, faults string, change func(*adapters.SearchRequest)) (map[string]string, *store) {
	t.Helper()
	embedder := hashing(t, `{"dimensions": 64}`)
	s := mustOpen(t, t.TempDir(), `{"faults": `+faults+`}`, ports(), embedder)
	found := map[string]string{}
	for _, mode := range []string{modeKeyword, modeDense, modeHybrid} {
		req := adapters.SearchRequest{Mode: mode, Query: "port fee", Vector: storeVectorOf(t, embedder, "port fee"), Limit: 100}
		if change != nil {
			change(&req)
		}
		response, err := s.Search(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, hit := range response.Hits {
			ids = append(ids, hit.ID)
		}
		found[mode] = strings.Join(ids, " ")
	}
	return found, s
}

func storeVectorOf(t *testing.T, embedder adapters.Embedder, text string) []float32 {
	t.Helper()
	response, err := embedder.Embed(t.Context(), adapters.EmbedRequest{Texts: []string{text}, Purpose: adapters.ForQuery})
	if err != nil {
		t.Fatal(err)
	}
	return response.Vectors[0]
}

func fetchOne(t *testing.T, s *store, id string) adapters.Item {
	t.Helper()
	items, err := s.Fetch(t.Context(), adapters.FetchRequest{IDs: []string{id}, Vectors: true})
	if err != nil || len(items) != 1 {
		t.Fatalf("fetching %q: %d items, %v", id, len(items), err)
	}
	return items[0]
}

func wantFound(t *testing.T, got map[string]string, keyword, dense, hybrid string) {
	t.Helper()
	if diff := cmp.Diff(map[string]string{modeKeyword: keyword, modeDense: dense, modeHybrid: hybrid}, got); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
}

func TestFaultNone(t *testing.T) {
	t.Parallel()
	got, _ := asking(t, `{}`, nil)
	wantFound(t, got, "a b c", "a b c d", "a b c d")
}

func TestFaultOmit(t *testing.T) {
	t.Parallel()
	got, s := asking(t, `{"omit": ["b"]}`, nil)
	wantFound(t, got, "a c", "a c d", "a c d")
	if n, err := s.count(t.Context(), s.here); n != 3 || err != nil {
		t.Errorf("%d items, %v, want 3", n, err)
	}
}

func TestFaultReplace(t *testing.T) {
	t.Parallel()
	got, s := asking(t, `{"replace": {"b": {"text": "Nothing of the kind."}, "c": {"revision": "0", "source": "old", "access": "staff", "metadata": {"tenant": ["x", "y"]}}}}`, nil)
	wantFound(t, got, "a c", "a c b d", "a c b d")
	want := ports()
	want[1].Text = "Nothing of the kind."
	want[2].Revision, want[2].Source, want[2].Access, want[2].Metadata = "0", "old", []string{"staff"}, map[string][]string{"tenant": {"x", "y"}}
	for _, item := range want[1:3] {
		got := fetchOne(t, s, item.ID)
		got.Vector = nil
		if diff := cmp.Diff(item, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestFaultMove(t *testing.T) {
	t.Parallel()
	got, s := asking(t, `{"move": {"b": "staging"}}`, nil)
	wantFound(t, got, "a c", "a c d", "a c d")
	var moved []string
	report, err := s.Scan(t.Context(), adapters.ScanRequest{Collection: "staging"}, func(item adapters.Item) error {
		moved = append(moved, item.ID+" in "+item.Collection)
		return nil
	})
	if err != nil || report != (adapters.ScanReport{Scanned: 1, Counted: 1}) || !slices.Equal(moved, []string{"b in staging"}) {
		t.Errorf("%q, %+v, %v", moved, report, err)
	}
}

func TestFaultDuplicate(t *testing.T) {
	t.Parallel()
	got, s := asking(t, `{"duplicate": {"b": 3}}`, nil)
	wantFound(t, got, "a b b~1 b~2 b~3 c", "a b b~1 b~2 b~3 c d", "a b b~1 b~2 b~3 c d")
	original, copied := fetchOne(t, s, "b"), fetchOne(t, s, "b~2")
	copied.ID = "b"
	if diff := cmp.Diff(original, copied); diff != "" {
		t.Errorf("the copy differs (-want +got):\n%s", diff)
	}
}

func TestFaultGhost(t *testing.T) {
	t.Parallel()
	got, s := asking(t, `{"ghost": ["b"]}`, nil)
	wantFound(t, got, "a b c", "a b c d", "a b c d")
	if text := fetchOne(t, s, "b").Text; text != "" {
		t.Errorf("its text is %q, want none", text)
	}
}

func TestFaultVectors(t *testing.T) {
	t.Parallel()
	embedder := hashing(t, `{"dimensions": 64, "passage_prefix": "passage: "}`)
	vector := func(model, text string) []float32 {
		none := ""
		response, err := embedder.Embed(t.Context(), adapters.EmbedRequest{Texts: []string{text}, Purpose: adapters.ForPassage, Model: model, Prefix: &none})
		if err != nil {
			t.Fatal(err)
		}
		return response.Vectors[0]
	}
	docs := ports()
	a, b := docs[0].Text, docs[1].Text
	for _, test := range []struct {
		name, fault  string
		wantA, wantB []float32
	}{
		{"off", `{}`, vector("", "passage: "+a), vector("", "passage: "+b)},
		{"zero", `{"b": {"zero": true}}`, vector("", "passage: "+a), make([]float32, 64)},
		{"none", `{"b": {"none": true}}`, vector("", "passage: "+a), nil},
		{"swap", `{"b": {"swap": "a"}}`, vector("", "passage: "+b), vector("", "passage: "+a)},
		{"swap, told by both", `{"b": {"swap": "a"}, "a": {"swap": "b"}}`, vector("", "passage: "+b), vector("", "passage: "+a)},
		{"model", `{"b": {"model": "another"}}`, vector("", "passage: "+a), vector("another", "passage: "+b)},
		{"prefix", `{"b": {"prefix": "query: "}}`, vector("", "passage: "+a), vector("", "query: "+b)},
		{"empty prefix", `{"b": {"prefix": ""}}`, vector("", "passage: "+a), vector("", b)},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := mustOpen(t, t.TempDir(), `{"faults": {"vectors": `+test.fault+`}}`, docs, embedder)
			if diff := cmp.Diff([][]float32{test.wantA, test.wantB}, [][]float32{fetchOne(t, s, "a").Vector, fetchOne(t, s, "b").Vector}); diff != "" {
				t.Errorf("vectors (-want +got):\n%s", diff)
			}
			info, err := s.Describe(t.Context())
			if err != nil || info.EmbedModel != "hashing" || *info.PassagePrefix != "passage: " {
				t.Errorf("the declaration must not tell of the fault: %+v, %v", info, err)
			}
		})
	}
}

func TestFaultVectorsInSearch(t *testing.T) {
	t.Parallel()
	got, s := asking(t, `{"vectors": {"b": {"zero": true}, "c": {"none": true}}}`, nil)
	wantFound(t, got, "a b c", "a b d", "a b c d") // b and d score 0
	response, err := s.Search(t.Context(), adapters.SearchRequest{Mode: modeDense, Vector: make([]float32, 64), Limit: 5})
	if err != nil || len(response.Hits) != 0 {
		t.Errorf("a zero query finds %v, %v, want nothing", response.Hits, err)
	}
}

func TestFaultApproximate(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		change func(*adapters.SearchRequest)
		want   [3]string
		exact  bool
	}{
		{"approximate", nil, [3]string{"a b c", "a c d", "a c b d"}, false},
		{"exact", func(r *adapters.SearchRequest) { r.Exact = true }, [3]string{"a b c", "a b c d", "a b c d"}, true},
		{"restricted to ids", func(r *adapters.SearchRequest) { r.Only = []string{"b"} }, [3]string{"b", "b", "b"}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, s := asking(t, `{"approximate": ["b"]}`, test.change)
			wantFound(t, got, test.want[0], test.want[1], test.want[2])
			req := adapters.SearchRequest{Mode: modeDense, Vector: unit(slices.Repeat([]float64{1}, 64)), Limit: 1}
			if test.change != nil {
				test.change(&req)
			}
			if response, err := s.Search(t.Context(), req); err != nil || response.Exact != test.exact {
				t.Errorf("exact %t, %v, want %t", response.Exact, err, test.exact)
			}
		})
	}
}

func TestFaultFilter(t *testing.T) {
	t.Parallel()
	with := func(conditions ...adapters.Condition) func(*adapters.SearchRequest) {
		return func(r *adapters.SearchRequest) { r.Filter = conditions }
	}
	acme := adapters.Condition{Field: "tenant", AnyOf: []string{"acme"}}
	nobody := adapters.Condition{Field: "tenant", AnyOf: []string{"nobody"}}
	empty := adapters.Condition{Field: "tenant"}
	for _, test := range []struct {
		name, faults string
		change       func(*adapters.SearchRequest)
		want         string
	}{
		{"none: it filters", `{}`, with(acme), "a"},
		{"none: no match, no hit", `{}`, with(nobody), ""},
		{"none: no value, no hit", `{}`, with(empty), ""},
		{"ignored", `{"filter": "ignored"}`, with(acme), "a b c"},
		{"open: it filters", `{"filter": "open"}`, with(acme), "a"},
		{"open: no match, everything", `{"filter": "open"}`, with(nobody), "a b c"},
		{"open: no value, everything", `{"filter": "open"}`, with(empty), "a b c"},
		{"open: a condition without a value does nothing", `{"filter": "open"}`, with(empty, acme), "a"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, _ := asking(t, test.faults, test.change)
			for _, mode := range []string{modeKeyword, modeDense, modeHybrid} {
				if found := strings.TrimSuffix(got[mode], " d"); found != test.want {
					t.Errorf("%s finds %q, want %q", mode, found, test.want)
				}
			}
		})
	}
}

// TestFaultFilterTexts: what is not a text is found by no condition on its field, and by every search without one.
func TestFaultFilterTexts(t *testing.T) {
	t.Parallel()
	documents := corpus{
		{ID: "bool", Text: "fee", Metadata: map[string][]string{"tag": {"true"}}},
		{ID: "number", Text: "fee", Metadata: map[string][]string{"tag": {"1.5e3"}}},
		{ID: "text", Text: "fee", Metadata: map[string][]string{"tag": {"true blue"}}},
		{ID: "quoted", Text: "fee", Metadata: map[string][]string{"tag": {`"5"`}}},
		{ID: "red", Text: "fee", Metadata: map[string][]string{"tag": {"red"}}},
	}
	not := func(v string) []adapters.Condition {
		return []adapters.Condition{{Field: "tag", AnyOf: []string{v}, Not: true}}
	}
	for _, test := range []struct {
		name, faults string
		filter       []adapters.Condition
		want         string
	}{
		{"without the fault", `{}`, not("red"), "bool number quoted text"},
		{"one that excludes", `{"filter": "texts"}`, not("red"), "quoted text"},
		{"one that asks for it", `{"filter": "texts"}`, []adapters.Condition{{Field: "tag", AnyOf: []string{"true"}}}, ""},
		{"none", `{"filter": "texts"}`, nil, "bool number quoted red text"},
		{"on a field that is no metadata", `{"filter": "texts"}`, []adapters.Condition{{Field: "id", AnyOf: []string{"bool"}}}, "bool"},
	} {
		s := mustOpen(t, t.TempDir(), `{"faults": `+test.faults+`}`, documents, nil)
		response, err := s.Search(t.Context(), adapters.SearchRequest{Mode: modeKeyword, Query: "fee", Limit: 10, Filter: test.filter})
		if err != nil {
			t.Fatal(err)
		}
		if got := hitIDs(response); got != test.want {
			t.Errorf("%s: found %q, want %q", test.name, got, test.want)
		}
	}
}

func hitIDs(response adapters.SearchResponse) string {
	var ids []string
	for _, h := range response.Hits {
		ids = append(ids, h.ID)
	}
	return strings.Join(ids, " ")
}

// TestFaultLate: nobody sees the item before the second search was made, and then everybody does.
func TestFaultLate(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, t.TempDir(), `{"faults": {"late": {"b": 2}}}`, ports(), nil)
	var fingerprints []string
	for i, want := range []string{"a c", "a c", "a b c"} {
		var scanned []string
		report, err := s.Scan(t.Context(), adapters.ScanRequest{}, func(item adapters.Item) error {
			scanned = append(scanned, item.ID)
			return nil
		})
		info, infoErr := s.Describe(t.Context())
		items, fetchErr := s.Fetch(t.Context(), adapters.FetchRequest{IDs: []string{"b"}})
		if err := errors.Join(err, infoErr, fetchErr); err != nil {
			t.Fatal(err)
		}
		seen := 0
		if i == 2 {
			seen = 1
		}
		if len(scanned) != 3+seen || report.Counted != 3+seen || info.Count != 3+seen || len(items) != seen {
			t.Errorf("after %d searches: scanned %q, counted %d, described %d, fetched %d", i, scanned, report.Counted, info.Count, len(items))
		}
		fingerprints = append(fingerprints, info.Fingerprint)
		response, err := s.Search(t.Context(), adapters.SearchRequest{Mode: modeKeyword, Query: "fee", Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		if got := hitIDs(response); got != want {
			t.Errorf("search %d finds %q, want %q", i+1, got, want)
		}
	}
	if fingerprints[0] != fingerprints[1] || fingerprints[1] == fingerprints[2] {
		t.Errorf("fingerprints %q: the collection changed once", fingerprints)
	}
}

// TestFilterStatistics: what the filter keeps out does not weigh in the scores.
func TestFilterStatistics(t *testing.T) {
	t.Parallel()
	tenant := func(id, text, of string) adapters.Item {
		return adapters.Item{ID: id, Text: text, Metadata: map[string][]string{"tenant": {of}}}
	}
	own := corpus{tenant("g", "The kestrel pump needs a flange.", "t"), tenant("v", "The kestrel is blue.", "t"), tenant("w", "Kestrel, kestrel.", "t")}
	all := append(slices.Clone(own), tenant("o1", "A flange.", "o"), tenant("o2", "Two flanges.", "o"), tenant("o3", "No flange.", "o"))
	search := func(documents corpus, change func(*adapters.SearchRequest)) adapters.SearchResponse {
		s := mustOpen(t, t.TempDir(), `{}`, documents, nil)
		req := adapters.SearchRequest{Mode: modeKeyword, Query: "kestrel flange", Limit: 10, Filter: []adapters.Condition{{Field: "tenant", AnyOf: []string{"t"}}}}
		change(&req)
		response, err := s.Search(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		return response
	}
	within := func(r *adapters.SearchRequest) { r.FilterStatistics = true }
	want := search(own, func(*adapters.SearchRequest) {})
	if diff := cmp.Diff(want, search(all, within)); diff != "" {
		t.Errorf("not as a store of what is admitted alone (-want +got):\n%s", diff)
	}
	if got := hitIDs(search(all, func(*adapters.SearchRequest) {})); got == hitIDs(want) {
		t.Errorf("the whole collection's statistics give the same order %q, so that this test shows nothing", got)
	}
	floor := *want.Hits[0].Score
	if got := hitIDs(search(all, func(r *adapters.SearchRequest) { within(r); r.Threshold = &floor })); got != want.Hits[0].ID {
		t.Errorf("with a threshold: %q", got)
	}
	if got := hitIDs(search(all, func(r *adapters.SearchRequest) { within(r); r.Query = "the" })); got != "" {
		t.Errorf("a query of stop words finds %q", got)
	}
}

// TestFaultsOfWhatIsNotThere: a fault of the search may name an item that another fault keeps out, so that it shows when that one is mended.
func TestFaultsOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	for _, faults := range []string{
		`{"omit": ["a"], "approximate": ["a"]}`,
		`{"omit": ["a"], "late": {"a": 1}}`,
		`{"move": {"a": "archive"}, "approximate": ["a"], "late": {"a": 1}}`,
	} {
		mustOpen(t, t.TempDir(), `{"faults": `+faults+`}`, ports(), nil)
	}
	if _, err := open(t, t.TempDir(), `{"faults": {"move": {"a": "archive"}, "approximate": ["b", "nobody"]}}`, ports(), nil); !errors.Is(err, adapters.ErrInvalid) {
		t.Errorf("an item that is nowhere: %v", err)
	}
}

func TestFaultsThatCannotBe(t *testing.T) {
	t.Parallel()
	embedder := hashing(t, `{"dimensions": 64}`)
	for _, test := range []struct{ faults, want string }{
		{`{"omit": ["nobody"]}`, `backends.store.faults.omit names "nobody"`},
		{`{"ghost": ["nobody"]}`, `backends.store.faults.ghost names "nobody"`},
		{`{"move": {"nobody": "x"}}`, `backends.store.faults.move names "nobody"`},
		{`{"duplicate": {"nobody": 1}}`, `backends.store.faults.duplicate names "nobody"`},
		{`{"replace": {"nobody": {"text": ""}}}`, `backends.store.faults.replace names "nobody"`},
		{`{"vectors": {"nobody": {"zero": true}}}`, `backends.store.faults.vectors names "nobody"`},
		{`{"vectors": {"a": {"swap": "nobody"}}}`, `backends.store.faults.vectors names "nobody"`},
		{`{"approximate": ["nobody"]}`, `backends.store.faults.approximate names "nobody"`},
		{`{"late": {"nobody": 1}}`, `backends.store.faults.late names "nobody"`},
		{`{"omit": ["A"]}`, `not among the documents: did you mean "a"?`},
		{`{"approximate": ["B"]}`, `not in collection "main": did you mean "b"?`},
		{`{"vectors": {"a": {"swap": "a"}}}`, `"a" is swapped with itself`},
		{`{"vectors": {"a": {"swap": "b"}, "b": {"swap": "c"}}}`, `"b" is swapped with both`},
		{`{"vectors": {"a": {"swap": "b"}, "b": {"none": true}}}`, `the vector of "b", which has none`},
		{`{"filter": "shut"}`, `"shut"`},
		{`{"surprise": 1}`, `surprise`},
	} {
		_, err := open(t, t.TempDir(), `{"faults": `+test.faults+`}`, ports(), embedder)
		if !errors.Is(err, adapters.ErrInvalid) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want an error that is ErrInvalid and says %s", test.faults, err, test.want)
		}
	}
	_, err := open(t, t.TempDir(), `{"faults": {"vectors": {"a": {"model": "x"}}}}`, ports(), nil)
	if err == nil || !strings.Contains(err.Error(), "backends.embedder") {
		t.Errorf("a model without an embedder: %v", err)
	}
}

func TestDocumentsThatCannotBe(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		documents corpus
		want      string
	}{
		{corpus{{Text: "x"}}, "no id"},
		{corpus{{ID: "a\x00b"}}, `a\x00b`},
		{corpus{{ID: "a\xff"}}, `a\xff`},
		{corpus{{ID: "twice", Text: "x"}, {ID: "once"}, {ID: "twice"}}, `"twice"`},
		{corpus{{ID: "a", Vector: []float32{1, 0}}, {ID: "b", Vector: []float32{1, 0, 0}}}, `"b" has 3 dimensions, and those before it have 2`},
		{corpus{{ID: "a", Vector: []float32{1e30, 1e30}}}, `"a"`},
		{corpus{{ID: "a", Vector: []float32{}}}, `"a"`},
	} {
		_, err := open(t, t.TempDir(), `{}`, test.documents, nil)
		if !errors.Is(err, adapters.ErrInvalid) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: %v, want an error that is ErrInvalid and says %s", test.documents, err, test.want)
		}
	}
}

func TestSameIDInTwoCollections(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, t.TempDir(), `{}`, corpus{{ID: "a", Text: "here"}, {ID: "a", Text: "there", Collection: "other"}}, nil)
	if text := fetchOneText(t, s, "a"); text != "here" {
		t.Errorf("fetched %q", text)
	}
}

func fetchOneText(t *testing.T, s *store, id string) string {
	t.Helper()
	items, err := s.Fetch(t.Context(), adapters.FetchRequest{IDs: []string{id}})
	if err != nil || len(items) != 1 {
		t.Fatal(fmt.Sprint(items), err)
	}
	return items[0].Text
}
