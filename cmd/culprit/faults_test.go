package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/culprit-rag/culprit/results"
)

// process is the real program at work.
type process struct {
	cmd    *exec.Cmd
	stdout bytes.Buffer
	stderr heard
}

// heard is a buffer that can be read while the process writes.
type heard struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.b.Write(p)
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.b.String()
}

// start starts the program in dir, with a cache folder there. stdout nil collects it.
func start(t *testing.T, dir string, stdout io.Writer, args ...string) *process {
	t.Helper()
	return startIn(t, dir, stdout, nil, args...)
}

// startIn is start with more variables in the environment.
func startIn(t *testing.T, dir string, stdout io.Writer, env []string, args ...string) *process {
	t.Helper()
	program, err := exec.LookPath("culprit") // TestMain has put it there
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.Command(program, args...)}
	if p.cmd.Stdout = stdout; stdout == nil {
		p.cmd.Stdout = &p.stdout
	}
	p.cmd.Stderr, p.cmd.Dir = &p.stderr, dir
	p.cmd.Env = slices.Concat(os.Environ(), env, []string{"CULPRIT_CACHE=" + filepath.Join(dir, "cache")})
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill() }) // where a test failed before the end of the process
	return p
}

// wait returns the exit code, -1 for a process that a signal ended.
func (p *process) wait(t *testing.T) int {
	t.Helper()
	var exit *exec.ExitError
	if err := p.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return p.cmd.ProcessState.ExitCode()
}

// appear waits until a path exists.
func (p *process) appear(t *testing.T, pattern string) {
	t.Helper()
	p.await(t, pattern, func() bool {
		found, err := filepath.Glob(pattern)
		return err != nil || len(found) > 0
	})
}

func (p *process) await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	for {
		if holds() {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("waited too long for %s; standard error %q", what, p.stderr.String())
		}
	}
}

// slow is an experiment of three cases, one after the other, of which the second waits.
func slow(t *testing.T, wait string) string {
	t.Helper()
	dir := t.TempDir()
	text := fmt.Sprintf(`culprit: v1
name: slow
backends:
  store:
    adapter: embedded
    documents: [{id: d1, text: "The cap for lunch is 40 euros a day."}]
  generator: {adapter: embedded, provider: [{when: WAIT, error: rate-limited, times: 1, retry_after: %s}]}
limits: {concurrency: 1}
runs: {perturbations: none}
cases:
  - {id: one, query: lunch, expect: abstain, risk: investigate}
  - {id: two, query: lunch WAIT, expect: abstain, risk: investigate}
  - {id: three, query: lunch, expect: abstain, risk: investigate}
`, wait)
	if err := os.WriteFile(filepath.Join(dir, "slow.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// kept checks that each bundle opens and that nothing else stands beside them, and returns the cases.
func kept(t *testing.T, folder string) []string {
	t.Helper()
	ids, err := results.Executions(folder)
	if err != nil {
		t.Fatal(err)
	}
	var cases []string
	for _, id := range ids {
		entries, err := os.ReadDir(filepath.Join(folder, id.String()))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Name() == "execution.json" {
				if _, err := results.ReadSummary(folder, id); err != nil {
					t.Error(err)
				}
				continue
			}
			b, err := results.Open(filepath.Join(folder, id.String(), e.Name()))
			if err != nil {
				t.Errorf("%s is neither a bundle nor a summary: %v", e.Name(), err)
				continue
			}
			cases = append(cases, b.Case.ID)
		}
	}
	slices.Sort(cases)
	return cases
}

func isIn(t *testing.T, what, text string, wanted ...string) {
	t.Helper()
	for _, w := range wanted {
		if !strings.Contains(text, w) {
			t.Errorf("%s does not say %q:\n%s", what, w, text)
		}
	}
}

// keptCode holds the summary that is kept to the code that the command ended with.
func keptCode(t *testing.T, folder string, want int) {
	t.Helper()
	ids, err := results.Executions(folder)
	if err != nil || len(ids) != 1 {
		t.Fatalf("executions %v, %v", ids, err)
	}
	s, err := results.ReadSummary(folder, ids[0])
	if err != nil {
		t.Fatal(err)
	}
	if s.Rebuilt || s.Exit != want {
		t.Errorf("the summary that is kept says exit %d (rebuilt: %v), want %d", s.Exit, s.Rebuilt, want)
	}
}

func TestInterruptDrains(t *testing.T) {
	t.Parallel()
	dir := slow(t, "2s")
	p := start(t, dir, nil, "run", "slow.yaml", "--set", "pipeline.search.k=2")
	p.appear(t, filepath.Join(dir, "culprit-results/.work/*/two/journal.jsonl"))
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := p.wait(t); code != exitInterrupted {
		t.Errorf("exit code %d, want %d", code, exitInterrupted)
	}
	if diff := cmp.Diff([]string{"one", "two"}, kept(t, filepath.Join(dir, "culprit-results"))); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	isIn(t, "standard output", p.stdout.String(), "two")
	isIn(t, "standard error", p.stderr.String(), "interrupt again to cancel", "2 of 3 cases are finished and kept in culprit-results/",
		"go on with: culprit resume "+only(t, filepath.Join(dir, "culprit-results")).String()+"\n")
	keptCode(t, filepath.Join(dir, "culprit-results"), exitInterrupted)
}

func TestSecondInterruptCancels(t *testing.T) {
	t.Parallel()
	dir := slow(t, "60s")
	p := start(t, dir, nil, "run", "slow.yaml", "--json")
	p.appear(t, filepath.Join(dir, "culprit-results/.work/*/two/journal.jsonl"))
	began := time.Now()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	// Two signals that wait together would be one.
	p.await(t, "the first to be heard", func() bool { return strings.Contains(p.stderr.String(), "interrupt again") })
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := p.wait(t); code != exitInterrupted {
		t.Errorf("exit code %d, want %d", code, exitInterrupted)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("a cancelled run went on for %s", took)
	}
	folder := filepath.Join(dir, "culprit-results")
	if diff := cmp.Diff([]string{"one"}, kept(t, folder)); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	if left, err := results.Unfinished(folder); err != nil || len(left) > 0 {
		t.Errorf("left in work: %q, %v", left, err)
	}
	keptCode(t, folder, exitInterrupted)
	isIn(t, "standard output", p.stdout.String(), `"exit": 130`, `"id": "one"`)
	isIn(t, "standard error", p.stderr.String(), `{"warning":{"message":"interrupted`, `{"error":{"message":"cancelled\n1 of 3 cases are finished`, `go on with: culprit resume `+only(t, folder).String()+`","exit":130}}`)
}

// A sweep keeps nothing, so the first interrupt ends it.
func TestInterruptedSweep(t *testing.T) {
	t.Parallel()
	dir := slow(t, "60s")
	p := start(t, dir, nil, "sweep", "slow.yaml", "--case", "two", "--json")
	p.appear(t, filepath.Join(dir, "cache/*.sqlite"))
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := p.wait(t); code != exitInterrupted || p.stdout.Len() > 0 {
		t.Errorf("exit code %d, want %d; standard output %q", code, exitInterrupted, p.stdout.String())
	}
	isIn(t, "standard error", p.stderr.String(), `{"error":{"message":"cancelled; a sweep keeps nothing","exit":130}}`)
}

func TestKilledRun(t *testing.T) {
	t.Parallel()
	dir := slow(t, "60s")
	p := start(t, dir, nil, "run", "slow.yaml")
	p.appear(t, filepath.Join(dir, "culprit-results/.work/*/two/journal.jsonl"))
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.wait(t)
	if diff := cmp.Diff([]string{"one"}, kept(t, filepath.Join(dir, "culprit-results"))); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	for _, args := range [][]string{{"report"}, {"explain", "one"}, {"run", "slow.yaml", "--case", "one"}} {
		next := start(t, dir, nil, args...)
		if code := next.wait(t); code != exitOK {
			t.Errorf("%q: exit code %d: %s", args, code, next.stderr.String())
		}
		isIn(t, args[0], next.stdout.String(), "one")
		isIn(t, args[0], next.stderr.String(), "warning: culprit-results/.work/", " holds 1 case without a verdict, of runs that were killed: culprit resume goes on with them")
	}
}

// smallDisk mounts a disk of that size as the folder "full" of dir, until the test ends.
func smallDisk(t *testing.T, dir, size string) (full string) {
	t.Helper()
	full = filepath.Join(dir, "full")
	if err := os.Mkdir(full, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", full, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("a small disk cannot be mounted here (%v); the writers are held to it by failing ones in package results", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(full, 0); err != nil {
			t.Error(err)
		}
	})
	return full
}

// A disk that fills up leaves whole bundles alone, and says where it happened.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	full := smallDisk(t, dir, "256k")
	example, err := filepath.Abs(travelPolicy)
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, dir, nil, "run", example, "--results", "full/results")
	if code := p.wait(t); code != exitInternal {
		t.Errorf("exit code %d, want %d", code, exitInternal)
	}
	cases := kept(t, filepath.Join(full, "results"))
	if n := len(cases); n == 0 || n == 8 {
		t.Errorf("%d cases are kept: the disk has the wrong size for this test", n)
	}
	if n := strings.Count(p.stderr.String(), `case "`); n != 1 {
		t.Errorf("the case is named %d times: %s", n, p.stderr.String())
	}
	isIn(t, "standard error", p.stderr.String(), "full/results/", "no space left on device",
		fmt.Sprintf("%d of 8 cases are finished and kept in full/results/", len(cases)), "go on with: culprit resume "+only(t, filepath.Join(full, "results")).String()+" --results full/results\n")
}

// Folders that cannot be written are named; as root, permissions do not say so, a file in the way does.
func TestFoldersThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	dir := slow(t, "1s")
	for _, name := range []string{"cache", "file"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := start(t, dir, nil, "run", "slow.yaml")
	if code := p.wait(t); code != exitEnvironment {
		t.Errorf("exit code %d, want %d", code, exitEnvironment)
	}
	isIn(t, "standard error", p.stderr.String(), filepath.Join(dir, "cache"))
	if _, err := os.Stat(filepath.Join(dir, "culprit-results")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder of results was made: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "cache")); err != nil {
		t.Fatal(err)
	}
	p = start(t, dir, nil, "run", "slow.yaml", "--results", "file")
	if code := p.wait(t); code != exitInternal {
		t.Errorf("exit code %d, want %d", code, exitInternal)
	}
	isIn(t, "standard error", p.stderr.String(), "results folder", "file")
	if os.Getuid() == 0 {
		return
	}
	if err := os.Mkdir(filepath.Join(dir, "read-only"), 0o500); err != nil {
		t.Fatal(err)
	}
	p = start(t, dir, nil, "run", "slow.yaml", "--results", "read-only")
	if code := p.wait(t); code != exitInternal {
		t.Errorf("exit code %d, want %d", code, exitInternal)
	}
	isIn(t, "standard error", p.stderr.String(), "read-only", "permission denied")
}

// Whatever has happened to a store in the cache, it is made again.
func TestDamagedCache(t *testing.T) {
	t.Parallel()
	dir := slow(t, "1ms")
	run := func(when string) {
		t.Helper()
		if p := start(t, dir, nil, "run", "slow.yaml"); p.wait(t) != exitOK {
			t.Errorf("%s: exit code %d: %s", when, p.cmd.ProcessState.ExitCode(), p.stderr.String())
		} else {
			isIn(t, when, p.stdout.String(), "0 inconclusive")
		}
	}
	run("the first run")
	stores, err := filepath.Glob(filepath.Join(dir, "cache/*.sqlite"))
	if err != nil || len(stores) != 1 {
		t.Fatalf("stores %q, %v", stores, err)
	}
	whole, err := os.ReadFile(stores[0])
	if err != nil {
		t.Fatal(err)
	}
	for name, damaged := range map[string][]byte{
		"empty": {}, "garbage": bytes.Repeat([]byte("garbage "), 1000), "cut in half": whole[:len(whole)/2], "cut in the header": whole[:50],
		"a header alone": whole[:100], "its first page": whole[:8192],
	} {
		if err := os.WriteFile(stores[0], damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		run(name)
	}
}

// Two runs share a cache that neither finds filled, and a folder of results.
func TestTwoRunsAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	example, err := filepath.Abs(travelPolicy)
	if err != nil {
		t.Fatal(err)
	}
	runs := []*process{start(t, dir, nil, "run", example), start(t, dir, nil, "run", example)}
	for _, p := range runs {
		if code := p.wait(t); code != exitOK || p.stderr.String() != "" {
			t.Errorf("exit code %d, standard error %q", code, p.stderr.String())
		}
		isIn(t, "standard output", p.stdout.String(), "6 failing, 2 passing")
	}
	if got := len(kept(t, filepath.Join(dir, "culprit-results"))); got != 16 {
		t.Errorf("%d bundles, want 16", got)
	}
	if steady(runs[0].stdout.String()) != steady(runs[1].stdout.String()) {
		t.Error("the runs print different tables")
	}
}

// A reader that goes away ends the program as it ends others, without a panic.
func TestClosedPipe(t *testing.T) {
	t.Parallel()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := read.Close(); err != nil {
		t.Fatal(err)
	}
	p := start(t, t.TempDir(), write, "schema", "experiment")
	if err := write.Close(); err != nil {
		t.Fatal(err)
	}
	code := p.wait(t)
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); code == exitOK || code == 2 || ok && code < 0 && status.Signal() != syscall.SIGPIPE {
		t.Errorf("ended with %s", p.cmd.ProcessState)
	}
	if strings.Contains(p.stderr.String(), "goroutine ") {
		t.Errorf("a panic:\n%s", p.stderr.String())
	}
}
