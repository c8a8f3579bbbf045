package weaviate

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/culprit-rag/culprit/adapters"
)

// value is one value of a property. Numbers and booleans are typed, and written as JSON writes them.
type value struct {
	text  string
	typed bool
}

// valuesOf reads what JSON gives for a property: one value, a list of them, or none.
func valuesOf(v any) []value {
	switch v := v.(type) {
	case string:
		return []value{{v, false}}
	case bool:
		return []value{{strconv.FormatBool(v), true}}
	case float64:
		return []value{{numberText(v), true}}
	case json.Number:
		if f, err := v.Float64(); err == nil {
			return []value{{numberText(f), true}}
		}
		return []value{{v.String(), true}}
	case []any:
		var list []value
		for _, element := range v {
			if _, nested := element.([]any); !nested {
				list = append(list, valuesOf(element)...)
			}
		}
		return list
	}
	return nil
}

// numberText writes a number as JSON does, in one way only.
func numberText(f float64) string {
	data, err := json.Marshal(f)
	if err != nil {
		return strconv.FormatFloat(f, 'g', -1, 64) // no JSON number either
	}
	return string(data)
}

func texts(values []value) []string {
	var list []string
	for _, v := range values {
		list = append(list, v.text)
	}
	return list
}

func first(values []value) string {
	if len(values) == 0 {
		return ""
	}
	return values[0].text
}

// object is what a server returns of an object, of which an item and the answers to a filter are made.
type object struct {
	id      string
	tenant  string
	props   map[string]any
	written int64 // when the server last wrote it, in ms; 0: not told
	vector  []float32
}

// item makes the item that the mapping shows of an object.
func (s *store) item(c *class, o object) adapters.Item {
	f := s.set.Fields
	item := adapters.Item{ID: o.id, Vector: o.vector}
	for _, p := range c.properties {
		values := valuesOf(o.props[p.Name])
		if len(values) == 0 {
			continue
		}
		mapped := true
		switch p.Name {
		case f.Text:
			item.Text = first(values)
		case f.Source:
			item.Source = first(values)
		case f.Revision:
			item.Revision = first(values)
		case f.Access:
			item.Access = texts(values)
		case f.EmbedModel:
			item.EmbedModel = first(values)
		case f.IndexedAt:
			item.IndexedAt, mapped = timeOf(first(values))
		case f.UpdatedAt:
			item.UpdatedAt, mapped = timeOf(first(values))
		default:
			mapped = false
		}
		if !mapped {
			setMetadata(&item, p.Name, texts(values))
		}
	}
	if f.IndexedAt == "" && o.written > 0 {
		item.IndexedAt = time.UnixMilli(o.written).UTC()
	}
	if c.tenants {
		setMetadata(&item, s.set.TenantField, []string{o.tenant})
	}
	return item
}

func setMetadata(item *adapters.Item, name string, values []string) {
	if item.Metadata == nil {
		item.Metadata = map[string][]string{}
	}
	item.Metadata[name] = values
}

// timeOf reads a date. What is none stays metadata.
func timeOf(text string) (time.Time, bool) {
	at, err := time.Parse(time.RFC3339Nano, text)
	return at.UTC(), err == nil
}

// vectorOf reads the numbers of a vector. A list of vectors, and an empty one, is none.
func vectorOf(v any) []float32 {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return nil
	}
	vector := make([]float32, len(list))
	for i, x := range list {
		f, ok := x.(float64)
		if !ok {
			return nil
		}
		vector[i] = float32(f)
	}
	return vector
}

// selection is what a query asks for of each object: the named properties and the additional fields.
func selection(names []string, additional ...string) string {
	text := ""
	for _, name := range names {
		text += name + " "
	}
	text += "_additional{"
	for _, name := range additional {
		text += name + " "
	}
	return text + "}"
}

// names returns the properties that an item is made of.
func (c *class) names() []string {
	var list []string
	for _, p := range c.properties {
		list = append(list, p.Name)
	}
	return list
}

// vectorField is the additional field that holds a vector.
func vectorField(name string) string {
	if name == "" {
		return "vector"
	}
	return "vectors{" + name + "}"
}

// objectOf reads a row of a query.
func objectOf(row any, tenant, vector string) (object, map[string]any, bool) {
	props, ok := row.(map[string]any)
	if !ok {
		return object{}, nil, false
	}
	additional, ok := props["_additional"].(map[string]any)
	if !ok {
		return object{}, nil, false
	}
	id, ok := additional["id"].(string)
	o := object{id: id, tenant: tenant, props: props}
	if text, told := additional["lastUpdateTimeUnix"].(string); told {
		o.written, _ = strconv.ParseInt(text, 10, 64) // what is none is 0, not told
	}
	if vector == "" {
		o.vector = vectorOf(additional["vector"])
	} else if named, told := additional["vectors"].(map[string]any); told {
		o.vector = vectorOf(named[vector])
	}
	return o, additional, ok && id != ""
}

func finite(v []float32) bool {
	return !slices.ContainsFunc(v, func(x float32) bool { return math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) })
}
