package results

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
)

// Seal writes everything, syncs it, and gives the folder its final name: at every moment there is a whole bundle or none.
// It returns the bundle's path. After an error Abort is still to be called.
func (w *CaseWriter) Seal(b Bundle) (string, error) {
	w.mu.Lock()
	ended := w.ended
	w.mu.Unlock()
	if ended {
		return "", w.fail(errors.New("the work on it has ended"))
	}
	if err := w.writeAll(&b); err != nil {
		return "", w.fail(fmt.Errorf("no bundle was written: %w", err))
	}
	if err := w.publish(); err != nil {
		return "", w.fail(fmt.Errorf("no bundle was written: %w", err))
	}
	w.end()
	err := errors.Join(w.release(), w.syncName())
	if err != nil {
		return w.bundleDir(), fmt.Errorf("bundle %q is written, but not known to be durable: %w", w.bundleDir(), err)
	}
	return w.bundleDir(), nil
}

// writeAll writes every file, the manifest last.
func (w *CaseWriter) writeAll(b *Bundle) error {
	if b.Status == "" {
		b.Status = StatusComplete
	}
	s := &sealing{w: w, files: make([]File, 0, len(w.blobs)+16)}
	if err := s.inputs(b); err != nil {
		return err
	}
	if err := s.observed(b); err != nil {
		return err
	}
	if err := s.derived(b); err != nil {
		return err
	}
	if err := w.record(Record{Type: RecordClose, At: w.stamp(), Text: b.Status}, false); err != nil {
		return err
	}
	return s.seal(b)
}

// publish syncs the work folder and renames it.
func (w *CaseWriter) publish() error {
	if err := w.exec.save(w.disk, "."); err != nil {
		return err
	}
	if err := w.disk.at(stepRename, w.bundle()); err != nil {
		return err
	}
	// A rename would replace an empty folder without a word.
	if _, err := w.exec.root.Lstat(w.bundle()); err == nil {
		return fmt.Errorf("bundle %q: %w", w.bundle(), os.ErrExist)
	}
	return w.exec.root.Rename(w.work(), w.bundle())
}

// syncName makes the bundle's name durable.
func (w *CaseWriter) syncName() error {
	if err := w.disk.at(stepDone, w.bundle()); err != nil {
		return err
	}
	return w.exec.save(nil, "", path.Dir(w.bundle()), ".")
}

// sealing collects the files of one bundle.
type sealing struct {
	w       *CaseWriter
	files   []File
	digests Digests
}

func (s *sealing) write(name, class, mediaType string, data []byte) error {
	if int64(len(data)) > maxFile {
		return fmt.Errorf("file %q of %d bytes is over the limit of %d", name, len(data), maxFile)
	}
	sum := sha256.Sum256(data)
	s.files = append(s.files, File{Class: class, MediaType: mediaType, Path: name, SHA256: hex.EncodeToString(sum[:]), Size: int64(len(data))})
	return s.w.disk.write(name, data)
}

// canonical writes v as RFC 8785 bytes and returns their digest.
func (s *sealing) canonical(name, class string, v any) (string, error) {
	data, err := matrix.Canonical(v)
	if err != nil {
		return "", fmt.Errorf("file %q: %w", name, err)
	}
	return matrix.DigestBytes(data), s.write(name, class, "application/json", data)
}

func (s *sealing) inputs(b *Bundle) (err error) {
	if err := s.write(caseSourceFile, ClassInput, "application/yaml", b.CaseSource); err != nil {
		return err
	}
	if s.digests.Case, err = s.canonical(caseFile, ClassInput, &b.Case); err != nil {
		return err
	}
	if b.Case.ID != s.w.id {
		return fmt.Errorf("it is sealed with case %q", b.Case.ID)
	}
	if opened := s.w.caseDigest; opened != "" && opened != s.digests.Case {
		return fmt.Errorf("the work was begun on a case of digest %s and is sealed with one of %s", opened, s.digests.Case)
	}
	experiment, err := ResolvedExperiment(&b.Experiment)
	if err != nil {
		return err
	}
	if err := s.write(experimentFile, ClassInput, "application/json", experiment); err != nil {
		return err
	}
	b.Pins.Schema = PinsSchema
	s.digests.Pins, err = s.canonical(pinsFile, ClassInput, &b.Pins)
	return err
}

func (s *sealing) observed(b *Bundle) (err error) {
	err = b.Observations.Texts(func(t *matrix.Text) error {
		if t.Withheld() {
			return fmt.Errorf("text %q is not at hand", t.Ref)
		}
		if s.w.isText(t.Ref) {
			return nil
		}
		return s.w.store(t.Ref, []byte(t.Value), blob{size: int64(len(t.Value)), text: true})
	})
	if err != nil {
		return err
	}
	if rewriting := b.Observations.Rewriting; rewriting != nil {
		data, err := plainJSON(rewriting)
		if err != nil {
			return fmt.Errorf("file %q: %w", rewritingFile, err)
		}
		if err := s.write(rewritingFile, ClassObserved, "application/json", data); err != nil {
			return err
		}
	}
	if err := s.lines(retrievalsFile, len(b.Observations.Retrievals), func(i int) any { return &b.Observations.Retrievals[i] }); err != nil {
		return err
	}
	if err := s.lines(generationsFile, len(b.Observations.Trials), func(i int) any { return &b.Observations.Trials[i] }); err != nil {
		return err
	}
	if judgements := b.Observations.Judgements; len(judgements) > 0 {
		if err := s.lines(judgementsFile, len(judgements), func(i int) any { return &judgements[i] }); err != nil {
			return err
		}
	}
	store, err := plainJSON(&b.Observations.Store)
	if err != nil {
		return fmt.Errorf("file %q: %w", storeFile, err)
	}
	if err := s.write(storeFile, ClassObserved, "application/json", store); err != nil {
		return err
	}
	if b.Environment == (Environment{}) {
		b.Environment = thisEnvironment()
		b.Environment.Ended = s.w.stamp()
	}
	b.Environment.Schema = EnvironmentSchema
	environment, err := plainJSON(&b.Environment)
	if err != nil {
		return fmt.Errorf("file %q: %w", environmentFile, err)
	}
	if err := s.write(environmentFile, ClassObserved, "application/json", environment); err != nil {
		return err
	}
	s.digests.Observation, err = b.Observations.Digest()
	return err
}

// lines writes one JSON value a line, in the order of the plan.
func (s *sealing) lines(name string, n int, value func(int) any) error {
	var b bytes.Buffer
	for i := range n {
		line, err := plainJSON(value(i))
		if err != nil {
			return fmt.Errorf("file %q, record %d: %w", name, i+1, err)
		}
		if len(line) > maxLine {
			return fmt.Errorf("file %q: record %d of %d bytes is over the limit of %d", name, i+1, len(line), maxLine)
		}
		b.Write(line)
	}
	return s.write(name, ClassObserved, "application/jsonl", b.Bytes())
}

func (s *sealing) derived(b *Bundle) (err error) {
	if s.digests.Plan, err = s.canonical(planFile, ClassDerived, &b.Plan); err != nil {
		return err
	}
	if _, err = s.canonical(featuresFile, ClassDerived, &b.Features); err != nil {
		return err
	}
	if seen := b.Evaluation.ObservationDigest; seen != "" && seen != s.digests.Observation {
		return fmt.Errorf("the evaluation is of the observations %s, and those to be sealed are %s", seen, s.digests.Observation)
	}
	s.digests.Evaluation, err = s.canonical(evaluationFile, ClassDerived, &b.Evaluation)
	return err
}

// seal lists the blobs and the journal, and writes the sums and then the manifest.
func (s *sealing) seal(b *Bundle) error {
	w := s.w
	w.mu.Lock()
	for ref, stored := range w.blobs {
		mediaType := "application/octet-stream"
		if stored.text {
			mediaType = "text/plain"
		}
		s.files = append(s.files, File{Class: ClassObserved, MediaType: mediaType, Path: blobPath(ref), SHA256: strings.TrimPrefix(ref, "sha256:"), Size: stored.size})
	}
	w.mu.Unlock()
	s.files = append(s.files, File{Class: ClassObserved, MediaType: "application/jsonl", Path: journalFile, SHA256: w.journal.sum(), Size: w.journal.size})
	slices.SortFunc(s.files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	tool := b.Manifest.Tool
	if tool == (Tool{}) {
		tool = BuildTool()
	}
	m := Manifest{
		Schema: ManifestSchema, CaseID: b.Case.ID, CaseDigest: s.digests.Case, ExecID: w.exec.id, Created: w.stamp(),
		Status: b.Status, Digests: s.digests, Files: s.files, Tool: tool,
		Evaluator: Evaluator{Name: "culprit-eval", Version: tool.Version, Ruleset: b.Evaluation.Ruleset},
		Journal:   JournalHead{Head: w.journal.head, Records: w.journal.seq},
	}
	if err := m.check(); err != nil {
		return fmt.Errorf("manifest: %w", err)
	}
	manifest, err := matrix.Canonical(m)
	if err != nil {
		return fmt.Errorf("manifest: %w", err)
	}
	if err := w.disk.write(sumsFile, sums(m.Files, manifest)); err != nil {
		return err
	}
	if err := w.disk.remove(lockFile); err != nil {
		return err
	}
	return w.disk.write(manifestFile, manifest)
}

// sums lists every file as sha256sum -c reads it, the manifest among them.
func sums(files []File, manifest []byte) []byte {
	var b bytes.Buffer
	for _, f := range files {
		fmt.Fprintf(&b, "%s  %s\n", f.SHA256, f.Path)
	}
	sum := sha256.Sum256(manifest)
	fmt.Fprintf(&b, "%x  %s\n", sum, manifestFile)
	return b.Bytes()
}
