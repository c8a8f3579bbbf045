package results

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
)

// files is where the files of a bundle are read from: the archive that was sealed, or a folder that it was unpacked into.
type files interface {
	read(name string, limit int64) ([]byte, error)                 // of at most limit bytes
	stream(name string, limit int64, use func(chunk []byte)) error // as read, a chunk at a time
	names() ([]string, error)                                      // of all that is there, sorted; with an error, of what could be read
	has(name string) bool
	holds(m *Manifest) error // an error where they cannot be those of the manifest
	close() error
}

// openFiles opens a bundle. All: most of it will be read.
func openFiles(path string, all bool) (files, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		root, err := os.OpenRoot(path)
		if err != nil {
			return nil, err
		}
		return folder{root}, nil
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("it is neither a file nor a folder")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	a, err := openArchive(f, info.Size(), all)
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, err
	}
	return a, nil
}

// folder is a bundle that was unpacked.
type folder struct{ root *os.Root }

func (d folder) read(name string, limit int64) ([]byte, error) { return readFile(d.root, name, limit) }

func (d folder) stream(name string, limit int64, use func([]byte)) error {
	f, size, err := openRegular(d.root, name, limit)
	if err != nil {
		return err
	}
	err = inChunks(f, size, use)
	return errors.Join(err, f.Close())
}

// names lists what is no folder, also what is no file either.
func (d folder) names() (names []string, err error) {
	err = fs.WalkDir(d.root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case len(names) > maxFiles+2:
			return fmt.Errorf("it holds more than %d files", maxFiles)
		case !entry.IsDir():
			names = append(names, name)
		}
		return nil
	})
	return names, err
}

// holds leaves other files in the folder alone: nothing reads them.
func (d folder) holds(*Manifest) error { return nil }

func (d folder) has(name string) bool {
	_, err := d.root.Lstat(name)
	return err == nil
}

func (d folder) close() error { return d.root.Close() }

// readFile reads a regular file of at most limit bytes.
func readFile(root *os.Root, name string, limit int64) ([]byte, error) {
	f, size, err := openRegular(root, name, limit)
	if err != nil {
		return nil, err
	}
	data := make([]byte, size)
	_, err = io.ReadFull(f, data)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, fmt.Errorf("%q: %w", name, err)
	}
	return data, nil
}

// openRegular opens a regular file of at most limit bytes.
func openRegular(root *os.Root, name string, limit int64) (*os.File, int64, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%q is not a regular file", name)
	}
	if info.Size() > limit {
		return nil, 0, fmt.Errorf("%q has %d bytes; the limit is %d", name, info.Size(), limit)
	}
	f, err := root.Open(name)
	return f, info.Size(), err
}

// chunks are kept, since a bundle has hundreds of files.
var chunks = sync.Pool{New: func() any { return new([256 << 10]byte) }}

// inChunks reads so many bytes.
func inChunks(from io.Reader, size int64, use func(chunk []byte)) error {
	chunk := chunks.Get().(*[256 << 10]byte)
	defer chunks.Put(chunk)
	for left := size; left > 0; {
		n, err := io.ReadFull(from, chunk[:min(left, int64(len(chunk)))])
		if err != nil {
			return err
		}
		use(chunk[:n])
		left -= int64(n)
	}
	return nil
}

// staysInside reports whether the path of a file is one inside of its bundle, on every system.
func staysInside(name string) bool {
	for _, c := range []byte{'\\', ':', 0} {
		if strings.IndexByte(name, c) >= 0 {
			return false
		}
	}
	return fs.ValidPath(name) && name != "."
}
