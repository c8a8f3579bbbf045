package verdict

import (
	"slices"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/matrix"
)

// TestAnswerRepeatsBound: an answer that bounds a quantity in the very words of the case's evidence is right, whatever words these are.
func TestAnswerRepeatsBound(t *testing.T) {
	t.Parallel()
	hold := func(words string, s side) {
		t.Helper()
		read := readProse(words)
		at := slices.IndexFunc(read.tokens, func(tok token) bool { return tok.text == "60" })
		if boundBefore(read, at) != s && boundBehind(read, at, at+2) != s {
			return // not read as a bound in this sentence
		}
		var c matrix.Case
		c.ID = "x"
		c.Evidence.Required = []matrix.Requirement{{AnyOf: []matrix.Gold{{Source: "fees", Span: words}}}}
		if got := matchIn(t, c, matrix.Claim{Any: []string{"60 crowns"}}, words, nil); got != isMet {
			t.Errorf("%q: the evidence says so, and in the answer it is %q", words, got)
		}
	}
	for _, p := range boundPhrases {
		hold("The fee is "+strings.Join(p.words, " ")+" 60 crowns.", p.side)
	}
	for _, p := range boundTails {
		hold("The fee is 60 crowns "+strings.Join(p.words, " ")+".", p.side)
	}

	starting := matrix.Case{ID: "x"}
	starting.Evidence.Required = []matrix.Requirement{{AnyOf: []matrix.Gold{{Source: "fees", Span: "The fee starts at 60 crowns."}}}}
	if got := matchIn(t, starting, matrix.Claim{Any: []string{"60 crowns"}}, "The fee is up to 60 crowns.", nil); got != isBounded {
		t.Errorf("the other side: want %q, got %q", isBounded, got)
	}
	if got := matchIn(t, starting, matrix.Claim{Any: []string{"90 crowns"}}, "The fine starts at 90 crowns.", nil); got != isBounded {
		t.Errorf("another quantity: want %q, got %q", isBounded, got)
	}
}
