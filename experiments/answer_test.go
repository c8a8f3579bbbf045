package experiments

import (
	"strings"
	"testing"
)

func TestFormOfTheAnswer(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ answer, want string }{
		{"{}", ""},
		{"{format: structured}", ""},
		{`{citations: '\[([\w.-]+)\]'}`, ""},
		{`{citations: '\[[\w.-]+\]'}`, "has no group"},
		{`{citations: '('}`, "cannot be used"},
		{`{format: structured, citations: '\[([\w.-]+)\]'}`, "warning"},
		{"{format: xml}", "format"},
	} {
		got := problems(t, folderOf(t, `
-- experiment.yaml --
culprit: v1
name: forms
backends: {store: {adapter: plain}, generator: {adapter: plain}}
pipeline: {answer: `+test.answer+`, prompt: {user: "{{#context}}{{text}}{{/context}} {{query}}"}}
cases: [{id: c, query: q, claims: [{id: x, any: [five]}]}]
`), Options{})
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("answer: %s: want %q, got %q", test.answer, test.want, got)
		}
	}
}

// A generator that says in a field that it refuses needs no words for it.
func TestStructuredRefusalNeedsNoPhrase(t *testing.T) {
	t.Parallel()
	if got := problems(t, folderOf(t, `
-- experiment.yaml --
culprit: v1
name: forms
backends: {store: {adapter: plain}, generator: {adapter: plain}}
pipeline: {answer: {format: structured}, refusal: []}
cases: [{id: c, query: q, expect: abstain}]
`), Options{}); got != "" {
		t.Error(got)
	}
}
