package weaviate

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// quote returns s as a string of GraphQL, whose strings are those of JSON.
func quote(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(err) // every string has a form
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func quoteAll(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = quote(s)
	}
	return "[" + strings.Join(quoted, ",") + "]"
}

func vectorLiteral(v []float32) string {
	b := []byte{'['}
	for i, x := range v {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendFloat(b, float64(x), 'g', -1, 32)
	}
	return string(append(b, ']'))
}

// arguments are those of a field of a query, in the order in which they were added.
type arguments []string

func (a *arguments) add(name, literal string) {
	if literal != "" {
		*a = append(*a, name+":"+literal)
	}
}

// document is a query of one class. The names in it come from the schema or were checked with the settings.
func document(verb, class string, args arguments, selection string) string {
	list := ""
	if len(args) > 0 {
		list = "(" + strings.Join(args, ",") + ")"
	}
	return "{" + verb + "{" + class + list + "{" + selection + "}}}"
}

// all joins conditions; none is "".
func all(conditions []string) string {
	switch len(conditions) {
	case 0:
		return ""
	case 1:
		return conditions[0]
	}
	return "{operator:And,operands:[" + strings.Join(conditions, ",") + "]}"
}
