package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/culprit-rag/culprit/adapters"
)

// conditions are those of a search, parted by who can judge them: Pinecone cannot filter by id.
type conditions struct {
	meta     []adapters.Condition
	only     []string        // restricted to these ids, where restricted is set
	without  map[string]bool // and never these
	limited  bool
	hopeless bool // nothing can hold
}

func (s *store) conditions(req adapters.SearchRequest) conditions {
	c := conditions{without: map[string]bool{}}
	restrict := func(ids []string) {
		if !c.limited {
			c.only, c.limited = slices.Clone(ids), true
			return
		}
		c.only = slices.DeleteFunc(c.only, func(id string) bool { return !slices.Contains(ids, id) })
	}
	if len(req.Only) > 0 {
		restrict(req.Only)
	}
	for _, condition := range req.Filter {
		switch {
		case condition.Field == "id" && condition.Not:
			for _, id := range condition.AnyOf {
				c.without[id] = true
			}
		case condition.Field == "id":
			restrict(condition.AnyOf)
		default:
			condition.Field = s.key(condition.Field)
			switch known := condition.Field != "" && len(condition.AnyOf) > 0; {
			case known:
				c.meta = append(c.meta, condition)
			case !condition.Not:
				c.hopeless = true
			}
		}
	}
	c.hopeless = c.hopeless || c.limited && len(c.only) == 0
	return c
}

// key returns the metadata that a field of a condition is, "" where there is none. A key that begins with $ would be an operator.
func (s *store) key(field string) string {
	f := s.set.Fields
	switch field {
	case "source":
		return f.Source
	case "revision":
		return f.Revision
	case "access":
		return f.Access
	}
	if strings.HasPrefix(field, "$") {
		return ""
	}
	return field
}

// filter is the form of the metadata conditions that Pinecone takes, nil without any.
func filter(conditions []adapters.Condition) (*structpb.Struct, error) {
	if len(conditions) == 0 {
		return nil, nil
	}
	var all []any
	for _, c := range conditions {
		values, err := valuesOf(c)
		if err != nil {
			return nil, err
		}
		if c.Not { // a record without the field is not meant by $nin in every kind of index
			all = append(all, map[string]any{"$or": []any{
				map[string]any{c.Field: map[string]any{"$exists": false}}, map[string]any{c.Field: map[string]any{"$nin": values}},
			}})
			continue
		}
		var either []any // $in takes no booleans
		for _, value := range values {
			either = append(either, map[string]any{c.Field: map[string]any{"$eq": value}})
		}
		if _, booleans := values[0].(bool); !booleans {
			either = []any{map[string]any{c.Field: map[string]any{"$in": values}}}
		}
		all = append(all, map[string]any{"$or": either})
	}
	return structpb.NewStruct(map[string]any{"$and": all})
}

// valuesOf returns the values of a condition in their own types, booleans first.
func valuesOf(c adapters.Condition) ([]any, error) {
	var values []any
	for _, text := range c.AnyOf {
		if !c.Typed {
			values = append(values, strings.ToValidUTF8(text, "\uFFFD"))
			continue
		}
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			return nil, fmt.Errorf("the value %q of a condition on %q is neither a number nor a boolean", text, c.Field)
		}
		values = append(values, value)
	}
	return values, nil
}

// holds judges the metadata conditions here, for records that are fetched by id.
func holds(metadata *structpb.Struct, conditions []adapters.Condition) (bool, error) {
	for _, c := range conditions {
		wanted, err := valuesOf(c)
		if err != nil {
			return false, err
		}
		stored := []any{metadata.GetFields()[c.Field].AsInterface()}
		if list, is := stored[0].([]any); is {
			stored = list
		}
		found := slices.ContainsFunc(stored, func(value any) bool { return value != nil && slices.Contains(wanted, value) })
		if found == c.Not {
			return false, nil
		}
	}
	return true, nil
}
