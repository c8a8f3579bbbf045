package qdrant

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/qdrant/go-client/qdrant"

	"github.com/culprit-rag/culprit/adapters"
)

// errNothing says that a filter admits nothing, so that the server need not be asked.
var errNothing = errors.New("the filter admits nothing")

// filter makes the server's filter of the conditions and ids of a request; nil admits everything.
func (s *store) filter(conditions []adapters.Condition, only []string) (*qdrant.Filter, error) {
	f := &qdrant.Filter{}
	for _, c := range conditions {
		holds, err := s.condition(c)
		switch {
		case err != nil:
			return nil, err
		case holds == nil && !c.Not:
			return nil, errNothing
		case holds == nil:
		case c.Not:
			f.MustNot = append(f.MustNot, holds)
		default:
			f.Must = append(f.Must, holds)
		}
	}
	if only != nil {
		ids := parseIDs(only)
		if len(ids) == 0 {
			return nil, errNothing
		}
		f.Must = append(f.Must, qdrant.NewHasID(ids...))
	}
	if len(f.GetMust())+len(f.GetMustNot()) == 0 {
		return nil, nil //nolint:nilnil // no filter is one that admits everything
	}
	return f, nil
}

// condition is the condition without its Not; nil holds for nothing.
func (s *store) condition(c adapters.Condition) (*qdrant.Condition, error) {
	if len(c.AnyOf) == 0 {
		return nil, nil //nolint:nilnil // a condition without values holds for nothing
	}
	field := c.Field
	switch c.Field {
	case "id":
		if ids := parseIDs(c.AnyOf); len(ids) > 0 {
			return qdrant.NewHasID(ids...), nil
		}
		return nil, nil //nolint:nilnil // no item has such an id
	case "source":
		field = s.set.Fields.Source
	case "revision":
		field = s.set.Fields.Revision
	case "access":
		field = s.set.Fields.Access
	}
	if field == "" { // it is not mapped: no item has it
		return nil, nil //nolint:nilnil // it holds for nothing
	}
	if strings.Contains(field, `"`) {
		return nil, fmt.Errorf("the filter's field %q holds a quotation mark, which the server's paths cannot", field)
	}
	var any []*qdrant.Condition
	for _, path := range jsonPaths(field) {
		if !c.Typed {
			any = append(any, qdrant.NewMatchKeywords(path, c.AnyOf...))
			continue
		}
		for _, text := range c.AnyOf {
			tests, err := typed(path, text)
			if err != nil {
				return nil, fmt.Errorf("the filter's field %q: %w", field, err)
			}
			any = append(any, tests...)
		}
	}
	if len(any) == 1 {
		return any[0], nil
	}
	return qdrant.NewFilterAsCondition(&qdrant.Filter{Should: any}), nil
}

// maxExact is the largest number up to which a double tells all integers apart.
const maxExact = 1 << 53

// typed tests a field for a number or boolean, as JSON writes it.
func typed(path, text string) ([]*qdrant.Condition, error) {
	if text == "true" || text == "false" {
		return []*qdrant.Condition{qdrant.NewMatchBool(path, text == "true")}, nil
	}
	var number json.Number
	if err := json.Unmarshal([]byte(text), &number); err != nil || strings.HasPrefix(text, `"`) || number == "" {
		return nil, fmt.Errorf("%q is neither a number nor a boolean", text)
	}
	value, err := number.Float64()
	if err != nil {
		return nil, fmt.Errorf("%q is no number that a payload can hold", text)
	}
	// A range finds 3 and 3.0, but cannot tell large integers apart.
	var tests []*qdrant.Condition
	if math.Abs(value) <= maxExact {
		tests = append(tests, qdrant.NewRange(path, &qdrant.Range{Gte: &value, Lte: &value}))
	} else if integer, err := strconv.ParseInt(text, 10, 64); err == nil {
		tests = append(tests, qdrant.NewMatchInt(path, integer))
	} else {
		tests = append(tests, qdrant.NewRange(path, &qdrant.Range{Gte: &value, Lte: &value}))
	}
	return tests, nil
}

// jsonPaths are the paths that a field's name may mean: one into objects and, where it has dots, a key that is called so.
func jsonPaths(field string) []string {
	path := jsonPath(field)
	if !strings.Contains(field, ".") {
		return []string{path}
	}
	return []string{path, `"` + field + `"`}
}

// jsonPath writes a name with dots as the server's path into objects. "a[]" are the elements of a list.
func jsonPath(field string) string {
	keys := strings.Split(field, ".")
	for i, key := range keys {
		name, element := strings.CutSuffix(key, "[]")
		if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" || name == "" {
			name = `"` + name + `"`
		}
		if keys[i] = name; element {
			keys[i] += "[]"
		}
	}
	return strings.Join(keys, ".")
}
