// Package remote asks the user's own service, the whole of it, over HTTP: for an answer, for an answer from a given context, and for
// its retrieval alone.
//
// Start from [Factory]; the settings' JSON Schema lies next to this file, and docs/remote.md describes what goes over the wire. A
// service with an interface of its own is adapted by two expressions of jq. What it does not report is not told, which is not empty;
// a service that takes no context can have one put into its prompt by a tap (package tap) that stands before its model.
package remote

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/culprit-rag/culprit/adapters"
)

// Name is the adapter's name in experiments.
const Name = "remote"

//go:embed pipeline.schema.json
var pipelineSchema []byte

// Factory opens remote pipelines.
func Factory() adapters.Factory {
	return adapters.Factory{
		Name:         Name,
		Schema:       map[adapters.Role]json.RawMessage{adapters.RolePipeline: pipelineSchema},
		Check:        check,
		OpenPipeline: openPipeline,
	}
}

// check returns what is wrong with the settings, without the keys that they name.
func check(_ adapters.Role, cfg adapters.Config) error {
	set, err := readSettings(cfg.Settings)
	_, request := compile("request", set.Map.Request)
	_, response := compile("response", set.Map.Response)
	return errors.Join(err, request, response)
}

func fail(op string, kind adapters.Kind, format string, args ...any) *adapters.Error {
	return adapters.NewError(Name, op, kind, fmt.Errorf(format, args...))
}
