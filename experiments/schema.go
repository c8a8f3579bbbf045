package experiments

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

//go:embed schema/experiment.json schema/case.json
var schemaFiles embed.FS

// roles are the backends of an experiment, in the order in which they are asked.
var roles = []string{"store", "embedder", "generator", "reranker", "service"}

// judgeRole is the backend that is a generator by another name.
const judgeRole = "judge"

// Schema returns the JSON Schema (2020-12) of an "experiment" or "case" file, with the settings of every adapter in
// schemas (role → adapter → schema) among them. It is what an editor completes from, and it accepts what Load accepts: Load
// checks with the same files, and words some of the rules itself.
func Schema(kind string, schemas map[string]map[string]json.RawMessage) ([]byte, error) {
	var document any
	var err error
	switch kind {
	case "case":
		var cases map[string]any
		if cases, err = readSchema("case"); err == nil {
			document = published(cases)
		}
	case "experiment":
		var experiment, cases map[string]any
		if experiment, err = experimentSchema(schemas); err != nil {
			break
		}
		if cases, err = readSchema("case"); err != nil {
			break
		}
		definitions := experiment["$defs"].(map[string]any)
		whole := graft("#/$defs/caseFile", cases).(map[string]any)
		definitions["caseFile"] = map[string]any{"$defs": whole["$defs"]}
		definitions["case"] = map[string]any{"$ref": "#/$defs/caseFile/$defs/case"}
		s := &shape{source: experiment, root: experiment}
		s.relaxIncluding()
		document = published(experiment)
	default:
		return nil, fmt.Errorf("no schema %q: it can be %s", kind, choices([]string{"experiment", "case"}))
	}
	if err != nil {
		return nil, err
	}
	out := &bytes.Buffer{}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(document); err != nil {
		return nil, fmt.Errorf("writing schema %q: %w", kind, err)
	}
	return out.Bytes(), nil
}

// corpusKeys are the settings of a store that say what it is filled from.
var corpusKeys = []string{"documents", "chunk"}

func readSchema(kind string) (map[string]any, error) {
	data, err := schemaFiles.ReadFile("schema/" + kind + ".json")
	if err != nil {
		return nil, fmt.Errorf("reading schema %q: %w", kind, err)
	}
	return decodeSchema(data)
}

func decodeSchema(data []byte) (map[string]any, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	object, ok := document.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("a schema must be an object")
	}
	return object, nil
}

// experimentSchema adds the settings of the adapters to the schema of an experiment: one if/then on the adapter's name for
// each. A role without known adapters takes any settings.
func experimentSchema(schemas map[string]map[string]json.RawMessage) (map[string]any, error) {
	experiment, err := readSchema("experiment")
	if err != nil {
		return nil, err
	}
	definitions := experiment["$defs"].(map[string]any)
	for _, role := range roles {
		names := slices.Sorted(maps.Keys(schemas[role]))
		if len(names) == 0 {
			continue
		}
		backend := definitions[role].(map[string]any)
		adapter := backend["properties"].(map[string]any)["adapter"].(map[string]any)
		adapter["enum"] = anySlice(names)
		var conditions []any
		for _, name := range names {
			settings, err := settingsSchema(role, name, schemas[role][name])
			if err != nil {
				return nil, fmt.Errorf("schema of %s %q: %w", role, name, err)
			}
			key := role + "." + name
			definitions[key] = settings
			conditions = append(conditions, map[string]any{
				"if":   map[string]any{"required": []any{"adapter"}, "properties": map[string]any{"adapter": map[string]any{"const": name}}},
				"then": map[string]any{"$ref": "#/$defs/" + escapePointer(key)},
			})
		}
		backend["allOf"] = conditions
	}
	return experiment, nil
}

// settingsSchema makes an adapter's schema part of the experiment's: its own references are moved, the adapter's name
// becomes one of its properties, and documents are described once, here, for every store: the embedded one fills itself from
// them, and the others are filled by culprit load.
func settingsSchema(role, name string, raw json.RawMessage) (map[string]any, error) {
	settings, err := decodeSchema(raw)
	if err != nil {
		return nil, err
	}
	delete(settings, "$schema")
	delete(settings, "$id")
	settings = graft("#/$defs/"+escapePointer(role+"."+name), settings).(map[string]any)
	properties, _ := settings["properties"].(map[string]any)
	if properties == nil {
		properties = map[string]any{}
		settings["properties"] = properties
	}
	properties["adapter"] = map[string]any{"description": "Name of the adapter."}
	if role == "store" {
		for _, ours := range corpusKeys {
			properties[ours] = map[string]any{"$ref": "#/$defs/" + ours}
		}
	}
	return settings, nil
}

// graft moves the local references of a schema to where it is put.
func graft(to string, schema any) any {
	switch schema := schema.(type) {
	case map[string]any:
		for key, value := range schema {
			if ref, ok := value.(string); ok && key == "$ref" && strings.HasPrefix(ref, "#") {
				schema[key] = to + strings.TrimPrefix(ref, "#")
			} else {
				schema[key] = graft(to, value)
			}
		}
	case []any:
		for i := range schema {
			schema[i] = graft(to, schema[i])
		}
	}
	return schema
}

func escapePointer(s string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "%", "%25").Replace(s)
}

func anySlice[T any](in []T) []any {
	out := make([]any, len(in))
	for i, v := range in {
		out[i] = v
	}
	return out
}

// shape is a compiled schema beside its source, which holds the names, hints and defaults.
type shape struct {
	source   map[string]any
	root     map[string]any // what instances are checked against: source, or one of its definitions
	compiled *jsonschema.Schema
	partial  bool // an included file is missing, so that a missing key is no mistake of its own
}

// namePattern is the pattern of ids and names in both schemas.
const namePattern = "^[a-z0-9][a-z0-9._-]{0,63}$"

const schemaURL = "culprit:///schema.json"

func newShape(source map[string]any, definition string) (*shape, error) {
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(schemaURL, source); err != nil {
		return nil, err
	}
	url, root := schemaURL, source
	if definition != "" {
		url += "#/$defs/" + definition
		root = source["$defs"].(map[string]any)[definition].(map[string]any)
	}
	compiled, err := compiler.Compile(url)
	if err != nil {
		return nil, err
	}
	return &shape{source: source, root: root, compiled: compiled}, nil
}

// lookup returns the schema object that a fragment such as "#/$defs/search" names, or nil.
func (s *shape) lookup(fragment string) map[string]any {
	var at any = s.source
	for step := range strings.SplitSeq(strings.Trim(fragment, "#/"), "/") {
		object, ok := at.(map[string]any)
		if !ok {
			if items, isList := at.([]any); isList {
				at = index(items, step)
				continue
			}
			return nil
		}
		if step != "" {
			at = object[strings.NewReplacer("~1", "/", "~0", "~", "%25", "%").Replace(step)]
		}
	}
	object, _ := at.(map[string]any)
	return object
}

func index(items []any, step string) any {
	for i, item := range items {
		if fmt.Sprint(i) == step {
			return item
		}
	}
	return nil
}

// follow resolves a $ref.
func (s *shape) follow(schema map[string]any) map[string]any {
	for schema != nil {
		ref, ok := schema["$ref"].(string)
		if !ok {
			return schema
		}
		schema = s.lookup(ref)
	}
	return nil
}

// fill puts the schema's defaults where value has nothing.
func (s *shape) fill(schema map[string]any, value any) {
	object, ok := value.(map[string]any)
	schema = s.follow(schema)
	if !ok || schema == nil {
		return
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, p := range properties {
		property, _ := p.(map[string]any)
		if _, given := object[name]; !given {
			standard, has := property["default"]
			if !has {
				continue
			}
			object[name] = cloneJSON(standard)
		}
		s.fill(property, object[name])
	}
}

func cloneJSON(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = cloneJSON(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = cloneJSON(e)
		}
		return out
	}
	return v
}
