package results

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Redacted is what became of a bundle.
type Redacted struct {
	Bundle   string `json:"bundle"`
	Copy     string `json:"copy"`
	Withheld int    `json:"withheld"` // files that the manifest lists and the copy lacks
}

// Redact copies a bundle to <out>/<execution>/<case>.bundle.zip without its restricted files. Every file that is copied is held to its
// sum, and manifest and SHA256SUMS are the same bytes, so that the seal holds for both; its signatures are copied beside it. Nothing is
// written over: an earlier copy of the same bundle stays, and anything else in its place is an error.
func Redact(bundle, out string) (_ Redacted, err error) {
	done := Redacted{Bundle: bundle}
	r, err := openReader(bundle)
	if err != nil {
		return done, fmt.Errorf("bundle %q: %w", bundle, err)
	}
	defer func() { err = errors.Join(err, r.close()) }()
	dir := filepath.Join(out, string(r.manifest.ExecID))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return done, err
	}
	done.Copy = filepath.Join(dir, caseName(r.manifest.CaseID)+archiveSuffix)
	if _, err := os.Lstat(done.Copy); err == nil {
		if done.Withheld, err = r.copied(done.Copy); err != nil {
			return done, fmt.Errorf("copy %q: %w", done.Copy, err)
		}
		return done, nil
	}
	f, err := os.CreateTemp(dir, ".tmp-*") // of mode 0600
	if err != nil {
		return done, err
	}
	done.Withheld, err = r.copyReadable(newArchiveWriter(f))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), done.Copy)
	}
	if err != nil {
		return done, fmt.Errorf("copy of bundle %q: %w", bundle, errors.Join(err, ignoreMissing(os.Remove(f.Name()))))
	}
	if err := copySignatures(bundle, done.Copy); err != nil {
		return done, fmt.Errorf("signatures of bundle %q: %w", bundle, err)
	}
	return done, nil
}

// copySignatures puts the signatures of a bundle, where it has any, beside its copy, of which they are as good.
func copySignatures(bundle, copied string) error {
	from, to := SignatureFile(bundle), SignatureFile(copied)
	root, err := os.OpenRoot(filepath.Dir(from))
	if err != nil {
		return err
	}
	data, err := readFile(root, filepath.Base(from), maxEnvelope)
	if err = errors.Join(err, root.Close()); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// copied returns how many files an earlier copy lacks, and an error where it is something else.
func (r *reader) copied(path string) (withheld int, err error) {
	other, err := openReader(path)
	if err != nil {
		return 0, errors.Join(os.ErrExist, err)
	}
	restricted := 0
	for i := range r.manifest.Files {
		if r.manifest.Files[i].Restricted {
			restricted++
		}
	}
	ours, err := r.files.read(manifestFile, maxManifest)
	theirs, theirErr := other.files.read(manifestFile, maxManifest)
	withheld = other.withheld()
	if err = errors.Join(err, theirErr, other.close()); err == nil && (withheld != restricted || !bytes.Equal(ours, theirs)) {
		err = os.ErrExist
	}
	return withheld, err
}

// copyReadable writes every file that is not restricted, and counts the others.
func (r *reader) copyReadable(z *archiveWriter) (withheld int, err error) {
	names := []string{manifestFile, sumsFile}
	for i := range r.manifest.Files {
		if f := &r.manifest.Files[i]; f.Restricted {
			withheld++
		} else {
			names = append(names, f.Path)
		}
	}
	slices.SortFunc(names, strings.Compare)
	for _, name := range names {
		read := r.read
		if name == manifestFile || name == sumsFile {
			read = func(name string) ([]byte, error) { return r.files.read(name, maxManifest) }
		}
		data, err := read(name)
		if err == nil {
			err = z.add(name, data)
		}
		if err != nil {
			return 0, err
		}
	}
	return withheld, z.finish()
}
