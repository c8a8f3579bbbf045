package experiments

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"
	"unicode/utf8"
)

// jsonl reads one document a line.
func (r *documentReader) jsonl(ctx context.Context, index int) error {
	in := r.set.inputs[index]
	f := &file{name: r.set.folder.shown(in.name)}
	opened, err := r.set.folder.open(in.name)
	if err != nil {
		return r.report(in.at.problem("documents file " + show(in.name) + " " + err.Error()))
	}
	defer opened.Close() // nothing was written, so nothing can be lost
	lines := &lineReader{reader: bufio.NewReaderSize(opened, 64<<10)}
	documents := 0
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		line, err := lines.next()
		at := position{file: f, line: lines.number, column: 1}
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.Is(err, errLongLine) {
			if err := r.report(at.problem(fmt.Sprintf("this line is longer than %d MiB: split the document", maxLine>>20))); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("reading %q: %w", f.name, err)
		}
		if lines.number == 1 {
			if isUTF16(line) {
				return r.report(at.problem("this file is UTF-16: save it as UTF-8"))
			}
			line = bytes.TrimPrefix(line, utf8BOM)
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		documents++
		doc, mistake := parseDocument(line)
		doc.File, doc.Line = f.name, lines.number
		if mistake != nil {
			at.column = mistake.column
			err = r.report(at.problem(mistake.message))
		} else {
			err = r.emit(index, at, doc)
		}
		if err != nil {
			return err
		}
	}
	if documents == 0 {
		return r.report(position{file: f, line: 1, column: 1}.problem("this file holds no document: write one JSON object a line, with id and text"))
	}
	return nil
}

var errLongLine = errors.New("line too long")

// lineReader reads lines of up to maxLine bytes into one buffer. A longer line is skipped and reported, never cut.
type lineReader struct {
	reader *bufio.Reader
	buffer []byte
	number int
}

func (l *lineReader) next() ([]byte, error) {
	l.buffer = l.buffer[:0]
	l.number++
	long := false
	for {
		part, err := l.reader.ReadSlice('\n')
		if long = long || len(l.buffer)+len(part) > maxLine; !long {
			l.buffer = append(l.buffer, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && (!errors.Is(err, io.EOF) || len(l.buffer) == 0 && !long):
			return nil, err
		case long:
			l.buffer = l.buffer[:0]
			return nil, errLongLine
		}
		return bytes.TrimRight(l.buffer, "\r\n"), nil
	}
}

// mistake is what is wrong with a line of JSONL.
type mistake struct {
	column  int
	message string
}

func mistakef(column int, format string, args ...any) *mistake {
	return &mistake{column: column, message: fmt.Sprintf(format, args...)}
}

// parseDocument reads one JSON object. Numbers keep the digits they were written with, since ids and revisions may be
// longer than any number type.
func parseDocument(line []byte) (Document, *mistake) {
	if !utf8.Valid(line) {
		column := 1
		for rest := line; len(rest) > 0; column++ {
			r, size := utf8.DecodeRune(rest)
			if r == utf8.RuneError && size == 1 {
				break
			}
			rest = rest[size:]
		}
		return Document{}, mistakef(column, "this line is not valid UTF-8: save the file as UTF-8")
	}
	column := func(offset int64) int {
		return 1 + utf8.RuneCount(line[:min(max(offset, 0), int64(len(line)))])
	}
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.UseNumber()
	syntax := func(err error) *mistake {
		at := column(decoder.InputOffset())
		var wrong *json.SyntaxError
		if errors.As(err, &wrong) {
			return mistakef(at, "this is not JSON: %s", wrong.Error())
		}
		return mistakef(column(int64(len(line))), "this JSON object ends too early: one line holds one whole object")
	}
	if token, err := decoder.Token(); err != nil {
		return Document{}, syntax(err)
	} else if token != json.Delim('{') {
		return Document{}, mistakef(1, "a document is a JSON object with id and text, one a line")
	}
	doc := Document{}
	seen := map[string]bool{}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return Document{}, syntax(err)
		}
		at := column(decoder.InputOffset())
		key, _ := token.(string) // between braces the decoder yields no other token here
		if seen[key] {
			return Document{}, mistakef(at-utf8.RuneCountInString(key)-2, "key %s is given twice: keep one of the two", show(key))
		}
		seen[key] = true
		var value any
		if err := decoder.Decode(&value); err != nil {
			return Document{}, syntax(err)
		}
		if text, ok := value.(string); ok && strings.ContainsRune(text, utf8.RuneError) && halfPair(line) {
			return Document{}, mistakef(at, `%s holds half a surrogate pair, such as \ud800: write the whole character`, key)
		}
		if message := doc.put(key, value); message != "" {
			return Document{}, mistakef(at, "%s", message)
		}
	}
	if _, err := decoder.Token(); err != nil {
		return Document{}, syntax(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Document{}, mistakef(column(decoder.InputOffset()), "something follows the object: one line holds one document")
	}
	switch {
	case doc.ID == "":
		return Document{}, mistakef(1, "the document has no id: give it one that is unique")
	case !seen["text"]:
		return Document{}, mistakef(1, "document %s has no text", show(doc.ID))
	}
	if doc.Source == "" {
		doc.Source = doc.ID
	}
	return doc, nil
}

// halfPair reports whether a replacement character of a decoded text cannot come from the line itself.
func halfPair(line []byte) bool {
	return !bytes.ContainsRune(line, utf8.RuneError) && !bytes.Contains(bytes.ToLower(line), []byte(`\ufffd`))
}

// put sets one key; the message says what is wrong with the value.
func (d *Document) put(key string, value any) string {
	texts, plain := plainTexts(value)
	one := func(into *string) string {
		if _, many := value.([]any); many || !plain {
			return fmt.Sprintf("%s must be text", key)
		}
		if len(texts) > 0 {
			*into = texts[0]
		}
		return ""
	}
	when := func(into *time.Time) string {
		var text string
		if message := one(&text); message != "" || text == "" {
			return message
		}
		t, ok := parseTime(text)
		if !ok {
			return fmt.Sprintf("%s is %s: write a date such as 2026-07-01, or RFC 3339", key, show(text))
		}
		*into = t
		return ""
	}
	switch key {
	case "id":
		return one(&d.ID)
	case "text":
		if _, ok := value.(string); !ok {
			return "text must be a string"
		}
		return one(&d.Text)
	case "source":
		return one(&d.Source)
	case "revision":
		return one(&d.Revision)
	case "collection":
		return one(&d.Collection)
	case "embed_model":
		return one(&d.EmbedModel)
	case "indexed_at":
		return when(&d.IndexedAt)
	case "updated_at":
		return when(&d.UpdatedAt)
	case "vector":
		var message string
		d.Vector, message = vector(value)
		return message
	case "metadata":
		inner, ok := value.(map[string]any)
		if !ok && value != nil {
			return "metadata must be an object of names and values"
		}
		for name, v := range inner {
			if message := d.meta(name, v); message != "" {
				return message
			}
		}
		return ""
	case "access":
		if !plain {
			return "access must be text or a list of texts"
		}
		d.Access = texts
		return ""
	}
	return d.meta(key, value)
}

func (d *Document) meta(name string, value any) string {
	texts, plain := plainTexts(value)
	if !plain {
		return fmt.Sprintf("key %s holds an object: metadata takes text, numbers, true or false, and lists of them", show(name))
	}
	if value == nil {
		return ""
	}
	if d.Metadata == nil {
		d.Metadata = map[string][]string{}
	}
	d.Metadata[name] = texts
	return ""
}

// plainTexts returns a scalar, or a list of scalars, as they were written.
func plainTexts(value any) ([]string, bool) {
	switch value := value.(type) {
	case nil:
		return nil, true
	case string:
		return []string{value}, true
	case json.Number:
		return []string{value.String()}, true
	case bool:
		return []string{fmt.Sprint(value)}, true
	case []any:
		out := make([]string, 0, len(value))
		for _, item := range value {
			if _, nested := item.([]any); nested {
				return nil, false
			}
			texts, plain := plainTexts(item)
			if !plain {
				return nil, false
			}
			out = append(out, texts...)
		}
		return out, true
	}
	return nil, false
}

// Vectors of other lengths overflow or vanish where a store squares them as float32. One of zeros alone has no direction, and is a
// defect that a store may well hold.
const minLength, maxLength = 1e-15, 1e15

func vector(value any) ([]float32, string) {
	if value == nil {
		return nil, ""
	}
	items, ok := value.([]any)
	if !ok || len(items) == 0 {
		return nil, "vector must be a list of numbers"
	}
	out := make([]float32, len(items))
	square := 0.0
	for i, item := range items {
		number, ok := item.(json.Number)
		if !ok {
			return nil, fmt.Sprintf("vector[%d] is not a number", i)
		}
		f, err := number.Float64()
		if err != nil || math.Abs(f) > math.MaxFloat32 {
			return nil, fmt.Sprintf("vector[%d] is %s, which is out of range", i, show(number.String()))
		}
		out[i] = float32(f) + 0 // no negative zero
		square += float64(out[i]) * float64(out[i])
	}
	if n := math.Sqrt(square); n != 0 && (n < minLength || n > maxLength) {
		return nil, fmt.Sprintf("vector has the length %.3g, and no store can tell how near it is to another: write one of length 1", n)
	}
	return out, ""
}

// parseTime reads RFC 3339, with or without its zone, or a date.
func parseTime(s string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", time.DateTime, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}
