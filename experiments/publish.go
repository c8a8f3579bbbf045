package experiments

import (
	"regexp"
	"slices"
	"strings"
)

// published makes of a schema's source what others validate with. Where text is wanted, it takes numbers and booleans too,
// since a file is read as it was written: id: 14 is the id "14". The rules that Load words itself join it, and the hints for
// Load's messages go. It changes the schema in place.
func published(schema any) any {
	switch schema := schema.(type) {
	case map[string]any:
		if own, ok := schema["x-published"].(map[string]any); ok {
			for key, value := range own {
				schema[key] = value
			}
		}
		widen(schema)
		for key, value := range schema {
			switch {
			case strings.HasPrefix(key, "x-"):
				delete(schema, key)
			case slices.Contains([]string{"default", "examples", "enum", "const"}, key):
			case slices.Contains([]string{"properties", "$defs", "patternProperties"}, key): // names → schemas
				for _, inner := range value.(map[string]any) {
					published(inner)
				}
			default:
				published(value)
			}
		}
	case []any:
		for _, inner := range schema {
			published(inner)
		}
	}
	return schema
}

// widen lets a schema for text take what YAML reads as something else, if its text would be taken.
func widen(schema map[string]any) {
	types, many := schema["type"].([]any)
	if one, ok := schema["type"].(string); ok {
		types = []any{one}
	} else if !many {
		return
	}
	if !slices.Contains(types, any("string")) || schema["enum"] != nil || schema["const"] != nil {
		return
	}
	takes := func(text string) bool {
		pattern, ok := schema["pattern"].(string)
		if !ok {
			return true
		}
		compiled, err := regexp.Compile(pattern)
		return err == nil && compiled.MatchString(text)
	}
	if takes("14") && !slices.Contains(types, any("number")) {
		types = append(slices.DeleteFunc(types, func(t any) bool { return t == "integer" }), "number")
	}
	if takes("true") && !slices.Contains(types, any("boolean")) {
		types = append(types, "boolean")
	}
	if len(types) > 1 {
		schema["type"] = types
	}
}

// relaxIncluding lets an experiment that includes others lack what they may bring: what the experiment and the mappings that
// people share between files must hold is asked for only where nothing is included.
func (s *shape) relaxIncluding() {
	alone := map[string]any{}
	for _, path := range [][]string{
		{}, {"backends"}, {"backends", "store"}, {"backends", "embedder"}, {"backends", "generator"}, {"backends", "reranker"}, {"pipeline", "rerank"},
	} {
		from, to := s.root, alone
		for _, step := range path {
			from = s.follow(from["properties"].(map[string]any)[step].(map[string]any))
			if to["properties"] == nil {
				to["properties"] = map[string]any{}
			}
			properties := to["properties"].(map[string]any)
			if properties[step] == nil {
				properties[step] = map[string]any{}
			}
			to = properties[step].(map[string]any)
		}
		for _, asks := range []string{"required", "if", "else"} {
			if rule, given := from[asks]; given {
				to[asks] = rule
				delete(from, asks)
			}
		}
	}
	s.root["if"] = map[string]any{"required": []any{"include"}}
	s.root["else"] = alone
}
