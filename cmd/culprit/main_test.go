package main

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/culprit-rag/culprit/adapters/weaviate/weaviatetest"
)

// Regenerate what the scripts expect with: go test ./cmd/culprit -update
var update = flag.Bool("update", false, "rewrite the golden parts of testdata/script")

// TestMain makes programs of the test binary: culprit itself; steady, which is culprit with everything on its streams replaced
// that differs from run to run; paying, which is steady with an adapter whose models cost money; serving, which is steady with a service
// to ask; and three plugins.
func TestMain(m *testing.M) {
	testscript.Main(leakless{m}, map[string]func(){
		"culprit": func() { os.Exit(culprit()) },
		"steady":  func() { os.Exit(steadied()) },
		"paying":  func() { os.Exit(paying()) },
		"serving": func() { os.Exit(serving()) },

		"models-plugin": modelsPlugin,
		"broken-plugin": brokenPlugin,
		"gossip-plugin": gossipPlugin,
	})
}

// leakless fails where the tests leave a goroutine behind.
type leakless struct{ m *testing.M }

func (l leakless) Run() int {
	code := weaviatetest.Main{M: l.m}.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func TestScripts(t *testing.T) {
	t.Parallel()
	examples, err := filepath.Abs("../../experiments/examples")
	if err != nil {
		t.Fatal(err)
	}
	golden, err := filepath.Abs("../../results/testdata/golden")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", UpdateScripts: *update, RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("CULPRIT_CACHE", filepath.Join(e.WorkDir, ".cache"))
			e.Setenv("EXAMPLES", examples)
			e.Setenv("GOLDEN", golden)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "exec-shell": shell, "unpack": unpack, "repack": repack},
	})
}

// exits runs a program and holds its exit code against the first argument.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits code program [argument...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// shell runs a line of a shell, for what only a shell can do to a program's streams.
func shell(ts *testscript.TestScript, neg bool, args []string) {
	err := ts.Exec("sh", "-c", strings.Join(args, " "))
	if neg == (err == nil) {
		ts.Fatalf("sh: %v", err)
	}
}

// unpack unpacks the one sealed bundle that a pattern names into a folder.
func unpack(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: unpack pattern folder")
	}
	found, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(found) != 1 {
		ts.Fatalf("%s names %q", args[0], found)
	}
	z, err := zip.OpenReader(found[0])
	ts.Check(err)
	ts.Check(errors.Join(os.CopyFS(ts.MkAbs(args[1]), z), z.Close()))
}

// repack packs a folder into a zip file as a program does that knows nothing of bundles.
func repack(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: repack folder file")
	}
	f, err := os.Create(ts.MkAbs(args[1]))
	ts.Check(err)
	z := zip.NewWriter(f)
	ts.Check(errors.Join(z.AddFS(os.DirFS(ts.MkAbs(args[0]))), z.Close(), f.Close()))
}

// steadied runs the program on buffers and replaces what differs from run to run.
func steadied() int {
	stdout, stderr, code := invoke(context.Background(), os.Getenv, os.Args[1:]...)
	fmt.Fprint(os.Stdout, steady(stdout))
	fmt.Fprint(os.Stderr, steady(stderr))
	return code
}

// invoke runs one command line in this process.
func invoke(ctx context.Context, env func(string) string, args ...string) (stdout, stderr string, code int) {
	registry, err := builtIn()
	if err != nil {
		return "", err.Error(), -1
	}
	var out, errs bytes.Buffer
	a := &app{out: stream{Writer: &out}, err: stream{Writer: &errs}, env: env, registry: registry}
	code = a.main(ctx, args)
	return out.String(), errs.String(), code
}

var unsteady = []struct {
	pattern *regexp.Regexp
	becomes string
}{
	{regexp.MustCompile(`\d{8}T\d{6}Z-[a-z0-9]{6}`), "EXECUTION"},
	{regexp.MustCompile(`(\bin|asked;) \d+\.\d s\b`), "$1 0.1 s"},
	{regexp.MustCompile(`"(wall_ms|latency_ms)": \d+`), `"$1": 0`},
}

func steady(s string) string {
	for _, u := range unsteady {
		s = u.pattern.ReplaceAllString(s, u.becomes)
	}
	return s
}
