package report

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
)

// Options say how to draw. Meaning never rests on colour.
type Options struct {
	Color bool
	Width int  // columns; 0: 110
	Whole bool // no text of a table is cut: each takes one line, however wide, which suits a pipe
	All   bool // Run lists every case, however many pass, and its text in full
	Full  bool // Explain ends with every text in full: the packed items, the prompts and the answers
	// Results is the folder that the commands it names must be told; "" is the default one.
	Results string
}

const (
	defaultWidth  = 110
	minWidth      = 50
	runLabels     = 11
	explainLabels = 15
)

// page collects lines. Everything that is put on it is safe already.
type page struct {
	b      bytes.Buffer
	width  int
	labels int // columns of a label
	color  bool
	whole  bool   // texts of a table are not cut, and take one line
	folder string // of the results, for commands; "" is the default
}

func newPage(o Options, labels int) *page {
	if o.Width <= 0 {
		o.Width = defaultWidth
	}
	return &page{width: max(o.Width, minWidth), labels: labels, color: o.Color, whole: o.Whole, folder: o.Results}
}

var sgr = regexp.MustCompile("\x1b\\[[0-9;]*m")

// line adds one line. Two last nets stand here, for what a caller may have forgotten: a rune that acts on the terminal is
// shown, and a line that begins with what a build log takes for a command gets a bar in front.
func (p *page) line(s string) {
	plain := s
	if p.color {
		plain = sgr.ReplaceAllString(s, "")
	}
	if strings.ContainsFunc(plain, invisible) {
		s, _ = clean(plain, safeColumns)
		plain = s
	}
	if strings.HasPrefix(strings.TrimLeft(plain, " "), "::") {
		s = "│ " + s
	}
	p.b.WriteString(strings.TrimRight(s, " "))
	p.b.WriteByte('\n')
}

// visible returns the columns of painted text.
func visible(s string) int { return columns(sgr.ReplaceAllString(s, "")) }

func (p *page) linef(format string, args ...any) { p.line(fmt.Sprintf(format, args...)) }

func (p *page) blank() { p.b.WriteByte('\n') }

// labelled adds untrusted text behind a label, wrapped.
func (p *page) labelled(label, text string) {
	for _, line := range wrap(text, p.width-p.labels-4) {
		p.unwrapped(label, line)
		label = ""
	}
}

// unwrapped adds safe text behind a label on one line, such as a path that is to be copied.
func (p *page) unwrapped(label, text string) {
	p.line("  " + p.dim(pad(label, p.labels)) + text)
}

// paragraph adds untrusted text, wrapped and indented.
func (p *page) paragraph(text string) {
	for _, line := range wrap(text, p.width-4) {
		p.line("  " + line)
	}
}

// note adds untrusted text beside the matter, wrapped and indented.
func (p *page) note(text string) {
	for _, line := range wrap(text, p.width-4) {
		p.line("  " + p.dim(line))
	}
}

func (p *page) flush(w io.Writer) error {
	_, err := p.b.WriteTo(w)
	return err
}

func (p *page) paint(code, s string) string {
	if !p.color || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p *page) bold(s string) string { return p.paint("1", s) }
func (p *page) dim(s string) string  { return p.paint("2", s) }

// mark paints a mark; its shape alone says what it says.
func (p *page) mark(m string) string {
	switch m {
	case markFail:
		return p.paint("31", m)
	case markPass:
		return p.paint("32", m)
	case markUnknown, markEnvironment, markBetween:
		return p.paint("33", m)
	default:
		return m
	}
}

const (
	markFail        = "✗"
	markPass        = "✓"
	markUnknown     = "?"
	markEnvironment = "!"
	markBetween     = "~"
)

// answerMark is the mark of a yes/no/unknown.
func answerMark(a matrix.Answer) string {
	switch a {
	case matrix.Yes:
		return markPass
	case matrix.No:
		return markFail
	default:
		return markUnknown
	}
}

// counted writes "1 case" and "2 cases".
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return thousands(n) + " " + many
}

// thousands groups digits: 18,234.
func thousands(n int) string {
	s := strconv.Itoa(n)
	start := len(s) % 3
	if n < 0 {
		return s
	}
	var parts []string
	if start > 0 {
		parts = append(parts, s[:start])
	}
	for i := start; i < len(s); i += 3 {
		parts = append(parts, s[i:i+3])
	}
	return strings.Join(parts, ",")
}

// fraction writes a number between 0 and 1 without its leading zero: .67, 1.00.
func fraction(f float64) string {
	return strings.TrimPrefix(strconv.FormatFloat(f+0, 'f', 2, 64), "0")
}

// interval writes a confidence interval of decimal strings: "(.38–.96)".
func interval(bounds []string) string {
	if len(bounds) != 2 {
		return ""
	}
	low, err1 := strconv.ParseFloat(bounds[0], 64)
	high, err2 := strconv.ParseFloat(bounds[1], 64)
	if err1 != nil || err2 != nil || !(low >= 0 && high <= 1 && low <= high) {
		return ""
	}
	return "(" + fraction(low) + "–" + fraction(high) + ")"
}

// ratio writes k of n with what n is worth: "1/1 exact", "4/5 (.38–.96)", "0/0" where nothing was scored.
func ratio(k, n int, exact bool, wilson []string) string {
	s := fmt.Sprintf("%d/%d", k, n)
	switch {
	case n == 0:
	case exact:
		s += " exact"
	default:
		if bounds := interval(wilson); bounds != "" {
			s += " " + bounds
		}
	}
	return s
}
