package embedded

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

//go:embed store.schema.json
var storeSchema []byte

// storeSettings are the settings of the store, as its schema describes them.
type storeSettings struct {
	Documents  json.RawMessage `json:"documents,omitempty"` // read by whoever provides adapters.Documents
	Chunk      json.RawMessage `json:"chunk,omitempty"`     // likewise
	Collection string          `json:"collection"`
	Keyword    keywordSettings `json:"keyword"`
	Distance   string          `json:"distance"`
	FusionK    int             `json:"fusion_k"`
	Index      indexSettings   `json:"index"`
	File       string          `json:"file,omitempty"`
	Faults     storeFaults     `json:"faults"`
}

// keywordSettings say how texts and queries are split. The first three are fixed when the file is built.
type keywordSettings struct {
	Stem        bool   `json:"stem"`
	TokenChars  string `json:"token_chars"`
	FoldAccents bool   `json:"fold_accents"`
	Operator    string `json:"operator"`
	Stopwords   string `json:"stopwords"`
}

// indexSettings override how the vectors were made, and what is declared about it.
type indexSettings struct {
	Model         string  `json:"model,omitempty"`
	Dimensions    int     `json:"dimensions,omitempty"`
	PassagePrefix *string `json:"passage_prefix,omitempty"`
	QueryPrefix   *string `json:"query_prefix,omitempty"`
	Revision      string  `json:"revision,omitempty"`
}

// The values of the enumerated settings.
const (
	distanceCosine = "cosine"
	distanceDot    = "dot"
	operatorAnd    = "and"
	operatorOr     = "or"
	stopEnglish    = "english"
	stopNone       = "none"
	filterIgnored  = "ignored"
	filterOpen     = "open"
	filterTexts    = "texts"
)

func readStoreSettings(raw json.RawMessage) (storeSettings, error) {
	s := storeSettings{
		Collection: "main",
		Keyword:    keywordSettings{Stem: true, FoldAccents: true, Operator: operatorOr, Stopwords: stopEnglish},
		Distance:   distanceCosine,
		FusionK:    60,
	}
	if err := decodeSettings(raw, &s); err != nil {
		return s, err
	}
	return s, s.check()
}

// check repeats what the schema says where a wrong value would do harm further on.
func (s *storeSettings) check() error {
	switch {
	case s.Collection == "":
		return errors.New("setting \"collection\" is empty")
	case s.Distance != distanceCosine && s.Distance != distanceDot:
		return fmt.Errorf("setting \"distance\": %q is neither cosine nor dot", s.Distance)
	case s.Keyword.Operator != operatorAnd && s.Keyword.Operator != operatorOr:
		return fmt.Errorf("setting \"keyword.operator\": %q is neither or nor and", s.Keyword.Operator)
	case s.Keyword.Stopwords != stopEnglish && s.Keyword.Stopwords != stopNone:
		return fmt.Errorf("setting \"keyword.stopwords\": %q is neither english nor none", s.Keyword.Stopwords)
	case s.FusionK < 1:
		return fmt.Errorf("setting \"fusion_k\" is %d and must be at least 1", s.FusionK)
	case s.Index.Dimensions < 0:
		return fmt.Errorf("setting \"index.dimensions\" is %d and must be at least 1", s.Index.Dimensions)
	}
	if bad := strings.IndexFunc(s.Keyword.TokenChars, func(r rune) bool {
		return r == utf8.RuneError || unicode.IsSpace(r) || unicode.In(r, unicode.C)
	}); bad >= 0 {
		return fmt.Errorf("setting \"keyword.token_chars\" %q holds a space or control character at byte %d", s.Keyword.TokenChars, bad)
	}
	return s.Faults.check()
}

// tokenizer is the argument of FTS5's tokenize option.
func (k keywordSettings) tokenizer() string {
	var b strings.Builder
	if k.Stem {
		b.WriteString("porter ")
	}
	b.WriteString("unicode61 remove_diacritics ")
	if k.FoldAccents {
		b.WriteString("2")
	} else {
		b.WriteString("0")
	}
	if k.TokenChars != "" {
		b.WriteString(" tokenchars " + sqlQuote(k.TokenChars))
	}
	return b.String()
}

// sqlQuote returns s as an SQL string literal.
func sqlQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
