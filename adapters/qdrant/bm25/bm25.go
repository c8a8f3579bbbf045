// Package bm25 turns texts and queries into the sparse vectors that Qdrant's own encoder makes: the one place that knows the
// numbers of words, for whoever fills a collection and for whoever searches it.
package bm25

import (
	"embed"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/twmb/murmur3"
	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// stopwords are those that Qdrant itself uses, a file for each language.
//
//go:embed stopwords/*.txt
var stopwords embed.FS

// The parameters of BM25 that Qdrant's encoder and FastEmbed's have by default. The length is in words.
const (
	k1         = 1.2
	b          = 0.75
	meanLength = 256
)

// Encoder makes the sparse vectors that Qdrant's own encoder "qdrant/bm25" makes, with the same ids of words: words are runs of
// letters and digits in lower case, without stopwords, reduced to their stem, and hashed by murmur3. The weight of a word in
// the whole collection is the server's part (the modifier "idf" of the sparse vector). FastEmbed's Qdrant/bm25 differs from
// it only in that an underscore belongs to a word, and that words of more than 40 characters are left out.
// It is safe for concurrent use.
type Encoder struct {
	stop map[string]bool
	stem func(string) string
}

// Languages are the languages of [New]; "none" neither leaves words out nor stems them.
func Languages() []string { return append(slices.Sorted(maps.Keys(stemmers)), None) }

// Languages that others name: the one that is taken where none is named, and none at all.
const (
	English = "english"
	None    = "none"
)

// New returns the encoder for one of [Languages].
func New(name string) (*Encoder, error) {
	if name == None {
		return &Encoder{stem: func(word string) string { return word }}, nil
	}
	stem, ok := stemmers[name]
	if !ok {
		return nil, fmt.Errorf("language %q is none of %s", name, strings.Join(Languages(), ", "))
	}
	text, err := stopwords.ReadFile("stopwords/" + name + ".txt")
	if err != nil {
		return nil, err
	}
	stop := map[string]bool{}
	for word := range strings.Lines(string(text)) {
		stop[strings.TrimSuffix(word, "\n")] = true
	}
	return &Encoder{stop: stop, stem: stem}, nil
}

// Query returns the vector of a query, by index: each word counts 1. It is empty where no word is left.
func (e *Encoder) Query(text string) (indices []uint32, values []float32) {
	ids := map[uint32]bool{}
	for _, word := range e.words(text) {
		ids[wordID(word)] = true
	}
	indices = slices.Sorted(maps.Keys(ids))
	values = make([]float32, len(indices))
	for i := range values {
		values[i] = 1
	}
	return indices, values
}

// Passage returns the vector of a stored text, by index: each word counts by how often it stands there and by how long the
// text is.
func (e *Encoder) Passage(text string) (indices []uint32, values []float32) {
	words := e.words(text)
	count := map[string]int{}
	for _, word := range words {
		count[word]++
	}
	weights := map[uint32]float32{}
	for word, n := range count {
		length := 1 - b + b*float64(len(words))/meanLength
		weights[wordID(word)] = float32(float64(n) * (k1 + 1) / math.FMA(k1, length, float64(n)))
	}
	indices = slices.Sorted(maps.Keys(weights))
	for _, id := range indices {
		values = append(values, weights[id])
	}
	return indices, values
}

func (e *Encoder) words(text string) []string {
	var words []string
	lower := cases.Lower(language.Und)
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !alphanumeric(r) }) {
		if word = lower.String(word); e.stop[word] {
			continue
		}
		if word = e.stem(word); word != "" {
			words = append(words, word)
		}
	}
	return words
}

// alphanumeric is what Unicode calls alphabetic or numeric.
func alphanumeric(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.Other_Alphabetic, r)
}

// wordID is the hash as a number without a sign: its absolute value as a signed one.
func wordID(word string) uint32 {
	hash := int32(murmur3.StringSum32(word))
	if hash < 0 {
		return uint32(-int64(hash))
	}
	return uint32(hash)
}
