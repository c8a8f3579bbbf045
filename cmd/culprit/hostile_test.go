package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// hostile is text that acts on a terminal, a browser or a build log, or hides what it says.
const hostile = "\x1b[31mred\x1b]0;title\a \x1b]8;;http://evil.example\x1b\\link \u009b2J \u202Eevil\u2066 \u200bhidden <script>alert(1)</script> <img src=x onerror=alert(1)>\n" +
	"::error::pwned\n##vso[task.complete]done ##[error]no ##teamcity[x]\r\n\x00\x08\x7f\ufeff"

// hostileExperiment writes an experiment whose documents, queries, answers and names are hostile, and returns its path. Ids of
// cases must be plain: that the loader refuses others is tried apart.
func hostileExperiment(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "dir\u202e\x1b[31m")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(hostile, "\x00", "") // no file of documents may hold it
	document := func(id, body string) string {
		data, err := json.Marshal(map[string]any{"id": id, "text": body, "source": id, "metadata": map[string][]string{"tag": {text}}})
		if err != nil {
			t.Fatal(err)
		}
		return string(data) + "\n"
	}
	corpus := document("d1", "The lunch cap is 40 euros "+text+" a day.") + document("d2", text+" The lunch cap was 30 euros once.") + document("::error::d3", "lunch "+text)
	write(t, filepath.Join(dir, "corpus.jsonl"), corpus)
	quoted, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	experiment := fmt.Sprintf(`culprit: v1
name: hostile
backends:
  store: {adapter: embedded, documents: corpus.jsonl}
  generator: {adapter: embedded, fixed: %[1]s}
pipeline:
  search: {mode: keyword, k: 2}
  refusal: [%[1]s, "I don't know"]
cases:
  - id: lunch
    query: %[1]s
    tags: {team: %[1]s}
    evidence: {required: [{source: d1, span: 40 euros}], distractors: [{source: d2, kind: superseded}]}
    claims: [{id: cap, says: %[1]s, any: ["40 euros"]}]
  - id: plain
    query: What is the lunch cap?
    evidence: {required: [{source: "::error::d3", span: lunch}]}
    claims: [{id: cap, any: ["40 euros"], says: %[1]s}]
`, escapeJSON(quoted)) // YAML does not take the raw form of all of them
	write(t, filepath.Join(dir, "experiment.yaml"), experiment)
	return dir
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// command is what a build log obeys: at the start of a line, or anywhere in it.
var command = regexp.MustCompile(`(?m)^\s*::|##[a-z]*\[`)

// checkShown fails where a stream holds what a terminal or a build log would obey.
func checkShown(t *testing.T, name, text string) {
	t.Helper()
	for n, r := range text {
		if r == '\n' || r == '\t' && strings.HasPrefix(name, "__complete") {
			continue
		}
		if !unicode.IsGraphic(r) {
			t.Errorf("%s: %U at byte %d of %q", name, r, n, text[max(0, n-40):min(len(text), n+40)])
			return
		}
	}
	if at := command.FindStringIndex(text); at != nil {
		t.Errorf("%s: a build log obeys %q", name, text[at[0]:min(len(text), at[1]+40)])
	}
}

// Nothing that stands in a document, a query, an answer, an id, a name or an argument acts on the place where it is shown,
// and no secret of the environment gets into what is kept.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	dir, cache := hostileExperiment(t), t.TempDir()
	folder := filepath.Join(dir, "results\u009b")
	canary := "sk-canary-0123456789"
	env := func(name string) string {
		if name == "CULPRIT_CACHE" {
			return cache
		}
		return canary
	}
	mode := []string{"", "--json"}
	try := func(want int, args ...string) string {
		t.Helper()
		stdout, stderr, code := invoke(t.Context(), env, args...)
		if code != want {
			t.Errorf("%q: exit code %d, want %d: %s", args, code, want, stderr)
		}
		checkShown(t, args[0], stdout)
		checkShown(t, args[0], stderr)
		if strings.Contains(stdout+stderr, canary) {
			t.Errorf("%q shows a secret", args)
		}
		return stdout
	}
	for _, m := range mode {
		with := func(args ...string) []string {
			if m != "" {
				args = append(args, m)
			}
			return args
		}
		try(exitOK, with("check", dir)...)
		try(exitOK, with("plan", dir)...)
		try(3, with("run", dir, "--results", folder)...)
		try(exitOK, with("explain", "plain", "--results", folder)...)
		try(exitOK, with("explain", "lunch", "--results", folder)...)
		try(exitOK, with("report", "--results", folder)...)
		try(exitOK, with("sweep", dir)...)
		// Arguments come back in errors.
		try(exitUsage, with("run", hostile)...)
		try(exitUsage, with("check", hostile)...)
		try(exitUsage, with("explain", hostile, "--results", folder)...)
		try(exitUsage, with("explain", "plain", "--results", strings.ReplaceAll(hostile, "\x00", ""))...)
		try(exitUsage, with("report", "--execution", hostile)...)
		try(exitUsage, with("sweep", dir, "--budget", hostile)...)
		try(exitUsage, with("plan", dir, "--case", hostile)...)
		try(exitUsage, with("plan", dir, "--set", hostile)...)
		try(exitUsage, with("plan", dir, "--set", "name="+hostile)...)
		try(exitUsage, with("plan", dir, "--profile", hostile)...)
		try(exitUsage, with(hostile)...)
		try(exitUsage, with("--"+hostile)...)
	}
	try(exitUsage, "schema", hostile)
	try(exitUsage, "completion", hostile)
	try(exitUsage, "init", dir, "--name", hostile)
	try(exitUsage, "help", hostile)
	try(exitOK, "__complete", "explain", "--results", folder, "")
	try(exitOK, "__complete", "run", dir, "--case", "")
	// Mistakes in hostile files.
	broken := filepath.Join(dir, "broken")
	if err := os.Mkdir(broken, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(broken, "experiment.yaml"), "culprit: v1\nname: \"a\\u001b[31m\"\n\"\\u202ekey\\e[2J\": 1\nbackends:\n  store: {adapter: \"x\\u009b\"}\n"+
		"cases:\n  - {id: \"id\\u001b\", query: q, expect: \"\\u0085\"}\n  - {id: \"::error::x\\n::error::\", query: q}\n")
	for _, m := range []string{"check", "plan", "run", "sweep"} {
		try(exitUsage, m, broken)
		try(exitUsage, m, broken, "--json")
	}
	keptSecrets(t, dir, canary)
	keptSecrets(t, cache, canary)
}

// keptSecrets fails where a file below dir holds the secret.
func keptSecrets(t *testing.T, dir, secret string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), secret) {
			t.Errorf("%q holds a secret", path)
		}
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("%d files read: %v", files, err)
	}
}

// What only a results folder of somebody else can hold is not offered to a shell.
func TestCompletionsAreSafe(t *testing.T) {
	t.Parallel()
	got := completions([]string{"plain", "\x1b[31m", "::error::", "", "\u202e", "last"}, []string{"a\nb\x1b", "", "", "", "", "c"})
	if want := "plain\ta b‹U+001B›|last\tc"; strings.Join(got, "|") != want {
		t.Errorf("want %q, got %q", want, got)
	}
}
