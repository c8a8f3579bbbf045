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
	Withheld int    `json:"withheld"`           // files that the manifest lists and the copy lacks
	Revealed int    `json:"revealed,omitempty"` // files that the bundle lacks and the copy has
}

// Redact copies a bundle to <out>/<execution>/<case>.bundle.zip without its restricted files. Every file that is copied is held to its
// sum, and manifest and SHA256SUMS are the same bytes, so that the seal holds for both; its signatures are copied beside it. Nothing is
// written over: an earlier copy of the same bundle stays, and anything else in its place is an error.
func Redact(bundle, out string) (Redacted, error) {
	return copyBundle(bundle, out, func(*reader, *File) bool { return false })
}

// Copy is [Redact] with the restricted files that are there: of a bundle that was unpacked, or that another program has packed again, the
// file that was sealed.
func Copy(bundle, out string) (Redacted, error) {
	return copyBundle(bundle, out, func(r *reader, f *File) bool { return r.has(f.Path) })
}

// copyBundle copies a bundle with the restricted files that it keeps.
func copyBundle(bundle, out string, keeps func(*reader, *File) bool) (_ Redacted, err error) {
	r, err := openReader(bundle)
	if err != nil {
		return Redacted{}, fmt.Errorf("bundle %q: %w", bundle, err)
	}
	defer func() { err = errors.Join(err, r.close()) }()
	c := copying{manifest: r.manifest, bundle: bundle, signed: []string{bundle}, from: func(f *File) *reader {
		if f == nil || !f.Restricted || keeps(r, f) {
			return r
		}
		return nil
	}}
	return c.to(out)
}

// sameSeal reports whether two bundles have one manifest.
func (r *reader) sameSeal(other *reader) (bool, error) {
	ours, err := r.files.read(manifestFile, maxManifest)
	theirs, theirErr := other.files.read(manifestFile, maxManifest)
	return bytes.Equal(ours, theirs), errors.Join(err, theirErr)
}

// copying is a copy of a bundle that is to be made.
type copying struct {
	manifest *Manifest
	from     func(*File) *reader // of which bundle a file is taken, nil where it is withheld; nil asks for what the manifest does not list
	bundle   string              // that is copied
	signed   []string            // bundles whose signatures are as good for the copy, the best first
	made     map[string][]byte   // files that are other ones in the copy, by path
}

// to writes <out>/<execution>/<case>.bundle.zip.
func (c *copying) to(out string) (done Redacted, err error) {
	done.Bundle = c.bundle
	if err := OutsideBundles(out); err != nil {
		return done, err
	}
	dir := filepath.Join(out, string(c.manifest.ExecID))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return done, err
	}
	names := []string{manifestFile, sumsFile}
	for i := range c.manifest.Files {
		if f := &c.manifest.Files[i]; c.from(f) == nil {
			done.Withheld++
		} else {
			names = append(names, f.Path)
		}
	}
	slices.SortFunc(names, strings.Compare)
	done.Copy = filepath.Join(dir, caseName(c.manifest.CaseID)+archiveSuffix)
	if _, err := os.Lstat(done.Copy); err == nil {
		if err := c.is(done.Copy, done.Withheld); err != nil {
			return done, fmt.Errorf("copy %q: %w", done.Copy, err)
		}
		return done, nil
	}
	f, err := os.CreateTemp(dir, ".tmp-*") // of mode 0600
	if err != nil {
		return done, err
	}
	err = c.write(newArchiveWriter(f), names)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), done.Copy)
	}
	if err != nil {
		return done, fmt.Errorf("copy of bundle %q: %w", done.Bundle, errors.Join(err, ignoreMissing(os.Remove(f.Name()))))
	}
	for _, bundle := range c.signed {
		if copied, err := copySignatures(bundle, done.Copy); err != nil {
			return done, fmt.Errorf("signatures of bundle %q: %w", bundle, err)
		} else if copied {
			break
		}
	}
	return done, nil
}

// OutsideBundles returns [ErrInside] for a folder in a bundle that was unpacked: with one file more it is not intact.
func OutsideBundles(dir string) error {
	at, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	for before := ""; at != before; before, at = at, filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, manifestFile)); err == nil {
			return fmt.Errorf("%q is inside of a bundle, and a bundle is never written: name another folder: %w", dir, ErrInside)
		}
	}
	return nil
}

// ErrInside means that something would be written into a bundle.
var ErrInside = errors.New("nothing was written")

// is returns an error where an earlier copy is something else than what would be written.
func (c *copying) is(path string, withheld int) error {
	other, err := openReader(path)
	if err != nil {
		return errors.Join(os.ErrExist, err)
	}
	same, err := c.from(nil).sameSeal(other)
	a, isFile := other.files.(*archive)
	if lacks := other.withheld(); err == nil && (!same || lacks != withheld || !isFile || a.packed) {
		err = os.ErrExist
	}
	return errors.Join(err, other.close())
}

// write writes the files of the bundle, each held to its sum.
func (c *copying) write(z *archiveWriter, names []string) error {
	for _, name := range names {
		data, made := c.made[name]
		var err error
		if made {
			// nothing is read
		} else if f := c.from(nil).listed(name); f == nil {
			data, err = c.from(nil).files.read(name, maxManifest)
		} else {
			data, err = c.from(f).read(name)
		}
		if err == nil {
			err = z.add(name, data)
		}
		if err != nil {
			return err
		}
	}
	return z.finish()
}

// copySignatures puts the signatures of a bundle beside its copy, of which they are as good, and reports whether it has any.
func copySignatures(bundle, copied string) (bool, error) {
	from, to := SignatureFile(bundle), SignatureFile(copied)
	root, err := os.OpenRoot(filepath.Dir(from))
	if err != nil {
		return false, err
	}
	data, err := readFile(root, filepath.Base(from), maxEnvelope)
	if err = errors.Join(err, root.Close()); errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false, err
	}
	_, err = f.Write(data)
	return true, errors.Join(err, f.Close())
}
