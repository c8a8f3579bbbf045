package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/crash"
	"github.com/culprit-rag/culprit/experiments"
	"github.com/culprit-rag/culprit/results"
	"github.com/culprit-rag/culprit/results/report"
)

// line writes one line of untrusted text. A build log takes a line that begins with "::" for a command; it gets a bar.
func line(w io.Writer, text string) {
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
	text = report.Safe(text[len(indent):])
	if strings.HasPrefix(text, "::") {
		text = "│ " + text
	}
	fmt.Fprintf(w, "%s%s\n", indent, text)
}

func linef(w io.Writer, format string, args ...any) { line(w, fmt.Sprintf(format, args...)) }

// Records of standard error with --json; each is one line.
type (
	errorRecord struct {
		Message  string          `json:"message"`
		Exit     int             `json:"exit"`
		Problems []problemRecord `json:"problems,omitempty"`
		Stack    []string        `json:"stack,omitempty"` // of a panic
	}
	problemRecord struct {
		File    string `json:"file,omitempty"`
		Line    int    `json:"line,omitempty"`
		Column  int    `json:"column,omitempty"`
		Message string `json:"message"`
		Warning bool   `json:"warning,omitempty"`
		Case    string `json:"case,omitempty"`
	}
)

func problemRecords(problems experiments.Problems) []problemRecord {
	records := make([]problemRecord, len(problems))
	for i, p := range problems {
		records[i] = problemRecord(p)
	}
	return records
}

// complain tells of the error that ended the program.
func (a *app) complain(err error, code int) {
	var finished *finishedError
	var broken *brokenError
	var crashed *crash.Error
	switch isBroken := errors.As(err, &broken); {
	case errors.As(err, &finished):
	case a.json:
		record := errorRecord{Message: err.Error(), Exit: code}
		if isBroken {
			record.Problems = problemRecords(broken.problems)
		}
		if errors.As(err, &crashed) {
			record.Stack = crashed.Stack
		}
		a.tell(struct {
			Error errorRecord `json:"error"`
		}{record})
	case isBroken:
		showProblems(a.err, broken.problems)
		line(a.err, broken.Error())
	default:
		for text := range strings.Lines(err.Error()) {
			line(a.err, "culprit: "+strings.TrimSuffix(text, "\n"))
		}
		if errors.Is(err, fs.ErrPermission) && !errors.As(err, new(*adapters.Error)) {
			line(a.err, "culprit: it is another user's, or not to be written to: ls -ld shows whose it is; name one of your own")
		}
		if errors.As(err, &crashed) {
			line(a.err, "where it happened, which holds nothing of what was worked on:")
			for _, function := range crashed.Stack {
				line(a.err, "  "+function)
			}
		}
	}
}

// warn tells of something that does not stop the work.
func (a *app) warn(problems ...experiments.Problem) {
	if !a.json {
		showProblems(a.err, problems)
		return
	}
	for _, record := range problemRecords(problems) {
		record.Warning = false // it is the only thing that the object can be
		a.tell(struct {
			Warning problemRecord `json:"warning"`
		}{record})
	}
}

func (a *app) warnf(format string, args ...any) {
	a.warn(experiments.Problem{Message: fmt.Sprintf(format, args...), Warning: true})
}

// showProblems writes one problem a line, as file:line:column: message.
func showProblems(w io.Writer, problems experiments.Problems) {
	for _, p := range problems {
		if p.Warning {
			p.Message = "warning: " + p.Message
		}
		line(w, p.String())
	}
}

// countProblems counts them as "3 problems and 1 warning in 2 of 12 files".
func countProblems(problems experiments.Problems, files int) string {
	var errs, warnings int
	var in []string
	for _, p := range problems {
		if p.Warning {
			warnings++
		} else {
			errs++
		}
		if p.Line > 0 { // it has a place in a file
			in = append(in, p.File)
		}
	}
	var parts []string
	if errs > 0 || warnings == 0 {
		parts = append(parts, counted(errs, "problem", "problems"))
	}
	if warnings > 0 {
		parts = append(parts, counted(warnings, "warning", "warnings"))
	}
	count := strings.Join(parts, " and ")
	slices.Sort(in)
	if in = slices.Compact(in); len(in) > 0 && files > 0 {
		count += fmt.Sprintf(" in %d of %s", len(in), counted(max(files, len(in)), "file", "files"))
	}
	return count
}

// merged sorts the problems of several experiments; what two of them share is told once.
func merged(problems experiments.Problems) experiments.Problems {
	slices.SortFunc(problems, func(a, b experiments.Problem) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), strings.Compare(a.Message, b.Message))
	})
	return slices.Compact(problems)
}

// tell writes one object on a line of standard error. Nobody is left to hear that it failed.
func (a *app) tell(record any) {
	var b bytes.Buffer
	if err := encode(&b, record, ""); err == nil {
		_, _ = b.WriteTo(a.err)
	}
}

// writeJSON prints one object. A summary may have thousands of cases and is written case by case.
func (a *app) writeJSON(v any) error {
	if s, ok := v.(*results.Summary); ok {
		return s.Encode(escaping{a.out}, "  ")
	}
	return encode(a.out, v, "  ")
}

// escaping escapes each piece of JSON that is written through it.
type escaping struct{ w io.Writer }

func (e escaping) Write(p []byte) (int, error) {
	if _, err := e.w.Write(escapeJSON(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

func encode(w io.Writer, v any, indent string) error {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("encoding the answer: %w", err)
	}
	_, err := w.Write(escapeJSON(b.Bytes()))
	return err
}

// escapeJSON writes as \uXXXX what JSON allows in a string and a terminal or a build log would obey: C1 controls, bidi and
// other invisible characters, and the second of two number signs. Who parses it reads the same text.
func escapeJSON(data []byte) []byte {
	out := make([]byte, 0, len(data))
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		switch {
		case r == '#' && i > 0 && data[i-1] == '#', r != '\n' && !unicode.IsGraphic(r):
			for _, unit := range utf16.Encode([]rune{r}) {
				out = fmt.Appendf(out, `\u%04x`, unit)
			}
		default:
			out = append(out, data[i:i+size]...)
		}
		i += size
	}
	return out
}

// asksForJSON looks at the raw arguments: an error of reading them must have the right form, too.
func asksForJSON(args []string) bool {
	for _, arg := range args {
		if arg == "--" {
			break
		}
		if value, ok := strings.CutPrefix(arg, "--json="); ok {
			yes, err := strconv.ParseBool(value)
			return err == nil && yes
		}
		if arg == "--json" {
			return true
		}
	}
	return false
}

// counted writes "1 search" and "2 searches".
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
