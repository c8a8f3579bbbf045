package bm25

import (
	"slices"
	"strings"
	"testing"
)

// A word has one number, whoever asks for it and in whatever form it stands.
func TestQueryMeetsPassage(t *testing.T) {
	t.Parallel()
	english, err := New("english")
	if err != nil {
		t.Fatal(err)
	}
	stored, weights := english.Passage("The flights are booked; a flight is booked by the desk.")
	asked, ones := english.Query("Booking a FLIGHT?")
	if len(stored) != 3 || len(weights) != 3 { // flight, book, desk
		t.Fatalf("the passage has the words %v", stored)
	}
	if len(asked) != 2 || !slices.Equal(ones, []float32{1, 1}) {
		t.Fatalf("the query has the words %v, %v", asked, ones)
	}
	for _, id := range asked {
		at := slices.Index(stored, id)
		if at < 0 {
			t.Fatalf("word %d of the query is none of %v", id, stored)
		}
		if weights[at] <= slices.Min(weights) {
			t.Errorf("a word that stands there twice weighs %v, and the one that stands there once %v", weights[at], slices.Min(weights))
		}
	}
}

func TestWithoutALanguageWordsAreKept(t *testing.T) {
	t.Parallel()
	plain, err := New("none")
	if err != nil {
		t.Fatal(err)
	}
	if ids, _ := plain.Query("the flight the flights"); len(ids) != 3 {
		t.Errorf("%d words, want the, flight, flights", len(ids))
	}
}

func TestEveryLanguageIsThere(t *testing.T) {
	t.Parallel()
	for _, language := range Languages() {
		if _, err := New(language); err != nil {
			t.Errorf("%s: %v", language, err)
		}
	}
	if _, err := New("klingon"); err == nil {
		t.Error("klingon is a language")
	}
}

func TestQuery(t *testing.T) {
	t.Parallel()
	encoder, err := New("english")
	if err != nil {
		t.Fatal(err)
	}
	for _, empty := range []string{"", " ?! ", "the of and"} {
		if indices, values := encoder.Query(empty); len(indices)+len(values) != 0 {
			t.Errorf("%q: %v, %v", empty, indices, values)
		}
	}
	indices, values := encoder.Query("Invoices invoice INVOICED, paid")
	if len(indices) != 2 || !slices.IsSorted(indices) || !slices.Equal(values, []float32{1, 1}) {
		t.Errorf("%v, %v", indices, values)
	}
	none, err := New("none")
	if err != nil {
		t.Fatal(err)
	}
	if indices, _ := none.Query("the invoice invoices"); len(indices) != 3 {
		t.Errorf("without a language: %v", indices)
	}
	if _, err := New("klingon"); err == nil || !strings.Contains(err.Error(), "english") {
		t.Errorf("%v, want an error that names the languages", err)
	}
}
