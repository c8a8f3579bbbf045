package main

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/pinecone-io/go-pinecone/v5/pinecone"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/culprit-rag/culprit/adapters"
)

// item makes an item of a record. What has no meaning by the settings is metadata.
func (s *store) item(v *pinecone.Vector, vectors bool) adapters.Item {
	item := adapters.Item{ID: v.Id}
	if vectors && v.Values != nil && len(*v.Values) > 0 {
		item.Vector = *v.Values
	}
	for key, value := range v.Metadata.GetFields() {
		texts := textsOf(value)
		if len(texts) == 0 {
			continue
		}
		f := s.set.Fields
		switch key {
		case f.Text:
			item.Text = texts[0]
		case f.Source:
			item.Source = texts[0]
		case f.Revision:
			item.Revision = texts[0]
		case f.Access:
			item.Access = texts
		case f.EmbedModel:
			item.EmbedModel = texts[0]
		case f.IndexedAt:
			item.IndexedAt = timeOf(texts[0])
		case f.UpdatedAt:
			item.UpdatedAt = timeOf(texts[0])
		default:
			if item.Metadata == nil {
				item.Metadata = map[string][]string{}
			}
			item.Metadata[key] = texts
		}
	}
	return item
}

// textsOf returns the values of a metadata field; numbers and booleans as JSON writes them.
func textsOf(value *structpb.Value) []string {
	switch v := value.GetKind().(type) {
	case *structpb.Value_StringValue:
		return []string{v.StringValue}
	case *structpb.Value_BoolValue:
		return []string{strconv.FormatBool(v.BoolValue)}
	case *structpb.Value_NumberValue:
		text, err := json.Marshal(v.NumberValue)
		if err != nil { // NaN
			return nil
		}
		return []string{string(text)}
	case *structpb.Value_ListValue:
		var texts []string
		for _, part := range v.ListValue.GetValues() {
			texts = append(texts, textsOf(part)...)
		}
		return texts
	}
	return nil
}

// timeOf reads RFC 3339, a date, or seconds since 1970; what is none of them is no time.
func timeOf(text string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC()
		}
	}
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		return time.UnixMicro(int64(seconds * 1e6)).UTC()
	}
	return time.Time{}
}
