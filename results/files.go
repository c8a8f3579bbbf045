package results

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// files is where the files of a bundle are read from: the archive that was sealed, or a folder that it was unpacked into.
type files interface {
	read(name string, limit int64) ([]byte, error) // of at most limit bytes
	has(name string) bool
	holds(m *Manifest) error // an error where they cannot be those of the manifest
	close() error
}

func openFiles(path string) (files, error) {
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
	a, err := openArchive(f, info.Size())
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, err
	}
	return a, nil
}

// folder is a bundle that was unpacked.
type folder struct{ root *os.Root }

func (d folder) read(name string, limit int64) ([]byte, error) { return readFile(d.root, name, limit) }

// holds leaves other files in the folder alone: nothing reads them.
func (d folder) holds(*Manifest) error { return nil }

func (d folder) has(name string) bool {
	_, err := d.root.Lstat(name)
	return err == nil
}

func (d folder) close() error { return d.root.Close() }

// readFile reads a regular file of at most limit bytes.
func readFile(root *os.Root, name string, limit int64) ([]byte, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%q is not a regular file", name)
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("%q has %d bytes; the limit is %d", name, info.Size(), limit)
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	data := make([]byte, info.Size())
	_, err = io.ReadFull(f, data)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, fmt.Errorf("%q: %w", name, err)
	}
	return data, nil
}

// staysInside reports whether the path of a file is one inside of its bundle, on every system.
func staysInside(name string) bool {
	return fs.ValidPath(name) && name != "." && !strings.ContainsAny(name, "\\:\x00")
}
