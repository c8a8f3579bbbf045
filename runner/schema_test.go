package runner_test

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/culprit-rag/culprit/results"
)

var bundleSchema = sync.OnceValues(func() (*jsonschema.Schema, error) {
	data, err := results.Schema("bundle")
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

// asPublished holds a bundle to the schemas that culprit schema prints: real runs fill in fields that the bundles of other tests lack.
func asPublished(t *testing.T, bundle string) {
	t.Helper()
	schema, err := bundleSchema()
	if err != nil {
		t.Fatal(err)
	}
	z, err := zip.OpenReader(bundle)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	files := map[string]any{}
	for _, member := range z.File {
		data, err := fs.ReadFile(z, member.Name)
		if err != nil {
			t.Fatal(err)
		}
		decoded := func(data []byte) any {
			v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
			if err != nil {
				t.Fatalf("%s: %s: %v", bundle, member.Name, err)
			}
			return v
		}
		switch {
		case strings.HasSuffix(member.Name, ".jsonl"):
			lines := []any{}
			for line := range bytes.Lines(data) {
				lines = append(lines, decoded(line))
			}
			files[member.Name] = lines
		case strings.HasSuffix(member.Name, ".json"):
			files[member.Name] = decoded(data)
		default:
			files[member.Name] = ""
		}
	}
	if err := schema.Validate(files); err != nil {
		t.Errorf("%s: %#v", bundle, err)
	}
}
