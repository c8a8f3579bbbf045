package embedded

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/adapters"
)

// manyWords are documents of few different words, so that most queries find most of them, and scores are often equal.
func manyWords(documents int) corpus {
	random := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("port ports porting fee fees ferry x-ray x ray café cafes harbour the 1 2 3 rare-" + strings.Repeat(" port fee", 4))
	var c corpus
	for i := range documents {
		var text []string
		for range 1 + random.IntN(12) {
			text = append(text, words[random.IntN(len(words))])
		}
		c = append(c, adapters.Item{ID: fmt.Sprintf("d%d", i*7919%documents), Text: strings.Join(text, " ")})
	}
	return c
}

// A query that is answered word by word has the items, the order and every bit of the scores of one that SQLite answers as a whole.
func TestWordsScoreAsOneQuery(t *testing.T) {
	t.Parallel()
	const documents = 700
	s := mustOpen(t, t.TempDir(), `{}`, manyWords(documents), nil)
	half := 0.5
	for _, query := range []string{
		"port", "port fee", "fee port", "ports porting port", "x-ray fee", "ray x", "harbour cafés ferry 1 2 3", "nowhere", "nowhere port", "rare- harbour",
	} {
		phrases, err := s.settings.Keyword.phrases(query)
		if err != nil {
			t.Fatal(err)
		}
		for _, limit := range []int{1, 3, 50, documents, everything} {
			for _, threshold := range []*float64{nil, &half} {
				for _, again := range []bool{false, true} { // from what is kept
					want, err := ranked(t.Context(), s.db, s.keywordQuery(), []any{s.settings.Keyword.expression(phrases)}, threshold, limit)
					if err != nil {
						t.Fatal(err)
					}
					got, ok, err := s.byWords(t.Context(), phrases, threshold, limit)
					if err != nil || !ok {
						t.Fatalf("%q: answered %t, %v", query, ok, err)
					}
					if !slices.EqualFunc(got, want, func(a, b scored) bool {
						return a.n == b.n && a.id == b.id && math.Float64bits(a.score) == math.Float64bits(b.score)
					}) {
						t.Errorf("%q, limit %d, threshold %v, again %t: finds %v, want %v", query, limit, threshold, again, got, want)
					}
				}
			}
		}
	}
	if len(s.words.kept) == 0 {
		t.Error("no word was kept")
	}
}

// What is kept of words has a limit, and of a word that very many items hold it is kept that they do.
func TestWordsKept(t *testing.T) {
	t.Parallel()
	var w wordScores
	for i := range 5 * mostScores / mostItems {
		w.keep(fmt.Sprint(i), make([]scored, mostItems))
		w.keep(fmt.Sprint(i), make([]scored, mostItems))
		held := 0
		for _, list := range w.kept {
			held += 1 + len(list)
		}
		if held != w.size || held > mostScores || len(w.order) != len(w.kept) {
			t.Fatalf("%d scores of %d words in a list of %d are kept, and %d are counted", held, len(w.kept), len(w.order), w.size)
		}
	}
	s := mustOpen(t, t.TempDir(), `{}`, manyWords(3*mostItems), nil)
	for range 2 {
		if list, ok, err := s.scoresOf(t.Context(), `"port"`); ok || err != nil || list != nil {
			t.Errorf("a word of very many items has %d scores, %t, %v", len(list), ok, err)
		}
	}
	if _, known := s.words.get(`"port"`); !known {
		t.Error("nothing is kept of a word that very many items hold")
	}
	if got := keywordIDs(t, s, "port"); len(got) != 1000 {
		t.Errorf("it finds %d items, want the 1000 that are asked for", len(got))
	}
}
