package weaviate

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestWhatTheSchemaDeclares reads schemas of vectorizers that need an account, as servers write them.
func TestWhatTheSchemaDeclares(t *testing.T) {
	t.Parallel()
	const properties = `"properties":[{"name":"text","dataType":["text"],"moduleConfig":{"text2vec-openai":{"skip":false,"vectorizePropertyName":false}}},
		{"name":"title","dataType":["text"],"moduleConfig":{"text2vec-openai":{"skip":%SKIP%,"vectorizePropertyName":false}}}]`
	for _, test := range []struct {
		name, schema, vector, model, input string
	}{
		{"no vectorizer", `{"class":"Docs","vectorizer":"none","vectorIndexType":"hnsw","properties":[{"name":"text","dataType":["text"]}]}`, "", "", ""},
		{"class name and another property", `{"class":"Docs","vectorizer":"text2vec-openai","vectorIndexType":"hnsw","moduleConfig":{"text2vec-openai":{"model":"text-embedding-3-small","vectorizeClassName":true}},` +
			strings.Replace(properties, "%SKIP%", "false", 1) + `}`, "", "text-embedding-3-small", `the name of the class, property "title", with the text`},
		{"the text alone", `{"class":"Docs","vectorizer":"text2vec-openai","vectorIndexType":"hnsw","moduleConfig":{"text2vec-openai":{"model":"m","vectorizeClassName":false}},` +
			strings.Replace(properties, "%SKIP%", "true", 1) + `}`, "", "m", ""},
		{"a named vector of other properties", `{"class":"Docs","vectorConfig":{"title":{"vectorIndexType":"hnsw","vectorizer":{"text2vec-openai":{"model":"m","vectorizeClassName":false,"properties":["title"]}}}},` +
			strings.Replace(properties, "%SKIP%", "false", 1) + `}`, "title", "m", `property "title", without the text`},
	} {
		var schema schemaOf
		if err := json.Unmarshal([]byte(test.schema), &schema); err != nil {
			t.Fatal(err)
		}
		c := newClass(schema, nil)
		s := storeSettings{Vector: test.vector, Fields: fieldSettings{Text: "text"}}
		if got := c.index(test.vector).model(); got != test.model {
			t.Errorf("%s: model %q, want %q", test.name, got, test.model)
		}
		if got := c.embedInput(s); !strings.HasSuffix(got, test.input) || (got == "") != (test.input == "") {
			t.Errorf("%s: it embeds %q, want %q", test.name, got, test.input)
		}
	}
}
