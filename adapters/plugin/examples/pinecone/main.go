// Command pinecone is a plugin that reads one namespace of a Pinecone index, on Pinecone's own client. It never writes: the connections
// let through only the calls that read.
//
// It was tested against a stand-in of the parts of Pinecone's API that it uses, package pineconetest, and never against Pinecone itself.
// What it can and cannot prove stands in docs/plugins.md.
//
//	go build -o pinecone ./adapters/plugin/examples/pinecone
package main

import (
	"context"
	_ "embed"
	"encoding/json"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/plugin/sdk"
)

const name = "pinecone"

//go:embed store.schema.json
var schema []byte

func main() {
	sdk.Serve("1.0.0", adapters.Factory{
		Name:   name,
		Schema: map[adapters.Role]json.RawMessage{adapters.RoleStore: schema},
		OpenStore: func(ctx context.Context, cfg adapters.Config) (adapters.VectorStore, error) {
			s, err := open(ctx, cfg)
			if err != nil {
				return nil, err // not s, which would be an interface that holds a nil pointer
			}
			return s, nil
		},
	})
}
