package experiments

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// file is one file that was read.
type file struct {
	name string // as the user would name it
	dir  string // its folder, relative to the experiment's, for the relative paths in it
	data []byte

	lines []int // where each begins in data; nil until somebody asks
}

// position is a place in a file; line and column count from 1, columns in characters.
type position struct {
	file         *file
	line, column int
}

func (p position) problem(message string) Problem {
	out := Problem{Line: p.line, Column: p.column, Message: message}
	if p.file != nil {
		out.File = p.file.name
	}
	return out
}

// String returns "file:line:column".
func (p position) String() string {
	return strings.TrimSuffix(p.problem("").String(), ": ")
}

// form is what a value is made of.
type form uint8

const (
	scalar form = iota
	list
	mapping
)

// node is a value of a YAML file together with the place where it was written, so that what was merged from several files
// still knows its own.
type node struct {
	at     position
	end    position // where the next value begins; zero: at the end of the file
	form   form
	text   string // of a scalar, as it was written
	plain  bool   // the scalar has no quotes: it may be a number, a boolean or null
	style  style
	items  []*node
	fields []field
	cut    []string // keys that a reported mistake took out, see pare.go
}

// style says how a scalar's text lies in its file, which places inside the text need to know.
type style uint8

const (
	plainStyle style = iota
	quotedStyle
	literalStyle
	foldedStyle
)

type field struct {
	key   string
	at    position
	value *node
}

// get returns the value under key, or nil.
func (n *node) get(key string) *node {
	if f := n.field(key); f != nil {
		return f.value
	}
	return nil
}

func (n *node) field(key string) *field {
	if n == nil {
		return nil
	}
	for i := range n.fields {
		if n.fields[i].key == key {
			return &n.fields[i]
		}
	}
	return nil
}

// find walks keys and indexes as far as they go, and reports whether it got to the end.
func (n *node) find(path ...string) (*node, bool) {
	for _, step := range path {
		var next *node
		switch n.form {
		case mapping:
			next = n.get(step)
		case list:
			if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(n.items) {
				next = n.items[i]
			}
		}
		if next == nil {
			return n, false
		}
		n = next
	}
	return n, true
}

// place returns where the value at path stands, or the nearest value around it.
func (n *node) place(path ...string) position {
	found, _ := n.find(path...)
	return found.at
}

// null reports whether the scalar is empty or one of YAML's words for nothing.
func (n *node) null() bool {
	return n.form == scalar && n.plain && (n.text == "" || n.text == "~" || strings.ToLower(n.text) == "null")
}

// numeral is a JSON number that is short enough to be worked with exactly.
var numeral = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,39})(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,3})?$`)

// inRange reports whether a float64 can hold a numeral. What it cannot, such as 1e400, is no number to anybody who reads it later.
func inRange(numeral string) bool {
	f, err := strconv.ParseFloat(numeral, 64)
	digits, _, _ := strings.Cut(strings.ToLower(numeral), "e")
	return err == nil && (f != 0 || !strings.ContainsAny(digits, "123456789"))
}

var negativeZero = regexp.MustCompile(`^-0(\.0+)?([eE][+-]?[0-9]+)?$`)

// value returns the node as encoding/json would decode it with UseNumber.
func (n *node) value() any {
	switch n.form {
	case list:
		out := make([]any, len(n.items))
		for i, item := range n.items {
			out[i] = item.value()
		}
		return out
	case mapping:
		out := make(map[string]any, len(n.fields))
		for _, f := range n.fields {
			out[f.key] = f.value.value()
		}
		return out
	}
	if !n.plain {
		return n.text
	}
	if n.null() {
		return nil
	}
	switch n.text {
	case "true", "True", "TRUE":
		return true
	case "false", "False", "FALSE":
		return false
	}
	text := n.text
	if strings.HasPrefix(text, ".") {
		text = "0" + text
	}
	switch {
	case negativeZero.MatchString(text):
		return json.Number("0")
	case numeral.MatchString(text) && inRange(text):
		return json.Number(text)
	}
	return n.text
}

// merge lays above over below: mappings key by key, anything else is replaced. A null in above stays, so that what it
// removes can be removed at the end.
func merge(below, above *node) *node {
	if below == nil || below.form != mapping || above.form != mapping {
		return above
	}
	out := *above
	out.fields, out.cut = nil, slices.Concat(below.cut, above.cut)
	for _, f := range below.fields {
		if over := above.field(f.key); over != nil {
			f = field{key: f.key, at: over.at, value: merge(f.value, over.value)}
		}
		out.fields = append(out.fields, f)
	}
	for _, f := range above.fields {
		if below.field(f.key) == nil {
			out.fields = append(out.fields, f)
		}
	}
	return &out
}

// pruned returns n without the keys whose value is a written null. A key with nothing behind it stays, to be reported.
func (n *node) pruned() *node {
	if n.form != mapping {
		return n
	}
	out := *n
	out.fields = nil
	for _, f := range n.fields {
		if f.value.null() && f.value.text != "" {
			continue
		}
		out.fields = append(out.fields, field{key: f.key, at: f.at, value: f.value.pruned()})
	}
	return &out
}

// without returns n without a key.
func (n *node) without(key string) *node {
	out := *n
	out.fields = nil
	for _, f := range n.fields {
		if f.key != key {
			out.fields = append(out.fields, f)
		}
	}
	return &out
}
