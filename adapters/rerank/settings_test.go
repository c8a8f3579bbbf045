package rerank

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/culprit-rag/culprit/adapters"
)

// TestSettings holds the schema and the code to each other: what one refuses, the other refuses too.
func TestSettings(t *testing.T) {
	t.Parallel()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(Factory().Schema[adapters.RoleReranker]))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", document); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	const least = `"model": "m", "url": "http://localhost:8000/rerank"`
	for _, tt := range []struct {
		settings string
		wrong    string // what the code's message names; empty: nothing is wrong
		byCode   bool   // the schema cannot see it
	}{
		{`{` + least + `}`, "", false},
		{`{` + least + `, "api_key_env": "K", "headers": {"X-Team": "a"}, "headers_env": {"X-Key": "K"}, "shape": "jina", "batch": 0}`, "", false},
		{`{"model": "m", "url": "https://api.cohere.com/v2/rerank", "shape": "cohere", "max_tokens": 512, "batch": 10000, "tls": {"server_name": "s"}}`, "", false},
		{`{` + least + `, "shape": "vllm", "max_tokens": 0}`, "", false},
		{`{` + least + `, "shape": "tei", "truncate": true, "raw_scores": false, "tls": false}`, "", false},
		{`{"url": "http://localhost:8000/rerank"}`, "model", false},
		{`{"model": "m"}`, "url", false},
		{`{"model": "m", "url": "localhost:8000/rerank"}`, "url", false},
		{`{"model": "m", "url": "http://localhost:8000/"}`, "names no endpoint", true},
		{`{"model": "m", "url": "https://api.cohere.com/v2"}`, "names no endpoint", true},
		{`{"model": "m", "url": "http://u:p@localhost/rerank"}`, "more than an address", true},
		{`{"model": "m", "url": "http://localhost/rerank?key=abc"}`, "more than an address", true},
		{`{` + least + `, "tls": true}`, "begin it with https://", true},
		{`{` + least + `, "api_key": "co-secret"}`, "api_key", false},
		{`{` + least + `, "headers": {"Authorization": "Bearer x"}}`, "which carries a secret", true},
		{`{` + least + `, "shape": "voyage"}`, "shape", false},
		{`{` + least + `, "batch": -1}`, "batch", false},
		{`{` + least + `, "batch": 10001}`, "batch", false},
		{`{` + least + `, "shape": "cohere", "max_tokens": -1}`, "max_tokens", false},
		{`{` + least + `, "max_tokens": 512}`, "shape: cohere or shape: vllm", true},
		{`{` + least + `, "truncate": true}`, "shape: tei", true},
		{`{` + least + `, "shape": "jina", "raw_scores": false}`, "shape: tei", true},
		{`{` + least + `, "top_n": 3}`, "top_n", false},
		{`{` + least + `} {}`, "go on", false},
	} {
		_, err := read(json.RawMessage(tt.settings))
		if (err == nil) != (tt.wrong == "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%s: %v, want an error with %q", tt.settings, err, tt.wrong)
		}
		document, err := jsonschema.UnmarshalJSON(strings.NewReader(tt.settings))
		if err == nil {
			err = compiled.Validate(document)
		}
		if refused := tt.wrong != "" && !tt.byCode; (err != nil) != refused {
			t.Errorf("%s: the schema says %v, want a refusal: %t", tt.settings, err, refused)
		}
	}
}

// TestSchemaNamesEverySetting holds the schema to the Go type that reads the settings, and to the defaults.
func TestSchemaNamesEverySetting(t *testing.T) {
	t.Parallel()
	var schema struct {
		Properties map[string]struct {
			Description string `json:"description"`
			Default     any    `json:"default"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(Factory().Schema[adapters.RoleReranker], &schema); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, field := range reflect.VisibleFields(reflect.TypeFor[settings]()) {
		if name := field.Tag.Get("json"); name != "" {
			names = append(names, name)
			if schema.Properties[name].Description == "" {
				t.Errorf("%s: no description", name)
			}
		}
	}
	defaults := map[string]any{"model": "m", "url": "http://localhost/rerank"}
	for name, p := range schema.Properties {
		if !slices.Contains(names, name) {
			t.Errorf("%s: in the schema, and not read", name)
		}
		if p.Default != nil {
			defaults[name] = p.Default
		}
	}
	data, err := json.Marshal(defaults)
	if err != nil {
		t.Fatal(err)
	}
	want, err := read(json.RawMessage(`{"model": "m", "url": "http://localhost/rerank"}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := read(data); err != nil || !reflect.DeepEqual(want, got) {
		t.Errorf("%+v with the schema's defaults, %+v without, %v", got, want, err)
	}
}
