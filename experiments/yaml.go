package experiments

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v4"
)

// maxDepth is how deep values may nest.
const maxDepth = 64

// parse reads one strict YAML document: mappings with unique text keys, lists and scalars, and nothing else. It reports
// every mistake that it can tell apart, and returns the tree without the values that hold one, or nil where there is none.
func parse(f *file, c *collector) *node {
	data, ok := decodeText(f, f.data, false, c)
	if !ok {
		return nil
	}
	f.data = data
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		c.fail(position{file: f, line: 1, column: 1}, "the file is empty")
		return nil
	} else if err != nil {
		c.add(syntaxProblem(f, data, err))
		return nil
	}
	p := &treeParser{file: f, collector: c, bad: map[*node][]string{}, without: map[*node][]string{}}
	root := p.node(document.Content[0], 0)
	var second yaml.Node
	if err := decoder.Decode(&second); err == nil {
		at := position{file: f, line: second.Content[0].Line, column: second.Content[0].Column}
		c.fail(at, "a second document begins here: one file holds one document, so give it a file of its own")
	} else if !errors.Is(err, io.EOF) {
		c.add(syntaxProblem(f, data, err))
	}
	root.close(position{})
	if len(p.bad)+len(p.without) > 0 {
		return root.pare(p.bad, p.without)
	}
	return root
}

type treeParser struct {
	file      *file
	collector *collector
	bad       map[*node][]string // values that cannot be used
	without   map[*node][]string // mappings that lack a value for that reason
}

func (p *treeParser) at(n *yaml.Node) position {
	return position{file: p.file, line: n.Line, column: n.Column}
}

func (p *treeParser) node(n *yaml.Node, depth int) *node {
	out := &node{at: p.at(n)}
	fail := p.collector.fail
	switch {
	case depth > maxDepth:
		fail(out.at, "values nest more than %d deep here", maxDepth)
		p.bad[out] = nil
		return out
	case n.Kind == yaml.AliasNode:
		fail(out.at, "alias *%s: aliases are not allowed, so write the value out", n.Value)
		p.bad[out] = nil
		return out
	case n.Anchor != "":
		fail(out.at, "anchor &%s: anchors are not allowed, so write the value out where it is needed (include: shares parts between files)", n.Anchor)
	}
	if n.Style&yaml.TaggedStyle != 0 && n.Tag != "!!str" {
		fail(out.at, "tag %s: tags are not allowed, so write a plain value, in quotes where text is meant", show(n.Tag))
		p.bad[out] = nil
	}
	switch n.Kind {
	case yaml.SequenceNode:
		out.form = list
		for _, item := range n.Content {
			out.items = append(out.items, p.node(item, depth+1))
		}
	case yaml.MappingNode:
		out.form = mapping
		p.mapping(out, n, depth)
	default:
		out.text = n.Value
		switch {
		case n.Style&yaml.LiteralStyle != 0:
			out.style = literalStyle
		case n.Style&yaml.FoldedStyle != 0:
			out.style = foldedStyle
		case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
			out.style = quotedStyle
		default:
			out.plain = n.Style&yaml.TaggedStyle == 0
		}
	}
	return out
}

func (p *treeParser) mapping(out *node, n *yaml.Node, depth int) {
	seen := make(map[string]position, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, at := n.Content[i], p.at(n.Content[i])
		first, taken := seen[key.Value]
		switch {
		case key.Kind == yaml.AliasNode:
			p.collector.fail(at, "alias *%s: aliases are not allowed, so write the key out", key.Value)
		case key.Kind != yaml.ScalarNode:
			p.collector.fail(at, "a key must be text")
		case key.Tag == "!!merge":
			p.collector.fail(at, "merge key <<: merge keys are not allowed, so write the keys out (include: shares parts between files)")
		case key.Value == "":
			p.collector.fail(at, "a key is empty")
		case taken:
			p.collector.fail(at, "key %s is already given at %d:%d: keep one of the two", show(key.Value), first.line, first.column)
		default:
			if key.Anchor != "" || key.Style&yaml.TaggedStyle != 0 {
				p.collector.fail(at, "anchors and tags are not allowed on a key")
			}
			seen[key.Value] = at
			out.fields = append(out.fields, field{key: key.Value, at: at, value: p.node(n.Content[i+1], depth+1)})
			continue
		}
		if !taken {
			p.without[out] = []string{anything}
		}
		p.node(n.Content[i+1], depth+1) // for the mistakes in it
	}
}

// close fills in where each value ends: where the next one begins.
func (n *node) close(end position) {
	n.end = end
	for i := len(n.items) - 1; i >= 0; i-- {
		n.items[i].close(end)
		end = n.items[i].at
	}
	for i := len(n.fields) - 1; i >= 0; i-- {
		n.fields[i].value.close(end)
		end = n.fields[i].at
	}
}

// syntaxProblem says where the parser gave up, and why in words that help.
func syntaxProblem(f *file, data []byte, err error) Problem {
	at := position{file: f, line: 1, column: 1}
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	var load *yaml.LoadError
	if errors.As(err, &load) {
		message = load.Message
		if load.Mark.Line > 0 {
			at.line, at.column = load.Mark.Line, max(load.Mark.Column, 1)
		}
	}
	lines := bytes.Split(data, []byte("\n"))
	if at.line > len(lines) || at.line == len(lines) && at.line > 1 && len(lines[at.line-1]) == 0 { // the end of the file: its last line is where to look
		at.line, at.column = max(len(lines)-1, 1), 1
		if last := lines[at.line-1]; len(last) > 0 {
			at.column = len([]rune(string(last)))
		}
	}
	line := string(lines[at.line-1])
	switch indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]; {
	case strings.Contains(indent, "\t"):
		at.column = strings.Index(indent, "\t") + 1
		return at.problem("tab U+0009 in the indentation: YAML takes spaces only")
	case strings.HasPrefix(message, "unknown anchor"):
		return at.problem("aliases are not allowed, so write the value out")
	case message == "mapping values are not allowed in this context":
		return at.problem(`a second ": " on one line: put the value in quotes, or check the indentation`)
	}
	if found := hidden(strings.TrimRight(line, " \r\t")); strings.HasPrefix(found, "U+") {
		message += fmt.Sprintf(" (the line holds %s)", found)
	}
	return at.problem("this is not YAML: " + message)
}
