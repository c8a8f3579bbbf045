package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/itchyny/gojq"

	"github.com/culprit-rag/culprit/adapters"
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
		return nil, misread(name, expression, err)
	}
	code, err := gojq.Compile(query, gojq.WithEnvironLoader(func() []string { return nil }))
	if err != nil {
		return nil, fmt.Errorf("%smap.%s: %w", setting, name, err)
	}
	return &program{name, code}, nil
}

// misread says where an expression cannot be read, and what it lacks.
func misread(name, expression string, err error) error {
	mistake := &adapters.SettingError{Field: "map." + name, Line: 1, Column: 1, Err: fmt.Errorf("%smap.%s is no jq: %w", setting, name, err)}
	var at *gojq.ParseError
	if !errors.As(err, &at) {
		return mistake
	}
	before := expression[:max(0, min(at.Offset, len(expression))-len(at.Token))]
	if at.Error() == "unexpected EOF" { // the only kind of error that says what is missing
		before = strings.TrimRight(expression, " \t\r\n")
		says := "the expression ends too early"
		if open, line := unclosed(before); open != 0 {
			says = fmt.Sprintf("%q is missing, which closes the %q of line %d", closing[open], open, line)
		}
		mistake.Err = fmt.Errorf("%smap.%s is no jq: %s", setting, name, says)
	}
	last := strings.LastIndexByte(before, '\n') + 1
	mistake.Line, mistake.Column = 1+strings.Count(before, "\n"), 1+utf8.RuneCountInString(before[last:])
	return mistake
}

var closing = map[rune]rune{'(': ')', '[': ']', '{': '}'}

// unclosed returns the last bracket outside texts and comments that is not closed, with its line; 0 for none.
func unclosed(expression string) (open rune, line int) {
	type opened struct {
		bracket rune
		line    int
	}
	var stack []opened
	inText, inComment, escaped := false, false, false
	line = 1
	for _, r := range expression {
		switch {
		case r == '\n':
			line++
			inComment, escaped = false, false
		case escaped:
			escaped = false
		case inComment:
		case inText && r == '\\':
			escaped = true
		case r == '"':
			inText = !inText
		case inText:
		case r == '#':
			inComment = true
		case closing[r] != 0:
			stack = append(stack, opened{r, line})
		case len(stack) > 0 && closing[stack[len(stack)-1].bracket] == r:
			stack = stack[:len(stack)-1]
		}
	}
	if len(stack) == 0 {
		return 0, 0
	}
	return stack[len(stack)-1].bracket, stack[len(stack)-1].line
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
