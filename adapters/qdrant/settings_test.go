package qdrant

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/qdrant/bm25"
)

func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(Factory().Schema[adapters.RoleStore]))
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
	return compiled
}

// TestSettings holds the schema and the code to each other: what one refuses, the other refuses too.
func TestSettings(t *testing.T) {
	t.Parallel()
	compiled := schema(t)
	const least = `"address": "localhost:6334", "collection": "docs"`
	for _, tt := range []struct {
		settings string
		wrong    string // what the code's message names; empty: nothing is wrong
		byCode   bool   // the schema cannot see it
	}{
		{`{` + least + `}`, "", false},
		{`{` + least + `, "tls": true, "api_key_env": "K", "vector": "dense", "keyword": {"vector": "bm25"}}`, "", false},
		{`{` + least + `, "tls": {"ca_file": "ca.pem", "server_name": "q"}, "shard_key": "a", "read_consistency": "all"}`, "", false},
		{`{` + least + `, "shard_key": 7, "read_consistency": 2, "hnsw_ef": 64, "indexed_only": true, "page": 100}`, "", false},
		{`{` + least + `, "hybrid": {"fusion": "dbsf", "rrf_k": 2, "prefetch": 100}, "fields": {"text": "a.b", "source": "c"}}`, "", false},
		{`{"address": "[::1]:6334", "collection": "docs"}`, "", false},
		{`{"collection": "docs"}`, "address", false},
		{`{"address": "localhost"}`, "collection", false},
		{`{"address": "http://localhost:6334", "collection": "docs"}`, "it is a URL", false},
		{`{"address": "localhost:notaport", "collection": "docs"}`, "address", true},
		{`{"address": "localhost:70000", "collection": "docs"}`, "address", true},
		{`{"address": "a:b:c", "collection": "docs"}`, "address", true},
		{`{` + least + `, "tls": {"insecure": true}}`, "insecure", false},
		{`{` + least + `, "tls": "yes"}`, "tls", false},
		{`{` + least + `, "api_key": "sk-secret"}`, "api_key", false},
		{`{` + least + `, "shard_key": -1}`, "shard_key", false},
		{`{` + least + `, "shard_key": [1]}`, "shard_key", false},
		{`{` + least + `, "read_consistency": "most"}`, "read_consistency", false},
		{`{` + least + `, "read_consistency": 0}`, "read_consistency", false},
		{`{` + least + `, "hybrid": {"fusion": "sum"}}`, "hybrid.fusion", false},
		{`{` + least + `, "hybrid": {"rrf_k": 0}}`, "hybrid.rrf_k", false},
		{`{` + least + `, "hybrid": {"prefetch": -1}}`, "hybrid.prefetch", false},
		{`{` + least + `, "keyword": {}}`, "keyword.vector", false},
		{`{` + least + `, "keyword": {"vector": "v", "encoder": "splade"}}`, "keyword.encoder", false},
		{`{` + least + `, "keyword": {"vector": "v", "language": "klingon"}}`, "keyword.language", false},
		{`{` + least + `, "fields": {"text": ""}}`, "fields.text", false},
		{`{` + least + `, "page": 0}`, "page", false},
		{`{` + least + `} {}`, "go on", false},
	} {
		err := tryOpen(t, tt.settings)
		if reached := err == nil || adapters.KindOf(err) == adapters.KindCanceled; reached != (tt.wrong == "") || !reached && !strings.Contains(err.Error(), tt.wrong) {
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

// tryOpen opens with a context that ends the attempt before anything is sent: settings are looked at first.
func tryOpen(t *testing.T, settings string) error {
	t.Helper()
	_, err := open(cancelled(t), adapters.Config{Settings: json.RawMessage(settings), Secrets: &adapters.Secrets{}})
	return err
}

// TestSchemaNamesEverySetting holds the schema to the Go types that read the settings.
func TestSchemaNamesEverySetting(t *testing.T) {
	t.Parallel()
	var top property
	if err := json.Unmarshal(storeSchema, &top); err != nil {
		t.Fatal(err)
	}
	checkObject(t, "store", top, reflect.TypeFor[settings]())
	if got, want := top.Properties["keyword"].Properties["language"].Enum, bm25.Languages(); !slices.Equal(got, want) {
		t.Errorf("languages %q, want %q", got, want)
	}
	defaults, err := readSettings(json.RawMessage(`{"address": "a", "collection": "c", "keyword": {"vector": "v"}}`))
	if err != nil {
		t.Fatal(err)
	}
	told := `{"address": "a", "collection": "c", "tls": false, "vector": "", "hnsw_ef": 0, "indexed_only": false, "page": 512,
		"keyword": {"vector": "v", "encoder": "bm25", "model": "qdrant/bm25", "language": "english"},
		"hybrid": {"fusion": "rrf", "rrf_k": 60, "prefetch": 0}, "fields": {"text": "text"}}`
	again, err := readSettings(json.RawMessage(told))
	if err != nil || !reflect.DeepEqual(defaults, again) {
		t.Errorf("%+v, %v: the defaults are %+v", again, err, defaults)
	}
	for path, want := range map[string]any{"page": 512.0, "hybrid.fusion": "rrf", "hybrid.rrf_k": 60.0, "hybrid.prefetch": 0.0, "fields.text": "text", "keyword.encoder": "bm25", "keyword.model": "qdrant/bm25", "keyword.language": "english", "vector": "", "tls": false, "hnsw_ef": 0.0, "indexed_only": false} {
		p := top
		for name := range strings.SplitSeq(path, ".") {
			p = p.Properties[name]
		}
		if p.Default != want {
			t.Errorf("%s: the schema's default is %v, want %v", path, p.Default, want)
		}
	}
}

type property struct {
	Description          string              `json:"description"`
	Default              any                 `json:"default"`
	Enum                 []string            `json:"enum"`
	AdditionalProperties any                 `json:"additionalProperties"`
	Properties           map[string]property `json:"properties"`
}

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

func TestAddresses(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"localhost:6334": "localhost:6334", "localhost": "localhost:6334", "[::1]:6335": "[::1]:6335", "::1": "[::1]:6334", "[fe80::1]": "[fe80::1]:6334",
		"10.0.0.1": "10.0.0.1:6334", "q.example:443": "q.example:443",
	} {
		host, port, err := (&settings{Address: address}).hostPort()
		if got := host + ":" + jsonText(port); err != nil || got != want {
			t.Errorf("%q: %s, %v, want %s", address, got, err, want)
		}
	}
}

func jsonText(v any) string {
	data, _ := json.Marshal(v)
	return string(data)
}
