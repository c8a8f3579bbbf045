package experiments

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Label is what persons say of one judgement, which is named by the key of its call, or by the case, cell, repetition and claim that it
// is about. Human and Second are "pass" (the answer states the claim), "fail", or "" for not said yet.
type Label struct {
	Call          string `json:"call,omitempty"`
	Execution     string `json:"execution,omitempty"`
	Case          string `json:"case,omitempty"`
	Cell          string `json:"cell,omitempty"`
	Rep           int    `json:"rep,omitempty"`
	Claim         string `json:"claim,omitempty"`
	Question      string `json:"question,omitempty"` // for who labels; not read
	States        string `json:"states,omitempty"`   // the claim; not read
	Answer        string `json:"answer,omitempty"`   // not read
	Human         string `json:"human"`
	Second        string `json:"second,omitempty"` // of another person
	file          string
	line, columns int
}

// The verdicts of a label.
const (
	LabelPass = "pass"
	LabelFail = "fail"
)

// Problem is a mistake in the label, where it stands.
func (l *Label) Problem(format string, args ...any) Problem {
	return Problem{File: l.file, Line: l.line, Column: l.columns, Message: fmt.Sprintf(format, args...)}
}

var labelKeys = []string{"call", "execution", "case", "cell", "rep", "claim", "question", "states", "answer", "human", "second"}

// Labels reads a file of labels: JSON Lines, or CSV with a header of the same names where its name ends in .csv. Every mistake is found
// in one pass; the error is then [Problems].
func Labels(name string) ([]Label, error) {
	opened, err := os.Open(name)
	if err != nil {
		return nil, Problems{{File: name, Message: "labels file " + explainPath(err).Error()}}
	}
	defer opened.Close() // nothing was written, so nothing can be lost
	r := labelReader{name: name}
	if strings.EqualFold(filepath.Ext(name), ".csv") {
		err = r.csv(opened)
	} else {
		err = r.jsonl(opened)
	}
	switch problems, _ := r.problems.split(); {
	case err != nil:
		return nil, fmt.Errorf("reading %q: %w", name, err)
	case len(problems) > 0:
		return nil, problems.sorted()
	}
	return r.labels, nil
}

type labelReader struct {
	collector
	name   string
	labels []Label
}

func (r *labelReader) wrong(line, column int, format string, args ...any) {
	r.add(Problem{File: r.name, Line: line, Column: column, Message: fmt.Sprintf(format, args...)})
}

func (r *labelReader) jsonl(in io.Reader) error {
	lines := &lineReader{reader: bufio.NewReader(in)}
	for {
		line, err := lines.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errLongLine):
			r.wrong(lines.number, 1, "this line is longer than %d MiB", maxLine>>20)
			continue
		case err != nil:
			return err
		}
		if lines.number == 1 {
			line = bytes.TrimPrefix(line, utf8BOM)
		}
		if len(bytes.TrimSpace(line)) > 0 {
			r.object(lines.number, line)
		}
	}
}

// object reads one JSON object, and every mistake in it.
func (r *labelReader) object(line int, text []byte) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	column := func() int { return 1 + utf8.RuneCount(text[:min(decoder.InputOffset(), int64(len(text)))]) }
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		r.wrong(line, 1, "a label is a JSON object, one a line, such as {\"call\": …, \"human\": \"pass\"}")
		return
	}
	label, sound, seen := Label{file: r.name, line: line, columns: 1}, true, map[string]bool{}
	for decoder.More() {
		token, err := decoder.Token()
		key, _ := token.(string)
		at := column() - utf8.RuneCountInString(key) - 2
		var value any
		if err == nil {
			err = decoder.Decode(&value)
		}
		if err != nil {
			r.wrong(line, column(), "this is not JSON: %s", err)
			return
		}
		written, isText := value.(string)
		if number, ok := value.(json.Number); ok && key == "rep" {
			written, isText = number.String(), true
		}
		switch {
		case seen[key]:
			r.wrong(line, at, "key %s is given twice: keep one of the two", show(key))
			sound = false
		case value == nil:
		case !isText:
			r.wrong(line, at, "%s must be text", show(key))
			sound = false
		default:
			sound = r.put(&label, line, at, key, written) && sound
		}
		seen[key] = true
	}
	if _, err := decoder.Token(); err != nil {
		r.wrong(line, column(), "this object is not closed: one line holds one whole object")
		return
	}
	if decoder.More() {
		r.wrong(line, column(), "something follows the object: one line holds one label")
		return
	}
	r.end(label, sound)
}

func (r *labelReader) csv(in io.Reader) error {
	reader := csv.NewReader(in)
	reader.FieldsPerRecord = -1
	var header []string
	for {
		record, err := reader.Read()
		var wrong *csv.ParseError
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &wrong):
			r.wrong(wrong.Line, wrong.Column, "this is not CSV: %s", wrong.Err)
			continue
		case err != nil:
			return err
		}
		line, column := reader.FieldPos(0)
		if header == nil {
			record[0] = strings.TrimPrefix(record[0], string(utf8BOM))
			header = record
			for i, key := range header {
				if line, column := reader.FieldPos(i); !slices.Contains(labelKeys, key) {
					r.wrong(line, column, "%s", unknownKey(key))
				}
			}
			continue
		}
		label, sound := Label{file: r.name, line: line, columns: column}, true
		if len(record) != len(header) {
			r.wrong(line, column, "this record has %d fields, and the header has %d", len(record), len(header))
			continue
		}
		for i, value := range record {
			if line, column := reader.FieldPos(i); value != "" && slices.Contains(labelKeys, header[i]) {
				sound = r.put(&label, line, column, header[i], value) && sound
			}
		}
		r.end(label, sound)
	}
}

func unknownKey(key string) string {
	message := "unknown key " + show(key)
	if guess := near(key, labelKeys); guess != "" {
		return message + ": did you mean " + show(guess) + "?"
	}
	return message + ": a label has " + strings.Join(labelKeys, ", ")
}

// put sets one key. It is false where its value is wrong, as was reported.
func (r *labelReader) put(l *Label, line, column int, key, value string) bool {
	switch key {
	case "call":
		l.Call = value
	case "execution":
		l.Execution = value
	case "case":
		l.Case = value
	case "cell":
		l.Cell = value
	case "claim":
		l.Claim = value
	case "rep":
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 {
			r.wrong(line, column, "rep is %s: it is a repetition, from 1", show(value))
			return false
		}
		l.Rep = n
	case "human", "second":
		verdict := strings.ToLower(strings.TrimSpace(value))
		if verdict != LabelPass && verdict != LabelFail && verdict != "" {
			r.wrong(line, column, "%s is %s: write pass where the answer states the claim, and else fail", key, show(value))
			return false
		}
		if key == "human" {
			l.Human = verdict
		} else {
			l.Second = verdict
		}
	case "question", "states", "answer":
	default:
		r.wrong(line, column, "%s", unknownKey(key))
		return false
	}
	return true
}

// end keeps a label that names a judgement.
func (r *labelReader) end(l Label, sound bool) {
	switch {
	case !sound:
	case l.Call == "" && (l.Case == "" || l.Cell == "" || l.Rep == 0 || l.Claim == ""):
		r.wrong(l.line, l.columns, "this label names no judgement: give call, or case, cell, rep and claim")
	case l.Human == "" && l.Second != "":
		r.wrong(l.line, l.columns, "second is given and human is not: the first person's verdict is human")
	default:
		r.labels = append(r.labels, l)
	}
}
