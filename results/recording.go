package results

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"

	"github.com/culprit-rag/culprit/matrix"
)

// ErrRestricted means that a bundle cannot be enacted again, since it holds restricted texts: the calls that were made of them bear
// random keys, by which nobody can ask for them, and the texts may be withheld.
var ErrRestricted = errors.New("it holds restricted texts, and the calls that were made of them cannot be told by their keys")

// Recording is a bundle whose calls are to be answered again as they were, with what its journal tells of each.
type Recording struct {
	*Bundle
	ManifestDigest string // "sha256:<hex>" of manifest.json
	Calls          []matrix.Call

	past map[string]*Past // by call key
}

// OpenRecording reads a bundle as [Open] does, with its journal. The error is [ErrRestricted] where it cannot be enacted again.
func OpenRecording(path string) (*Recording, error) {
	rec, err := openRecording(path)
	if err != nil {
		return nil, fmt.Errorf("bundle %q: %w", path, err)
	}
	return rec, nil
}

func openRecording(path string) (_ *Recording, err error) {
	r, err := openReader(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	for i := range r.manifest.Files {
		if r.manifest.Files[i].Restricted {
			return nil, ErrRestricted
		}
	}
	b := &Bundle{Path: path, Manifest: *r.manifest, Status: r.manifest.Status}
	if err := r.fill(b); err != nil {
		return nil, err
	}
	if len(b.Observations.RestrictedCalls()) > 0 {
		return nil, ErrRestricted
	}
	rec := &Recording{Bundle: b, past: map[string]*Past{}}
	manifest, err := matrix.Canonical(r.manifest) // as its reader has made sure that it is
	if err != nil {
		return nil, err
	}
	rec.ManifestDigest = matrix.DigestBytes(manifest)
	journal, err := readJournal(path)
	if err != nil {
		return nil, err
	}
	return rec, rec.take(r, journal)
}

// take reads the last try of each call.
func (rec *Recording) take(r *reader, j *Journal) error {
	for i := range j.Records {
		record := &j.Records[i]
		p := rec.past[record.CallKey]
		var err error
		switch {
		case record.Type == RecordIntent && record.Call != nil:
			p = &Past{Key: record.CallKey, Call: *record.Call, At: record.At, From: cmp.Or(record.From, r.manifest.ExecID), intent: *record}
			rec.past[record.CallKey] = p
			rec.Calls = append(rec.Calls, p.Call)
			p.request, err = r.blob(record.Request)
		case p != nil && (record.Type == RecordResult || record.Type == RecordFailure):
			outcome := *record
			outcome.Observed = "" // which no bundle holds
			p.Outcome = &outcome
			p.response, err = r.blob(record.Response)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// blob reads a blob that a journal names, nil where it names none.
func (r *reader) blob(ref string) ([]byte, error) {
	if ref == "" {
		return nil, nil
	}
	return r.read(refPath(ref))
}

// Past returns the last try of a call, nil where none has an outcome.
func (rec *Recording) Past(key string) *Past {
	if p := rec.past[key]; p != nil && p.Outcome != nil {
		return p
	}
	return nil
}

// Reenact marks the execution as one that asks nobody for anything: every answer is that of a bundle, whose manifest has this digest. The
// mark stands in the ledger, in the summary and in each bundle. It is called before the execution begins.
func (e *Execution) Reenact(manifestDigest string) { e.reenacts = manifestDigest }

// Reenacted holds a bundle that was made of a recording against it, as [ReplayBundle] does what is derived now.
func (rec *Recording) Reenacted(now *Bundle) (*Replay, error) {
	b := *now
	b.Manifest = rec.Manifest // who sealed it decides what a difference means
	out := &Replay{
		Path: rec.Path, Case: rec.Case.ID, Execution: rec.Manifest.ExecID, Bundle: &b, Reenacted: now.Path, Same: true, own: sameEvaluator(&rec.Manifest),
		Sealed: decided(&rec.Evaluation), Now: decided(&now.Evaluation),
	}
	for _, name := range [...]string{evaluationFile, featuresFile} {
		sealed, err := ReadFile(rec.Path, name)
		if err != nil {
			return nil, err
		}
		made, err := ReadFile(now.Path, name)
		if err != nil {
			return nil, err
		}
		if bytes.Equal(sealed, made) {
			continue
		}
		out.Same, out.Differ = false, append(out.Differ, name)
		if name == evaluationFile {
			if out.Changes, err = changes(sealed, made); err != nil {
				return nil, fmt.Errorf("%q: %w", name, err)
			}
		}
	}
	return out, nil
}
