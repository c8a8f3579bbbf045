package openai

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

func compiled(t *testing.T, role adapters.Role) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(Factory().Schema[role]))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// TestSettings holds the schemas and the code to each other: what one refuses, the other refuses too.
func TestSettings(t *testing.T) {
	t.Parallel()
	const both, least = "", `"model": "m", "base_url": "http://localhost:8000/v1"`
	for _, tt := range []struct {
		role     adapters.Role // empty: both
		settings string
		wrong    string // what the code's message names; empty: nothing is wrong
		byCode   bool   // the schema cannot see it
	}{
		{both, `{` + least + `}`, "", false},
		{both, `{"model": "m"}`, "", false},
		{both, `{` + least + `, "api_key_env": "K", "organization": "o", "headers": {"X-Team": "a"}, "headers_env": {"Authorization": "K"}}`, "", false}, //nolint:misspell // OpenAI spells it so
		{both, `{"model": "m", "base_url": "https://r.openai.azure.com/", "azure": {"deployment": "d-1.x_y", "api_version": "2025-04-01-preview"}}`, "", false},
		{both, `{"model": "m", "base_url": "https://localhost:8000/v1", "tls": {"server_name": "s"}}`, "", false},
		{both, `{` + least + `, "tls": false}`, "", false},
		{both, `{"base_url": "http://localhost:8000/v1"}`, "model", false},
		{both, `{"model": ""}`, "model", false},
		{both, `{"model": "m", "base_url": "localhost:8000"}`, "base_url", false},
		{both, `{"model": "m", "base_url": "http://"}`, "base_url", false},
		{both, `{"model": "m", "base_url": "http://u:p@localhost/v1"}`, "more than an address", true},
		{both, `{"model": "m", "base_url": "http://localhost/v1?key=abc"}`, "more than an address", true},
		{both, `{"model": "m", "base_url": "http://localhost/v1/chat/completions"}`, `what stands before it, "http://localhost/v1"`, true},
		{both, `{"model": "m", "base_url": "http://localhost/v1/embeddings/"}`, `what stands before it, "http://localhost/v1"`, true},
		{both, `{` + least + `, "tls": true}`, "begin it with https://", true},
		{both, `{` + least + `, "tls": {"insecure": true}}`, "insecure", false},
		{both, `{` + least + `, "api_key": "sk-secret"}`, "api_key", false},
		{both, `{` + least + `, "headers": {"Authorization": "Bearer x"}}`, "which carries a secret", true},
		{both, `{` + least + `, "headers": {"x-goog-api-key": "x"}}`, "which carries a secret", true},
		{both, `{` + least + `, "headers": {"X-A": "1"}, "headers_env": {"X-A": "K"}}`, "both hold", true},
		{both, `{` + least + `, "headers": {"X-A": "a\nb"}}`, "cannot be sent", true},
		{both, `{` + least + `, "headers": {"X A": "a"}}`, "no name of a header", true},
		{both, `{` + least + `, "headers": {"content-type": "a"}}`, "which the client sets itself", true},
		{both, `{"model": "m", "azure": {"deployment": "d"}}`, "base_url with the resource's endpoint", true},
		{both, `{` + least + `, "azure": {}}`, "azure", false},
		{both, `{` + least + `, "azure": {"deployment": "a/../b"}}`, "azure.deployment", false},
		{both, `{` + least + `} {}`, "go on", false},
		{adapters.RoleGenerator, `{` + least + `, "token_limit": "max_completion_tokens", "structured": "none", "reasoning_effort": "low", "deterministic": true, "supports": {"temperature": false, "top_p": true, "seed": true, "stop": false}}`, "", false},
		{adapters.RoleGenerator, `{` + least + `, "token_limit": "tokens"}`, "token_limit", false},
		{adapters.RoleGenerator, `{` + least + `, "structured": "xml"}`, "structured", false},
		{adapters.RoleGenerator, `{` + least + `, "supports": {"logprobs": true}}`, "logprobs", false},
		{adapters.RoleGenerator, `{` + least + `, "dimensions": 3}`, "dimensions", false},
		{adapters.RoleEmbedder, `{` + least + `, "dimensions": 256, "query_prefix": "q: ", "passage_prefix": "p: ", "encoding": "base64", "batch": 2048}`, "", false},
		{adapters.RoleEmbedder, `{` + least + `, "encoding": "int8"}`, "encoding", false},
		{adapters.RoleEmbedder, `{` + least + `, "batch": 0}`, "batch", false},
		{adapters.RoleEmbedder, `{` + least + `, "batch": 4096}`, "batch", false},
		{adapters.RoleEmbedder, `{` + least + `, "dimensions": -1}`, "dimensions", false},
		{adapters.RoleEmbedder, `{` + least + `, "deterministic": true}`, "deterministic", false},
	} {
		for role, read := range map[adapters.Role]func(json.RawMessage) error{
			adapters.RoleGenerator: func(raw json.RawMessage) error { _, err := readGenerator(raw, ""); return err },
			adapters.RoleEmbedder:  func(raw json.RawMessage) error { _, err := readEmbedder(raw); return err },
		} {
			if tt.role != both && tt.role != role {
				continue
			}
			err := read(json.RawMessage(tt.settings))
			if (err == nil) != (tt.wrong == "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
				t.Errorf("%s, %s: %v, want an error with %q", role, tt.settings, err, tt.wrong)
			}
			document, err := jsonschema.UnmarshalJSON(strings.NewReader(tt.settings))
			if err == nil {
				err = compiled(t, role).Validate(document)
			}
			if refused := tt.wrong != "" && !tt.byCode; (err != nil) != refused {
				t.Errorf("%s, %s: the schema says %v, want a refusal: %t", role, tt.settings, err, refused)
			}
		}
	}
}

type property struct {
	Description          string              `json:"description"`
	Default              any                 `json:"default"`
	AdditionalProperties any                 `json:"additionalProperties"`
	Properties           map[string]property `json:"properties"`
}

// TestSchemasNameEverySetting holds the schemas to the Go types that read the settings, and to the defaults.
func TestSchemasNameEverySetting(t *testing.T) {
	t.Parallel()
	for role, typ := range map[adapters.Role]reflect.Type{
		adapters.RoleGenerator: reflect.TypeFor[generatorSettings](), adapters.RoleEmbedder: reflect.TypeFor[embedderSettings](),
	} {
		var top property
		if err := json.Unmarshal(Factory().Schema[role], &top); err != nil {
			t.Fatal(err)
		}
		checkObject(t, string(role), top, typ)
	}
	told := func(schema []byte) string {
		var top property
		if err := json.Unmarshal(schema, &top); err != nil {
			t.Fatal(err)
		}
		settings := map[string]any{"model": "m"}
		for name, p := range top.Properties {
			if p.Default != nil {
				settings[name] = p.Default
			}
		}
		data, err := json.Marshal(settings)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	bare, err := readGenerator(json.RawMessage(`{"model": "m"}`), "")
	again, err2 := readGenerator(json.RawMessage(told(generatorSchema)), "")
	if err != nil || err2 != nil || !reflect.DeepEqual(bare, again) {
		t.Errorf("%+v with the schema's defaults, %+v without (%v, %v)", again, bare, err, err2)
	}
	bareEmbedder, err := readEmbedder(json.RawMessage(`{"model": "m"}`))
	againEmbedder, err2 := readEmbedder(json.RawMessage(told(embedderSchema)))
	if err != nil || err2 != nil || !reflect.DeepEqual(bareEmbedder, againEmbedder) {
		t.Errorf("%+v with the schema's defaults, %+v without (%v, %v)", againEmbedder, bareEmbedder, err, err2)
	}
}

func checkObject(t *testing.T, path string, schema property, typ reflect.Type) {
	t.Helper()
	if schema.AdditionalProperties != false {
		t.Errorf("%s: unknown settings are let through", path)
	}
	var names []string
	for _, field := range reflect.VisibleFields(typ) {
		name := field.Tag.Get("json")
		if name == "" {
			continue
		}
		names = append(names, name)
		p := schema.Properties[name]
		if p.Description == "" {
			t.Errorf("%s.%s: no description", path, name)
		}
		inner := field.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if p.Properties != nil {
			checkObject(t, path+"."+name, p, inner)
		}
	}
	for name := range schema.Properties {
		if !slices.Contains(names, name) {
			t.Errorf("%s.%s: in the schema, and not read", path, name)
		}
	}
}
