package embedded

import (
	"fmt"
	"strings"
	"unicode"
)

// maxQueryWords bounds the work of one keyword search: FTS5 compares each word with each item that holds any of them.
const maxQueryWords = 1024

// phrases are a query's different words, without stop words, each quoted for FTS5, so that nothing in a query is ever syntax. There may be
// none.
func (k keywordSettings) phrases(query string) ([]string, error) {
	terms := k.terms(query)
	if len(terms) > maxQueryWords {
		return nil, fmt.Errorf("the query has %d different words; the store searches for at most %d", len(terms), maxQueryWords)
	}
	for i, term := range terms {
		terms[i] = `"` + strings.ReplaceAll(term, `"`, `""`) + `"`
	}
	return terms, nil
}

// expression asks for all of the phrases, or any.
func (k keywordSettings) expression(phrases []string) string {
	if k.Operator == operatorAnd {
		return strings.Join(phrases, " AND ")
	}
	return strings.Join(phrases, " OR ")
}

// terms lists the different words of a query in their order. Words end where FTS5's unicode61 tokenizer ends them, except
// that a combining mark never does: what the tokenizer then cuts is searched for as a phrase, not as loose pieces.
func (k keywordSettings) terms(query string) []string {
	query = strings.ToValidUTF8(query, " ")
	var terms []string
	seen := map[string]bool{}
	for _, word := range strings.FieldsFunc(query, func(r rune) bool { return !k.inWord(r) && !unicode.Is(unicode.M, r) }) {
		word = strings.ToLower(word)
		if seen[word] || !strings.ContainsFunc(word, k.inWord) || k.Stopwords == stopEnglish && isStop(word) {
			continue
		}
		seen[word] = true
		terms = append(terms, word)
	}
	return terms
}

// inWord holds for the characters of which unicode61 makes words.
func (k keywordSettings) inWord(r rune) bool {
	return unicode.In(r, unicode.L, unicode.N, unicode.Co) || strings.ContainsRune(k.TokenChars, r)
}
