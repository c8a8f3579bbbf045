package qdrant

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/qdrant/go-client/qdrant"

	"github.com/culprit-rag/culprit/adapters"
)

// lookup returns the value of a field: that of the whole name, else that of a path into objects; nil where there is none.
func lookup(payload map[string]*qdrant.Value, field string) *qdrant.Value {
	if value, ok := payload[field]; ok {
		return value
	}
	for i := range len(field) {
		if field[i] != '.' {
			continue
		}
		if inner := payload[field[:i]].GetStructValue(); inner != nil {
			if value := lookup(inner.GetFields(), field[i+1:]); value != nil {
				return value
			}
		}
	}
	return nil
}

// scalar returns a string, number or boolean as text, numbers and booleans as JSON writes them.
func scalar(value *qdrant.Value) (text string, ok bool) {
	switch kind := value.GetKind().(type) {
	case *qdrant.Value_StringValue:
		return kind.StringValue, true
	case *qdrant.Value_IntegerValue:
		return strconv.FormatInt(kind.IntegerValue, 10), true
	case *qdrant.Value_BoolValue:
		return strconv.FormatBool(kind.BoolValue), true
	case *qdrant.Value_DoubleValue:
		number, err := json.Marshal(kind.DoubleValue)
		return string(number), err == nil // it fails for what is no number, which JSON and so a payload cannot hold
	}
	return "", false
}

// scalars returns the texts of a scalar or of those in a list.
func scalars(value *qdrant.Value) []string {
	if text, ok := scalar(value); ok {
		return []string{text}
	}
	var texts []string
	for _, element := range value.GetListValue().GetValues() {
		if text, ok := scalar(element); ok {
			texts = append(texts, text)
		}
	}
	return texts
}

// addMetadata adds what a value holds to into, under its path: "a.b" in objects and "a[].b" in lists of objects, as the server
// writes paths.
func addMetadata(into map[string][]string, path string, value *qdrant.Value) {
	switch kind := value.GetKind().(type) {
	case *qdrant.Value_StructValue:
		for name, inner := range kind.StructValue.GetFields() {
			addMetadata(into, path+"."+name, inner)
		}
	case *qdrant.Value_ListValue:
		for _, element := range kind.ListValue.GetValues() {
			if text, ok := scalar(element); ok {
				into[path] = append(into[path], text)
			} else {
				addMetadata(into, path+"[]", element)
			}
		}
	default:
		if text, ok := scalar(value); ok {
			into[path] = append(into[path], text)
		}
	}
}

// item makes an item of a payload.
func (f *fieldSettings) item(id string, payload map[string]*qdrant.Value) adapters.Item {
	item := adapters.Item{ID: id}
	taken := make(values, 0, 8)
	take := func(field string) *qdrant.Value {
		if field == "" {
			return nil
		}
		value := lookup(payload, field)
		taken = append(taken, value)
		return value
	}
	item.Text = take(f.Text).GetStringValue()
	item.Source, item.Revision, item.EmbedModel = first(take(f.Source)), first(take(f.Revision)), first(take(f.EmbedModel))
	item.Access = scalars(take(f.Access))
	item.IndexedAt = timeOf(take(f.IndexedAt))
	if item.IndexedAt.IsZero() && f.IndexedAt != "" {
		taken = taken[:len(taken)-1] // it is no time: it stays metadata
	}
	item.UpdatedAt = timeOf(take(f.UpdatedAt))
	if item.UpdatedAt.IsZero() && f.UpdatedAt != "" {
		taken = taken[:len(taken)-1]
	}
	for name, value := range payload {
		taken.rest(&item, name, value)
	}
	return item
}

// first returns the text of a scalar, or of the first in a list.
func first(value *qdrant.Value) string {
	if text, ok := scalar(value); ok {
		return text
	}
	if texts := scalars(value); len(texts) > 0 {
		return texts[0]
	}
	return ""
}

// values are those that have become a part of an item: a few.
type values []*qdrant.Value

// rest adds to the metadata what a value holds that has not become a part of the item.
func (v values) rest(item *adapters.Item, path string, value *qdrant.Value) {
	if slices.Contains(v, value) {
		return
	}
	if object := value.GetStructValue(); object != nil {
		for name, inner := range object.GetFields() {
			v.rest(item, path+"."+name, inner)
		}
		return
	}
	if kindOf(value) == "" || value.GetListValue() != nil && len(value.GetListValue().GetValues()) == 0 {
		return
	}
	if item.Metadata == nil {
		item.Metadata = map[string][]string{}
	}
	addMetadata(item.Metadata, path, value)
}

// timeLayouts are the forms in which Qdrant itself reads times.
var timeLayouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02"}

// timeOf reads a time: one of the layouts, in UTC where no zone is given, or seconds since 1970. What is no time is the zero
// time.
func timeOf(value *qdrant.Value) time.Time {
	switch kind := value.GetKind().(type) {
	case *qdrant.Value_StringValue:
		for _, layout := range timeLayouts {
			if t, err := time.Parse(layout, strings.TrimSpace(kind.StringValue)); err == nil {
				return t.UTC()
			}
		}
	case *qdrant.Value_IntegerValue:
		return time.Unix(kind.IntegerValue, 0).UTC()
	case *qdrant.Value_DoubleValue:
		whole, part := math.Modf(kind.DoubleValue)
		return time.Unix(int64(whole), int64(part*1e9)).UTC()
	}
	return time.Time{}
}

// kindOf names the kind of a value that is there; "" is none.
func kindOf(value *qdrant.Value) string {
	switch value.GetKind().(type) {
	case *qdrant.Value_StringValue:
		return "a string"
	case *qdrant.Value_IntegerValue, *qdrant.Value_DoubleValue:
		return "a number"
	case *qdrant.Value_BoolValue:
		return "a boolean"
	case *qdrant.Value_ListValue:
		return "a list"
	case *qdrant.Value_StructValue:
		return "an object"
	}
	return ""
}

// stringFields adds the paths of the fields that hold a string.
func stringFields(payload map[string]*qdrant.Value, prefix string, into map[string]bool) {
	for name, value := range payload {
		if object := value.GetStructValue(); object != nil {
			stringFields(object.GetFields(), prefix+name+".", into)
		} else if _, ok := value.GetKind().(*qdrant.Value_StringValue); ok {
			into[prefix+name] = true
		}
	}
}
