package matrix

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Prompter renders the messages of a pipeline's prompt, exactly as they are sent.
type Prompter struct {
	system, user *Template // a nil system sends no system message
	replace      *strings.Replacer
	empty        bool
}

// NewPrompter parses the prompt templates of a pipeline. All mistakes are returned at once.
func NewPrompter(p *Pipeline) (*Prompter, []*TemplateError) {
	out := &Prompter{replace: strings.NewReplacer()}
	var problems, more []*TemplateError
	if p.Prompt.System != "" {
		out.system, problems = ParseTemplate(p.Prompt.System)
	}
	out.user, more = ParseTemplate(p.Prompt.User)
	if problems = append(problems, more...); len(problems) > 0 {
		return nil, problems
	}
	if f := p.Faults; f != nil {
		out.empty = f.EmptyContext
		// One pass, the longest text first: what was put in is not replaced again, and the order of a map does not matter.
		var pairs []string
		for _, from := range slices.SortedFunc(maps.Keys(f.Replace), func(a, b string) int {
			return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
		}) {
			if from != "" {
				pairs = append(pairs, from, f.Replace[from])
			}
		}
		out.replace = strings.NewReplacer(pairs...)
	}
	return out, nil
}

// Messages renders the prompt for a case with that context.
func (p *Prompter) Messages(c *Case, context []Packed) []Message {
	if p.empty {
		context = nil
	}
	var out []Message
	add := func(role, text string) { out = append(out, Message{Role: role, Text: p.replace.Replace(text)}) }
	if p.system != nil {
		add("system", p.system.Render(c.Question(), c.As, context))
	}
	if n := len(c.Messages); n > 0 {
		for _, m := range c.Messages[:n-1] {
			add(m.Role, m.Text)
		}
	}
	add("user", p.user.Render(c.Question(), c.As, context))
	return out
}
