package matrix

import (
	"testing"
)

func TestQueryTemplate(t *testing.T) {
	t.Parallel()
	conversation := &Case{
		Messages: []Message{{"user", "Which class on long flights?"}, {"assistant", "Economy. {{query}}"}, {"user", "And over 10 hours?"}},
		As:       Principal{"tenant": {"acme", "beta"}},
	}
	for name, test := range map[string]struct {
		template string
		c        *Case
		want     string
	}{
		"history and question":             {"{{history}} / {{query}}", conversation, "Which class on long flights? / Economy. {{query}} / And over 10 hours?"},
		"attributes of the asker":          {"{{query}} {{as.tenant}}", conversation, "And over 10 hours? acme, beta"},
		"a plain query has no history":     {"[{{history}}] {{query}}", &Case{Query: "Why?"}, "[] Why?"},
		"one message has no history":       {"[{{history}}]", &Case{Messages: []Message{{"user", "Why?"}}}, "[]"},
		"an attribute that nobody carries": {"{{as.team}}{{query}}", conversation, "And over 10 hours?"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parsed, mistakes := ParseQueryTemplate(test.template)
			if len(mistakes) > 0 {
				t.Fatal(mistakes)
			}
			if got := parsed.RenderQuery(test.c); got != test.want {
				t.Errorf("want %q, got %q", test.want, got)
			}
		})
	}
}

func TestTemplateMistakes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		parse func(string) (*Template, []*TemplateError)
		text  string
		want  string
	}{
		"history in a prompt":        {ParseTemplate, "a\n {{history}}", `2:2: variable "history" has a value in pipeline.query and pipeline.rewrite.prompt only`},
		"context before the search":  {ParseQueryTemplate, "{{#context}}", "1:1: {{#context}} has no value before the search: use {{query}}, {{history}} or {{as.…}}"},
		"an item before the search":  {ParseQueryTemplate, "é {{text}}", "1:3: {{text}} has no value before the search: use {{query}}, {{history}} or {{as.…}}"},
		"an item out of its section": {ParseTemplate, "{{text}}", `1:1: variable "text" has a value inside {{#context}}…{{/context}} only`},
		"context before a rewrite":   {ParseRewriteTemplate, "{{#context}}", "1:1: {{#context}} has no value before the search: use {{query}}, {{history}}, {{#messages}} or {{as.…}}"},
		"a message out of its place": {ParseRewriteTemplate, "{{role}}", `1:1: variable "role" has a value inside {{#messages}}…{{/messages}} only`},
		"messages in a prompt":       {ParseTemplate, "{{#messages}}", "1:1: section {{#messages}} does not belong here: the only section is {{#context}}…{{/context}}, and it does not nest"},
		"messages in a query":        {ParseQueryTemplate, "{{#messages}}", "1:1: section {{#messages}} does not belong here: use {{query}}, {{history}} or {{as.…}}"},
		"an open conversation":       {ParseRewriteTemplate, "{{#messages}}{{text}}", "1:14: section {{#messages}} is never closed: add {{/messages}}"},
		"a near name":                {ParseTemplate, "{{qurey}}", `1:1: variable "qurey" does not resolve`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parsed, mistakes := test.parse(test.text)
			if parsed != nil || len(mistakes) != 1 || mistakes[0].Error() != test.want {
				t.Errorf("want %q, got %v", test.want, mistakes)
			}
		})
	}
}
