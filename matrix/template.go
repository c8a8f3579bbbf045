package matrix

import (
	"fmt"
	"strings"
)

// Template is a logic-less prompt template: {{query}}, {{as.tenant}} and the section {{#context}}…{{/context}}, which is
// rendered once for each packed item and may use {{id}}, {{source}}, {{revision}}, {{text}} and {{rank}} (from 1).
// There is no escaping and there are no partials, and data is never parsed again: a text that holds {{query}} stays as it is.
// A template of the text that is searched for has no context, and {{history}} instead; see [ParseQueryTemplate]. One of the prompt
// that rewrites a query has the conversation; see [ParseRewriteTemplate].
type Template struct {
	parts []part
}

type part struct {
	text string // literal, when name is empty
	name string
	body []part // of a section
}

// TemplateError is a mistake in a template, at a line and column (from 1, in characters) of its text.
type TemplateError struct {
	Line, Column int
	Name         string // the name that does not resolve, "" for other mistakes
	Problem      string
}

func (e *TemplateError) Error() string {
	return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Problem)
}

// ItemNames are the names that resolve inside {{#context}}.
var itemNames = []string{"id", "source", "revision", "text", "rank"}

// TemplateNames lists every name that resolves in a template, for completion and near-name suggestions.
func TemplateNames() []string {
	return append([]string{"query", "as.<attribute>", "#context", "/context"}, itemNames...)
}

// ParseTemplate parses text. All mistakes are returned at once, each a *[TemplateError].
func ParseTemplate(text string) (*Template, []*TemplateError) {
	return parseTemplate(text, promptTemplate)
}

// QueryTemplateNames lists every name that resolves in a template of the text that is searched for.
func QueryTemplateNames() []string { return []string{"query", "history", "as.<attribute>"} }

// ParseQueryTemplate parses the template of the text that is searched for: {{query}}, {{as.tenant}} and {{history}}.
// All mistakes are returned at once, each a *[TemplateError].
func ParseQueryTemplate(text string) (*Template, []*TemplateError) {
	return parseTemplate(text, queryTemplate)
}

// RewriteTemplateNames lists every name that resolves in a template of the prompt that rewrites a query.
func RewriteTemplateNames() []string {
	return append([]string{"query", "history", "as.<attribute>", "#messages", "/messages"}, messageNames...)
}

// ParseRewriteTemplate parses the template of the prompt by which the generator rewrites a query: {{query}}, {{history}},
// {{as.tenant}} and the section {{#messages}}…{{/messages}}, which is rendered once for each message of the conversation and may use
// {{role}} and {{text}}. All mistakes are returned at once, each a *[TemplateError].
func ParseRewriteTemplate(text string) (*Template, []*TemplateError) {
	return parseTemplate(text, rewriteTemplate)
}

// templateKind is what a template knows besides the question and the asker.
type templateKind struct {
	section string   // "" for none
	names   []string // inside the section
	history bool
}

var (
	messageNames    = []string{"role", "text"}
	promptTemplate  = templateKind{section: "context", names: itemNames}
	queryTemplate   = templateKind{history: true}
	rewriteTemplate = templateKind{section: "messages", names: messageNames, history: true}
)

func parseTemplate(text string, kind templateKind) (*Template, []*TemplateError) {
	p := &templateParser{rest: text, line: 1, column: 1, kind: kind}
	parts := p.parse(false)
	if len(p.errors) > 0 {
		return nil, p.errors
	}
	return &Template{parts: parts}, nil
}

type templateParser struct {
	rest         string
	line, column int
	kind         templateKind
	errors       []*TemplateError
}

func (p *templateParser) advance(n int) {
	for _, r := range p.rest[:n] {
		if r == '\n' {
			p.line, p.column = p.line+1, 1
		} else {
			p.column++
		}
	}
	p.rest = p.rest[n:]
}

func (p *templateParser) fail(line, column int, name, format string, args ...any) {
	p.errors = append(p.errors, &TemplateError{Line: line, Column: column, Name: name, Problem: fmt.Sprintf(format, args...)})
}

func (p *templateParser) parse(inSection bool) []part {
	var parts []part
	sectionLine, sectionColumn := p.line, p.column
	for {
		open := strings.Index(p.rest, "{{")
		if open < 0 {
			if inSection {
				p.fail(sectionLine, sectionColumn, "", "section {{#%[1]s}} is never closed: add {{/%[1]s}}", p.kind.section)
			}
			parts = append(parts, part{text: p.rest})
			p.rest = ""
			return parts
		}
		if open > 0 {
			parts = append(parts, part{text: p.rest[:open]})
		}
		p.advance(open)
		line, column := p.line, p.column
		end := strings.Index(p.rest, "}}")
		if end < 0 {
			p.fail(line, column, "", "{{ is never closed: add }}")
			p.rest = ""
			return parts
		}
		tag := p.rest[2:end]
		name := strings.TrimSpace(tag)
		p.advance(end + 2)
		switch {
		case p.kind.section != "" && name == "#"+p.kind.section && !inSection:
			parts = append(parts, part{name: p.kind.section, body: p.parse(true)})
		case p.kind.section != "" && name == "/"+p.kind.section && inSection:
			return parts
		case p.resolves(name, inSection):
			parts = append(parts, part{name: name})
		case p.kind.history && (name == "#context" || name == "/context" || contains(itemNames, name) && !contains(p.kind.names, name)):
			p.fail(line, column, name, "{{%s}} has no value before the search: use %s", name, p.kind.uses())
		case p.kind.section == "" && (strings.HasPrefix(name, "#") || strings.HasPrefix(name, "/")):
			p.fail(line, column, name, "section {{%s}} does not belong here: use %s", name, p.kind.uses())
		case strings.HasPrefix(name, "#") || strings.HasPrefix(name, "/"):
			p.fail(line, column, name, "section {{%s}} does not belong here: the only section is {{#%[2]s}}…{{/%[2]s}}, and it does not nest", name, p.kind.section)
		case strings.HasPrefix(tag, "{") || strings.ContainsAny(name, "{}"):
			p.fail(line, column, name, "{{%s}}: write {{name}} with two braces", tag)
		case contains(p.kind.names, name):
			p.fail(line, column, name, "variable %q has a value inside {{#%[2]s}}…{{/%[2]s}} only", name, p.kind.section)
		case name == "history":
			p.fail(line, column, name, "variable %q has a value in pipeline.query and pipeline.rewrite.prompt only", name)
		default:
			p.fail(line, column, name, "variable %q does not resolve", name)
		}
	}
}

func (p *templateParser) resolves(name string, inSection bool) bool {
	attribute, isAttribute := strings.CutPrefix(name, "as.")
	return name == "query" || p.kind.history && name == "history" || isAttribute && attribute != "" || inSection && contains(p.kind.names, name)
}

// uses lists what a template that is filled before the search may use.
func (k templateKind) uses() string {
	if k.section != "" {
		return "{{query}}, {{history}}, {{#messages}} or {{as.…}}"
	}
	return "{{query}}, {{history}} or {{as.…}}"
}

func contains(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}

// Render fills the template. Attributes of the principal with several values are joined by ", "; one it lacks is empty.
func (t *Template) Render(query string, as Principal, context []Packed) string {
	var b strings.Builder
	render(&b, t.parts, scope{query: query, as: as, context: context})
	return b.String()
}

// RenderQuery fills a template of [ParseQueryTemplate]. {{query}} is the question of the case, and {{history}} all that
// was said before it, joined by " / "; a case without a conversation has none.
func (t *Template) RenderQuery(c *Case) string {
	var b strings.Builder
	render(&b, t.parts, scope{query: c.Question(), history: c.History(), as: c.As})
	return b.String()
}

// RenderRewrite fills a template of [ParseRewriteTemplate]. A case without a conversation has one message, which is its question.
func (t *Template) RenderRewrite(c *Case) string {
	messages := c.Messages
	if c.Query != "" || len(messages) == 0 {
		messages = []Message{{Role: "user", Text: c.Question()}}
	}
	var b strings.Builder
	render(&b, t.parts, scope{query: c.Question(), history: c.History(), as: c.As, messages: messages})
	return b.String()
}

// History joins the messages of a conversation before the question by " / ".
func (c *Case) History() string {
	if c.Query != "" || len(c.Messages) == 0 {
		return ""
	}
	earlier := make([]string, 0, len(c.Messages)-1)
	for _, m := range c.Messages[:len(c.Messages)-1] {
		earlier = append(earlier, m.Text)
	}
	return strings.Join(earlier, " / ")
}

// scope holds what the names of a template stand for.
type scope struct {
	query, history string
	as             Principal
	context        []Packed
	messages       []Message
	item           *Packed  // inside the section of the context
	message        *Message // inside the section of the conversation
}

func render(b *strings.Builder, parts []part, in scope) {
	for _, p := range parts {
		switch {
		case p.name == "":
			b.WriteString(p.text)
		case p.name == "context":
			for i := range in.context {
				inner := in
				inner.item = &in.context[i]
				render(b, p.body, inner)
			}
		case p.name == "messages":
			for i := range in.messages {
				inner := in
				inner.message = &in.messages[i]
				render(b, p.body, inner)
			}
		case p.name == "query":
			b.WriteString(in.query)
		case p.name == "history":
			b.WriteString(in.history)
		case strings.HasPrefix(p.name, "as."):
			b.WriteString(strings.Join(in.as[strings.TrimPrefix(p.name, "as.")], ", "))
		case in.message != nil && p.name == "role":
			b.WriteString(in.message.Role)
		case in.message != nil:
			b.WriteString(in.message.Text)
		case in.item != nil:
			b.WriteString(in.item.variable(p.name))
		}
	}
}

func (p *Packed) variable(name string) string {
	switch name {
	case "id":
		return p.ID
	case "source":
		return p.Source
	case "revision":
		return p.Revision
	case "text":
		return p.Text.Value
	default: // "rank", the only other name that parses
		return fmt.Sprint(p.Position)
	}
}

// Carries reports whether the template shows the text of the packed items.
func (t *Template) Carries() bool {
	for _, p := range t.parts {
		for _, q := range p.body {
			if q.name == "text" {
				return true
			}
		}
	}
	return false
}
