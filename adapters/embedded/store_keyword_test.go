package embedded

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/adapters"
)

func keywordIDs(t *testing.T, s *store, query string) []string {
	t.Helper()
	response, err := s.Search(t.Context(), adapters.SearchRequest{Mode: modeKeyword, Query: query, Limit: 1000})
	if err != nil {
		t.Fatalf("query %.60q: %v", query, err)
	}
	ids := []string{}
	for _, hit := range response.Hits {
		ids = append(ids, hit.ID)
	}
	return ids
}

func TestKeywordSettings(t *testing.T) {
	t.Parallel()
	documents := corpus{
		{ID: "policy", Text: "The policies of travelling, ZX-4471/B included."},
		{ID: "cafe", Text: "Le café est fermé; the cafés re\u0301sume\u0301."},
		{ID: "cpp", Text: "C++ and C are languages. Mail to a_b@example.org."},
		{ID: "not", Text: "to be or not to be"},
		{ID: "cjk", Text: "休暇制度"},
		{ID: "hindi", Text: "किताब की कीमत"},
	}
	for _, test := range []struct {
		settings, query, want string
	}{
		{`{}`, "policy", "policy"},
		{`{"stem": false}`, "policy", ""},
		{`{"stem": false}`, "policies", "policy"},
		{`{}`, "CAFE", "cafe"},
		{`{}`, "résumés", "cafe"},
		{`{}`, "re\u0301sume\u0301s", "cafe"},
		{`{"fold_accents": false, "stem": false}`, "cafe", ""},
		{`{"fold_accents": false, "stem": false}`, "café", "cafe"},
		{`{}`, "zx 4471", "policy"},
		{`{}`, "zx-4472", "policy"}, // one word of two
		{`{"operator": "and"}`, "zx-4472", ""},
		{`{"operator": "and"}`, "zx-4471", "policy"},
		{`{"token_chars": "-/"}`, "zx-4471/b", "policy"},
		{`{"token_chars": "-/"}`, "zx", ""},
		{`{"token_chars": "+"}`, "c++", "cpp"},
		{`{"token_chars": "+"}`, "is it c", "cpp"},
		{`{"token_chars": "_@."}`, "a_b@example.org.", "cpp"},
		{`{}`, "c++", "cpp"},
		{`{}`, "to be or not to be", ""},
		{`{"stopwords": "none"}`, "to be or not to be", "cpp not"},
		{`{"operator": "and"}`, "to be or not to policy", "policy"}, // stop words are not asked for
		{`{}`, "休暇制度", "cjk"},
		{`{}`, "休暇", ""}, // a run of characters without spaces is one word
		{`{}`, "किताब", "hindi"},
		{`{}`, "किताक", ""},
	} {
		t.Run(test.settings+" "+test.query, func(t *testing.T) {
			s := mustOpen(t, t.TempDir(), `{"keyword": `+test.settings+`}`, documents, nil)
			got := keywordIDs(t, s, test.query)
			slices.Sort(got)
			if strings.Join(got, " ") != test.want {
				t.Errorf("finds %q, want %q", got, test.want)
			}
		})
	}
}

// Every character that may be set as part of a word must get through two layers of quoting and be found again.
func TestKeywordTokenChars(t *testing.T) {
	t.Parallel()
	for r := '!'; r <= '~'; r++ {
		chars := string(r)
		s := mustOpen(t, t.TempDir(), fmt.Sprintf(`{"keyword": {"stem": false, "token_chars": %q}}`, chars), corpus{
			{ID: "with", Text: "say foo" + chars + "bar now"}, {ID: "without", Text: "say foo now"},
		}, nil)
		if got := keywordIDs(t, s, "foo"+chars+"bar"); !slices.Equal(got, []string{"with"}) {
			t.Errorf("token_chars %q: foo%sbar finds %q", chars, chars, got)
		}
	}
	for _, bad := range []string{" ", "\t", "\x00", "\u200b", "\u00a0"} {
		if _, err := open(t, t.TempDir(), fmt.Sprintf(`{"keyword": {"token_chars": "a\u%04x"}}`, []rune(bad)[0]), nil, nil); err == nil {
			t.Errorf("token_chars %q is accepted", bad)
		}
	}
}

func TestKeywordQueryTooLong(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, t.TempDir(), `{}`, ports(), nil)
	var query strings.Builder
	for n := range maxQueryWords {
		fmt.Fprintf(&query, "w%d w%d ", n, n)
	}
	if got := keywordIDs(t, s, query.String()); len(got) != 0 {
		t.Errorf("finds %q", got)
	}
	query.WriteString("fee")
	_, err := s.Search(t.Context(), adapters.SearchRequest{Mode: modeKeyword, Query: query.String(), Limit: 1})
	if adapters.KindOf(err) != adapters.KindInvalid || !strings.Contains(err.Error(), "1025") {
		t.Errorf("error %v, want one of kind invalid-argument with the number of words", err)
	}
}

// FuzzKeywordQuery holds every query to be words and never syntax: it is answered, and it finds a text that is the query
// itself unless no word is left of it.
func FuzzKeywordQuery(f *testing.F) {
	for _, seed := range []string{
		`"`, `""`, `"a" OR "b`, `NEAR(a b, 2)`, `text: port`, `^port`, `por*`, `(port`, `{a b}: port`, `- port`, `port AND NOT fee`, "port\x00fee",
		"\xff\xfeport", `'; DROP TABLE item; --`, "e\u0301a\u0301", "\u0301", "C++ C#", "休暇", "👩‍👩‍👧", "ǅ ǆ ß ẞ ı İ", strings.Repeat("a ", 5000),
		strings.Repeat("port(", 1000),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		for _, settings := range []string{`{}`, `{"stem": false, "token_chars": "\"+-'*", "operator": "and", "stopwords": "none"}`} {
			s := mustOpen(t, t.TempDir(), `{"keyword": `+settings+`}`, corpus{{ID: "itself", Text: query}, {ID: "other", Text: "a port fee"}}, nil)
			response, err := s.Search(t.Context(), adapters.SearchRequest{Mode: modeKeyword, Query: query, Limit: 10})
			if adapters.KindOf(err) == adapters.KindInvalid && err != nil {
				continue
			}
			if err != nil {
				t.Fatalf("%s: query %q: %v", settings, query, err)
			}
			found := slices.ContainsFunc(response.Hits, func(hit adapters.Hit) bool { return hit.ID == "itself" })
			if words := s.settings.Keyword.terms(query); !found && len(words) > 0 && known(query) {
				t.Errorf("%s: query %q, words %q, does not find itself", settings, query, words)
			}
		}
	})
}

// known holds for texts in scripts that every version of Unicode has alike, so that Go and SQLite see the same words.
func known(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r == 0 || r > 0x24f && (r < 0x3041 || r > 0x9fa5) })
}
