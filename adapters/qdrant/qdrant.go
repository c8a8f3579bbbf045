// Package qdrant reads a collection of a Qdrant server over gRPC. It never writes: the connection lets through only the
// methods that read.
//
// Start from [Factory]; the settings' JSON Schema lies next to this file. The sparse vectors of a keyword search are
// made in package bm25, which whoever fills a collection uses, too. The adapter speaks with servers from 1.10 on.
package qdrant

import (
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/culprit-rag/culprit/adapters"
)

// Name is the adapter's name in experiments.
const Name = "qdrant"

//go:embed store.schema.json
var storeSchema []byte

// Factory opens Qdrant stores.
func Factory() adapters.Factory {
	return adapters.Factory{
		Name:      Name,
		Schema:    map[adapters.Role]json.RawMessage{adapters.RoleStore: storeSchema},
		OpenStore: openStore,
		Check: func(_ adapters.Role, cfg adapters.Config) error {
			_, err := readSettings(cfg.Settings)
			return err
		},
	}
}

func fail(op string, kind adapters.Kind, err error) error {
	return adapters.NewError(Name, op, kind, err)
}

func invalid(op, format string, args ...any) error {
	return fail(op, adapters.KindInvalid, fmt.Errorf(format, args...))
}
