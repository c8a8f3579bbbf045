package experiments

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// violation is one broken rule of a schema, at a place of the instance.
type violation struct {
	path   []string
	schema string // fragment of the schema that was broken
	kind   jsonschema.ErrorKind
	wants  []string // of a union: what its branches take
}

// check holds n against the schema and reports every violation in words. Plain scalars that stand where the schema
// wants text become text as they were written, so that no, 007, 1.10 and 2026-07-01 are what the author sees.
func (s *shape) check(n *node, label string, c *collector) bool {
	for {
		err := s.compiled.Validate(n.value())
		var invalid *jsonschema.ValidationError
		if !errors.As(err, &invalid) {
			return true
		}
		if n.takeAsText(invalid) {
			continue
		}
		s.explain(n, label, violations(invalid), c)
		return false
	}
}

// takeAsText marks the plain scalars for which some schema wanted text, and reports whether there was one.
func (n *node) takeAsText(e *jsonschema.ValidationError) bool {
	changed := false
	if wrong, ok := e.ErrorKind.(*kind.Type); ok && slices.Contains(wrong.Want, "string") {
		at, found := n.find(e.InstanceLocation...)
		if found && at.form == scalar && at.plain && !at.null() {
			at.plain = false
			changed = true
		}
	}
	for _, cause := range e.Causes {
		changed = n.takeAsText(cause) || changed
	}
	return changed
}

// violations flattens the tree of a validation error.
func violations(e *jsonschema.ValidationError) []violation {
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		return union(e)
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		var out []violation
		for _, cause := range e.Causes {
			out = append(out, violations(cause)...)
		}
		return out
	}
	_, fragment, _ := strings.Cut(e.SchemaURL, "#")
	if plain, err := url.PathUnescape(fragment); err == nil {
		fragment = plain
	}
	return []violation{{path: e.InstanceLocation, schema: fragment, kind: e.ErrorKind}}
}

// union finds the branch that the author meant, the one whose type fits, and returns its violations. Where none fits it
// returns one violation that says what all of them take.
func union(e *jsonschema.ValidationError) []violation {
	out := violation{path: e.InstanceLocation, kind: e.ErrorKind}
	for _, cause := range e.Causes {
		branch := violations(cause)
		fits := true
		for _, v := range branch {
			if want := wanted(v); want != "" && len(v.path) == len(e.InstanceLocation) {
				fits = false
				if !slices.Contains(out.wants, want) {
					out.wants = append(out.wants, want)
				}
			}
		}
		if fits && len(branch) > 0 {
			return branch
		}
	}
	return []violation{out}
}

// wanted says what a violation of a value's type wants instead, or "" where the type is right.
func wanted(v violation) string {
	switch k := v.kind.(type) {
	case *kind.Type:
		return typeNames(k.Want)
	case *kind.Enum:
		return choices(words(k.Want))
	case *kind.Const:
		return choices(words([]any{k.Want}))
	}
	return strings.Join(v.wants, " or ")
}

func typeNames(types []string) string {
	names := map[string]string{
		"string": "text", "integer": "a whole number", "number": "a number", "boolean": "true or false",
		"array": "a list", "object": "a mapping", "null": "null",
	}
	out := make([]string, len(types))
	for i, t := range types {
		out[i] = names[t]
	}
	return strings.Join(out, " or ")
}
