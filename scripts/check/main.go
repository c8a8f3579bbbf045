// Check runs everything that must hold before a change goes in, on a machine that has Go and Python:
//
//	go run ./scripts/check
//
// It formats, vets, lints, builds, replays the golden bundles on other processors and tests; every step runs, also behind one that fails, and what failed is told at the end.
// The tools are pinned in .tools/go.mod and come from the Go module proxy, as does the Weaviate server that the tests start;
// Qdrant's engine and the models come as Python packages. The first run builds and installs them, which takes some minutes.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"time"
)

func main() {
	short := flag.Bool("short", false, "leave out what needs more than Go or takes long: the linter, the race detector, the vulnerability scan, the replay on other processors, and the tests against real stores and models")
	whole := flag.Bool("whole", false, "fail where this machine leaves something out: the race detector, a processor, a test that needs what is not here")
	flag.Parse()
	c := &check{out: os.Stdout}
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "check takes no arguments, only flags: %q\n", flag.Args())
		os.Exit(2)
	}
	if *short && *whole {
		fmt.Fprintln(os.Stderr, "check: --short leaves out what --whole asks for")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	c.all(ctx, *short, *whole)
	stop()
	if !c.close() {
		os.Exit(1)
	}
}

// check runs steps and keeps what is to be told at the end.
type check struct {
	out    io.Writer
	env    []string // beside that of the process
	steps  int
	took   time.Duration
	failed []string
	notes  []string
}

func (c *check) all(ctx context.Context, short, whole bool) {
	tool := func(args ...string) []string {
		return append([]string{"go", "tool", "-modfile=.tools/go.mod"}, args...)
	}
	c.quiet(ctx, "format", tool("gofumpt", "-d", ".")...)
	c.step(ctx, "vet", "go", "vet", "./...")
	if short {
		c.note("without the linter, the race detector, the vulnerability scan, the replay on other processors, and the tests against real stores and models (--short)")
		c.env = append(c.env, "CULPRIT_TEST_SHORT=1")
	} else {
		c.step(ctx, "lint", tool("golangci-lint", "run")...)
	}
	c.quiet(ctx, "modules", "go", "mod", "tidy", "-diff")
	c.step(ctx, "build", "go", "build", "./...")
	if !short {
		c.vulnerabilities(ctx, tool("govulncheck", "./...")...)
	}
	if !short {
		c.step(ctx, "servers", "go", "run", "./adapters/weaviate/weaviatetest/prepare")
		c.step(ctx, "models", "go", "run", "./adapters/openai/openaitest/prepare")
	}
	if !short {
		c.processors(ctx, whole, "go", "run", "./scripts/replay")
	}
	// Tests come last: their lines are what a reader looks for at the end.
	test := []string{"go", "test", "-json", "-shuffle=on", "-timeout=30m", "./..."}
	if missing := noRace(ctx); !short && missing == "" {
		test = slices.Insert(test, 2, "-race")
	} else if whole {
		c.failed = append(c.failed, "race")
		c.note("the race detector is asked for and cannot be used: " + missing)
	} else if !short {
		c.note("without the race detector: " + missing)
	}
	c.tests(ctx, short, whole, test...)
}

// step runs a command, showing what it prints; it fails with the command.
func (c *check) step(ctx context.Context, name string, command ...string) {
	c.run(ctx, name, command, func() (bool, error) {
		cmd := exec.CommandContext(ctx, command[0], command[1:]...)
		cmd.Stdout, cmd.Stderr = c.out, c.out
		cmd.Env = append(os.Environ(), c.env...)
		err := cmd.Run()
		return err == nil, err
	})
}

// quiet runs a command that prints nothing if all is well: output is a failure, too.
func (c *check) quiet(ctx context.Context, name string, command ...string) {
	c.run(ctx, name, command, func() (bool, error) {
		cmd := exec.CommandContext(ctx, command[0], command[1:]...)
		var stdout strings.Builder
		cmd.Stdout, cmd.Stderr = &stdout, c.out
		err := cmd.Run()
		fmt.Fprint(c.out, stdout.String())
		return err == nil && stdout.Len() == 0, err
	})
}

func (c *check) run(ctx context.Context, name string, command []string, do func() (bool, error)) {
	if ctx.Err() != nil {
		c.failed = append(c.failed, name+" (not run)")
		return
	}
	fmt.Fprintf(c.out, "== %s: %s\n", name, strings.Join(command, " "))
	start := time.Now()
	ok, err := do()
	took := time.Since(start)
	c.steps++
	c.took += took
	state := "ok"
	if !ok {
		c.failed = append(c.failed, name)
		state = "FAILED"
		if err != nil {
			state += ": " + err.Error()
		}
	}
	fmt.Fprintf(c.out, "== %s: %s, %.1f s\n", name, state, took.Seconds())
}

// vulnerabilities scans where the database can be reached. What it finds was published after the code was written and may have no
// remedy yet, so that it is told and is no failure of this tree.
func (c *check) vulnerabilities(ctx context.Context, command ...string) {
	const database = "https://vuln.go.dev/index/db.json"
	probe, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := reach(probe, database); err != nil {
		c.note("without the vulnerability scan: its database was not reached")
		return
	}
	c.run(ctx, "vulnerabilities", command, func() (bool, error) {
		cmd := exec.CommandContext(ctx, command[0], command[1:]...)
		cmd.Stdout, cmd.Stderr = c.out, c.out
		if cmd.Run() != nil {
			c.note("the vulnerability scan found something or did not finish; see above")
		}
		return true, nil
	})
}

// processors replays the golden bundles on other processors, and tells at the end which of them this machine could not be.
func (c *check) processors(ctx context.Context, whole bool, command ...string) {
	c.run(ctx, "replay", command, func() (bool, error) {
		var said strings.Builder
		cmd := exec.CommandContext(ctx, command[0], command[1:]...)
		cmd.Stdout, cmd.Stderr = io.MultiWriter(c.out, &said), c.out
		err := cmd.Run()
		all := true
		for line := range strings.Lines(said.String()) {
			if strings.HasPrefix(line, "SKIPPED ") {
				c.note("replay " + strings.TrimSpace(line))
				all = false
			}
		}
		return err == nil && (all || !whole), err
	})
}

func reach(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // nothing was read from it
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	return nil
}

// noRace says why the race detector cannot be used, or nothing: it needs cgo, and cgo needs a C compiler.
func noRace(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "go", "env", "CGO_ENABLED", "CC").Output()
	if err != nil {
		return "go env: " + err.Error()
	}
	enabled, compiler, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	fields := strings.Fields(compiler)
	if len(fields) == 0 {
		return "there is no C compiler"
	}
	if _, err := exec.LookPath(fields[0]); err != nil {
		return "there is no C compiler (" + fields[0] + ")"
	}
	if enabled != "1" {
		return "cgo is off"
	}
	return ""
}

func (c *check) note(s string) { c.notes = append(c.notes, s) }

// close tells how it went, in one line, and reports whether all is well.
func (c *check) close() bool {
	result := fmt.Sprintf("%d steps passed", c.steps)
	if len(c.failed) > 0 {
		result = "FAILED: " + strings.Join(c.failed, ", ")
	}
	fmt.Fprintf(c.out, "== check: %s in %.0f s", result, c.took.Seconds())
	for _, n := range c.notes {
		fmt.Fprintf(c.out, "; %s", n)
	}
	fmt.Fprintln(c.out)
	return len(c.failed) == 0
}
