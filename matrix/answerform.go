package matrix

import (
	"encoding/json"
	"fmt"
	"regexp"
)

// Forms of an answer.
const (
	AnswerPlain      = "plain"      // text, with the citations in it
	AnswerStructured = "structured" // a JSON object that meets AnswerSchema
)

// AnswerForm says what an answer is and how its citations are found.
type AnswerForm struct {
	Format string `json:"format"`
	// Citations is an expression of RE2 whose first group is the id, source or position that a plain answer cites; empty: what
	// stands in brackets and looks like one.
	Citations string `json:"citations,omitempty"`
}

// Structured reports whether answers are asked for as JSON; a nil form is plain.
func (f *AnswerForm) Structured() bool { return f != nil && f.Format == AnswerStructured }

// CitationPattern compiles Citations; nil where it is empty.
func (f *AnswerForm) CitationPattern() (*regexp.Regexp, error) {
	if f == nil || f.Citations == "" {
		return nil, nil
	}
	expr, err := regexp.Compile(f.Citations)
	switch {
	case err != nil:
		return nil, err
	case expr.NumSubexp() < 1:
		return nil, fmt.Errorf("%q has no group: put what is cited in parentheses, as in %q", f.Citations, `\[([\w.-]+)\]`)
	}
	return expr, nil
}

// AnswerSchema returns the JSON Schema of a structured answer.
func AnswerSchema() json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{` +
		`"answer":{"type":"string","description":"The answer to the question."},` +
		`"citations":{"type":"array","items":{"type":"string"},"description":"Ids of the passages that the answer rests on."},` +
		`"refused":{"type":"boolean","description":"True when the passages do not answer the question."}},` +
		`"required":["answer","citations","refused"],"additionalProperties":false}`)
}
