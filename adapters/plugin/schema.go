package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// longestSchema bounds what a plugin may send as the schema of its settings.
const longestSchema = 1 << 20

// noLoader keeps a schema from reading files or the network.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("the schema refers to %q, and must hold all that it needs", url)
}

// fits holds the settings against the plugin's schema; at is what they are called. Its error names every setting that is wrong.
func fits(schema []byte, set json.RawMessage, at string) (wrong, broken error) {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(set))
	if err != nil {
		return fmt.Errorf("%s: %w", at, err), nil
	}
	if len(schema) == 0 {
		if object, ok := value.(map[string]any); ok && len(object) > 0 {
			return errors.New(at + ": the plugin takes none"), nil
		}
		return nil, nil
	}
	if len(schema) > longestSchema {
		return nil, fmt.Errorf("the schema of the plugin's settings has %d bytes, more than %d", len(schema), longestSchema)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, fmt.Errorf("the schema of the plugin's settings is no JSON: %w", err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoader{})
	if err := compiler.AddResource("settings.json", document); err != nil {
		return nil, fmt.Errorf("the schema of the plugin's settings: %w", err)
	}
	compiled, err := compiler.Compile("settings.json")
	if err != nil {
		return nil, fmt.Errorf("the schema of the plugin's settings: %w", err)
	}
	var invalid *jsonschema.ValidationError
	if err := compiled.Validate(value); errors.As(err, &invalid) {
		return errors.New(strings.Join(problems(invalid, at), "; ")), nil
	} else if err != nil {
		return err, nil
	}
	return nil, nil
}

// problems lists the leaves of a validation error, each with the setting that it is about.
func problems(e *jsonschema.ValidationError, at string) []string {
	if len(e.Causes) > 0 {
		var list []string
		for _, cause := range e.Causes {
			list = append(list, problems(cause, at)...)
		}
		slices.Sort(list)
		return slices.Compact(list)
	}
	path := at
	for _, name := range e.InstanceLocation {
		path += "." + name
	}
	if unknown, ok := e.ErrorKind.(*kind.AdditionalProperties); ok {
		slices.Sort(unknown.Properties) // they come in any order
	}
	return []string{printable(path + ": " + e.ErrorKind.LocalizedString(message.NewPrinter(language.English)))}
}
