package experiments

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Problem is one mistake in an input, where it stands, and what to do about it.
type Problem struct {
	File         string // as the user would name it
	Line, Column int    // from 1, columns in characters; 0: the problem has no place in a file
	Message      string
	Warning      bool   // worth a look, but the experiment can be run
	Case         string // the id of the case that it is about, as it was written; "": it is about no case
}

// String returns "file:line:column: message". Characters of a file's name that cannot be seen are escaped.
func (p Problem) String() string {
	name := p.File
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		name = strconv.Quote(name)
	}
	switch {
	case name == "":
		return p.Message
	case p.Line == 0:
		return name + ": " + p.Message
	}
	return fmt.Sprintf("%s:%d:%d: %s", name, p.Line, p.Column, p.Message)
}

// Error makes a problem an error of its own.
func (p Problem) Error() string { return p.String() }

// Problems are all the mistakes that one pass found, sorted by file, line and column.
type Problems []Problem

// Error returns one problem a line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// sorted returns the problems in order, each once.
func (ps Problems) sorted() Problems {
	out := slices.Clone(ps)
	slices.SortStableFunc(out, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(out)
}

// split parts what stops a run from what does not.
func (ps Problems) split() (errors, warnings Problems) {
	for _, p := range ps {
		if p.Warning {
			warnings = append(warnings, p)
		} else {
			errors = append(errors, p)
		}
	}
	return errors, warnings
}

// maxProblems is how many mistakes of one file are reported, and how many warnings; a file that is nothing but mistakes is
// not worth a flood.
const maxProblems = 50

// collector gathers problems.
type collector struct {
	problems Problems
	perFile  map[string]int // mistakes
	warned   map[string]int // warnings: they hide no mistake, and however many they are, they stay warnings
	about    string         // the case that is looked at, if any
}

func (c *collector) add(p Problem) {
	if p.Case == "" {
		p.Case = c.about
	}
	if c.perFile == nil {
		c.perFile, c.warned = map[string]int{}, map[string]int{}
	}
	counts, kind := c.perFile, "problems"
	if p.Warning {
		counts, kind = c.warned, "warnings"
	}
	counts[p.File]++
	switch n := counts[p.File]; {
	case n <= maxProblems:
		c.problems = append(c.problems, p)
	case n == maxProblems+1:
		c.problems = append(c.problems, Problem{
			File: p.File, Line: p.Line, Column: p.Column, Warning: p.Warning,
			Message: fmt.Sprintf("more than %d %s in this file: the rest is not shown", maxProblems, kind),
		})
	}
}

// fail records an error at a place.
func (c *collector) fail(at position, format string, args ...any) {
	c.add(at.problem(fmt.Sprintf(format, args...)))
}

// warn records a warning at a place.
func (c *collector) warn(at position, format string, args ...any) {
	p := at.problem(fmt.Sprintf(format, args...))
	p.Warning = true
	c.add(p)
}
