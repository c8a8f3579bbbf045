package main

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/conformance"
	"github.com/culprit-rag/culprit/adapters/plugin"
	"github.com/culprit-rag/culprit/experiments"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/results"
	"github.com/culprit-rag/culprit/results/index"
	"github.com/culprit-rag/culprit/runner"
)

// Whoever makes a bundle decides what stands in it: nothing of it acts on the place where it is shown, in whichever of its texts it
// stands, also where sums and digests are made to fit.
func TestAttackForgedBundles(t *testing.T) {
	t.Parallel()
	bundle := runPrivate(t, `{field: level, access: restricted}`)
	key := privateKey(t)
	const rewritten = "../../results/testdata/golden/rewrite.bundle.zip"
	every, seen := forgeries(t, members(t, bundle), map[string]bool{}), map[string]bool{}
	maps.Copy(every, forgedBlobs(t, members(t, bundle)))
	for what := range every {
		seen[what] = true
	}
	others := forgeries(t, members(t, rewritten), seen)
	var intact, told atomic.Int64
	tried := func(t *testing.T, name, bundle string, every map[string]map[string][]byte, first, step int) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSealing(t, bundle)
			if v := results.Verify(s.path(), results.Policy{}); v.State != results.StateIntact && v.State != results.StateEvaluator {
				t.Fatalf("sealed again as it was it is %s: %v", v.State, v.Problems)
			}
			all := slices.Sorted(maps.Keys(every))
			if os.Getenv("CULPRIT_TEST_SHORT") != "" {
				step *= 3
			}
			for i := first; i < len(all); i += step {
				s.seal(t, every[all[i]])
				verifies, shown := s.show(t, i, all[i], bundle, key)
				if verifies {
					intact.Add(1)
				}
				if shown {
					told.Add(1)
				}
			}
		})
	}
	t.Run("in", func(t *testing.T) {
		tried(t, "one half", bundle, every, 0, 2)
		tried(t, "the other half", bundle, every, 1, 2)
		tried(t, "a rewriting", rewritten, others, 0, 1)
	})
	// What verify refuses is shown all the same; what it takes is what everybody relies on.
	most := 1
	if os.Getenv("CULPRIT_TEST_SHORT") != "" {
		most = 4
	}
	if n, shown := intact.Load()*int64(most), told.Load()*int64(most); len(every) < 250 || len(others) < 10 || n < 20 || shown < 40 {
		t.Errorf("only %d and %d places were forged, %d of them so that verify takes it, and %d were shown", len(every), len(others), n, shown)
	}
}

// escaped is how a character of forgery is shown.
const escaped = "‹U+001B›"

// show lets every command look at the forged bundle, and reports whether it verifies, and whether what was forged was shown.
func (s *sealing) show(t *testing.T, i int, what, own, key string) (intact, told bool) {
	t.Helper()
	path := s.path()
	look := func(args ...string) int {
		text, code := shows(t, what, append(args, "--results", s.out)...)
		told = told || strings.Contains(text, escaped)
		return code
	}
	intact = look("verify", path) == exitOK
	look("explain", s.test, "--full")
	look("report", "--all")
	if i%3 == 0 {
		look("diff", own, path, "--force", "--all", "--markdown")
		look("replay", path)
	}
	if intact {
		look("sign", path, "--key", key)
		look("reexec", path)
	}
	if strings.HasPrefix(what, "manifest.json") || strings.HasPrefix(what, "evaluation.json") {
		look("history")
		look("history", s.test)
		look("index", "rebuild")
		look("diff", s.id, s.id, "--force", "--all")
		shows(t, what, "__complete", "explain", "--results", s.out, "")
	}
	if strings.HasPrefix(what, "experiment.json") {
		shows(t, what, "replay", path, "--as-backend", "--results", filepath.Join(t.TempDir(), "again"))
	}
	if i%7 == 0 || strings.HasPrefix(what, "plan.json") {
		look("explain", s.test, "--why-not", "generate/ignored-evidence")
		look("redact", path, "--out", filepath.Join(t.TempDir(), "redacted"))
		look("verify", path, "--json")
		look("explain", s.test, "--json")
		look("report", "--json")
		look("history", s.test, "--json")
		look("diff", path, own, "--rejudge", "--json")
		look("replay", path, "--json")
	}
	return intact, told
}

// What else stands in a results folder is not sealed at all: the summary of an execution, the ledger, and what a killed run has left.
func TestAttackForgedFolder(t *testing.T) {
	t.Parallel()
	bundle := runPrivate(t, `{field: level, access: restricted}`)
	b := openBundle(t, bundle)
	id, own, name := b.Manifest.ExecID.String(), filepath.Dir(filepath.Dir(bundle)), filepath.Join(t.TempDir(), "results")
	experiment := filepath.Dir(own)
	work := filepath.Join(".work", id)
	files := map[string][]byte{}
	for _, file := range []string{"ledger.jsonl", filepath.Join(id, "execution.json")} {
		data, err := os.ReadFile(filepath.Join(own, file))
		if err != nil {
			t.Fatal(err)
		}
		files[file] = data
	}
	journal := readable(t, members(t, bundle)["journal.jsonl"])
	doubt := map[string]any{
		"t": "intent", "at": "2026-01-01T00:00:00Z", "call_key": "sha256:" + strings.Repeat("0", 64), "role": "generator", "attempt": 1, "durable": true,
		"call": map[string]any{"case": "fee", "cell": "A", "step": "generate", "rep": 1, "provider": "p", "model": "m", "params": "{}", "input_sha256": ""},
	}
	journal = slices.Insert(journal[:len(journal)-1], 1, any(map[string]any{"rec": doubt})) // is the first that has such fields
	files[filepath.Join(work, "fee", "journal.jsonl")] = written(t, "journal.jsonl", journal)
	files[filepath.Join(work, "fee", "LOCK")] = []byte("pid 1" + forgery)
	invocation := results.Invocation{Schema: results.InvocationSchema, Path: experiment, Profile: "nightly", Set: []string{"limits.concurrency=1"}, Cases: []results.InvokedCase{{ID: "fee", Digest: b.Manifest.CaseDigest}}}
	for file, v := range map[string]any{"invocation.json": invocation, "shared.json": results.Shared{Far: []matrix.Asked{{Role: "generator", Calls: 1}}, Open: 1, Doubt: 1}} {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Join(work, file)] = data
	}
	every, told := forgeries(t, files, map[string]bool{}), 0
	for _, what := range slices.Sorted(maps.Keys(every)) {
		if err := os.RemoveAll(name); err != nil {
			t.Fatal(err)
		}
		for file, data := range every[what] {
			to := filepath.Join(name, file)
			if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o700), os.WriteFile(to, data, 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		look := func(args ...string) {
			if text, _ := shows(t, what, args...); strings.Contains(text, escaped) {
				told++
			}
		}
		switch folder := "--results=" + name; {
		case strings.HasPrefix(what, "ledger"):
			look("history", folder)
			look("verify", id, folder, "--json")
		case strings.HasPrefix(what, id):
			look("report", "--all", folder)
			look("report", "--json", folder)
			look("explain", "no-such", folder)
			look("__complete", "explain", folder, "")
		case strings.Contains(what, "journal"):
			look("journal", "repair", filepath.Join(name, work, "fee", "journal.jsonl"))
			look("resume", "--list", folder)
			look("run", experiment, folder)
		default:
			look("resume", "--list", folder)
			look("resume", folder)
		}
	}
	if len(every) < 80 || told < 15 {
		t.Errorf("only %d places were forged, and %d times it was shown", len(every), told)
	}
}

// An experiment that no file may hold, run by a program that does not look: all of it is intact, and every name in it is hostile.
func TestAttackHostileNames(t *testing.T) {
	t.Parallel()
	registry, err := builtIn()
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := experiments.Load("../../experiments/examples/travel-policy", experiments.Options{Schemas: registry.Schemas()})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	out := filepath.Join(dir, "results")
	hostileName := func(s *string) { *s = order + *s + forgery }
	hostileName(&loaded.Experiment.Name)
	for i := range loaded.Cases {
		c := &loaded.Cases[i].Case
		hostileName(&c.ID)
		for j := range c.Claims {
			hostileName(&c.Claims[j].ID)
		}
	}
	var ids []string
	for range 2 {
		s, err := runner.Run(t.Context(), loaded, runner.Options{Registry: registry, Out: out, CacheDir: filepath.Join(dir, "cache")})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, s.Execution.String())
	}
	key, told := privateKey(t), 0
	look := func(want int, args ...string) {
		t.Helper()
		text, code := shows(t, "every name", append(args, "--results", out)...)
		if code != want {
			t.Errorf("%q: exit code %d, want %d: %s", args, code, want, text)
		}
		if strings.Contains(text, escaped) || strings.Contains(text, `\u001b`) {
			told++
		}
	}
	one, redacted := loaded.Cases[0].Case.ID, filepath.Join(dir, "redacted"+strings.ReplaceAll(hostile, "\x00", ""))
	for _, flag := range [][]string{nil, {"--json"}} {
		with := func(args ...string) []string { return append(args, flag...) }
		look(exitOK, with("verify", ids[0])...)
		look(exitOK, with("replay", ids[0])...)
		look(exitOK, with("report", "--all")...)
		look(exitOK, with("explain", one)...)
		look(exitUsage, with("explain", one[1:])...)
		look(exitOK, with("history")...)
		look(exitOK, with("history", one)...)
		look(exitUsage, with("history", one[1:])...)
		look(exitOK, with("diff", "--all")...)
		look(exitUsage, with("diff", "--case", one[1:])...)
		look(exitOK, with("redact", ids[0], "--out", redacted)...)
		look(exitOK, with("sign", ids[0], "--key", key)...)
		look(exitUsage, with("reexec", filepath.Join(out, ids[0]), "../../experiments/examples/travel-policy")...)
	}
	look(exitOK, "diff", "--all", "--markdown")
	look(exitOK, "index", "rebuild")
	look(exitOK, "__complete", "explain", "")
	if told < 12 {
		t.Errorf("what is hostile was shown by %d commands", told)
	}
}

// What a plugin calls itself, and what it says where it fails, is of somebody else, too.
func TestAttackPluginTexts(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	a := &app{out: stream{Writer: &out}}
	a.introduce(plugin.Program{Name: order + forgery, Version: forgery}, []string{"plugin"})
	for _, state := range []conformance.State{conformance.Failed, conformance.Skipped} {
		a.showOutcomes(adapters.RoleStore, []conformance.Outcome{{Name: "search", State: state, Said: []string{order + forgery, forgery + order}}}, map[conformance.State]int{}, true)
	}
	checkShown(t, "plugin", out.String())
	if n := strings.Count(out.String(), escaped); n < 5 {
		t.Errorf("what is hostile was shown %d times: %q", n, out.String())
	}
}

// Beside a bundle of somebody else a link may stand where a file is to be written: what it leads to stays as it is.
func TestAttackLinkBesideBundle(t *testing.T) {
	t.Parallel()
	bundle := runPrivate(t, `{field: level, access: restricted}`)
	mine := filepath.Join(t.TempDir(), "mine")
	write(t, mine, "mine")
	key := privateKey(t)
	none := func(string) string { return "" }
	for link, args := range map[string][]string{
		filepath.Join(filepath.Dir(bundle), "fee.evaluation.replay.json"): {"replay", bundle, "--write"},
		bundle + ".dsse.json": {"sign", bundle, "--key", key},
		filepath.Join(filepath.Dir(filepath.Dir(bundle)), "index.sqlite"): {"history", "--results", filepath.Dir(filepath.Dir(bundle))},
	} {
		_ = os.Remove(link) // may be there or not
		if err := os.Symlink(mine, link); err != nil {
			t.Fatal(err)
		}
		_, stderr, code := invoke(t.Context(), none, args...)
		if data, err := os.ReadFile(mine); err != nil || string(data) != "mine" {
			t.Errorf("%q wrote through a link: %q, %v", args, data, err)
		}
		if info, err := os.Lstat(link); err != nil || info.Mode().IsRegular() != (code == exitOK) {
			t.Errorf("%q: exit code %d, and the link is %v, %v: %s", args, code, info.Mode(), err, stderr)
		}
	}
}

// The index of a results folder may have been made by somebody else, with other texts than the bundles hold.
func TestAttackForgedIndex(t *testing.T) {
	t.Parallel()
	bundle := runPrivate(t, `{field: level, access: restricted}`)
	out, id := filepath.Dir(filepath.Dir(bundle)), filepath.Base(filepath.Dir(bundle))
	look := func(args ...string) (told bool) {
		text, _ := shows(t, "index.sqlite", append(args, "--results", out)...)
		return strings.Contains(text, escaped) || strings.Contains(text, `\u001b`)
	}
	look("history")
	at := time.Now().Add(-time.Hour) // so long ago that the index is taken for what it says
	if err := os.Chtimes(filepath.Dir(bundle), at, at); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(out, index.File))
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), `UPDATE execution SET seen = ?1`, at.UnixNano())
	for _, column := range []string{"file", "created", "status", "manifest", "case_digest", "pins", "observation", "ruleset", "outcome", "qualifier", "defects", "grade", "low", "high"} {
		if err == nil {
			_, err = db.ExecContext(t.Context(), "UPDATE bundle SET "+column+" = ?1", order+forgery)
		}
	}
	if err == nil {
		_, err = db.ExecContext(t.Context(), `INSERT INTO unread VALUES (?1, ?2, ?2); INSERT INTO bundle SELECT ?2, execution, file, created, status, manifest, case_digest, pins,
			observation, ruleset, outcome, qualifier, defects, grade, scored, pass, low, high FROM bundle`, id, order+forgery)
	}
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	told := 0
	for _, args := range [][]string{
		{"history"}, {"history", "--json"}, {"history", "fee"}, {"history", "fee", "--json"}, {"history", "no-such"}, {"diff", id, id}, {"diff", id, id, "--case", "no-such"},
	} {
		if look(args...) {
			told++
		}
	}
	if told < 5 {
		t.Errorf("what is hostile was shown by %d commands", told)
	}
	look("index", "rebuild")
	if look("history", "fee") {
		t.Error("what is forged outlives an index that is made anew")
	}
}
