package results

import (
	"bytes"
	"io/fs"
	"testing"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

// The seeds in testdata/fuzz are small: a journal, a manifest and an evaluation of a bundle, and what attacks on them and on archives and
// observations look like. Those of a golden bundle are added here.

// What the journal reader accepts is, byte for byte, what the writer would write for those records.
func FuzzJournal(f *testing.F) {
	data := read(f, unpacked(f), journalFile)
	f.Add(data)
	f.Add(data[:len(data)-7])
	f.Fuzz(func(t *testing.T, data []byte) {
		j, err := decodeJournal(data)
		if err != nil {
			return
		}
		if len(data) > 0 && j.Torn == 0 && data[len(data)-1] != '\n' {
			t.Error("a torn line is taken for a record")
		}
		if got := bytes.Count(data, []byte("\n")); got != len(j.Records) {
			t.Errorf("%d lines and %d records", got, len(j.Records))
		}
	})
}

// A manifest that is accepted is canonical, stays inside its folder and inside the limits.
func FuzzManifest(f *testing.F) {
	f.Add(read(f, unpacked(f), manifestFile))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := decodeManifest(data)
		if err != nil {
			return
		}
		again, err := matrix.Canonical(m)
		if err != nil || !bytes.Equal(again, data) {
			t.Errorf("not canonical: %v", err)
		}
		for _, file := range m.Files {
			if !fs.ValidPath(file.Path) || file.Path == "." {
				t.Errorf("path %q", file.Path)
			}
		}
	})
}

// An evaluation that is read says again what it said, and can be held against any other.
func FuzzEvaluation(f *testing.F) {
	sealed := read(f, unpack(f, goldens(f)["repeated"]), evaluationFile)
	f.Add(sealed)
	f.Fuzz(func(t *testing.T, data []byte) {
		var e, again verdict.Evaluation
		if decodeStrict(data, &e) != nil {
			return
		}
		_ = VerdictOf(&e)
		if _, err := changes(data, sealed); err != nil {
			t.Errorf("it is read, and not compared: %v", err)
		}
		kept, err := matrix.Canonical(&e)
		if err != nil {
			return // a number that no bundle can hold
		}
		if err := decodeStrict(kept, &again); err != nil {
			t.Fatal(err)
		}
		if twice, err := matrix.Canonical(&again); err != nil || !bytes.Equal(twice, kept) {
			t.Errorf("%v, it says\n%s\nand then\n%s", err, kept, twice)
		}
	})
}

// Whatever was observed, or made up, is verified without an end of the program: an evaluation follows, or a problem.
func FuzzObserved(f *testing.F) {
	dir := unpack(f, goldens(f)["repeated"])
	b, err := Open(dir)
	if err != nil {
		f.Fatal(err)
	}
	journal, err := decodeJournal(read(f, dir, journalFile))
	if err != nil {
		f.Fatal(err)
	}
	texts := map[string]string{}
	err = b.Observations.Texts(func(t *matrix.Text) error { texts[t.Ref] = t.Value; return nil })
	if err != nil {
		f.Fatal(err)
	}
	f.Add(read(f, dir, retrievalsFile), read(f, dir, generationsFile), read(f, dir, storeFile))
	f.Fuzz(func(t *testing.T, retrievals, generations, store []byte) {
		made := *b
		made.Observations = matrix.Observations{}
		var err error
		if made.Observations.Retrievals, err = decodeLines[matrix.Retrieval](retrievals); err != nil {
			return
		}
		if made.Observations.Trials, err = decodeLines[matrix.Trial](generations); err != nil {
			return
		}
		if decodeJSON(store, &made.Observations.Store, false) != nil {
			return
		}
		if made.Observations.Texts(func(t *matrix.Text) error { t.Value = texts[t.Ref]; return nil }) != nil {
			return
		}
		if digest, err := made.Observations.Digest(); err == nil {
			_, _ = derive(&made, digest) // either will do
		}
		v := &verifier{Verification: &Verification{State: StateIntact}, manifest: &made.Manifest, bundle: made, journal: journal}
		for _, s := range verifySteps() {
			if v.step = s.name; s.name == stepReferences || s.name == stepInputs {
				v.do(s) // whatever it says
			}
		}
	})
}

// An archive is intact only where it is one that was sealed, or what another program has made of that and of nothing else.
func FuzzVerify(f *testing.F) {
	sealed := readAll(f, goldens(f)["rewrite"])
	f.Add(sealed)
	f.Add(sealed[:len(sealed)/2])
	f.Add(readAll(f, packAgain(f, goldens(f)["rewrite"])))
	f.Fuzz(func(t *testing.T, data []byte) {
		state, form := verifyArchive(data), data
		if a, err := newArchive(bytes.NewReader(data), int64(len(data))); err == nil && a.packed {
			form = oneForm(t, a)
		}
		if (state == StateIntact) != bytes.Equal(form, sealed) {
			t.Errorf("it is %s", state)
		}
	})
}
