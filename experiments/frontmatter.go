package experiments

import "strings"

// frontMatter takes the YAML between two lines of --- off the beginning of a Markdown text and turns it into the
// document's fields and metadata. It returns what is left, and the line at which that begins. What cannot be read as
// flat keys is left out with a warning: the pages of real sites hold much that nobody wrote for us.
func frontMatter(f *file, text string, c *collector) (about Document, body string, line int) {
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return about, text, 1
	}
	head, body, closed := strings.Cut("\n"+rest, "\n---\n")
	if !closed {
		if head, closed = strings.CutSuffix("\n"+rest, "\n---"); !closed {
			return about, text, 1 // a rule, not front matter
		}
		body = ""
	}
	head = strings.TrimPrefix(head, "\n")
	if line = 3; head != "" {
		line = 4 + strings.Count(head, "\n")
	}
	if strings.TrimSpace(head) == "" {
		return about, body, line
	}
	var found collector
	root := parse(&file{name: f.name, data: []byte(head)}, &found)
	for _, p := range found.problems {
		c.warn(position{file: f, line: p.Line + 1, column: p.Column}, "front matter: %s; its keys are left out", p.Message)
	}
	if root == nil || root.form != mapping || len(found.problems) > 0 {
		return about, body, line
	}
	for _, field := range root.fields {
		at := position{file: f, line: field.at.line + 1, column: field.at.column}
		key := field.key
		if key == "id" || key == "text" || key == "vector" || key == "metadata" {
			key = "front_matter_" + key // names that mean the document itself
		}
		if message := about.put(key, asTexts(field.value)); message != "" {
			if field.value.form == scalar {
				c.warn(at, "front matter: %s; the key is left out", message)
			}
			continue // nested values have no place in metadata
		}
	}
	return about, body, line
}

// asTexts returns scalars and lists of scalars as they were written.
func asTexts(n *node) any {
	switch {
	case n.null():
		return nil
	case n.form == scalar:
		return n.text
	case n.form == list:
		out := make([]any, len(n.items))
		for i, item := range n.items {
			out[i] = asTexts(item)
		}
		return out
	}
	return n.value()
}
