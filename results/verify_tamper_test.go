package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/culprit-rag/culprit/matrix"
)

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
		}, false, "files", "it has 8589934592 bytes; the limit is", ""},
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
		"the schema is a newer one":  {func(t *testing.T, dir string) { edited(t, dir, manifestFile, "culprit.bundle/v1", "culprit.bundle/v2") }, false, stepContents, "use a newer culprit", StateMalformed},
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
		"a line of the journal stands twice": {func(t *testing.T, dir string) {
			all := lines(dir, journalFile)
			place(t, dir, journalFile, bytes.Join(slices.Insert(all, 4, all[3]), nil))
		}, true, "journal", "does not follow the one before", ""},
		"trials change places": {func(t *testing.T, dir string) {
			all := lines(dir, generationsFile)
			all[1], all[2] = all[2], all[1]
			place(t, dir, generationsFile, bytes.Join(all, nil))
		}, true, "references", "which is not the order of the plan", ""},
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
		"the retrieval of a trial is another": {func(t *testing.T, dir string) {
			edited(t, dir, generationsFile, `"retrieval":"sha256:`, `"retrieval":"sha256:0`)
		}, true, "references", "was not observed", ""},
		"the seed is another": {func(t *testing.T, dir string) { edited(t, dir, generationsFile, `"seed":`, `"seed":7`) }, true, "references", "is not of the prompt and the seed", ""},
		"a result stands twice in a new chain": {rechain(func(all [][]byte) [][]byte {
			at := slices.IndexFunc(all, func(rec []byte) bool { return bytes.HasPrefix(rec, []byte(`{"t":"result"`)) })
			return slices.Insert(all, at, all[at])
		}), true, "journal", "that no record announces", ""},
		"the plan is dropped from a new chain": {rechain(func(all [][]byte) [][]byte {
			return slices.DeleteFunc(all, func(rec []byte) bool { return bytes.HasPrefix(rec, []byte(`{"t":"plan"`)) })
		}), true, "journal", `its last plan is ""`, ""},
		"the plan in a new chain counts others":        {rechain(replaced(`"generations":`, `"generations":1`)), true, "journal", "generations and", ""},
		"a new chain was begun with other pins":        {rechain(replaced(`"pins_digest":"sha256:`, `"pins_digest":"sha256:0`)), true, "journal", "it was begun with the pins", ""},
		"a result in a new chain is from elsewhere":    {rechain(replaced(`{"t":"result",`, `{"t":"result","from":"20200101T000000Z-aaaaaa",`)), true, "journal", "and was made in this one", ""},
		"a call in a new chain is not that of its key": {rechain(replaced(`"step":"generate"`, `"step":"judge"`)), true, "references", "its call key is not that of its call", ""},
		"the observations have another digest": {func(t *testing.T, dir string) {
			other := matrix.DigestBytes([]byte("others"))
			b, err := Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			edited(t, dir, evaluationFile, b.Evaluation.ObservationDigest, other)
			reseal(t, dir, func(m *Manifest) { m.Digests.Observation = other })
		}, false, "digests", "the digest of the observations is not the one", ""},
		"the pins have another digest": {func(t *testing.T, dir string) {
			reseal(t, dir, func(m *Manifest) { m.Digests.Pins = matrix.DigestBytes([]byte("others")) })
		}, false, "digests", "pins.json: its digest is not the one", ""},
		"the evaluation has another digest": {func(t *testing.T, dir string) {
			reseal(t, dir, func(m *Manifest) { m.Digests.Evaluation = matrix.DigestBytes([]byte("others")) })
		}, false, "digests", "evaluation.json: its digest is not the one", ""},
		"a file that every bundle has is dropped": {func(t *testing.T, dir string) { remove(t, dir, environmentFile) }, true, "files", "environment.json: manifest.json does not list it, and every bundle has it", ""},
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
			rederive(t, dir)
			if v := Verify(dir, Policy{}); v.State == StateIntact != (tc.want == "") || !strings.Contains(listed(v), tc.want) {
				t.Errorf("%s\n%s", v.State, listed(v))
			}
		})
	}
}

// What makes a step panic is a problem of that step, and the others run.
func TestVerifyEndsAStepThatPanics(t *testing.T) {
	t.Parallel()
	v := &verifier{Verification: &Verification{State: StateIntact}, step: stepReferences}
	v.do(step{name: stepReferences, run: func(*verifier) { panic("rank -2") }})
	if v.State != StateBroken || !strings.Contains(listed(v.Verification), "its contents cannot be: rank -2") {
		t.Errorf("%s\n%s", v.State, listed(v.Verification))
	}
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

// Nobody can say of two builds that bear no commit that they are one: an honest bundle is not called broken after a change of the program.
func TestVerifyByABuildWithoutACommit(t *testing.T) { //nolint:paralleltest // it changes what the others rely on, and runs while they wait
	was := identified
	identified = func(Tool) bool { return false }
	t.Cleanup(func() { identified = was })
	dir := current(t, "pass")
	if v := Verify(dir, Policy{}); v.State != StateIntact || !v.Derived {
		t.Errorf("as it was sealed it is %s: %s", v.State, listed(v))
	}
	edited(t, dir, evaluationFile, `"outcome":"pass"`, `"outcome":"fail"`)
	reseal(t, dir, nil)
	if v := Verify(dir, Policy{}); v.State != StateEvaluator || !strings.Contains(listed(v), "told apart by nothing") {
		t.Errorf("with another verdict it is %s: %s", v.State, listed(v))
	}
}
