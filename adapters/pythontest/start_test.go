package pythontest_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/culprit-rag/culprit/adapters/pythontest"
)

// start runs a program of one file, without packages.
func start(t *testing.T, text string) (*pythontest.Process, error) {
	t.Helper()
	program := fstest.MapFS{"serve.py": {Data: []byte(text)}}
	python, err := pythontest.Install(t.Context(), "bare", program)
	if err != nil {
		return nil, err
	}
	return pythontest.Start(t.Context(), python, program, "serve.py", []string{"GREETING=hello"}, func(string) ([]string, error) { return []string{"--port", "7"}, nil })
}

func TestStart(t *testing.T) {
	pythontest.Need(t, "Python")
	p, err := start(t, "import os, sys\nprint('READY', os.environ['GREETING'], *sys.argv[1:], flush=True)\nsys.stdin.read()\n")
	if err != nil {
		t.Fatal(err)
	}
	if want := "hello --port 7"; p.Ready != want {
		t.Errorf("it said %q, want %q", p.Ready, want)
	}
	for range 2 {
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(p.Dir); !os.IsNotExist(err) {
		t.Errorf("its folder is still there: %v", err)
	}
}

func TestProgramThatFails(t *testing.T) {
	pythontest.Need(t, "Python")
	if _, err := start(t, "raise SystemExit('no such model')\n"); err == nil || !strings.Contains(err.Error(), "no such model") {
		t.Errorf("%v, want what the program said", err)
	}
}

func TestWithoutPython(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := start(t, ""); err == nil || !strings.Contains(err.Error(), "Python 3.10") {
		t.Errorf("%v, want an error that says what is missing", err)
	}
}
