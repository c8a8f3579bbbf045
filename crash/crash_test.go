package crash_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/crash"
)

type disguised string

func (d disguised) Error() string { return string(d) }
func (disguised) RuntimeError()   {}

func TestCatch(t *testing.T) {
	t.Parallel()
	const secret = "sk-canary-of-a-prompt"
	var none map[string]int
	list, behind := []string{secret}, 1
	for name, test := range map[string]struct {
		fails func()
		says  string
	}{
		"a text":                  {func() { panic(secret) }, "a value of the type string"},
		"an error":                {func() { panic(errors.New(secret)) }, "a value of the type *errors.errorString"},
		"an error of the runtime": {func() { list[behind] = secret }, "runtime error: index out of range [1] with length 1"},
		"a map that is none":      {func() { none[secret]++ }, "assignment to entry in nil map"},
		"a type that is another":  {func() { _ = any(secret).(error) }, "interface conversion: string is not error: missing method Error"},
		"a disguise":              {func() { panic(disguised(secret)) }, "a value of the type crash_test.disguised"},
		"a wrapped one":           {func() { panic(fmt.Errorf("%s: %w", secret, disguised(secret))) }, "a value of the type *fmt.wrapError"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := crash.Guard(func() error { test.fails(); return nil })()
			var caught *crash.Error
			if !errors.As(err, &caught) {
				t.Fatalf("%v", err)
			}
			if caught.Says != test.says {
				t.Errorf("it says %q, want %q", caught.Says, test.says)
			}
			if len(caught.Stack) == 0 || !strings.Contains(caught.Stack[0], "crash_test.TestCatch") || !strings.Contains(caught.Stack[0], "(crash_test.go:") {
				t.Errorf("it does not tell where: %q", caught.Stack)
			}
			if all := err.Error() + strings.Join(caught.Stack, "\n"); strings.Contains(all, secret) {
				t.Errorf("it tells what was worked on: %s", all)
			}
		})
	}
}

func TestCatchKeepsErrors(t *testing.T) {
	t.Parallel()
	before := errors.New("an error of before")
	f := func() (err error) {
		defer crash.Catch(&err)
		return before
	}
	if err := f(); !errors.Is(err, before) {
		t.Error(err)
	}
	if err := crash.Guard(func() error { return before })(); !errors.Is(err, before) {
		t.Error(err)
	}
}
