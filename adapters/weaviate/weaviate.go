// Package weaviate is the adapter that reads a Weaviate server; it is tested with 1.35.2. It never writes: what is no read is refused in
// the HTTP transport, before it leaves the process.
//
// Start from [Factory]; the JSON Schema of the settings, next to this file, describes them all. Everything goes over HTTP: the
// packages graphql, schema and connection of the official client for what fits them, and requests of our own on the same
// connection for what they lose, which is raw schemas, headers, and vectors of several kinds.
//
// A class with tenants is shown as if each item said its tenant in its metadata. A tenant that is not active is never read, for
// a read may wake it up.
package weaviate

import (
	"encoding/json"
	"fmt"

	"github.com/culprit-rag/culprit/adapters"
)

// Name is the adapter's name in experiments.
const Name = "weaviate"

// tested is the server's release that the tests run on.
const tested = "1.35.2"

// Factory opens a collection of a Weaviate server as a store.
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

// problem is an error whose kind is known where it arises, and whose operation is not.
type problem struct {
	kind adapters.Kind
	err  error
}

func (p *problem) Error() string { return p.err.Error() }
func (p *problem) Unwrap() error { return p.err }

func problemf(kind adapters.Kind, format string, args ...any) error {
	return &problem{kind, fmt.Errorf(format, args...)}
}

func invalid(format string, args ...any) error {
	return problemf(adapters.KindInvalid, format, args...)
}
