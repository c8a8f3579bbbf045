package experiments

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/culprit-rag/culprit/matrix"
)

// TestSchemaAndTypesAgree holds the keys of the schemas to the JSON names of the Go types, in both directions.
func TestSchemaAndTypesAgree(t *testing.T) {
	t.Parallel()
	cases, err := readSchema("case")
	if err != nil {
		t.Fatal(err)
	}
	experiment, err := readSchema("experiment")
	if err != nil {
		t.Fatal(err)
	}
	caseShape, experimentShape := &shape{source: cases}, &shape{source: experiment}
	for _, test := range []struct {
		shape       *shape
		fragment    string
		value       any
		onlyInFiles []string // keys that are gone in the resolved form
	}{
		{caseShape, "#/$defs/case", matrix.Case{}, nil},
		{caseShape, "#/$defs/message", matrix.Message{}, nil},
		{caseShape, "#/$defs/evidence", matrix.Evidence{}, nil},
		{caseShape, "#/$defs/requirement/then", matrix.Requirement{}, nil},
		{caseShape, "#/$defs/gold", matrix.Gold{}, nil},
		{caseShape, "#/$defs/distractor", matrix.Distractor{}, nil},
		{caseShape, "#/$defs/claim", matrix.Claim{}, nil},
		{experimentShape, "#", matrix.Experiment{}, []string{"include", "cases", "profiles"}},
		{experimentShape, "#/$defs/backends", matrix.Backends{}, nil},
		{experimentShape, "#/$defs/pins", matrix.Pins{}, nil},
		{experimentShape, "#/$defs/pins/properties/index", matrix.IndexPin{}, nil},
		{experimentShape, "#/$defs/pins/properties/generator", matrix.GeneratorPin{}, nil},
		{experimentShape, "#/$defs/pipeline", matrix.Pipeline{}, nil},
		{experimentShape, "#/$defs/search", matrix.Search{}, nil},
		{experimentShape, "#/$defs/rerank", matrix.Rerank{}, nil},
		{experimentShape, "#/$defs/assemble", matrix.Assemble{}, nil},
		{experimentShape, "#/$defs/prompt", matrix.Prompt{}, nil},
		{experimentShape, "#/$defs/generate", matrix.Generate{}, nil},
		{experimentShape, "#/$defs/faults", matrix.Faults{}, nil},
		{experimentShape, "#/$defs/faults/properties/cache/items", matrix.CachedAnswer{}, nil},
		{experimentShape, "#/$defs/runs", matrix.Runs{}, nil},
		{experimentShape, "#/$defs/limits", matrix.Limits{}, nil},
		{experimentShape, "#/$defs/judge", matrix.Judge{}, nil},
		{experimentShape, "#/$defs/sensitivity", matrix.Sensitivity{}, nil},
		{experimentShape, "#/$defs/checks", matrix.Checks{}, nil},
		{experimentShape, "#/$defs/checks/properties/floor", matrix.Floor{}, nil},
		{experimentShape, "#/$defs/judge/properties/answer_relevancy", matrix.AnswerRelevancy{}, nil},
		{experimentShape, "#/$defs/pins/properties/judge", matrix.JudgePin{}, nil},
	} {
		inSchema := test.shape.keys(test.fragment)
		inType := test.onlyInFiles
		typ := reflect.TypeOf(test.value)
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			inType = append(inType, name)
		}
		slices.Sort(inType)
		if !slices.Equal(inSchema, inType) {
			t.Errorf("%s and %s differ:\n schema %q\n type   %q", test.fragment, typ, inSchema, inType)
		}
	}
}

// TestSchemaNamesWhatThePackagesKnow holds the enumerations to the constants.
func TestSchemaNamesWhatThePackagesKnow(t *testing.T) {
	t.Parallel()
	experiment, err := readSchema("experiment")
	if err != nil {
		t.Fatal(err)
	}
	s := &shape{source: experiment}
	variants := s.lookup("#/$defs/runs/properties/perturbations/anyOf/1/items")["enum"].([]any)
	if got, want := words(variants), matrix.Perturbations(); !slices.Equal(got, want) {
		t.Errorf("perturbations: schema %q, matrix %q", got, want)
	}
	cells := s.lookup("#/$defs/judge/properties/cells/items")["pattern"].(string)
	if want := strings.Join(matrix.Perturbations(), "|"); !strings.Contains(cells, "("+want+")") {
		t.Errorf("cells of the judge: schema %q, matrix %q", cells, want)
	}
	for _, definition := range []string{"name", "id"} {
		fragment := "#/properties/name"
		source := s
		if definition == "id" {
			cases, err := readSchema("case")
			if err != nil {
				t.Fatal(err)
			}
			source, fragment = &shape{source: cases}, "#/$defs/case/properties/id"
		}
		if got := source.lookup(fragment)["pattern"]; got != namePattern {
			t.Errorf("pattern of %s is %q and not namePattern", definition, got)
		}
	}
}

// TestSchemaTeaches asks for a description of every key, since an editor shows nothing else.
func TestSchemaTeaches(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"experiment", "case"} {
		source, err := readSchema(kind)
		if err != nil {
			t.Fatal(err)
		}
		s := &shape{source: source}
		var visit func(path string, schema any)
		visit = func(path string, schema any) {
			switch schema := schema.(type) {
			case map[string]any:
				properties, _ := schema["properties"].(map[string]any)
				for name, p := range properties {
					property, ok := p.(map[string]any)
					if !ok {
						continue
					}
					if property["description"] == nil && s.follow(property)["description"] == nil && s.follow(property)["title"] == nil {
						t.Errorf("%s: %s/%s has no description", kind, path, name)
					}
				}
				for key, value := range schema {
					if key != "x-published" { // rules for what is described beside it
						visit(path+"/"+key, value)
					}
				}
			case []any:
				for i, value := range schema {
					visit(fmt.Sprintf("%s/%d", path, i), value)
				}
			}
		}
		visit("", source)
	}
}

// TestSchemaForEditors validates documents with what Schema returns, as an editor does.
func TestSchemaForEditors(t *testing.T) {
	t.Parallel()
	compile := func(kind string) *jsonschema.Schema {
		data, err := Schema(kind, schemas(t))
		if err != nil {
			t.Fatal(err)
		}
		document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(data)))
		if err != nil {
			t.Fatal(err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource("file:///s.json", document); err != nil {
			t.Fatal(err)
		}
		compiled, err := c.Compile("file:///s.json")
		if err != nil {
			t.Fatal(err)
		}
		return compiled
	}
	for name, test := range map[string]struct {
		kind, yaml string
		valid      bool
	}{
		"an experiment":              {"experiment", "{culprit: v1, name: a, backends: {store: {adapter: plain, facts: true}, generator: {adapter: plain}}, cases: [x.yaml, {id: a, query: q, expect: abstain}]}", true},
		"another adapter's settings": {"experiment", "{culprit: v1, name: a, backends: {store: {adapter: other, facts: true}, generator: {adapter: plain}}, cases: [x.yaml]}", false},
		"a grafted reference":        {"experiment", "{culprit: v1, name: a, backends: {store: {adapter: plain, index: {modell: x}}, generator: {adapter: plain}}, cases: [x.yaml]}", false},
		"documents":                  {"experiment", "{culprit: v1, name: a, backends: {store: {adapter: plain, documents: [{id: a}]}, generator: {adapter: plain}}, cases: [x.yaml]}", false},
		"an inline case":             {"experiment", "{culprit: v1, name: a, backends: {store: {adapter: plain}, generator: {adapter: plain}}, cases: [{id: a, quest: q}]}", false},
		"a case":                     {"case", "{id: a, query: q, expect: abstain}", true},
		"a case with a mistake":      {"case", "{id: a, query: q, expect: abstain, claim: []}", false},
		"a list of cases":            {"case", "[{id: a, query: q, expect: clarify}, {id: b, messages: [{role: user, text: q}], claims: [{id: c, cites: [d]}]}]", true},
		"a list with a mistake":      {"case", "[{id: a, query: q, expect: abstain}, {query: b, expect: abstain}]", false},
		"cases under their key":      {"case", "{cases: [{id: a, query: q, expect: abstain}]}", true},
		"something beside them":      {"case", "{cases: [], id: a}", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var c collector
			root := parse(&file{name: name, data: []byte(test.yaml)}, &c)
			if root == nil {
				t.Fatal(c.problems)
			}
			if err := compile(test.kind).Validate(root.value()); (err == nil) != test.valid {
				t.Errorf("valid should be %v: %v", test.valid, err)
			}
		})
	}
	if _, err := Schema("cases", nil); err == nil {
		t.Error("a schema of an unknown kind")
	}
	if _, err := Schema("experiment", map[string]map[string]json.RawMessage{"store": {"broken": []byte("[]")}}); err == nil {
		t.Error("an adapter's schema that is no object")
	}
}

// TestPublishedSchemaAgreesWithCheck holds what an editor refuses to what Load refuses.
func TestPublishedSchemaAgreesWithCheck(t *testing.T) {
	t.Parallel()
	compiled := map[string]*jsonschema.Schema{}
	for _, kind := range []string{"experiment", "case"} {
		data, err := Schema(kind, schemas(t))
		if err != nil {
			t.Fatal(err)
		}
		document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(data)))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), `"x-`) || strings.Contains(string(data), `\\p{`) {
			t.Errorf("%s: what other validators may not know is left in the schema", kind)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource("file:///s.json", document); err != nil {
			t.Fatal(err)
		}
		if compiled[kind], err = c.Compile("file:///s.json"); err != nil {
			t.Fatal(err)
		}
	}
	const fit = "claims: [{id: x, any: [five]}]"
	for _, test := range []struct {
		text  string // a case, or the rest of an experiment
		valid bool
	}{
		{"backends: {store: {adapter: plain}, generator: {adapter: plain}}", true},
		{"backends: {store: {adapter: plain}}", false},
		{"backends: {generator: {adapter: plain}}", false},
		{"backends: {service: {adapter: own}}", true},
		{"backends: {service: {adapter: own}, store: {adapter: plain}}", true},
		{"include: [backends.yaml]\nbackends: {store: {adapter: plain}}", true},
		{"{id: 14, query: 2026, " + fit + "}", true},
		{"{id: true, query: no, tags: {a: 1.5}, as: {tenant: 7, groups: [1, false]}, " + fit + "}", true},
		{"{id: a, query: q, evidence: {required: [{source: 7, revision: 2.0, span: 12}]}, claims: [{id: 1, any: [1.971, true], never: [12], cites: [7]}]}", true},
		{"{id: a, messages: [{role: user, text: 12}], expect: abstain}", true},
		{"{id: a, query: q, messages: [{role: user, text: q}], " + fit + "}", false},
		{"{id: a, " + fit + "}", false},
		{"{id: a, query: q}", false},
		{"{id: a, query: q, claims: []}", false},
		{"{id: a, query: q, expect: answer}", false},
		{"{id: a, query: q, expect: clarify}", true},
		{"{id: a, query: q, claims: [{id: x, says: it}]}", false},
		{"{id: a, query: null, " + fit + "}", false},
		{"{id: a, query: q, claims: [{id: x, any: [~]}]}", false},
		{"{id: a, query: q, claims: [{id: x, any: [[a]]}]}", false},
		{"pipeline: {assemble: {budget: 50 words}}", true},
		{"pipeline: {assemble: {budget: 50}}", false},
		{"limits: {timeout: 60}", false},
		{"limits: {timeout: 60s}", true},
		{"pipeline: {search: {filter: {year: 2024, open: true, tag: {not: [1]}}}, refusal: [404]}", true},
		{"pipeline: {search: {filter: {year: {from: 2024}}}}", false},
		{"pipeline: {generate: {stop: [1]}}", true},
		{"pipeline: {generate: {temperature: \"0\"}}", false},
		{"pins: {corpus: 2024, index: {revision: 7}}", true},
		{"pipeline: {rerank: {}}", false},
		{"include: [base.yaml]\npipeline: {rerank: {order: score}}", true},
	} {
		kind, text := "case", test.text
		experiment := "-- experiment.yaml --\nculprit: v1\nname: 7\n"
		if !strings.Contains(text, "backends:") {
			experiment += "backends: {store: {adapter: plain}, generator: {adapter: plain, model: 4.10}, reranker: {adapter: plain}}\n"
		}
		if strings.HasPrefix(text, "{") {
			experiment += "cases: [case.yaml]\n-- case.yaml --\n" + text + "\n"
		} else {
			kind = "experiment"
			experiment += "cases: [{id: 9, query: 1, expect: abstain}]\n" + text + "\n-- base.yaml --\npipeline: {rerank: {top: 3}}\n-- backends.yaml --\nbackends: {generator: {adapter: plain}}\n"
			text = parseArchive(experiment).files[0].text
		}
		_, err := Load(folderOf(t, experiment), Options{Schemas: schemas(t)})
		var c collector
		root := parse(&file{name: "case.yaml", data: []byte(text)}, &c)
		if root == nil {
			t.Fatal(c.problems)
		}
		invalid := compiled[kind].Validate(root.value())
		if (err == nil) != test.valid || (invalid == nil) != test.valid {
			t.Errorf("%s: valid should be %v:\n check:  %v\n schema: %v", test.text, test.valid, err, invalid)
		}
	}
}

// TestDefaultsOfTheSchemaAreValid reads every default back.
func TestDefaultsOfTheSchemaAreValid(t *testing.T) {
	t.Parallel()
	for kind, definition := range map[string]string{"experiment": "", "case": "case"} {
		source, err := readSchema(kind)
		if err != nil {
			t.Fatal(err)
		}
		s, err := newShape(source, definition)
		if err != nil {
			t.Fatal(err)
		}
		value := map[string]any{
			"culprit": "v1", "name": "a", "cases": []any{"x"},
			"backends": map[string]any{"store": map[string]any{"adapter": "x"}, "generator": map[string]any{"adapter": "x"}},
		}
		if kind == "case" {
			value = map[string]any{"id": "a"}
		}
		before := slices.Collect(maps.Keys(value))
		s.fill(s.root, value)
		if err := s.compiled.Validate(value); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		if len(value) <= len(before) {
			t.Errorf("%s: no default was filled in", kind)
		}
	}
}
