package results

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

var compiledSchema = sync.OnceValues(func() (*jsonschema.Schema, error) {
	data, err := Schema("bundle")
	if err != nil {
		return nil, err
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("bundle.json", document); err != nil {
		return nil, err
	}
	return c.Compile("bundle.json")
})

// validate holds an unpacked bundle to the published schemas.
func validate(tb testing.TB, dir string) error {
	tb.Helper()
	schema, err := compiledSchema()
	if err != nil {
		tb.Fatal(err)
	}
	files := map[string]any{}
	for _, name := range filesIn(tb, dir) {
		data := read(tb, dir, name)
		lines, isLines := strings.CutSuffix(name, ".jsonl")
		switch {
		case isLines:
			values := []any{}
			for line := range bytes.Lines(data) {
				values = append(values, decodeAny(tb, lines, line))
			}
			files[name] = values
		case strings.HasSuffix(name, ".json"):
			files[name] = decodeAny(tb, name, data)
		default:
			files[name] = ""
		}
	}
	return schema.Validate(files)
}

func decodeAny(tb testing.TB, name string, data []byte) any {
	tb.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
	return v
}

// What is sealed and derived is strict, and what was observed may grow: a later version of the same major adds fields to it.
func TestSchemaIsStrictAboutWhatIsSealed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		file, old, new string
		want           string // in the error; "": it is accepted
	}{
		"as it is":                        {},
		"a field of the manifest":         {manifestFile, `{"case_digest"`, `{"a":1,"case_digest"`, "/manifest.json"},
		"a field of the evaluation":       {evaluationFile, `"label":`, `"a":1,"label":`, "/evaluation.json/defects/0"},
		"a field of a file":               {manifestFile, `{"class"`, `{"a":1,"class"`, "/manifest.json/files/0"},
		"a field of the features":         {featuresFile, `"schema"`, `"a":1,"schema"`, "/features.json"},
		"a field of a trial":              {generationsFile, `{"call_key"`, `{"a":1,"call_key"`, ""},
		"a field of a record":             {journalFile, `{"t":"open"`, `{"a":1,"t":"open"`, ""},
		"a record of another kind":        {journalFile, `{"t":"close"`, `{"t":"pause"`, ""},
		"a field around a record":         {journalFile, `{"seq":2`, `{"a":1,"seq":2`, "/journal.jsonl/1"},
		"a field of the pins":             {pinsFile, `{"experiment"`, `{"a":1,"experiment"`, ""},
		"a number for a text":             {generationsFile, `"answer":"sha256:`, `"answer":1,"b":"sha256:`, "/observations~1generations.jsonl/0/answer"},
		"a decimal that is a number":      {retrievalsFile, `"score":"9.5"`, `"score":9.5`, "/observations~1retrievals.jsonl/0/candidates/0/score"},
		"an outcome that there is not":    {evaluationFile, `"outcome":"fail"`, `"outcome":"meh"`, "/evaluation.json/outcome"},
		"a time that is none":             {manifestFile, `"created":"2026-11-29T`, `"created":"yesterday `, "/manifest.json/created"},
		"another version":                 {evaluationFile, verdict.EvaluationSchema, "culprit.evaluation/v2", "/evaluation.json/schema"},
		"a file that nothing is known of": {"observations/other.json", "", "{}", "observations/other.json"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := unpacked(t)
			if tc.old != "" {
				data := bytes.Replace(read(t, dir, tc.file), []byte(tc.old), []byte(tc.new), 1)
				if !bytes.Contains(data, []byte(tc.new)) {
					t.Fatalf("%s holds no %s", tc.file, tc.old)
				}
				write(t, dir, tc.file, data)
			} else if tc.file != "" {
				write(t, dir, tc.file, []byte(tc.new))
			}
			err := validate(t, dir)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(fmt.Sprintf("%#v", err), tc.want) {
				t.Errorf("want an error about %q, got %#v", tc.want, err)
			}
		})
	}
}

// Every field of what is written is in the schemas, and nothing else is.
func TestSchemasNameEveryField(t *testing.T) {
	t.Parallel()
	roots := map[string]map[string]reflect.Type{
		"manifest":   {"": reflect.TypeFor[Manifest]()},
		"evaluation": {"": reflect.TypeFor[verdict.Evaluation]()},
		"journal":    {"record": reflect.TypeFor[Record]()},
		"bundle": {
			"pins": reflect.TypeFor[Pins](), "plan": reflect.TypeFor[matrix.Plan](), "features": reflect.TypeFor[verdict.Features](), "environment": reflect.TypeFor[Environment](),
			"retrieval": reflect.TypeFor[matrix.Retrieval](), "trial": reflect.TypeFor[matrix.Trial](), "judgement": reflect.TypeFor[matrix.Judgement](),
			"storeFacts": reflect.TypeFor[matrix.StoreFacts](), "rewriting": reflect.TypeFor[matrix.Rewriting](),
		},
	}
	for _, kind := range SchemaKinds {
		data, err := schemaFiles.ReadFile("schema/" + kind + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var whole map[string]any
		if err := json.Unmarshal(data, &whole); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		defs := whole["$defs"].(map[string]any)
		c := comparison{t: t, file: "results/schema/" + kind + ".json", defs: defs, seen: map[string]bool{}, strict: kind == "manifest" || kind == "evaluation"}
		for name, typ := range roots[kind] {
			if name == "" {
				c.compare("", typ, whole, false)
				continue
			}
			c.strict = c.strict || name == "plan" || name == "features"
			c.compare(name, typ, map[string]any{"$ref": "#/$defs/" + name}, false)
			c.strict = kind == "manifest" || kind == "evaluation"
		}
		for name, def := range defs {
			if object := def.(map[string]any); object["properties"] != nil && !c.seen[name] {
				t.Errorf("%s: nothing is of %q", c.file, name)
			}
		}
	}
}

// comparison holds the types of what is written to a schema.
type comparison struct {
	t      *testing.T
	file   string
	defs   map[string]any
	seen   map[string]bool
	strict bool // no other field is allowed
}

// ofExperiments are the types whose keys the schema of an experiment explains.
var ofExperiments = []reflect.Type{reflect.TypeFor[matrix.Pins](), reflect.TypeFor[matrix.Generate](), reflect.TypeFor[matrix.Judge]()}

func (c *comparison) compare(at string, typ reflect.Type, schema map[string]any, nullable bool) {
	if typ.Kind() == reflect.Pointer {
		c.compare(at, typ.Elem(), schema, nullable)
		return
	}
	if ref, ok := schema["$ref"].(string); ok {
		name := strings.TrimPrefix(ref, "#/$defs/")
		def, known := c.defs[name].(map[string]any)
		if !known {
			c.t.Errorf("%s: %s: there is no %s", c.file, at, ref)
		}
		if !known || c.seen[name] {
			return
		}
		c.seen[name], schema = typ.Kind() == reflect.Struct && typ != reflect.TypeFor[matrix.Text](), def
	}
	if want := jsonType(typ); schema["enum"] == nil && schema["const"] == nil {
		got := schema["type"]
		if list, ok := got.([]any); ok && nullable && len(list) == 2 && list[1] == "null" {
			got = list[0]
		}
		if got != want {
			c.t.Errorf("%s: %s is of type %v and written as %s (nullable: %v)", c.file, at, schema["type"], want, nullable)
		}
	}
	if slices.Contains(ofExperiments, typ) || isLeaf(typ) {
		return
	}
	switch typ.Kind() {
	case reflect.Slice:
		c.compare(at+"[]", typ.Elem(), object(schema, "items"), false)
	case reflect.Map:
		c.compare(at+"{}", typ.Elem(), object(schema, "additionalProperties"), false)
	case reflect.Struct:
		c.compareFields(at, typ, schema)
	}
}

func (c *comparison) compareFields(at string, typ reflect.Type, schema map[string]any) {
	properties := object(schema, "properties")
	var names, required []string
	for _, f := range reflect.VisibleFields(typ) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || name == "-" {
			continue
		}
		names = append(names, name)
		if options == "" {
			required = append(required, name)
		}
		if property, ok := properties[name].(map[string]any); ok {
			kind := f.Type.Kind()
			c.compare(at+"."+name, f.Type, property, options == "" && (kind == reflect.Pointer || kind == reflect.Slice || kind == reflect.Map))
		}
	}
	var inSchema []string
	for _, name := range list(schema, "required") {
		inSchema = append(inSchema, name.(string))
	}
	for what, pair := range map[string][2][]string{"fields": {names, slices.Collect(maps.Keys(properties))}, "required fields": {required, inSchema}} {
		slices.Sort(pair[0])
		slices.Sort(pair[1])
		if !slices.Equal(pair[0], pair[1]) {
			c.t.Errorf("%s: %s: %s of %s\n as written %q\n in schema  %q", c.file, at, what, typ, pair[0], pair[1])
		}
	}
	if closed := schema["additionalProperties"] == false; closed != c.strict {
		c.t.Errorf("%s: %s: other fields are refused: %v, want %v", c.file, at, closed, c.strict)
	}
}

func object(schema map[string]any, key string) map[string]any {
	o, _ := schema[key].(map[string]any)
	return o
}

func list(schema map[string]any, key string) []any {
	l, _ := schema[key].([]any)
	return l
}

// isLeaf reports whether a type writes itself.
func isLeaf(typ reflect.Type) bool {
	return typ.Implements(reflect.TypeFor[encoding.TextMarshaler]()) || typ.Implements(reflect.TypeFor[json.Marshaler]())
}

func jsonType(typ reflect.Type) string {
	if isLeaf(typ) {
		return "string"
	}
	switch typ.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Slice:
		return "array"
	case reflect.Map, reflect.Struct:
		return "object"
	}
	return "integer"
}
