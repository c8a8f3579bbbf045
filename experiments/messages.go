package experiments

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// explain reports violations in words: what is wrong, which input, what to do next.
func (s *shape) explain(n *node, label string, found []violation, c *collector) {
	guessed := map[string]bool{} // keys that an unknown key was most likely meant to be: their absence is no second mistake
	for _, v := range found {
		if unknown, ok := v.kind.(*kind.AdditionalProperties); ok {
			for _, key := range unknown.Properties {
				if planned(label, append(slices.Clone(v.path), key), "") != "" {
					continue // it was meant
				}
				guessed[strings.Join(append(slices.Clone(v.path), near(key, s.keys(v.schema))), "\x00")] = true
			}
		}
	}
	for _, v := range found {
		at, _ := n.find(v.path...)
		name := named(v.path, label)
		switch k := v.kind.(type) {
		case *kind.AdditionalProperties:
			for _, key := range slices.Sorted(slices.Values(k.Properties)) {
				place := at.at
				if f := at.field(key); f != nil {
					place = f.at
				}
				if says := planned(label, append(slices.Clone(v.path), key), ""); says != "" {
					c.fail(place, "%s", says)
					continue
				}
				c.fail(place, "unknown key %s%s", show(key), s.suggest(key, v.schema))
			}
		case *kind.Required:
			for _, key := range k.Missing {
				if !s.partial && !at.lost(key) && !guessed[strings.Join(append(slices.Clone(v.path), key), "\x00")] {
					c.fail(at.at, "%s needs the key %q%s", name, key, s.describe(v.schema, key))
				}
			}
		case *kind.MinItems, *kind.MinProperties:
			if len(at.cut) == 0 {
				c.fail(at.at, "%s", s.sentence(at, name, v))
			}
		default:
			says := planned(label, v.path, at.text)
			if says == "" {
				says = s.sentence(at, name, v)
			}
			c.fail(at.at, "%s", says)
		}
	}
}

// sentence words one violation of a value.
func (s *shape) sentence(at *node, name string, v violation) string {
	if at.null() && at.text != "" && strings.Contains(wanted(v), "text") {
		return fmt.Sprintf("%s is %s, which means that there is no value: write it in quotes where the word is meant", name, at.text)
	}
	if at.null() {
		if want := wanted(v); want != "" {
			return fmt.Sprintf("%s has no value: it must be %s, or the key must go", name, want)
		}
	}
	hint := func(key, otherwise string) string {
		if text, ok := s.lookup(v.schema)[key].(string); ok {
			return text
		}
		return otherwise
	}
	is := fmt.Sprintf("%s is %s: ", name, at.shown())
	switch k := v.kind.(type) {
	case *kind.Enum:
		if guess := near(at.text, words(k.Want)); at.form == scalar && guess != "" {
			is += fmt.Sprintf("did you mean %q?", guess)
			if len(k.Want) == 1 {
				return is
			}
			return is + " It can be " + choices(words(k.Want))
		}
		return is + "it can be " + choices(words(k.Want))
	case *kind.Const:
		return is + "it must be " + choices(words([]any{k.Want}))
	case *kind.Pattern:
		if found := hidden(at.text); found != "" {
			is += "it holds " + found + ", and "
		}
		is += "it must be " + hint("x-expected", "text that matches "+k.Want)
		if k.Want == namePattern {
			is += fmt.Sprintf(", such as %q", fitName(at.text))
		}
		return is
	case *kind.MinLength:
		if k.Got == 0 {
			return name + " is an empty string: " + hint("x-empty", "write a value, or take the key away")
		}
		return is + fmt.Sprintf("it must have at least %d characters", k.Want)
	case *kind.MaxLength:
		return is + fmt.Sprintf("it must have at most %d characters", k.Want)
	case *kind.MinItems:
		if k.Got == 0 {
			return name + " is an empty list: " + hint("x-empty", "write an entry, or take the key away")
		}
		return is + fmt.Sprintf("it must have at least %d entries", k.Want)
	case *kind.MaxItems:
		return is + fmt.Sprintf("it must have at most %d entries", k.Want)
	case *kind.MinProperties:
		return is + fmt.Sprintf("it must have at least %d keys", k.Want)
	case *kind.MaxProperties:
		return is + fmt.Sprintf("it must have at most %d keys", k.Want)
	case *kind.UniqueItems:
		return fmt.Sprintf("entries %d and %d of %s are equal: keep one of them", k.Duplicates[0]+1, k.Duplicates[1]+1, name)
	case *kind.Minimum:
		return is + "it must be " + hint("x-expected", "at least "+rational(k.Want))
	case *kind.Maximum:
		return is + "it must be at most " + rational(k.Want)
	case *kind.ExclusiveMinimum:
		return is + "it must be more than " + rational(k.Want)
	case *kind.ExclusiveMaximum:
		return is + "it must be less than " + rational(k.Want)
	case *kind.MultipleOf:
		return is + "it must be " + hint("x-expected", "a multiple of "+rational(k.Want))
	case *kind.FalseSchema:
		return name + " does not belong here: take it away"
	}
	if want := wanted(v); want != "" {
		out := is + "it must be " + want
		if at.form == scalar && numeral.MatchString(at.text) && !inRange(at.text) && strings.Contains(want, "number") {
			out += " within the range of a float64"
		}
		if at.form == scalar && at.style == quotedStyle && numeral.MatchString(at.text) && strings.Contains(want, "number") {
			out += ", without quotes"
		}
		return out
	}
	return is + "it does not fit here: " + hint("description", "see culprit schema")
}

// shown describes a value for a message.
func (n *node) shown() string {
	switch {
	case n.form == list:
		return "a list"
	case n.form == mapping:
		return "a mapping"
	case n.null():
		return "null"
	case n.style == plainStyle:
		return show(n.text)[1 : len(show(n.text))-1]
	}
	return show(n.text)
}

// named turns the end of a path into a name that the author knows: "span", "claims[1]".
func named(path []string, label string) string {
	if len(path) == 0 {
		return "this " + label
	}
	last := path[len(path)-1]
	if i, err := strconv.Atoi(last); err == nil && len(path) > 1 {
		return fmt.Sprintf("%s[%d]", path[len(path)-2], i)
	}
	if strings.ContainsFunc(last, invisible) {
		return show(last)
	}
	return last
}

// keys lists the keys that the schema at fragment knows.
func (s *shape) keys(fragment string) []string {
	properties, _ := s.follow(s.lookup(fragment))["properties"].(map[string]any)
	return slices.Sorted(maps.Keys(properties))
}

// suggest says what an unknown key may have been meant to be.
func (s *shape) suggest(key, fragment string) string {
	keys := s.keys(fragment)
	if found := hidden(key); found != "" {
		return fmt.Sprintf(": it holds %s%s", found, meant(key, keys))
	}
	if near(key, keys) == "" {
		if path := s.elsewhere(s.root, key, "", 4); path != "" {
			return fmt.Sprintf(": it belongs at %s", path)
		}
	}
	return meant(key, keys)
}

// elsewhere looks for a key of that name deeper in the schema, and returns its dotted path.
func (s *shape) elsewhere(schema map[string]any, key, prefix string, depth int) string {
	schema = s.follow(schema)
	properties, _ := schema["properties"].(map[string]any)
	if _, ok := properties[key]; ok && prefix != "" {
		return prefix + key
	}
	if depth == 0 {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if property, ok := properties[name].(map[string]any); ok {
			if path := s.elsewhere(property, key, prefix+name+".", depth-1); path != "" {
				return path
			}
		}
	}
	return ""
}

// describe returns what the schema says of a key, to follow the key's name in a message.
func (s *shape) describe(fragment, key string) string {
	properties, _ := s.follow(s.lookup(fragment))["properties"].(map[string]any)
	property, _ := properties[key].(map[string]any)
	text, ok := property["description"].(string)
	if !ok {
		if text, ok = s.follow(property)["description"].(string); !ok {
			return ""
		}
	}
	first, _, _ := strings.Cut(text, ". ")
	return ": " + strings.ToLower(first[:1]) + strings.TrimSuffix(first[1:], ".")
}

func words(values []any) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = fmt.Sprint(v)
	}
	return out
}

func rational(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	return strings.TrimRight(r.FloatString(6), "0")
}
