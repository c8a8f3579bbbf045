package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// tests runs go test -json, shows what it would show without, and tells at the end which tests left themselves out: of the whole none may,
// and with short many do.
func (c *check) tests(ctx context.Context, short, whole bool, command ...string) {
	c.run(ctx, "test", command, func() (bool, error) {
		cmd := exec.CommandContext(ctx, command[0], command[1:]...)
		cmd.Env, cmd.Stderr = append(os.Environ(), c.env...), c.out
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			return false, err
		}
		left, readErr := show(c.out, out)
		if err := cmd.Wait(); err != nil {
			return false, err
		}
		for _, test := range left {
			if !short {
				c.note("without " + test)
			}
		}
		if whole && len(left) > 0 {
			return false, fmt.Errorf("%d tests left themselves out", len(left))
		}
		return readErr == nil, readErr
	})
}

// event is a line of go test -json.
type event struct {
	Action, Package, Test, Output string
}

// show writes what a reader of go test wants to see: a line for each package, and everything of what failed. It returns the tests that
// left themselves out, with their reasons, but for those that do so on purpose: a backend that lacks what a suite of the contract tries,
// and what a fuzz target cannot use.
func show(w io.Writer, r io.Reader) (left []string, _ error) {
	said := map[string]map[string]*strings.Builder{} // package → test → what it printed
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		var e event
		if json.Unmarshal([]byte(line), &e) != nil {
			fmt.Fprint(w, line) // of the go command itself
			e = event{}
		}
		tests := said[e.Package]
		switch e.Action {
		case "build-output":
			fmt.Fprint(w, e.Output)
		case "output":
			if tests == nil {
				tests = map[string]*strings.Builder{}
				said[e.Package] = tests
			}
			if tests[e.Test] == nil {
				tests[e.Test] = &strings.Builder{}
			}
			tests[e.Test].WriteString(e.Output)
		case "pass", "fail", "skip":
			text := ""
			if b := tests[e.Test]; b != nil {
				text = b.String()
			}
			delete(tests, e.Test)
			switch {
			case e.Test != "" && e.Action == "fail":
				fmt.Fprint(w, text)
			case e.Test != "" && e.Action == "skip" && !onPurpose(e.Test, text):
				left = append(left, fmt.Sprintf("%s of %s: %s", e.Test, e.Package, reason(text)))
			case e.Test == "" && e.Action == "fail":
				for _, unfinished := range tests { // it panicked, or took too long
					fmt.Fprint(w, unfinished)
				}
				fmt.Fprint(w, text)
			case e.Test == "":
				fmt.Fprint(w, verdictOf(text))
			}
			if e.Test == "" {
				delete(said, e.Package)
			}
		}
		if err == io.EOF {
			return left, nil
		}
		if err != nil {
			return left, err
		}
	}
}

// verdictOf is the line of a package that passed, without what comes before it.
func verdictOf(text string) string {
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	return strings.TrimSuffix(lines[len(lines)-1], "\n") + "\n"
}

// skipped is the line in which a test says why it left itself out.
var skipped = regexp.MustCompile(`(?m)^\s+(\w+\.go):\d+: (.*)$`)

func reason(text string) string {
	if all := skipped.FindAllStringSubmatch(text, -1); all != nil {
		return all[len(all)-1][2]
	}
	return "no reason given"
}

func onPurpose(test, text string) bool {
	all := skipped.FindAllStringSubmatch(text, -1)
	if all == nil {
		return strings.HasPrefix(test, "Fuzz")
	}
	_, err := os.Stat(filepath.Join("adapters", "conformance", all[len(all)-1][1]))
	return err == nil
}
