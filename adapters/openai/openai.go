// Package openai asks any server that speaks OpenAI's API: for answers (chat completions) and for vectors (embeddings).
//
// Start from [Factory]; the settings' JSON Schemas lie next to this file. Everything that pins a generation goes over the wire as it
// is asked for, a temperature of 0 and a seed of 0 among it, or is said not to have been sent in the response's Notes. The
// client makes each call once; the one exception is a server that refuses a parameter by name, which is then left out, said so, and
// remembered. An error names the setting that it is about, and never a key.
package openai

import (
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/culprit-rag/culprit/adapters"
)

// Name is the adapter's name in experiments.
const Name = "openai"

var (
	//go:embed generator.schema.json
	generatorSchema []byte
	//go:embed embedder.schema.json
	embedderSchema []byte
)

// Factory opens generators and embedders.
func Factory() adapters.Factory {
	return adapters.Factory{
		Name:          Name,
		Schema:        map[adapters.Role]json.RawMessage{adapters.RoleGenerator: generatorSchema, adapters.RoleEmbedder: embedderSchema},
		OpenGenerator: openGenerator,
		OpenEmbedder:  openEmbedder,
		Check: func(role adapters.Role, cfg adapters.Config) error {
			if role == adapters.RoleEmbedder {
				_, err := readEmbedder(cfg.Settings)
				return err
			}
			_, err := readGenerator(cfg.Settings, cfg.As)
			return err
		},
	}
}

func fail(op string, kind adapters.Kind, err error) *adapters.Error {
	return adapters.NewError(Name, op, kind, err)
}

func invalid(op, format string, args ...any) *adapters.Error {
	return fail(op, adapters.KindInvalid, fmt.Errorf(format, args...))
}
