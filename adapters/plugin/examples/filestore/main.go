// Command filestore is a plugin in Go that is meant to be copied: a store over a file with one JSON object a line, as culprit plugin
// fixture prints it. It ranks by shared words and by vectors, both by looking at every item.
//
//	go build -o filestore ./adapters/plugin/examples/filestore
//	culprit plugin test ./filestore --settings '{"path": "{fixture}"}'
package main

import (
	"context"
	"encoding/json"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/plugin/sdk"
)

const name = "filestore"

// schema is what the host holds the settings against before it opens anything.
const schema = `{
	"title": "File store",
	"type": "object",
	"additionalProperties": false,
	"required": ["path"],
	"properties": {
		"path": {"description": "The file, one JSON object a line, relative to the experiment's folder.", "type": "string", "minLength": 1}
	}
}`

func main() {
	sdk.Serve("1.0.0", adapters.Factory{
		Name:   name,
		Schema: map[adapters.Role]json.RawMessage{adapters.RoleStore: json.RawMessage(schema)},
		OpenStore: func(ctx context.Context, cfg adapters.Config) (adapters.VectorStore, error) {
			s, err := open(ctx, cfg)
			if err != nil {
				return nil, err // not s, which would be an interface that holds a nil pointer
			}
			return s, nil
		},
	})
}
