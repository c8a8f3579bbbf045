package embedded

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/culprit-rag/culprit/adapters"
)

// settingsTypes are the Go forms of the schemas that this file holds to them.
func settingsTypes() map[adapters.Role]any {
	return map[adapters.Role]any{
		adapters.RoleEmbedder:  embedderSettings{},
		adapters.RoleGenerator: defaultGenerator(),
		adapters.RoleReranker:  rerankerSettings{},
	}
}

type property struct {
	Description          string              `json:"description"`
	Default              any                 `json:"default"`
	AdditionalProperties any                 `json:"additionalProperties"`
	Properties           map[string]property `json:"properties"`
	Items                *property           `json:"items"`
}

func TestSchemasDescribeEverySetting(t *testing.T) {
	t.Parallel()
	for role, settings := range settingsTypes() {
		var schema property
		if err := json.Unmarshal(Factory().Schema[role], &schema); err != nil {
			t.Fatalf("%s: %v", role, err)
		}
		if schema.Description == "" {
			t.Errorf("%s: the schema does not say what the backend does", role)
		}
		checkObject(t, string(role), schema, reflect.TypeOf(settings))
	}
}

// checkObject holds a schema of an object to the Go type that reads it: the same names, and a description for each.
func checkObject(t *testing.T, path string, schema property, typ reflect.Type) {
	t.Helper()
	if schema.AdditionalProperties != false {
		t.Errorf("%s: unknown settings are let through", path)
	}
	var names []string
	for i := range typ.NumField() {
		name := typ.Field(i).Tag.Get("json")
		if name == "" {
			continue
		}
		names = append(names, name)
		p := schema.Properties[name]
		if p.Description == "" {
			t.Errorf("%s.%s: no description", path, name)
		}
		inner := typ.Field(i).Type
		if p.Items != nil && p.Items.Properties != nil {
			p, inner = *p.Items, inner.Elem()
		}
		if p.Properties != nil {
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			checkObject(t, path+"."+name, p, inner)
		}
	}
	for name := range schema.Properties {
		if !slices.Contains(names, name) {
			t.Errorf("%s.%s: in the schema, and not read", path, name)
		}
	}
}

// TestSchemasNameTheDefaults reads the schema's defaults as settings: nothing may change.
func TestSchemasNameTheDefaults(t *testing.T) {
	t.Parallel()
	for role, open := range map[adapters.Role]func(settings string) (any, error){
		adapters.RoleEmbedder: func(s string) (any, error) {
			e, err := openEmbedder(t.Context(), adapters.Config{Settings: json.RawMessage(s)})
			opened, ok := e.(*embedder)
			if !ok {
				return nil, err
			}
			return fmt.Sprintf("%+v", opened.set), nil
		},
		adapters.RoleGenerator: func(s string) (any, error) {
			set, err := readGeneratorSettings(json.RawMessage(s))
			return fmt.Sprintf("%+v", set), err
		},
		adapters.RoleReranker: func(s string) (any, error) {
			r, err := openReranker(t.Context(), adapters.Config{Settings: json.RawMessage(s)})
			opened, ok := r.(*reranker)
			if !ok {
				return nil, err
			}
			return fmt.Sprintf("%+v", opened.set), nil
		},
	} {
		var schema property
		if err := json.Unmarshal(Factory().Schema[role], &schema); err != nil {
			t.Fatalf("%s: %v", role, err)
		}
		defaults := map[string]any{}
		for name, p := range schema.Properties {
			if p.Default != nil {
				defaults[name] = p.Default
			}
		}
		data, err := json.Marshal(defaults)
		if err != nil {
			t.Fatal(err)
		}
		want, err := open(`{}`)
		if err != nil {
			t.Fatalf("%s: %v", role, err)
		}
		got, err := open(string(data))
		if err != nil || got != want {
			t.Errorf("%s: the schema's defaults give\n%v, %v\nno settings give\n%v", role, got, err, want)
		}
	}
}

func TestSchemasAcceptAndRefuse(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		role     adapters.Role
		settings string
		want     string // part of what is wrong; empty: nothing
	}{
		{adapters.RoleGenerator, `{"flip": {"rate": 0.3, "to": "wrong"}, "provider": [{"error": "rate-limited", "times": 2, "retry_after": "1.5s"}]}`, ""},
		{adapters.RoleGenerator, `{"fixed": ""}`, ""},
		{adapters.RoleGenerator, `{"prefer": "last"}`, "additional properties 'prefer'"},
		{adapters.RoleGenerator, `{"prefers": "newest"}`, "/prefers"},
		{adapters.RoleGenerator, `{"flip": {"to": "wrong"}}`, "rate"},
		{adapters.RoleGenerator, `{"provider": [{"times": 2}]}`, "/provider/0"},
		{adapters.RoleGenerator, `{"provider": [{"error": "timeout", "finish": "length"}]}`, "/provider/0"},
		{adapters.RoleEmbedder, `{"dimensions": 3, "vectors": {"a": [1, 0.5, -2]}}`, ""},
		{adapters.RoleEmbedder, `{"vectors": {"a": []}}`, "/vectors/a"},
		{adapters.RoleEmbedder, `{"dimensions": 0}`, "/dimensions"},
		{adapters.RoleReranker, `{"scores": {"a": -4.5}, "logits": true}`, ""},
		{adapters.RoleReranker, `{"drops": -1}`, "/drops"},
	} {
		err := validate(t, Factory().Schema[tt.role], tt.settings)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s %s: %v, want an error with %q", tt.role, tt.settings, err, tt.want)
		}
	}
}

func validate(t *testing.T, schema json.RawMessage, settings string) error {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", document); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("schema.json")
	if err != nil {
		t.Fatalf("compiling the schema: %v", err)
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(settings))
	if err != nil {
		t.Fatal(err)
	}
	return compiled.Validate(value)
}
