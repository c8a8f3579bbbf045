package experiments

import (
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// anything stands in [node.cut] for a key or an entry that is not known by name.
const anything = "*"

// lost reports whether the value at path may be missing because of a mistake that was reported, so that its absence is no
// mistake of its own.
func (n *node) lost(path ...string) bool {
	for _, step := range path {
		if n == nil {
			return false
		}
		next, ok := n.find(step)
		if !ok {
			return slices.Contains(n.cut, step) || slices.Contains(n.cut, anything)
		}
		n = next
	}
	return false
}

// pare returns n without the values in drop; what stood around one remembers under which names it was lost. It returns nil
// where nothing is left.
func (n *node) pare(drop, missing map[*node][]string) *node {
	if _, gone := drop[n]; gone {
		return nil
	}
	out := *n
	out.cut = append(slices.Clone(n.cut), missing[n]...)
	out.items, out.fields = nil, nil
	for _, item := range n.items {
		if kept := item.pare(drop, missing); kept != nil {
			out.items = append(out.items, kept)
		} else {
			out.cut = append(out.cut, anything)
		}
	}
	for _, f := range n.fields {
		if kept := f.value.pare(drop, missing); kept != nil {
			out.fields = append(out.fields, field{key: f.key, at: f.at, value: kept})
		} else {
			out.cut = append(append(out.cut, f.key), drop[f.value]...)
		}
	}
	return &out
}

// sound returns what the schema accepts of n, so that the rest of what is wrong can be told in the same pass. Keys that are
// missing stay so. It returns nil where nothing is left.
func (s *shape) sound(n *node) *node {
	for n != nil {
		err := s.compiled.Validate(n.value())
		if err == nil {
			return n
		}
		invalid, ok := err.(*jsonschema.ValidationError) //nolint:errorlint // Validate promises this very type
		if !ok {
			return nil
		}
		if n.takeAsText(invalid) {
			continue
		}
		drop, missing := map[*node][]string{}, map[*node][]string{}
		for _, v := range violations(invalid) {
			at, found := n.find(v.path...)
			if !found {
				return nil
			}
			switch k := v.kind.(type) {
			case *kind.Required:
				missing[at] = append(missing[at], k.Missing...)
			case *kind.AdditionalProperties:
				for _, key := range k.Properties {
					if value := at.get(key); value != nil {
						drop[value] = s.meantBy(key, v.schema)
					}
				}
			default:
				drop[at] = nil
			}
		}
		n = n.pare(drop, missing)
		if len(drop) == 0 {
			return n
		}
	}
	return nil
}

// meantBy names the keys that an unknown key may have been meant to be.
func (s *shape) meantBy(key, fragment string) []string {
	if guess := near(key, s.keys(fragment)); guess != "" {
		return []string{guess}
	}
	if s.elsewhere(s.root, key, "", 4) != "" {
		return nil // it is told where it belongs
	}
	return []string{anything}
}
