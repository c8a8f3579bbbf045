package embedded

import (
	"fmt"
	"strings"
	"unicode"
)

// maxQueryWords bounds the work of one keyword search: FTS5 compares each word with each item that holds any of them.
const maxQueryWords = 1024

// matchExpression turns a query into an FTS5 expression: its different words, without stop words, each quoted, so that
// nothing in a query is ever syntax. It is empty when no word is left.
func (k keywordSettings) matchExpression(query string) (string, error) {
	terms := k.terms(query)
	if len(terms) > maxQueryWords {
		return "", fmt.Errorf("the query has %d different words; the store searches for at most %d", len(terms), maxQueryWords)
	}
	operator := " OR "
	if k.Operator == operatorAnd {
		operator = " AND "
	}
	for i, term := range terms {
		terms[i] = `"` + strings.ReplaceAll(term, `"`, `""`) + `"`
	}
	return strings.Join(terms, operator), nil
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
