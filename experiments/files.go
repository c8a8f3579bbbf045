package experiments

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

// Size limits of what is read.
const (
	maxFile = 1 << 20  // an experiment, case or prompt file
	maxLine = 16 << 20 // a line of JSONL, and a Markdown or text document
)

// folder is the folder of an experiment. Files are opened through it, so that nothing outside is read unless the user
// allowed it: the file system itself refuses "..", and links that lead out.
type folder struct {
	dir          string // as the user named it
	allowOutside bool
}

// outsideError is returned for a path that leads out of the folder.
type outsideError struct {
	resolved string
}

func (e *outsideError) Error() string {
	return fmt.Sprintf("leads out of the experiment's folder, to %s: move it inside, or allow it with --allow-outside", show(e.resolved))
}

// shown returns the path as the user would name it. A path in the folder is relative to it, with slashes.
func (d *folder) shown(name string) string {
	if filepath.IsAbs(filepath.FromSlash(name)) {
		return filepath.FromSlash(name)
	}
	return filepath.Join(d.dir, filepath.FromSlash(name))
}

// resolve turns a path that stands in a file of the folder from into one that is relative to the experiment's folder,
// with slashes, where it lies in it.
func (d *folder) resolve(from, name string) string {
	name = filepath.ToSlash(name)
	if !path.IsAbs(name) && !filepath.IsAbs(name) {
		return path.Join(from, name)
	}
	if base, err := filepath.Abs(d.dir); err == nil {
		if rel, err := filepath.Rel(base, filepath.FromSlash(name)); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	return path.Clean(name)
}

// outside reports whether the path leads out of the folder, and where to.
func (d *folder) outside(name string) (string, bool) {
	target, err := filepath.EvalSymlinks(d.shown(name))
	if err != nil {
		target = d.shown(name) // it does not exist, so only its name can tell
	}
	base, err := filepath.EvalSymlinks(d.dir)
	if err != nil {
		base = d.dir
	}
	target, errTarget := filepath.Abs(target)
	base, errBase := filepath.Abs(base)
	if errTarget != nil || errBase != nil {
		return target, true
	}
	rel, err := filepath.Rel(base, target)
	return target, err != nil || !filepath.IsLocal(rel)
}

// stat describes what the path leads to.
func (d *folder) stat(name string) (fs.FileInfo, error) {
	if target, out := d.outside(name); out {
		if !d.allowOutside {
			return nil, &outsideError{resolved: target}
		}
		return os.Stat(d.shown(name))
	}
	root, err := os.OpenRoot(d.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.Stat(filepath.FromSlash(name))
}

// open opens a regular file.
func (d *folder) open(name string) (*os.File, error) {
	info, err := d.stat(name)
	if err != nil {
		return nil, explainPath(err)
	}
	if !info.Mode().IsRegular() { // before it is opened: a named pipe would wait for a writer
		return nil, fmt.Errorf("is %s, not a regular file", modeName(info.Mode()))
	}
	if _, out := d.outside(name); out {
		f, err := os.OpenFile(d.shown(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
		return f, explainPath(err)
	}
	root, err := os.OpenRoot(d.dir)
	if err != nil {
		return nil, explainPath(err)
	}
	defer root.Close()
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	return f, explainPath(err)
}

// read returns the content of a regular file of at most limit bytes.
func (d *folder) read(name string, limit int64) ([]byte, error) {
	f, err := d.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // nothing was written, so nothing can be lost
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return nil, explainPath(err)
	case int64(len(data)) > limit:
		return nil, fmt.Errorf("is larger than %d MiB", limit>>20)
	}
	return data, nil
}

// explainPath turns the operating system's words into a phrase that follows a file's name.
func explainPath(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("does not exist%w", quiet{err})
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("may not be read%w", quiet{err})
	case errors.Is(err, syscall.ELOOP) || strings.Contains(err.Error(), "too many"):
		return fmt.Errorf("is a link that leads back to itself%w", quiet{err})
	}
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return fmt.Errorf("cannot be read: %w", pathError.Err)
	}
	return err
}

// quiet keeps an error in the chain without its text.
type quiet struct{ error }

func (quiet) Error() string   { return "" }
func (q quiet) Unwrap() error { return q.error }

func modeName(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeDevice != 0:
		return "a device"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "something else"
}
