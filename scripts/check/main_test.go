package main

import (
	"context"
	"strings"
	"testing"
)

func TestEveryStepRunsAndFailuresAreListed(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	c := &check{out: &out}
	c.step(t.Context(), "one", "go", "no-such-command")
	c.quiet(t.Context(), "two", "go", "version") // prints something
	c.step(t.Context(), "three", "go", "version")
	c.note("without something")
	if c.close() {
		t.Error("it says that all is well")
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	last := lines[len(lines)-1]
	if !strings.HasPrefix(last, "== check: FAILED: one, two in ") || !strings.HasSuffix(last, "; without something") {
		t.Errorf("last line is %q", last)
	}
	if !strings.Contains(out.String(), "== three: ok") || !strings.Contains(out.String(), "go version go") {
		t.Errorf("step three is missing:\n%s", out.String())
	}
}

func TestAllIsWell(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	c := &check{out: &out}
	c.step(t.Context(), "one", "go", "version")
	c.quiet(t.Context(), "two", "go", "env", "-changed", "NO_SUCH_VARIABLE")
	if !c.close() {
		t.Errorf("it fails:\n%s", out.String())
	}
}

func TestInterruptedStepsFail(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out strings.Builder
	c := &check{out: &out}
	c.step(ctx, "one", "go", "version")
	if c.close() || !strings.Contains(out.String(), "one (not run)") {
		t.Errorf("got:\n%s", out.String())
	}
}
