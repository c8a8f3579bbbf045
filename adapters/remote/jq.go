package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/itchyny/gojq"
)

// program is one expression of jq; nil hands on what it gets.
type program struct {
	name string // of the setting
	code *gojq.Code
}

// compile reads an expression. It sees its input alone: no environment, no files, no modules.
func compile(name, expression string) (*program, error) {
	if expression == "" {
		return nil, nil
	}
	query, err := gojq.Parse(expression)
	if err != nil {
		var at *gojq.ParseError
		if errors.As(err, &at) {
			return nil, fmt.Errorf("%smap.%s: at character %d, before %q: %w", setting, name, at.Offset, at.Token, err)
		}
		return nil, fmt.Errorf("%smap.%s: %w", setting, name, err)
	}
	code, err := gojq.Compile(query, gojq.WithEnvironLoader(func() []string { return nil }))
	if err != nil {
		return nil, fmt.Errorf("%smap.%s: %w", setting, name, err)
	}
	return &program{name, code}, nil
}

// run maps one JSON document to one other. The context bounds it.
func (p *program) run(ctx context.Context, data []byte) ([]byte, error) {
	if p == nil {
		return data, nil
	}
	var in any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber() // a long id or seed stays the number that it is
	if err := dec.Decode(&in); err != nil {
		return nil, err
	}
	iter := p.code.RunWithContext(ctx, in)
	first, ok := iter.Next()
	if !ok {
		return nil, fmt.Errorf("%smap.%s gives nothing", setting, p.name)
	}
	if err, failed := first.(error); failed {
		return nil, fmt.Errorf("%smap.%s: %w", setting, p.name, err)
	}
	if _, more := iter.Next(); more {
		return nil, fmt.Errorf("%smap.%s gives more than one value: write one object", setting, p.name)
	}
	return gojq.Marshal(first)
}
