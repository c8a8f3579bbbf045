package results

import (
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
// sum, and manifest and SHA256SUMS are the same bytes, so that the seal and whatever signs it hold for both. A copy that is there
// already is an error, as is the bundle itself.
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
		return done, fmt.Errorf("copy %q: %w", done.Copy, os.ErrExist)
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
	return done, nil
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
