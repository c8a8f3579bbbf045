package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/culprit-rag/culprit/results"
	"github.com/culprit-rag/culprit/results/report"
	"github.com/culprit-rag/culprit/runner"
)

func testApp(t *testing.T, env func(string) string) (a *app, out, errs *bytes.Buffer) {
	t.Helper()
	registry, err := builtIn()
	if err != nil {
		t.Fatal(err)
	}
	out, errs = &bytes.Buffer{}, &bytes.Buffer{}
	return &app{out: stream{Writer: out}, err: stream{Writer: errs}, env: env, registry: registry}, out, errs
}

// fullDevice takes some bytes and then no more.
type fullDevice struct{ room int }

func (f *fullDevice) Write(p []byte) (int, error) {
	if len(p) <= f.room {
		f.room -= len(p)
		return len(p), nil
	}
	n := f.room
	f.room = 0
	return n, syscall.ENOSPC
}

// commandLines has one line for each command that answers something; results is a folder that a run has filled.
func commandLines(t *testing.T, folder string) map[string][]string {
	t.Helper()
	bundle, err := results.FindCase(folder, "gym-fee", "")
	if err != nil {
		t.Fatal(err)
	}
	journal := filepath.Join(t.TempDir(), "journal.jsonl")
	if err := os.WriteFile(journal, members(t, bundle)["journal.jsonl"], 0o600); err != nil {
		t.Fatal(err)
	}
	const restricted = "../../results/testdata/golden/restricted.bundle.zip"
	redacted, err := results.Redact(restricted, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]string{
		"help":            {"help"},
		"help of one":     {"run", "--help"},
		"topic":           {"help", "exit-codes"},
		"no command":      {},
		"version":         {"version"},
		"version --json":  {"version", "--json"},
		"schema":          {"schema", "experiment"},
		"completion":      {"completion", "bash"},
		"completion zsh":  {"completion", "zsh"},
		"completion fish": {"completion", "fish"},
		"completion ps":   {"completion", "powershell"},
		"plugin":          {"plugin"},
		"plugin fixture":  {"plugin", "fixture"},
		"init":            {"init", filepath.Join(t.TempDir(), "new")},
		"check":           {"check", travelPolicy},
		"check --json":    {"check", travelPolicy, "--json"},
		"plan":            {"plan", travelPolicy},
		"plan --json":     {"plan", travelPolicy, "--json"},
		"probe":           {"probe", travelPolicy, "--case", "gym-fee"},
		"probe --json":    {"probe", travelPolicy, "--case", "gym-fee", "--json"},
		"plan --resolved": {"plan", travelPolicy, "--resolved"},
		"load":            {"load", travelPolicy},
		"load --json":     {"load", travelPolicy, "--json"},
		"run":             {"run", travelPolicy, "--case", "gym-fee", "--results", t.TempDir()},
		"run --json":      {"run", travelPolicy, "--case", "gym-fee", "--results", t.TempDir(), "--json"},
		"resume":          {"resume", "--list"},
		"journal":         {"journal"},
		"journal repair":  {"journal", "repair", journal},
		"explain":         {"explain", "gym-fee", "--results", folder},
		"explain --json":  {"explain", "gym-fee", "--results", folder, "--json"},
		"report":          {"report", "--results", folder},
		"report --json":   {"report", "--results", folder, "--json"},
		"verify":          {"verify", bundle},
		"verify --json":   {"verify", bundle, "--json"},
		"sign":            {"sign", bundle, "--key", privateKey(t)},
		"replay":          {"replay", bundle},
		"replay --json":   {"replay", bundle, "--json"},
		"history":         {"history", "--results", folder},
		"history --json":  {"history", "gym-fee", "--results", folder, "--json"},
		"index":           {"index"},
		"index rebuild":   {"index", "rebuild", "--results", folder},
		"diff":            {"diff", bundle, bundle},
		"diff --json":     {"diff", bundle, bundle, "--json"},
		"reexec":          {"reexec", bundle, travelPolicy, "--results", t.TempDir()},
		"redact":          {"redact", bundle, "--out", t.TempDir()},
		"reveal":          {"reveal", redacted.Copy, "--from", restricted, "--out", t.TempDir()},
		"migrate":         {"migrate", bundle, "--out", t.TempDir()},
		"migrate --json":  {"migrate", bundle, "--out", t.TempDir(), "--json"},
		"labels":          {"labels"},
		"labels as rules": {"labels", "--ruleset"},
		"labels of one":   {"labels", "index/missing"},
		"sweep":           {"sweep", travelPolicy, "--case", "gym-fee", "--k", "2", "--budget", "50"},
		"calibrate":       {"calibrate"},
		"calibrate floor": {"calibrate", "floor", "../../experiments/examples/stores", "--json"},
		"selftest":        {"selftest", "--faults", "index/ghost", "--noise", "none", "--pairs", "0"},
		"selftest --json": {"selftest", "--faults", "index/ghost", "--noise", "none", "--pairs", "0", "--json"},
		"sweep --json":    {"sweep", travelPolicy, "--case", "gym-fee", "--k", "2", "--budget", "50", "--json"},
	}
}

// privateKey makes a key as openssl does.
func privateKey(t *testing.T) string {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// No command says that all is well when its answer did not get out.
func TestAnswerThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	folder, env := t.TempDir(), cached(t)
	if _, stderr, code := invoke(t.Context(), env, "run", travelPolicy, "--case", "gym-fee", "--results", folder); code != exitOK {
		t.Fatal(stderr)
	}
	lines := commandLines(t, folder)
	for _, command := range (&app{}).root().Commands() {
		if command.Name() == "tap" {
			continue // it serves until it is interrupted
		}
		if command.Runnable() && !slices.ContainsFunc(sortedValues(lines), func(args []string) bool { return len(args) > 0 && args[0] == command.Name() }) {
			t.Errorf("command %q is not tried", command.Name())
		}
	}
	for name, args := range lines {
		for _, room := range []int{0, 20} {
			a, _, errs := testApp(t, env)
			a.out.Writer = &fullDevice{room}
			code := a.main(t.Context(), args)
			if code != exitInternal || strings.Count(errs.String(), "writing the answer: no space left on device") != 1 {
				t.Errorf("%s, room for %d bytes: exit code %d, standard error %q", name, room, code, errs)
			}
			if name == "init" {
				break // it writes nothing over what it has written
			}
		}
	}
	// A code that says more than "failed" is kept.
	a, _, _ := testApp(t, env)
	a.out.Writer = &fullDevice{}
	if code := a.main(t.Context(), []string{"check", filepath.Join(folder, "nowhere")}); code != exitUsage {
		t.Errorf("exit code %d, want %d", code, exitUsage)
	}
}

func sortedValues(m map[string][]string) [][]string {
	var all [][]string
	for _, v := range m {
		all = append(all, v)
	}
	return all
}

func TestStickyKeepsTheFirstError(t *testing.T) {
	t.Parallel()
	full := &fullDevice{room: 3}
	s := &sticky{w: full}
	if n, err := s.Write([]byte("four")); n != 3 || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("wrote %d, %v", n, err)
	}
	full.room = 100
	if n, err := s.Write([]byte("more")); n != 0 || !errors.Is(err, syscall.ENOSPC) || full.room != 100 {
		t.Errorf("wrote %d after an error, %v", n, err)
	}
}

// Colour is for terminals that want it; progress for terminals.
func TestColourAndProgress(t *testing.T) {
	t.Parallel()
	folder, cache := t.TempDir(), t.TempDir()
	for _, tc := range []struct {
		name     string
		terminal bool
		env      map[string]string
		want     bool
	}{
		{"a terminal", true, nil, true},
		{"a pipe", false, nil, false},
		{"a terminal with NO_COLOR", true, map[string]string{"NO_COLOR": "1"}, false},
		{"a dumb terminal", true, map[string]string{"TERM": "dumb"}, false},
	} {
		a, out, errs := testApp(t, func(name string) string {
			if name == "CULPRIT_CACHE" {
				return cache
			}
			return tc.env[name]
		})
		a.out.terminal, a.out.width = tc.terminal, 120
		if code := a.main(t.Context(), []string{"run", travelPolicy, "--case", "gym-fee", "--results", folder}); code != exitOK {
			t.Fatalf("%s: exit code %d: %s", tc.name, code, errs)
		}
		if got := strings.Contains(out.String(), "\x1b["); got != tc.want {
			t.Errorf("%s: coloured %t, want %t:\n%s", tc.name, got, tc.want, out)
		}
		if errs.Len() > 0 {
			t.Errorf("%s: progress without a terminal on standard error: %q", tc.name, errs)
		}
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, _, errs := testApp(t, nil)
		logged := a.progress()
		logged.runner().Show(runner.Step{Phase: "running cases", Done: 3, Total: 19, Generations: 120, About: 700, Last: "gym-fee"})
		time.Sleep(2*plain - tick)
		synctest.Wait()
		logged.clear()
		if diff := cmp.Diff("running cases: 3 of 19, 120 of about 700 generations, 1m0s\n", errs.String()); diff != "" {
			t.Errorf("where there is no terminal (-want +got):\n%s", diff)
		}
		errs.Reset()
		a.err.terminal, a.err.width = true, 60
		a.json = true
		if a.progress().runner() != nil {
			t.Error("progress is shown between JSON records")
		}
		a.json = false
		p := a.progress()
		shown := func() string {
			defer errs.Reset()
			return errs.String()
		}
		p.show(runner.Step{Phase: "running cases"})
		p.clear()
		if got := shown(); got != "" {
			t.Errorf("short work shows %q", got)
		}
		time.Sleep(redraw) // the bubble's clock
		p.show(runner.Step{Phase: "running cases", Done: 3, Total: 8, Generations: 1, Last: "gym\x1bfee"})
		if diff := cmp.Diff("\r\x1b[Krunning cases  3 of 8   1 generation   0s   gym‹U+001B›fee", shown()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		p.show(runner.Step{Phase: "running cases", Done: 4, Total: 8, Generations: 2, About: 9})
		if got := shown(); got != "" {
			t.Errorf("the line is drawn again at once: %q", got)
		}
		time.Sleep(redraw)
		p.again()
		if diff := cmp.Diff("\r\x1b[Krunning cases  4 of 8   2 of about 9 generations   0s", shown()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		time.Sleep(90 * time.Second)
		p.show(runner.Step{Phase: "building the index", Done: 4096, Unit: "documents", Last: strings.Repeat("long", 50)})
		line := shown()
		if got := report.Columns(strings.TrimPrefix(line, "\r\x1b[K")); got != 59 || !strings.Contains(line, "4096 documents   1m30s") {
			t.Errorf("%d columns of 60: %q", got, line)
		}
		p.above(func() { a.warnf("look") })
		if got := shown(); got != "\r\x1b[Kwarning: look\n" {
			t.Errorf("a warning is shown as %q", got)
		}
		p.clear()
		if got := shown(); got != "" {
			t.Errorf("a line is taken away twice: %q", got)
		}

		p = a.progress()
		p.runner().Show(runner.Step{Phase: "running cases", Total: 2})
		time.Sleep(2*time.Second + tick/2)
		synctest.Wait()
		if got := shown(); !strings.HasSuffix(got, "\r\x1b[Krunning cases  0 of 2   2s") {
			t.Errorf("the seconds of a long call are not counted: %q", got)
		}
		p.clear()
		time.Sleep(time.Minute)
		if got := shown(); got != "\r\x1b[K" {
			t.Errorf("the line goes on: %q", got)
		}
	})
}

// Every command can be learnt from its own help.
func TestHelp(t *testing.T) {
	t.Parallel()
	for _, c := range (&app{}).root().Commands() {
		if c.Short == "" || c.Name() != "help" && c.Name() != "version" && c.Long == "" {
			t.Errorf("%s: no help", c.Name())
		}
		if c.Runnable() && (c.GroupID == "" || !strings.Contains(c.Example, "culprit "+c.Name())) {
			t.Errorf("%s: group %q, example %q", c.Name(), c.GroupID, c.Example)
		}
		for text := range strings.Lines(c.Long + "\n" + c.Example) {
			if len(strings.TrimRight(text, "\n")) > 100 {
				t.Errorf("%s: a line of its help is too long: %s", c.Name(), text)
			}
		}
		tryFlags(t, c)
	}
}

// tryFlags holds the words of a command's flags together: one name for one thing.
func tryFlags(t *testing.T, c *cobra.Command) {
	t.Helper()
	json := c.Flags().Lookup("json")
	if json != nil && !regexp.MustCompile(`^print one JSON object`).MatchString(json.Usage) {
		t.Errorf("%s --json: %s", c.Name(), json.Usage)
	}
	if out := c.Flags().Lookup("out"); out != nil && c.GroupID == groupRun {
		t.Errorf("%s --out: the folder of the results is --results everywhere", c.Name())
	}
}

// The table of exit codes is the design's.
func TestExitCodesTopic(t *testing.T) {
	t.Parallel()
	codes := regexp.MustCompile(`(?m)^  (\d+) `).FindAllStringSubmatch(exitCodesTopic().Long, -1)
	var got []string
	for _, c := range codes {
		got = append(got, c[1])
	}
	if diff := cmp.Diff([]string{"0", "1", "2", "3", "4", "5", "130"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The device that is always full, through the real program.
func TestFullDevice(t *testing.T) {
	t.Parallel()
	device, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer device.Close()
	p := start(t, t.TempDir(), device, "version")
	if code := p.wait(t); code != exitInternal || !strings.Contains(p.stderr.String(), "writing the answer: ") {
		t.Errorf("exit code %d, standard error %q", code, p.stderr.String())
	}
}
