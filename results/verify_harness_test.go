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
	"testing"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

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

func canonical(tb testing.TB, v any) []byte {
	tb.Helper()
	data, err := matrix.Canonical(v)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// remade are features and evaluation as they follow now.
func remade(tb testing.TB, r *Replay) [][]byte {
	tb.Helper()
	features, evaluation, err := r.Derived()
	if err != nil {
		tb.Fatal(err)
	}
	return [][]byte{features, evaluation}
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
	planned := canonical(tb, plan)
	dir := unpack(tb, path)
	edited(tb, dir, journalFile, r.Bundle.Manifest.Digests.Plan, matrix.DigestBytes(planned))
	place(tb, dir, journalFile, chained(tb, records(tb, dir)))
	place(tb, dir, planFile, planned)
	place(tb, dir, featuresFile, remade(tb, r)[0])
	place(tb, dir, evaluationFile, remade(tb, r)[1])
	reseal(tb, dir, func(m *Manifest) { m.Evaluator.Ruleset, m.Tool = verdict.Ruleset(), BuildTool() })
	if v := Verify(dir, Policy{Partial: true}); v.State != StateIntact || !v.Derived {
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

// edited replaces a text in a file of a bundle, wherever it stands there.
func edited(tb testing.TB, dir, name, from, to string) {
	tb.Helper()
	data := read(tb, dir, name)
	if !bytes.Contains(data, []byte(from)) {
		tb.Fatalf("%s does not hold %q", name, from)
	}
	place(tb, dir, name, bytes.ReplaceAll(data, []byte(from), []byte(to)))
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
