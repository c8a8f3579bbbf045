// Package rerank asks the endpoints of rerankers: a query and its documents go out, a score for each comes back. Cohere, Jina, vLLM and
// llama.cpp share one shape of it, TEI has another.
//
// Start from [Factory]; the settings' JSON Schema lies next to this file. The order of the results and their number are not believed,
// only their indices are; what is special about the scores of a server (their range, whether the best is the highest) is left as it is.
package rerank

import (
	_ "embed"
	"encoding/json"

	"github.com/culprit-rag/culprit/adapters"
)

// Name is the adapter's name in experiments.
const Name = "rerank"

//go:embed reranker.schema.json
var schema []byte

// Factory opens rerankers.
func Factory() adapters.Factory {
	return adapters.Factory{
		Name:         Name,
		Schema:       map[adapters.Role]json.RawMessage{adapters.RoleReranker: schema},
		OpenReranker: open,
		Check: func(_ adapters.Role, cfg adapters.Config) error {
			_, err := read(cfg.Settings)
			return err
		},
	}
}
