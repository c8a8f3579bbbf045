package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The helper is this test binary again, as the program that replays what it is given.
const asProgram = "CULPRIT_TEST_REPLAY"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		if err := replay(os.Stdout, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// What follows from a bundle depends on nothing around the process: neither processors, time zone, language nor file modes, and there
// need be no network.
func TestSameAnswerEverywhere(t *testing.T) {
	t.Parallel()
	bundles, err := filepath.Glob("../../results/testdata/golden/*.bundle.zip")
	if err != nil || len(bundles) == 0 {
		t.Fatal(len(bundles), err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	answer := func(t *testing.T, env []string, wrap ...string) string {
		t.Helper()
		args := slices.Concat(wrap, []string{self}, bundles)
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Env = slices.Concat(os.Environ(), []string{asProgram + "=1"}, env)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	want := answer(t, nil)
	if strings.Count(want, ".bundle.zip ") != len(bundles) {
		t.Fatalf("%d bundles:\n%s", len(bundles), want)
	}
	for name, of := range map[string]struct{ env, wrap []string }{
		"one processor":    {env: []string{"GOMAXPROCS=1"}},
		"eight processors": {env: []string{"GOMAXPROCS=8"}},
		"another zone":     {env: []string{"TZ=Asia/Tokyo"}},
		"another language": {env: []string{"LC_ALL=tr_TR.UTF-8", "LANG=tr_TR.UTF-8"}},
		"an empty home":    {env: []string{"HOME=/nonexistent", "TMPDIR=/nonexistent"}},
		"private files":    {wrap: []string{"sh", "-c", `umask 077; exec "$0" "$@"`}},
		"early collection": {env: []string{"GOGC=1"}},
		"no network":       {wrap: []string{"unshare", "--map-root-user", "--net"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if len(of.wrap) > 0 {
				probe := append(slices.Clone(of.wrap), "true")
				if err := exec.CommandContext(t.Context(), probe[0], probe[1:]...).Run(); err != nil {
					t.Skipf("this machine has no %q: %v", of.wrap[0], err)
				}
			}
			if got := answer(t, of.env, of.wrap...); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// What replays a bundle cannot reach a network: no package that could is in it.
func TestReplayHasNoNetwork(t *testing.T) {
	t.Parallel()
	module := "github.com/culprit-rag/culprit/"
	args := []string{"list", "-deps"}
	for _, pkg := range []string{"matrix", "matrix/verdict", "results", "results/report"} {
		args = append(args, module+pkg)
	}
	out, err := exec.CommandContext(t.Context(), "go", args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	deps := strings.Fields(string(out))
	if !slices.Contains(deps, module+"matrix/verdict") || !slices.Contains(deps, "crypto/sha256") {
		t.Fatalf("the list is none of dependencies: %q", deps)
	}
	for _, dep := range deps {
		if dep == "net" || strings.HasPrefix(dep, "net/") || dep == "crypto/tls" || dep == "os/exec" || dep == "plugin" || strings.HasPrefix(dep, "google.golang.org/") {
			t.Errorf("%s is in what replays a bundle", dep)
		}
	}
}
