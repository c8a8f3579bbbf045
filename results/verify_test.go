package results

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

// goldenLabels are what each golden bundle must say for ever.
var goldenLabels = map[string]string{
	"index-missing": "index/missing",
	"judge":         "pass",
	"noisy":         "inconclusive",
	"pass":          "pass",
	"repeated":      "generate/unstable",
	"rewrite":       "pass",
}

// Bundles that earlier versions sealed stay intact and keep their labels. By the same rules they stay the same bytes. What fails here is
// never made again over the old file: either the change is a mistake, or it is one that a reader of old bundles must be told of, and then
// the digest of the rules has to change with it.
func TestGoldenBundles(t *testing.T) {
	t.Parallel()
	total := int64(0)
	for name, path := range goldens(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := checkBundle(t, path)
			for _, place := range []string{path, unpack(t, path)} {
				v := Verify(place, Policy{})
				for _, p := range v.Problems {
					if p.Step != stepEvaluator {
						t.Errorf("%s: %s", p.Step, p)
					}
				}
				r, err := ReplayBundle(place)
				if err != nil {
					t.Fatal(err)
				}
				if want := goldenLabels[name]; r.Now.Verdict != want || r.Sealed.Verdict != want || v.Verdict != want || r.Changed() {
					t.Errorf("sealed as %q, now %q, want %q; changes: %+v", r.Sealed.Verdict, r.Now.Verdict, want, r.Changes)
				}
				if sameEvaluator(&b.Manifest) && (!r.Same || !v.Derived || v.State != StateIntact) {
					t.Errorf("by the same rules: %s, %v differ: %+v", v.State, r.Differ, r.Changes)
				}
			}
		})
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if total += info.Size(); info.Size() >= 300_000 {
			t.Errorf("%s has %d bytes", path, info.Size())
		}
	}
	if total >= 1_000_000 {
		t.Errorf("the golden bundles have %d bytes together", total)
	}
}

// reseal makes sums, digests and the end of the journal of an unpacked bundle fit what stands in it, as who has changed it would.
func reseal(tb testing.TB, dir string, change func(*Manifest)) {
	tb.Helper()
	m, err := decodeManifest(read(tb, dir, manifestFile))
	if err != nil {
		tb.Fatal(err)
	}
	class := map[string]File{}
	for _, f := range m.Files {
		class[f.Path] = f
	}
	m.Files = nil
	for _, name := range filesIn(tb, dir) {
		if name == manifestFile || name == sumsFile {
			continue
		}
		data := read(tb, dir, name)
		f := class[name]
		if f.Path == "" {
			f = File{Class: ClassObserved, MediaType: "text/plain", Path: name, Restricted: strings.HasPrefix(name, restrictedFolder)}
		}
		f.SHA256, f.Size = fmt.Sprintf("%x", sha256.Sum256(data)), f.told(int64(len(data)))
		m.Files = append(m.Files, f)
	}
	for name, into := range map[string]*string{caseFile: &m.Digests.Case, pinsFile: &m.Digests.Pins, planFile: &m.Digests.Plan, evaluationFile: &m.Digests.Evaluation} {
		*into = matrix.DigestBytes(read(tb, dir, name))
	}
	m.CaseDigest = m.Digests.Case
	j, err := decodeJournal(read(tb, dir, journalFile))
	if err == nil {
		m.Journal = JournalHead{Head: j.Head, Records: len(j.Records)}
	}
	if change != nil {
		change(m)
	}
	data, err := matrix.Canonical(m)
	if err != nil {
		tb.Fatal(err)
	}
	place(tb, dir, manifestFile, data)
	place(tb, dir, sumsFile, sums(m.Files, data))
	if b, err := Open(dir); err == nil {
		if digest, err := b.Observations.Digest(); err == nil && digest != m.Digests.Observation && change == nil {
			reseal(tb, dir, func(m *Manifest) { m.Digests.Observation = digest })
		}
	}
}

// current unpacks a golden bundle as this version would have sealed it.
func current(tb testing.TB, name string) string {
	tb.Helper()
	path := goldens(tb)[name]
	r, err := ReplayBundle(path)
	if err != nil {
		tb.Fatal(err)
	}
	plan, err := derivePlan(r.Bundle)
	if err != nil {
		tb.Fatal(err)
	}
	planned, err := matrix.Canonical(plan)
	if err != nil {
		tb.Fatal(err)
	}
	dir := unpack(tb, path)
	edited(tb, dir, journalFile, r.Bundle.Manifest.Digests.Plan, matrix.DigestBytes(planned))
	place(tb, dir, journalFile, chained(tb, records(tb, dir)))
	place(tb, dir, planFile, planned)
	place(tb, dir, featuresFile, r.Features)
	place(tb, dir, evaluationFile, r.Evaluation)
	reseal(tb, dir, func(m *Manifest) { m.Evaluator.Ruleset, m.Tool = verdict.Ruleset(), BuildTool() })
	if v := Verify(dir, Policy{}); v.State != StateIntact || !v.Derived {
		tb.Fatalf("%s\n%s", v.State, listed(v))
	}
	return dir
}

// place writes a file of a bundle, whose folder may be new.
func place(tb testing.TB, dir, name string, data []byte) {
	tb.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o600)); err != nil {
		tb.Fatal(err)
	}
}

// edited replaces a text in a file of a bundle.
func edited(tb testing.TB, dir, name, from, to string) {
	tb.Helper()
	data := read(tb, dir, name)
	if !bytes.Contains(data, []byte(from)) {
		tb.Fatalf("%s does not hold %q", name, from)
	}
	place(tb, dir, name, bytes.Replace(data, []byte(from), []byte(to), 1))
}

// chained writes records as a journal, each behind the one before.
func chained(tb testing.TB, records [][]byte) []byte {
	tb.Helper()
	var out []byte
	head := noRecord
	for i, rec := range records {
		sum := recordSum(i+1, head, rec)
		out = journalLine(out, i+1, head, rec, sum)
		head = sum
	}
	return out
}

// records returns the records of a journal, as they stand in it.
func records(tb testing.TB, dir string) [][]byte {
	tb.Helper()
	var out [][]byte
	for line := range bytes.Lines(read(tb, dir, journalFile)) {
		var envelope struct{ Rec json.RawMessage }
		if err := json.Unmarshal(line, &envelope); err != nil {
			tb.Fatal(err)
		}
		out = append(out, envelope.Rec)
	}
	return out
}

// Attack 10: what was changed, dropped, added or swapped is found, also where the seal was made anew by who did it, as far as what is
// inside contradicts itself. Each case names the step that must find it.
func TestVerifyFindsTampering(t *testing.T) {
	t.Parallel()
	golden := goldens(t)
	firstAnswer := func(dir string) string {
		b, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		return b.Observations.Trials[0].Answer.Ref
	}
	forge := func(from, to string) func(t *testing.T, dir string) { // another answer to the first trial, which is called what it is not
		return func(t *testing.T, dir string) {
			ref, forged := firstAnswer(dir), []byte("The mooring fee is ninety crowns.")
			place(t, dir, blobPath(matrix.DigestBytes(forged)), forged)
			edited(t, dir, generationsFile, `"answer":"`+ref, `"answer":"`+matrix.DigestBytes(forged))
			edited(t, dir, generationsFile, from, strings.ReplaceAll(to, "$", matrix.DigestBytes(forged)))
		}
	}
	lines := func(dir, name string) [][]byte { return slices.Collect(bytes.Lines(read(t, dir, name))) }
	rechain := func(change func([][]byte) [][]byte) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) { place(t, dir, journalFile, chained(t, change(records(t, dir)))) }
	}
	replaced := func(from, to string) func([][]byte) [][]byte {
		return func(all [][]byte) [][]byte {
			for i := range all {
				all[i] = bytes.ReplaceAll(all[i], []byte(from), []byte(to))
			}
			return all
		}
	}
	for name, tc := range map[string]struct {
		attack func(t *testing.T, dir string)
		reseal bool
		step   string
		want   string // in the message of a problem of that step
		state  State  // StateBroken where it is ""
	}{
		"a file is edited":     {func(t *testing.T, dir string) { edited(t, dir, evaluationFile, `"pass"`, `"fail"`) }, false, "files", "evaluation.json: it was changed", ""},
		"an answer is edited":  {func(t *testing.T, dir string) { edited(t, dir, blobPath(firstAnswer(dir)), "forty", "fifty") }, false, "files", "it was changed", ""},
		"a file is dropped":    {func(t *testing.T, dir string) { remove(t, dir, environmentFile) }, false, "files", "environment.json: it is missing", ""},
		"the sums are dropped": {func(t *testing.T, dir string) { remove(t, dir, sumsFile) }, false, "files", "SHA256SUMS: it is missing", ""},
		"the sums are others":  {func(t *testing.T, dir string) { place(t, dir, sumsFile, nil) }, false, "files", "SHA256SUMS: it lists other files", ""},
		"a file is added":      {func(t *testing.T, dir string) { place(t, dir, "blobs/readme", []byte("x")) }, false, "files", "blobs/readme: manifest.json does not list it", ""},
		"a link is added": {func(t *testing.T, dir string) {
			if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link")); err != nil {
				t.Fatal(err)
			}
		}, false, "files", "link: manifest.json does not list it", ""},
		"a file is a link": {func(t *testing.T, dir string) {
			outside := filepath.Join(t.TempDir(), "pins")
			write(t, filepath.Dir(outside), "pins", read(t, dir, pinsFile))
			remove(t, dir, pinsFile)
			if err := os.Symlink(outside, filepath.Join(dir, pinsFile)); err != nil {
				t.Fatal(err)
			}
		}, false, "files", "not a regular file", ""},
		"a file would fill the memory": {func(t *testing.T, dir string) {
			if err := os.Truncate(filepath.Join(dir, pinsFile), 1<<33); err != nil {
				t.Fatal(err)
			}
		}, false, "files", "pins.json\" has 8589934592 bytes; the limit is", ""},
		"more files than a bundle may have": {func(t *testing.T, dir string) {
			for i := range maxFiles {
				place(t, dir, fmt.Sprintf("z/%05d", i), nil)
			}
		}, false, "files", "it holds more than 20000 files", ""},
		"the manifest is that of another bundle": {func(t *testing.T, dir string) {
			place(t, dir, manifestFile, read(t, unpack(t, golden["judge"]), manifestFile))
		}, false, "files", "evaluation.json: it has", ""},
		"the manifest is gone":       {func(t *testing.T, dir string) { remove(t, dir, manifestFile) }, false, stepManifest, "this is not a bundle", StateMalformed},
		"the schema is an older one": {func(t *testing.T, dir string) { edited(t, dir, manifestFile, "culprit.bundle/v1", "culprit.bundle/v0") }, false, stepManifest, `schema is "culprit.bundle/v0"`, StateMalformed},
		"the schema is a newer one":  {func(t *testing.T, dir string) { edited(t, dir, manifestFile, "culprit.bundle/v1", "culprit.bundle/v2") }, false, stepManifest, "use a newer culprit", StateMalformed},
		"the schema of the evaluation is another": {func(t *testing.T, dir string) {
			edited(t, dir, evaluationFile, "culprit.evaluation/v1", "culprit.evaluation/v0")
		}, true, stepContents, `schema is "culprit.evaluation/v0"`, StateMalformed},
		"the evaluation has a field more": {func(t *testing.T, dir string) { edited(t, dir, evaluationFile, `{"answer"`, `{"addendum":1,"answer"`) }, true, stepContents, `unknown field "addendum"`, StateMalformed},
		"the label is edited":             {func(t *testing.T, dir string) { edited(t, dir, evaluationFile, `"outcome":"pass"`, `"outcome":"fail"`) }, true, "derived", "evaluation.json: made again", ""},
		"a feature is edited":             {func(t *testing.T, dir string) { edited(t, dir, featuresFile, `"meets":true`, `"meets":false`) }, true, "derived", "features.json: made again", ""},
		"the plan is edited":              {func(t *testing.T, dir string) { edited(t, dir, planFile, "the order is reversed", "nothing") }, true, "derived", "plan.json: made again", ""},
		"the experiment is edited":        {func(t *testing.T, dir string) { edited(t, dir, experimentFile, `"k":2`, `"k":3`) }, true, "digests", "pins.json: experiment is", ""},
		"the model that was asked is another": {func(t *testing.T, dir string) {
			edited(t, dir, pinsFile, `"model_requested":"`, `"model_requested":"other-`)
		}, true, "digests", "pins.generator.model_requested was", ""},
		"a model that nobody was answered by": {func(t *testing.T, dir string) {
			edited(t, dir, pinsFile, `"model_requested":`, `"model_reported":["zz"],"model_requested":`)
		}, true, "digests", "pins.generator.model_reported was", ""},
		"the pinned prompt is another": {func(t *testing.T, dir string) {
			edited(t, dir, pinsFile, `"user_sha256":"sha256:`, `"user_sha256":"sha256:0`)
		}, true, "digests", "pins.prompt.user_sha256 was", ""},
		"the pinned parameters are others": {func(t *testing.T, dir string) { edited(t, dir, pinsFile, `"temperature":"0`, `"temperature":"10`) }, true, "digests", "pins.generator.params.temperature was", ""},
		"the pinned store is another":      {func(t *testing.T, dir string) { edited(t, dir, pinsFile, `"count":"`, `"count":"9`) }, true, "digests", "pins.store.count was", ""},
		"the case is edited":               {func(t *testing.T, dir string) { edited(t, dir, caseFile, "mooring", "docking") }, true, "digests", "plan.json: case_digest is", ""},
		"another form of the same JSON": {func(t *testing.T, dir string) {
			place(t, dir, pinsFile, append(read(t, dir, pinsFile), '\n'))
		}, true, "digests", "pins.json: its bytes are not the canonical form", ""},
		"an answer is another one": {func(t *testing.T, dir string) {
			ref := firstAnswer(dir)
			forged := []byte("The mooring fee is ninety crowns.")
			place(t, dir, blobPath(matrix.DigestBytes(forged)), forged)
			edited(t, dir, generationsFile, `"answer":"`+ref, `"answer":"`+matrix.DigestBytes(forged))
		}, true, "references", "generations.jsonl:1: its answer is", ""},
		"an answer is another one and nobody asked": {forge(`"attempts":1`, `"attempts":0`), true, "references", "generations.jsonl:1: its answer is", ""},
		"an answer is another one and was cut":      {forge(`"attempts":1`, `"answer_lossy":true,"attempts":1`), true, "references", "generations.jsonl:1: its answer is", ""},
		"an answer is another one and a refusal":    {forge(`"attempts":1`, `"refusal":"$","attempts":1`), true, "references", "generations.jsonl:1: its answer is", ""},
		"an answer is another one and cached":       {forge(`"attempts":1`, `"cached":true`), true, "references", "generations.jsonl:1: its answer is said to be from elsewhere", ""},
		"an answer is that of another call":         {forge(`"attempts":1`, `"same_as":"sha256:7"`), true, "references", "generations.jsonl:1: its answer is said to be from elsewhere", ""},
		"a trial was made and is said to be not":    {func(t *testing.T, dir string) { edited(t, dir, generationsFile, `"status":"ok"`, `"status":"not_run"`) }, true, "references", `its status is "not_run", and`, ""},
		"a text may be withheld and no rule says so": {func(t *testing.T, dir string) {
			ref := firstAnswer(dir)
			hidden := newSalted(read(t, dir, blobPath(ref)))
			place(t, dir, refPath(hidden.ref), hidden.data)
			edited(t, dir, generationsFile, `"answer":"`+ref, `"answer":"`+hidden.ref)
		}, true, "references", "it is restricted, and the experiment declares no sensitivity", ""},
		"a blob that nothing names": {func(t *testing.T, dir string) {
			place(t, dir, blobPath(matrix.DigestBytes([]byte("x"))), []byte("x"))
		}, true, "references", "nothing in the bundle names it", ""},
		"a file that no bundle has": {func(t *testing.T, dir string) { place(t, dir, "notes.txt", []byte("x")) }, true, "references", "notes.txt: no bundle has a file of this name", ""},
		"a blob under the name of another": {func(t *testing.T, dir string) {
			place(t, dir, blobPath(firstAnswer(dir)), []byte("forged"))
		}, true, "files", "another sum than its name is", ""},
		"a trial is dropped": {func(t *testing.T, dir string) {
			all := lines(dir, generationsFile)
			place(t, dir, generationsFile, bytes.Join(all[1:], nil))
		}, true, "references", `cell "A" is planned, and was neither observed nor is it "not_run"`, ""},
		"a trial that was to be made is not": {func(t *testing.T, dir string) {
			notRun(t, dir, "no cell asks for it")
		}, true, "references", "and no call had failed", ""},
		"what is partial is called complete": {func(t *testing.T, dir string) {
			notRun(t, dir, NotMadeSealed)
		}, true, "references", "its status is \"complete\", and calls are there that were not made", ""},
		"a trial is counted twice": {func(t *testing.T, dir string) {
			all := lines(dir, generationsFile)
			place(t, dir, generationsFile, bytes.Join(slices.Insert(all, 1, all[0]), nil))
		}, true, "references", `repetition 1 of cell "A" was observed twice`, ""},
		"a trial that no plan has": {func(t *testing.T, dir string) {
			all := lines(dir, generationsFile)
			more := bytes.Replace(all[0], []byte(`"cell":"A"`), []byte(`"cell":"X"`), 1)
			place(t, dir, generationsFile, append(bytes.Join(all, nil), more...))
		}, true, "references", `its cell "X" is not in the plan`, ""},
		"a line of the journal is edited": {func(t *testing.T, dir string) { edited(t, dir, journalFile, `"attempt":1`, `"attempt":2`) }, true, "journal", "does not fit its sum", ""},
		"a line of the journal is dropped": {func(t *testing.T, dir string) {
			all := lines(dir, journalFile)
			place(t, dir, journalFile, bytes.Join(slices.Delete(all, 3, 4), nil))
		}, true, "journal", "does not follow the one before", ""},
		"lines of the journal change places": {func(t *testing.T, dir string) {
			all := lines(dir, journalFile)
			all[3], all[4] = all[4], all[3]
			place(t, dir, journalFile, bytes.Join(all, nil))
		}, true, "journal", "does not follow the one before", ""},
		"the journal is cut": {func(t *testing.T, dir string) {
			all := lines(dir, journalFile)
			place(t, dir, journalFile, bytes.Join(all[:len(all)-1], nil))
		}, true, "journal", `ends with "close"`, ""},
		"the journal is torn": {func(t *testing.T, dir string) {
			data := read(t, dir, journalFile)
			place(t, dir, journalFile, data[:len(data)-1])
		}, true, "journal", "records with the head", ""},
		"a call is taken out of a new chain": {func(t *testing.T, dir string) {
			all := records(t, dir)
			place(t, dir, journalFile, chained(t, slices.Delete(all, len(all)-3, len(all)-1)))
		}, true, "references", "journal.jsonl does not tell of its call", ""},
		"a call is added to a new chain": {func(t *testing.T, dir string) {
			all := records(t, dir)
			call := matrix.Call{Case: matrix.DigestBytes(read(t, dir, caseFile)), Cell: matrix.CellA, Step: "generate", Rep: 7}
			key, err := call.Key()
			if err != nil {
				t.Fatal(err)
			}
			rec, err := json.Marshal(Record{Type: RecordIntent, CallKey: key, Call: &call, Attempt: 1})
			if err != nil {
				t.Fatal(err)
			}
			place(t, dir, journalFile, chained(t, slices.Insert(all, len(all)-1, rec)))
		}, true, "references", "what came of it was not observed", ""},
		"the seed is another": {func(t *testing.T, dir string) { edited(t, dir, generationsFile, `"seed":`, `"seed":7`) }, true, "references", "is not of the prompt and the seed", ""},
		"a result stands twice in a new chain": {rechain(func(all [][]byte) [][]byte {
			at := slices.IndexFunc(all, func(rec []byte) bool { return bytes.HasPrefix(rec, []byte(`{"t":"result"`)) })
			return slices.Insert(all, at, all[at])
		}), true, "journal", "that no record announces", ""},
		"the plan is dropped from a new chain": {rechain(func(all [][]byte) [][]byte {
			return slices.DeleteFunc(all, func(rec []byte) bool { return bytes.HasPrefix(rec, []byte(`{"t":"plan"`)) })
		}), true, "journal", `its last plan is ""`, ""},
		"the plan in a new chain counts others":     {rechain(replaced(`"generations":`, `"generations":1`)), true, "journal", "generations and", ""},
		"a new chain was begun with other pins":     {rechain(replaced(`"pins_digest":"sha256:`, `"pins_digest":"sha256:0`)), true, "journal", "it was begun with the pins", ""},
		"a result in a new chain is from elsewhere": {rechain(replaced(`{"t":"result",`, `{"t":"result","from":"20200101T000000Z-aaaaaa",`)), true, "journal", "and was made in this one", ""},
		"the journal of another bundle": {func(t *testing.T, dir string) {
			place(t, dir, journalFile, read(t, unpack(t, golden["judge"]), journalFile))
		}, true, "journal", "it is of case", ""},
		"the observations of another bundle": {func(t *testing.T, dir string) {
			other := unpack(t, golden["noisy"])
			if err := os.RemoveAll(filepath.Join(dir, "blobs")); err != nil {
				t.Fatal(err)
			}
			for _, name := range filesIn(t, other) {
				if strings.HasPrefix(name, "blobs/") || name == generationsFile || name == retrievalsFile || name == storeFile {
					place(t, dir, name, read(t, other, name))
				}
			}
		}, true, "references", "journal.jsonl does not tell of its call", ""},
		"observations that cannot be": {func(t *testing.T, dir string) { edited(t, dir, retrievalsFile, `"k":2`, `"k":-2`) }, true, "derived", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := current(t, "pass")
			tc.attack(t, dir)
			if tc.reseal {
				reseal(t, dir, nil)
			}
			want := tc.state
			if want == "" {
				want = StateBroken
			}
			v := Verify(dir, Policy{})
			found := slices.ContainsFunc(v.Problems, func(p Problem) bool { return p.Step == tc.step && strings.Contains(p.String(), tc.want) })
			if !found || v.State != want {
				t.Errorf("%s, and no problem of %q with %q among\n%s", v.State, tc.step, tc.want, listed(v))
			}
			for _, p := range v.Problems {
				if p.Do == "" || strings.Contains(p.Message, "\n") {
					t.Errorf("%q: it does not say what to do, or is no line", p)
				}
			}
		})
	}
}

// Trials that are dropped with all that tells of them, and with a verdict of the others, are missed.
func TestVerifyMissesDroppedTrials(t *testing.T) {
	t.Parallel()
	whole := current(t, "noisy")
	b, err := Open(whole)
	if err != nil {
		t.Fatal(err)
	}
	failing := map[string]bool{}
	for i := range b.Features.Trials {
		failing[b.Observations.Trials[i].CallKey] = !b.Features.Trials[i].Meets
	}
	for name, tc := range map[string]struct {
		drop func(*matrix.Trial) bool
		want string
	}{
		"none":            {func(*matrix.Trial) bool { return false }, ""},
		"the failing":     {func(t *matrix.Trial) bool { return failing[t.CallKey] }, "not all of them are there"},
		"the first":       {func(t *matrix.Trial) bool { return t.Rep == 1 }, "repetition 1 was not observed"},
		"all but a few":   {func(t *matrix.Trial) bool { return t.Rep > 2 }, "not all of them are there"},
		"those of a cell": {func(t *matrix.Trial) bool { return t.Cell == matrix.CellB }, `cell "B" is planned`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := unpack(t, packFolder(t, whole))
			dropTrials(t, dir, tc.drop)
			reseal(t, dir, nil)
			r, err := ReplayBundle(dir)
			if err != nil {
				t.Fatal(err)
			}
			place(t, dir, featuresFile, r.Features)
			place(t, dir, evaluationFile, r.Evaluation)
			reseal(t, dir, nil)
			if v := Verify(dir, Policy{}); v.State == StateIntact != (tc.want == "") || !strings.Contains(listed(v), tc.want) {
				t.Errorf("%s\n%s", v.State, listed(v))
			}
		})
	}
}

// dropTrials takes trials out of the observations, with all that the journal tells of them.
func dropTrials(tb testing.TB, dir string, which func(*matrix.Trial) bool) (dropped int) {
	tb.Helper()
	trials, err := decodeLines[matrix.Trial](read(tb, dir, generationsFile))
	if err != nil {
		tb.Fatal(err)
	}
	kept, gone := [][]byte{}, [][]byte{}
	for i, line := range slices.Collect(bytes.Lines(read(tb, dir, generationsFile))) {
		if which(&trials[i]) {
			dropped, gone = dropped+1, append(gone, []byte(trials[i].CallKey))
		} else {
			kept = append(kept, line)
		}
	}
	place(tb, dir, generationsFile, bytes.Join(kept, nil))
	place(tb, dir, journalFile, chained(tb, slices.DeleteFunc(records(tb, dir), func(rec []byte) bool {
		return slices.ContainsFunc(gone, func(key []byte) bool { return bytes.Contains(rec, key) })
	})))
	return dropped
}

// notRun makes of the first trial one that was not made.
func notRun(tb testing.TB, dir, reason string) {
	tb.Helper()
	lines := slices.Collect(bytes.Lines(read(tb, dir, generationsFile)))
	var t matrix.Trial
	if err := json.Unmarshal(lines[0], &t); err != nil {
		tb.Fatal(err)
	}
	key := t.CallKey
	t = matrix.Trial{CallKey: key, Cell: t.Cell, Rep: t.Rep, Packed: t.Packed, Prompt: t.Prompt, Seed: t.Seed, Retrieval: t.Retrieval, Status: matrix.StatusNotRun, Reason: reason}
	line, err := json.Marshal(t)
	if err != nil {
		tb.Fatal(err)
	}
	lines[0] = append(line, '\n')
	place(tb, dir, generationsFile, bytes.Join(lines, nil))
	place(tb, dir, journalFile, chained(tb, slices.DeleteFunc(records(tb, dir), func(rec []byte) bool { return bytes.Contains(rec, []byte(key)) })))
}

func listed(v *Verification) string {
	var b strings.Builder
	for _, p := range v.Problems {
		fmt.Fprintf(&b, "  %s: %s\n", p.Step, p)
	}
	return b.String()
}

// A bundle is the same whether it is sealed or unpacked, whatever it was moved to.
func TestVerifyReadsFolderAndFileAlike(t *testing.T) {
	t.Parallel()
	for name, path := range goldens(t) {
		dir := unpack(t, path)
		sealed, unpacked := Verify(path, Policy{}), Verify(dir, Policy{})
		unpacked.Path = sealed.Path
		if got, want := fmt.Sprintf("%+v", *unpacked), fmt.Sprintf("%+v", *sealed); got != want {
			t.Errorf("%s: unpacked %s, sealed %s", name, got, want)
		}
	}
}

// Several things that are wrong are all told, in the order of the steps.
func TestVerifyTellsEverything(t *testing.T) {
	t.Parallel()
	dir := unpack(t, goldens(t)["pass"])
	remove(t, dir, environmentFile)
	place(t, dir, "more.txt", nil)
	edited(t, dir, evaluationFile, `"pass"`, `"fail"`)
	edited(t, dir, journalFile, `"attempt":1`, `"attempt":2`)
	v := Verify(dir, Policy{})
	for _, want := range []string{environmentFile, "more.txt", evaluationFile, journalFile} {
		if !slices.ContainsFunc(v.Problems, func(p Problem) bool { return p.File == want }) {
			t.Errorf("nothing is said of %s:\n%s", want, listed(v))
		}
	}
}

// A bundle that stands under the name of another case or execution was copied there.
func TestVerifyHoldsABundleToItsPlace(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "20261129T200000Z-k3f9qa")
	place(t, dir, "other.bundle.zip", readAll(t, goldens(t)["pass"]))
	v := Verify(filepath.Join(dir, "other.bundle.zip"), Policy{})
	if v.State != StateBroken || !strings.Contains(listed(v), "it was copied or renamed") {
		t.Errorf("%s\n%s", v.State, listed(v))
	}
}

// What is partial is intact, and not what is asked for unless that is said.
func TestVerifyPolicy(t *testing.T) {
	t.Parallel()
	dir := unpack(t, goldens(t)["pass"])
	all := records(t, dir)
	all[len(all)-1] = bytes.Replace(all[len(all)-1], []byte(StatusComplete), []byte(StatusPartial), 1)
	place(t, dir, journalFile, chained(t, all))
	reseal(t, dir, func(m *Manifest) { m.Status = StatusPartial })
	if v := Verify(dir, Policy{}); v.State != StatePolicy {
		t.Errorf("%s\n%s", v.State, listed(v))
	}
	if v := Verify(dir, Policy{Partial: true}); v.State != StateIntact && v.State != StateEvaluator {
		t.Errorf("%s\n%s", v.State, listed(v))
	}
}

// What other rules decided is intact, and the difference is shown by a replay.
func TestOtherRules(t *testing.T) {
	t.Parallel()
	dir := current(t, "pass")
	other := matrix.DigestBytes([]byte("other rules"))
	edited(t, dir, evaluationFile, verdict.Ruleset(), other)
	edited(t, dir, evaluationFile, `"outcome":"pass"`, `"outcome":"fail"`)
	reseal(t, dir, func(m *Manifest) { m.Evaluator.Ruleset = other })
	if v := Verify(dir, Policy{}); v.State != StateEvaluator || v.Derived {
		t.Errorf("%s\n%s", v.State, listed(v))
	}
	r, err := ReplayBundle(dir)
	if err != nil {
		t.Fatal(err)
	}
	if r.Same || !r.Changed() || r.Sealed.Verdict != "fail" || r.Now.Verdict != "pass" || r.State() != StateEvaluator {
		t.Errorf("sealed %+v, now %+v", r.Sealed, r.Now)
	}
	if want := (Change{"outcome", `"fail"`, `"pass"`}); !slices.Contains(r.Changes, want) {
		t.Errorf("changes are %+v", r.Changes)
	}
}

// A verdict that is said to be of another build or of other rules is shown with the one that follows.
func TestVerifyShowsBothVerdicts(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(dir string, m *Manifest){
		"another build": func(_ string, m *Manifest) { m.Tool.Version, m.Tool.Commit = "9.9.9", "abc" },
		"other rules": func(dir string, m *Manifest) {
			m.Evaluator.Ruleset = matrix.DigestBytes([]byte("other rules"))
			edited(t, dir, evaluationFile, verdict.Ruleset(), m.Evaluator.Ruleset)
		},
	} {
		dir := current(t, "pass")
		edited(t, dir, evaluationFile, `"outcome":"pass"`, `"outcome":"fail"`)
		reseal(t, dir, func(m *Manifest) { change(dir, m) })
		reseal(t, dir, nil)
		v := Verify(dir, Policy{})
		if want := `"fail", is what was sealed; made again it is "pass"`; v.State != StateEvaluator || v.Derived || v.Verdict != "fail" || v.Remade != "pass" || !strings.Contains(listed(v), want) {
			t.Errorf("%s: %s, %q and %q\n%s", name, v.State, v.Verdict, v.Remade, listed(v))
		}
	}
}

// What a reader of a clock, a load or a network would see otherwise leaves the digests as they are, and what a model says does not.
func TestOnlyWhatWasSaidCounts(t *testing.T) {
	t.Parallel()
	path := goldens(t)["noisy"]
	want, err := ReplayBundle(path)
	if err != nil {
		t.Fatal(err)
	}
	digest := want.Bundle.Manifest.Digests.Observation
	volatile := unpack(t, path)
	for i, name := range []string{generationsFile, retrievalsFile} {
		var out []byte
		for line := range bytes.Lines(read(t, volatile, name)) {
			var fields map[string]any
			if err := json.Unmarshal(line, &fields); err != nil {
				t.Fatal(err)
			}
			fields["at"], fields["latency_ms"] = "2031-01-01T00:00:00Z", 77
			if _, asked := fields["attempts"]; i == 0 && asked {
				fields["request_id"], fields["attempts"] = "another", 3
			}
			again, err := plainJSON(fields)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, again...)
		}
		place(t, volatile, name, out)
	}
	all := records(t, volatile) // each call's outcome stands behind all of the calls
	slices.SortStableFunc(all, func(a, b []byte) int {
		order := func(rec []byte) int {
			return slices.IndexFunc([]string{RecordOpen, RecordPlan, RecordIntent, RecordResult, RecordClose}, func(t string) bool { return bytes.HasPrefix(rec, []byte(`{"t":"`+t)) })
		}
		return order(a) - order(b)
	})
	place(t, volatile, journalFile, chained(t, all))
	reseal(t, volatile, nil)
	v := Verify(volatile, Policy{})
	r, err := ReplayBundle(volatile)
	if err != nil || v.State == StateBroken || r.Bundle.Manifest.Digests.Observation != digest || !bytes.Equal(r.Evaluation, want.Evaluation) || !bytes.Equal(r.Features, want.Features) {
		t.Errorf("other times and another schedule: %v, %s\n%s", err, v.State, listed(v))
	}

	said := unpack(t, path)
	trial := want.Bundle.Observations.Trials[0]
	other := []byte(trial.Answer.Value)
	other[0] ^= 1
	place(t, said, blobPath(matrix.DigestBytes(other)), other)
	edited(t, said, generationsFile, `"answer":"`+trial.Answer.Ref, `"answer":"`+matrix.DigestBytes(other))
	reseal(t, said, nil)
	r, err = ReplayBundle(said)
	if err != nil || r.Bundle.Manifest.Digests.Observation == digest || bytes.Equal(r.Evaluation, want.Evaluation) {
		t.Errorf("another answer: %v, and the digests are the same", err)
	}
}

// Without the texts the verdict still follows, from the features that were read from them.
func TestVerdictFollowsWithoutTexts(t *testing.T) {
	t.Parallel()
	for name, path := range goldens(t) {
		b, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		sealed, err := ReadFile(path, evaluationFile)
		if err != nil {
			t.Fatal(err)
		}
		with, err := derive(b, b.Manifest.Digests.Observation)
		if err != nil {
			t.Fatal(err)
		}
		b.Features = with.features // as they are sealed by the same evaluator
		if err := b.Observations.Texts(func(t *matrix.Text) error { t.Value = ""; return nil }); err != nil {
			t.Fatal(err)
		}
		without, err := derive(b, b.Manifest.Digests.Observation)
		if err != nil || !bytes.Equal(without.files[1].data, with.files[1].data) || sameEvaluator(&b.Manifest) && !bytes.Equal(without.files[1].data, sealed) {
			t.Errorf("%s: %v, another evaluation follows", name, err)
		}
	}
}

// What is withheld of one trial leaves the others to be made again: their sealed features are not taken for good.
func TestOneWithheldTextHidesNoOther(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*verdict.Features){
		"":            func(*verdict.Features) {},
		"a verdict":   func(f *verdict.Features) { f.Trials[1].Meets = !f.Trials[1].Meets },
		"a number":    func(f *verdict.Features) { f.Trials[1].Answer = 99 - f.Trials[2].Answer },
		"a gold item": func(f *verdict.Features) { f.Gold[0].Items = nil },
		"a ranking":   func(f *verdict.Features) { f.Retrievals[0].Gold[0].BySpan++ },
	} {
		b, err := Open(goldens(t)["noisy"])
		if err != nil {
			t.Fatal(err)
		}
		whole, err := derive(b, b.Manifest.Digests.Observation)
		if err != nil {
			t.Fatal(err)
		}
		if err := decodeJSON(whole.files[0].data, &b.Features, true); err != nil {
			t.Fatal(err)
		}
		change(&b.Features)
		b.Observations.Trials[0].Answer.Value = ""
		sealed, err := matrix.Canonical(&b.Features)
		if err != nil {
			t.Fatal(err)
		}
		d, err := derive(b, b.Manifest.Digests.Observation)
		if err != nil || bytes.Equal(d.files[0].data, sealed) != (name == "") || d.again != len(b.Observations.Trials)-1 {
			t.Errorf("%q changed: %v, the same %t, %d of %d trials made again", name, err, bytes.Equal(d.files[0].data, sealed), d.again, len(b.Observations.Trials))
		}
	}
}

// The same bundle twice in one process, and several at once, is the same: nothing is kept from one to the next.
func TestReplayIsPure(t *testing.T) {
	t.Parallel()
	golden := goldens(t)
	first := map[string][]byte{}
	for name, path := range golden {
		r, err := ReplayBundle(path)
		if err != nil {
			t.Fatal(err)
		}
		first[name] = r.Evaluation
	}
	var wg sync.WaitGroup
	for range 3 {
		for name, path := range golden {
			wg.Go(func() {
				if r, err := ReplayBundle(path); err != nil || !bytes.Equal(r.Evaluation, first[name]) {
					t.Errorf("%s: %v, another evaluation the second time", name, err)
				}
			})
		}
	}
	wg.Wait()
}

// A bit that changes anywhere is noticed: in a name, a size, a sum, a header of the archive, the manifest or any text.
func TestVerifyNoticesAnyBit(t *testing.T) {
	t.Parallel()
	data := readAll(t, goldens(t)["rewrite"])
	end := len(data) - endSize
	stride := 101
	if os.Getenv("CULPRIT_TEST_SHORT") == "" {
		stride = 23
	}
	directory := bytes.Index(data, []byte("PK\x01\x02"))
	var wg sync.WaitGroup
	const workers = 2
	for w := range workers {
		wg.Go(func() {
			damaged := bytes.Clone(data)
			for at := w; at < len(data); at += workers {
				// All of the first member's header, of the first entry and of the end, and a sample of the rest.
				if at%stride != 0 && at > 60 && (at < directory || at > directory+80) && at < end {
					continue
				}
				damaged[at] ^= 1 << (at % 8)
				if state := verifyArchive(damaged); state == StateIntact {
					t.Errorf("a bit changed at %d and nothing was said", at)
				}
				damaged[at] = data[at]
			}
		})
	}
	wg.Wait()
	if state := verifyArchive(data); state != StateIntact {
		t.Errorf("undamaged it is %s", state)
	}
}

// verifyArchive goes as far as every byte was read; whatever it finds it finds there.
func verifyArchive(data []byte) State {
	v := &verifier{Verification: &Verification{State: StateIntact}}
	archive, err := newArchive(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return StateMalformed
	}
	v.files, v.step = archive, stepFiles
	if v.readManifest(); !v.ended {
		v.readFiles()
	}
	return v.State
}

// BenchmarkVerify is of a bundle whose blobs are large: it must be bound by SHA-256.
func BenchmarkVerify(b *testing.B) {
	dir := unpack(b, goldens(b)["pass"])
	all := records(b, dir)
	var last Record
	at := len(all) - 2
	if err := json.Unmarshal(all[at], &last); err != nil {
		b.Fatal(err)
	}
	for n := range 12 { // as notes of a service that answers at length
		blob := bytes.Repeat([]byte{byte('a' + n)}, 8<<20)
		last.Type, last.Response = RecordNote, matrix.DigestBytes(blob)
		place(b, dir, blobPath(last.Response), blob)
		rec, err := json.Marshal(last)
		if err != nil {
			b.Fatal(err)
		}
		all = slices.Insert(all, at+1, rec)
	}
	place(b, dir, journalFile, chained(b, all))
	reseal(b, dir, nil)
	path := packFolder(b, dir)
	size := int64(0)
	before := cpuTime(b)
	for b.Loop() {
		v := Verify(path, Policy{})
		if v.State != StateIntact && v.State != StateEvaluator {
			b.Fatal(listed(v))
		}
		size = v.Bytes
	}
	b.SetBytes(size)
	b.ReportMetric(float64(size)*float64(b.N)/1e6/(cpuTime(b)-before).Seconds(), "MB/cpu-s")
}
