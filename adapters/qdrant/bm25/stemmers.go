package bm25

import (
	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/turkish"
)

// stemmers are Snowball's, for the languages that Qdrant has both stopwords and a stemmer for.
var stemmers = map[string]func(string) string{
	"arabic":     stemmer(arabic.Stem),
	"danish":     stemmer(danish.Stem),
	"dutch":      stemmer(dutch.Stem),
	"english":    stemmer(english.Stem),
	"finnish":    stemmer(finnish.Stem),
	"french":     stemmer(french.Stem),
	"german":     stemmer(german.Stem),
	"hungarian":  stemmer(hungarian.Stem),
	"italian":    stemmer(italian.Stem),
	"norwegian":  stemmer(norwegian.Stem),
	"portuguese": stemmer(portuguese.Stem),
	"romanian":   stemmer(romanian.Stem),
	"russian":    stemmer(russian.Stem),
	"spanish":    stemmer(spanish.Stem),
	"swedish":    stemmer(swedish.Stem),
	"turkish":    stemmer(turkish.Stem),
}

func stemmer(stem func(*snowballstem.Env) bool) func(string) string {
	return func(word string) string {
		env := snowballstem.NewEnv(word)
		stem(env)
		return env.Current()
	}
}
