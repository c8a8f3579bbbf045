package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"runtime/metrics"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/itchyny/gojq"

	"github.com/culprit-rag/culprit/adapters"
)

// program is one expression of jq; nil hands on what it gets.
type program struct {
	name string // of the setting
	code *gojq.Code
	time time.Duration // the most of one run
	heap uint64        // the most bytes that the process may grow by in one, apart from what its input takes
	size int           // the most bytes of what one gives
}

// Bounds of a mapping, which takes milliseconds and little more than what it maps.
const (
	mappingTime = 10 * time.Second
	mappingHeap = 256 << 20
	deepest     = 10_000 // as encoding/json reads
)

var (
	errMappingTime = errors.New("it does not end")
	errMappingHeap = errors.New("it takes too much memory")
	errMappingSize = errors.New("what it gives is too long, or nested too deep")
)

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
	return &program{name, code, mappingTime, mappingHeap, answerLimit}, nil
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

// run maps one JSON document to one other. It has a time of its own: what was bought is mapped even where the call's deadline passes
// meanwhile. Only who gives up ends it.
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
	bounded, done := p.bound(ctx, len(data))
	defer done()
	if err := context.Cause(bounded); err != nil {
		return nil, err
	}
	iter := p.code.RunWithContext(bounded, in)
	first, ok := iter.Next()
	if !ok {
		return nil, fmt.Errorf("%smap.%s gives nothing", setting, p.name)
	}
	if err, failed := first.(error); failed {
		if bounded.Err() != nil {
			err = context.Cause(bounded)
		}
		if errors.Is(err, errMappingHeap) {
			err = fmt.Errorf("%w: more than %d MB", err, p.heap>>20)
		}
		return nil, fmt.Errorf("%smap.%s: %w", setting, p.name, err)
	}
	if _, more := iter.Next(); more {
		return nil, fmt.Errorf("%smap.%s gives more than one value: write one object", setting, p.name)
	}
	if fits(first, p.size, deepest) < 0 {
		return nil, fmt.Errorf("%smap.%s: %w: more than %d MB, or %d levels", setting, p.name, errMappingSize, p.size>>20, deepest)
	}
	return gojq.Marshal(first)
}

// turn is held by the run that is bounded: what the heap grows by in several at once could not be told apart.
var turn = make(chan struct{}, 1)

// bounds is a context that ends with the time or the memory of a run, since jq knows no bounds. It looks at the memory in Done, which the
// run asks between its steps, so that no step follows one that took too much.
type bounds struct {
	context.Context
	end    context.CancelCauseFunc
	heap   uint64 // the most that may be in use
	looked time.Time
}

// bound returns a context for one run; done ends it.
func (p *program) bound(ctx context.Context, input int) (_ context.Context, done func()) {
	const decoded = 32 // times the length of a JSON document
	b := &bounds{}
	b.Context, b.end = context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if errors.Is(ctx.Err(), context.Canceled) {
			b.end(context.Cause(ctx))
		}
	})
	select {
	case turn <- struct{}{}:
	case <-b.Context.Done():
		return b, func() { stop() }
	}
	b.heap = inUse() + p.heap + decoded*uint64(input)
	over := time.AfterFunc(p.time, func() { b.end(fmt.Errorf("%w in %s", errMappingTime, p.time)) })
	return b, func() {
		stop()
		over.Stop()
		if b.end(nil); errors.Is(context.Cause(b.Context), errMappingHeap) {
			runtime.GC() // else what it leaves would count as having been there before the next run
		}
		<-turn
	}
}

func (b *bounds) Done() <-chan struct{} {
	const every = time.Millisecond
	if time.Since(b.looked) >= every {
		if inUse() > b.heap {
			runtime.GC() // garbage is not held against the run
		}
		if inUse() > b.heap {
			b.end(errMappingHeap)
		}
		b.looked = time.Now()
	}
	return b.Context.Done()
}

// inUse returns the bytes of the heap that are in use, with what the collector has not freed yet.
func inUse() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// fits returns what is left of a number of bytes behind a value as JSON, at least; less than 0 where it does not fit, or is nested deeper
// than any JSON that is read. A value may hold another many times, and be short in memory.
func fits(value any, left, deep int) int {
	if deep < 0 {
		return -1
	}
	switch v := value.(type) {
	case string:
		left -= len(v)
	case []any:
		for _, item := range v {
			if left = fits(item, left-1, deep-1); left < 0 {
				break
			}
		}
	case map[string]any:
		for key, item := range v {
			if left = fits(item, left-len(key), deep-1); left < 0 {
				break
			}
		}
	}
	return left - 1
}
