package bm25

import (
	"slices"
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
