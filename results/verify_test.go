package results

import (
	"archive/zip"
	"bytes"
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

// Who packs the folder of a bundle, and not what is in it, is told so.
func TestVerifyTellsOfAPackedFolder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "c.bundle.zip")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	w, err := z.Create("c.bundle/" + manifestFile)
	if err == nil {
		_, err = w.Write(bytes.Repeat([]byte("{}"), 99))
	}
	if err := errors.Join(err, z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	if v := Verify(path, Policy{}); v.State != StateMalformed || !strings.Contains(listed(v), "unpack it, and name the folder that holds") {
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
	reseal(t, dir, func(m *Manifest) { m.Evaluator.Ruleset = other })
	if v := Verify(dir, Policy{}); v.State != StateEvaluator || v.Derived || !strings.Contains(listed(v), "what is derived was not compared") {
		t.Errorf("of the same verdict: %s\n%s", v.State, listed(v))
	}
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
	if err != nil || v.State == StateBroken || r.Bundle.Manifest.Digests.Observation != digest || !slices.EqualFunc(remade(t, r), remade(t, want), bytes.Equal) {
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
	if err != nil || r.Bundle.Manifest.Digests.Observation == digest || slices.EqualFunc(remade(t, r), remade(t, want), bytes.Equal) {
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
		if err != nil || !bytes.Equal(canonical(t, &without.evaluation), canonical(t, &with.evaluation)) || sameEvaluator(&b.Manifest) && !bytes.Equal(canonical(t, &without.evaluation), sealed) {
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
		if err := decodeJSON(canonical(t, &whole.features), &b.Features, true); err != nil {
			t.Fatal(err)
		}
		change(&b.Features)
		b.Observations.Trials[0].Answer.Value = ""
		sealed := canonical(t, &b.Features)
		d, err := derive(b, b.Manifest.Digests.Observation)
		if err != nil || bytes.Equal(canonical(t, &d.features), sealed) != (name == "") || d.again != len(b.Observations.Trials)-1 {
			t.Errorf("%q changed: %v, the same %t, %d of %d trials made again", name, err, bytes.Equal(canonical(t, &d.features), sealed), d.again, len(b.Observations.Trials))
		}
	}
}

// The same bundle twice in one process, and several at once, is the same: what is kept from one to the next changes nothing.
func TestReplayIsPure(t *testing.T) {
	t.Parallel()
	golden := goldens(t)
	first := map[string][][]byte{}
	for name, path := range golden {
		r, err := ReplayBundle(path)
		if err != nil {
			t.Fatal(err)
		}
		first[name] = remade(t, r)
	}
	var wg sync.WaitGroup
	for range 3 {
		for name, path := range golden {
			wg.Go(func() {
				if r, err := ReplayBundle(path); err != nil || !slices.EqualFunc(remade(t, r), first[name], bytes.Equal) {
					t.Errorf("%s: %v, another evaluation the second time", name, err)
				}
			})
		}
	}
	wg.Wait()
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
