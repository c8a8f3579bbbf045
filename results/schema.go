package results

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"strings"
)

//go:embed schema/*.json
var schemaFiles embed.FS

// SchemaKinds are what [Schema] knows, the whole before its parts.
var SchemaKinds = []string{"bundle", "manifest", "journal", "evaluation"}

// Schema returns the JSON Schema (2020-12) of a part of a bundle: of "manifest" and "evaluation" the file, of "journal" a line of it,
// and of "bundle" an object that has every file by its path, with the schema of each. The last holds the others.
func Schema(kind string) ([]byte, error) {
	data, err := schemaFiles.ReadFile("schema/" + kind + ".json")
	if err != nil {
		return nil, fmt.Errorf("no schema %q: it can be %s", kind, strings.Join(SchemaKinds, ", "))
	}
	if kind != SchemaKinds[0] {
		return data, nil
	}
	for _, part := range SchemaKinds[1:] {
		schema, err := Schema(part)
		if err != nil {
			return nil, err
		}
		data = bytes.Replace(data, fmt.Appendf(nil, `{"$ref": "urn:culprit:schema:%s:v1"}`, part), bytes.TrimSpace(schema), 1)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, data, "", "  "); err != nil {
		return nil, fmt.Errorf("schema %q: %w", kind, err)
	}
	return out.Bytes(), nil
}
