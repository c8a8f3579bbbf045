package matrix_test

import (
	"testing"

	"github.com/culprit-rag/culprit/matrix"
)

func TestCause(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ kind, message, want string }{
		{"transient", "openai: generate: transient: no answer from http://localhost:9/v1", "no answer from http://localhost:9/v1"},
		{"transient", "embedding the query: openai: embed: transient: 500: busy", "embedding the query: 500: busy"},
		{"not-found", "openai: generate: transient: other", "openai: generate: transient: other"},
		{"permanent", "plain", "plain"},
		{"permanent", "", ""},
	} {
		e := matrix.CallError{Kind: test.kind, Message: test.message}
		if got := e.Cause(); got != test.want {
			t.Errorf("%q of %s: %q, want %q", test.message, test.kind, got, test.want)
		}
	}
}
