package weaviate

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func validator(t *testing.T) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(storeSchema))
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

// TestSchemaAndSettingsAgree: what the schema refuses the settings refuse too, and what it accepts they can be read from.
func TestSchemaAndSettingsAgree(t *testing.T) {
	t.Parallel()
	schema := validator(t)
	for _, test := range []struct {
		more string // settings beside the address and the collection
		want string // what the error of the settings names; empty: they are right
	}{
		{`"vector": "title"`, ""},
		{`"tls": true`, ""},
		{`"tls": {"ca_file": "ca.pem", "server_name": "weaviate"}`, ""},
		{`"keyword": {"fields": ["title^2", "body^0.5"], "operator": "and"}`, ""},
		{`"hybrid": {"alpha": 0, "fusion": "ranked", "candidates": 1}`, ""},
		{`"consistency": "QUORUM"`, ""},
		{`"tenants": ["acme"], "tenant_field": "owner"`, ""},
		{`"fields": {"text": "body", "source": "doc_id", "indexed_at": "at"}`, ""},
		{`"page_size": 10000`, ""},
		{`"colour": "x"`, "colour"},
		{`"address": "https://localhost"`, "address"},
		{`"address": "localhost"`, "address"},
		{`"collection": "my-docs"`, "collection"},
		{`"collection": "Docs{x}"`, "collection"},
		{`"vector": "a b"`, "vector"},
		{`"tls": {"insecure": true}`, "tls"},
		{`"keyword": {"operator": "not"}`, "keyword.operator"},
		{`"keyword": {"fields": ["title^x"]}`, "keyword.fields"},
		{`"hybrid": {"alpha": 1.5}`, "hybrid.alpha"},
		{`"hybrid": {"fusion": "sum"}`, "hybrid.fusion"},
		{`"hybrid": {"candidates": 0}`, "hybrid.candidates"},
		{`"consistency": "SOME"`, "consistency"},
		{`"tenant_field": ""`, "tenant_field"},
		{`"fields": {"text": "the body"}`, "fields.text"},
		{`"fields": {"access": "a}b"}`, "fields.access"},
		{`"page_size": 0`, "page_size"},
	} {
		text := `{"address": "localhost:8080", "collection": "Docs", ` + test.more + `}`
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		_, err = readSettings([]byte(text))
		if refused := schema.Validate(value); (refused == nil) != (test.want == "") {
			t.Errorf("schema: %s: %v, want it accepted: %t", test.more, refused, test.want == "")
		}
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("settings: %s: %v, want an error with %q", test.more, err, test.want)
		}
	}
}

// TestSchemaNamesTheDefaults reads the schema's defaults as settings: nothing may change.
func TestSchemaNamesTheDefaults(t *testing.T) {
	t.Parallel()
	var schema map[string]any
	if err := json.Unmarshal(storeSchema, &schema); err != nil {
		t.Fatal(err)
	}
	defaults := defaultsOf(schema)
	bare := map[string]any{"address": "localhost:8080", "collection": "Docs"}
	for name, value := range bare {
		defaults[name] = value
	}
	read := func(settings map[string]any) storeSettings {
		data, err := json.Marshal(settings)
		if err != nil {
			t.Fatal(err)
		}
		s, err := readSettings(data)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if got, want := read(defaults), read(bare); !reflect.DeepEqual(got, want) {
		t.Errorf("the schema's defaults give\n%+v\nno settings give\n%+v", got, want)
	}
	if len(defaults) < 8 {
		t.Errorf("the schema names only the defaults %v", defaults)
	}
}

// defaultsOf collects the defaults of an object and of those in it.
func defaultsOf(schema map[string]any) map[string]any {
	found := map[string]any{}
	properties, _ := schema["properties"].(map[string]any)
	for name, p := range properties {
		p, ok := p.(map[string]any)
		if !ok {
			continue
		}
		if value, ok := p["default"]; ok {
			found[name] = value
		} else if inner := defaultsOf(p); len(inner) > 0 {
			found[name] = inner
		}
	}
	return found
}
