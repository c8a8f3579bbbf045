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

// Seal writes everything to one file, syncs it, and gives it its final name: at every moment there is a whole bundle or none.
// It returns the bundle's path. After an error Abort is still to be called.
func (w *CaseWriter) Seal(b Bundle) (string, error) {
	w.mu.Lock()
	ended := w.ended
	w.mu.Unlock()
	if ended {
		return "", w.fail(errors.New("the work on it has ended"))
	}
	err := w.writeAll(&b)
	if err == nil {
		err = w.publish()
	}
	if err != nil {
		err = errors.Join(err, ignoreMissing(w.disk.remove(sealFile)))
		return "", w.fail(fmt.Errorf("no bundle was written: %w", err))
	}
	w.end()
	w.sealed = true
	w.exec.doubt(w.name, Bill{})
	if err = w.syncName(); err != nil {
		err = fmt.Errorf("bundle %q is written, but not known to be durable: %w", w.bundlePath(), err)
	}
	return w.bundlePath(), errors.Join(err, w.fail(w.clear(err != nil && w.isDurable())))
}

// sealFile is the bundle before it has its name.
const sealFile = "bundle.tmp"

// writeAll makes every file, the manifest last, and writes them.
func (w *CaseWriter) writeAll(b *Bundle) error {
	if b.Status == "" {
		b.Status = StatusComplete
	}
	w.exec.making <- struct{}{}
	defer func() { <-w.exec.making }()
	s := &sealing{w: w, texts: map[string]string{}}
	if err := s.inputs(b); err != nil {
		return err
	}
	if err := s.restrict(b); err != nil {
		return fmt.Errorf("restricted texts: %w", err)
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

// publish syncs the bundle and renames it.
func (w *CaseWriter) publish() error {
	if err := w.exec.save(w.disk, sealFile); err != nil {
		return err
	}
	if err := w.disk.at(stepRename, w.bundle()); err != nil {
		return err
	}
	// A rename would replace a file without a word.
	if _, err := w.exec.root.Lstat(w.bundle()); err == nil {
		return fmt.Errorf("bundle %q: %w", w.bundle(), os.ErrExist)
	}
	return w.exec.root.Rename(path.Join(w.work(), sealFile), w.bundle())
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
	files   []sealedFile
	texts   map[string]string // by reference, but for restricted ones
	digests Digests

	salted  []salted
	renamed map[string]string // of restricted blobs and calls, the name in the bundle; nil: nothing is restricted
}

// sealedFile is a file and its bytes. Those of a blob are read when they are written.
type sealedFile struct {
	File
	data []byte
	ref  string
}

func (s *sealing) add(name, class, mediaType string, data []byte) error {
	if err := s.w.exec.guard(data); err != nil {
		return fmt.Errorf("file %q: %w", name, err)
	}
	if int64(len(data)) > maxFile {
		return fmt.Errorf("file %q of %d bytes is over the limit of %d", name, len(data), maxFile)
	}
	sum := sha256.Sum256(data)
	s.files = append(s.files, sealedFile{
		File: File{Class: class, MediaType: mediaType, Path: name, SHA256: hex.EncodeToString(sum[:]), Size: int64(len(data))}, data: data,
	})
	return nil
}

// canonical adds v as RFC 8785 bytes and returns their digest.
func (s *sealing) canonical(name, class string, v any) (string, error) {
	data, err := matrix.Canonical(v)
	if err != nil {
		return "", fmt.Errorf("file %q: %w", name, err)
	}
	return matrix.DigestBytes(data), s.add(name, class, "application/json", data)
}

func (s *sealing) inputs(b *Bundle) (err error) {
	if err := s.add(caseSourceFile, ClassInput, "application/yaml", b.CaseSource); err != nil {
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
	if err := s.add(experimentFile, ClassInput, "application/json", experiment); err != nil {
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
		if !t.Restricted {
			s.texts[t.Ref] = t.Value
		}
		return nil
	})
	if err != nil {
		return err
	}
	if rewriting := b.Observations.Rewriting; rewriting != nil {
		data, err := plainJSON(rewriting)
		if err != nil {
			return fmt.Errorf("file %q: %w", rewritingFile, err)
		}
		if err := s.add(rewritingFile, ClassObserved, "application/json", data); err != nil {
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
	if err := s.add(storeFile, ClassObserved, "application/json", store); err != nil {
		return err
	}
	if b.Environment == (Environment{}) {
		b.Environment = thisEnvironment()
		b.Environment.Ended = s.w.stamp()
	}
	b.Environment.Schema, b.Environment.ReenactedOf = EnvironmentSchema, s.w.exec.reenacts
	environment, err := plainJSON(&b.Environment)
	if err != nil {
		return fmt.Errorf("file %q: %w", environmentFile, err)
	}
	if err := s.add(environmentFile, ClassObserved, "application/json", environment); err != nil {
		return err
	}
	s.digests.Observation, err = b.Observations.Digest()
	return err
}

// lines adds one JSON value a line, in the order of the plan.
func (s *sealing) lines(name string, n int, value func(int) any) error {
	var b bytes.Buffer
	encoder := plainEncoder(&b)
	for i := range n {
		from := b.Len()
		if err := encoder.Encode(value(i)); err != nil {
			return fmt.Errorf("file %q, record %d: %w", name, i+1, err)
		}
		if size := b.Len() - from; size > maxLine {
			return fmt.Errorf("file %q: record %d of %d bytes is over the limit of %d", name, i+1, size, maxLine)
		}
		b.Grow((n - i - 1) * b.Len() / (i + 1)) // records are much alike
	}
	return s.add(name, ClassObserved, "application/jsonl", b.Bytes())
}

func (s *sealing) derived(b *Bundle) (err error) {
	if s.digests.Plan, err = s.canonical(planFile, ClassDerived, &b.Plan); err != nil {
		return err
	}
	if _, err = s.canonical(featuresFile, ClassDerived, &b.Features); err != nil {
		return err
	}
	switch seen := &b.Evaluation.ObservationDigest; *seen {
	case "":
		*seen = s.digests.Observation
	case s.digests.Observation:
	default:
		return fmt.Errorf("the evaluation is of the observations %s, and those to be sealed are %s", *seen, s.digests.Observation)
	}
	s.digests.Evaluation, err = s.canonical(evaluationFile, ClassDerived, &b.Evaluation)
	return err
}

// addBlobs adds the texts, and of the requests and responses those that are none.
func (s *sealing) addBlobs() error {
	add := func(ref, mediaType string, size int64) {
		s.files = append(s.files, sealedFile{
			File: File{Class: ClassObserved, MediaType: mediaType, Path: blobPath(ref), SHA256: strings.TrimPrefix(ref, "sha256:"), Size: size}, ref: ref,
		})
	}
	var buffer []byte
	for ref, text := range s.texts {
		buffer = append(buffer[:0], text...)
		if err := s.w.exec.guard(buffer); err != nil {
			return fmt.Errorf("text %q: %w", ref, err)
		}
		if int64(len(text)) > maxFile {
			return fmt.Errorf("text %q of %d bytes is over the limit of %d", ref, len(text), maxFile)
		}
		add(ref, "text/plain", int64(len(text)))
	}
	s.w.blobs.mu.Lock()
	defer s.w.blobs.mu.Unlock()
	for ref, blob := range s.w.blobs.blobs {
		if _, ok := s.texts[ref]; !ok && s.renamed[ref] == "" {
			add(ref, "application/octet-stream", blob.size)
		}
	}
	return nil
}

// seal adds the blobs, the journal, the manifest and the sums, and writes all of them.
func (s *sealing) seal(b *Bundle) error {
	w := s.w
	if err := s.addBlobs(); err != nil {
		return err
	}
	s.addSalted()
	journal, err := w.journal.read()
	head := w.journal.head
	if err == nil && s.renamed != nil {
		journal, head, err = s.rewrite(journal)
	}
	if err != nil {
		return err
	}
	if err := s.add(journalFile, ClassObserved, "application/jsonl", journal); err != nil {
		return err
	}
	files := s.sorted()
	tool := b.Manifest.Tool
	if tool == (Tool{}) {
		tool = BuildTool()
	}
	m := Manifest{
		Schema: ManifestSchema, CaseID: b.Case.ID, CaseDigest: s.digests.Case, ExecID: w.exec.id, Created: w.stamp(),
		Status: b.Status, Digests: s.digests, Files: files, Tool: tool,
		Evaluator: Evaluator{Name: evaluatorName, Version: tool.Version, Ruleset: b.Evaluation.Ruleset},
		Journal:   JournalHead{Head: head, Records: w.journal.seq},
	}
	if err := m.check(); err != nil {
		return fmt.Errorf("manifest: %w", err)
	}
	manifest, err := matrix.Canonical(m)
	if err != nil {
		return fmt.Errorf("manifest: %w", err)
	}
	s.files = append(s.files, sealedFile{File: File{Path: sumsFile}, data: sums(files, manifest)}, sealedFile{File: File{Path: manifestFile}, data: manifest})
	s.sorted()
	return s.write()
}

// sorted sorts the files by path, and returns what the manifest says of them.
func (s *sealing) sorted() []File {
	slices.SortFunc(s.files, func(a, b sealedFile) int { return strings.Compare(a.Path, b.Path) })
	files := make([]File, len(s.files))
	for i := range s.files {
		files[i] = s.files[i].File
	}
	return files
}

// write makes the file of the bundle.
func (s *sealing) write() error {
	d := s.w.disk
	f, err := d.create(sealFile)
	if err != nil {
		return err
	}
	z := newArchiveWriter(writerFunc(func(data []byte) (int, error) {
		if err := d.fill(f, sealFile, data); err != nil {
			return 0, err
		}
		return len(data), nil
	}))
	var buffer []byte
	for i := range s.files {
		file := &s.files[i]
		data := file.data
		if text, ok := s.texts[file.ref]; ok {
			buffer = append(buffer[:0], text...)
			data = buffer
		} else if file.ref != "" {
			if buffer, err = s.w.blobs.read(file.ref, buffer); err != nil {
				break
			}
			data = buffer
		}
		if err = z.add(file.Path, data); err != nil {
			break
		}
	}
	if err == nil {
		err = z.finish()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return d.at(stepDone, sealFile)
}

type writerFunc func([]byte) (int, error)

func (w writerFunc) Write(data []byte) (int, error) { return w(data) }

// sums lists every file as sha256sum -c reads it, the manifest among them.
func sums(files []File, manifest []byte) []byte {
	const line = 160 // bytes, of a blob
	b := make([]byte, 0, (len(files)+1)*line)
	for _, f := range files {
		b = append(append(append(append(b, f.SHA256...), "  "...), f.Path...), '\n')
	}
	return fmt.Appendf(b, "%x  %s\n", sha256.Sum256(manifest), manifestFile)
}
