package results

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// Steps of a write, as they are told to a disk's hook.
const (
	stepWrite  = "write"  // half of the data has been written when the hook fails
	stepSync   = "sync"   // before the file or folder is synced
	stepRename = "rename" // the temporary file is whole
	stepDone   = "done"   // the file has its name
)

// hook is called at every step; an error of it fails the step. It is nil except in tests, which fail or die there.
type hook func(step, name string) error

// disk makes files below one root, so that each is whole or absent under its name. It remembers what was not synced yet.
type disk struct {
	root *os.Root
	hook hook

	temp  atomic.Int64
	saves group // where the file system cannot be synced as a whole

	mu      sync.Mutex
	blobs   *os.Root        // the folder of blobs, nil until there is one: most files go there, and a short path costs few system calls
	files   map[string]bool // written and not synced
	folders map[string]bool // with entries that were not synced
	made    map[string]bool // folders that exist
}

func newDisk(root *os.Root, h hook) *disk {
	return &disk{root: root, hook: h, files: map[string]bool{}, folders: map[string]bool{".": true}, made: map[string]bool{".": true}}
}

func (d *disk) at(step, name string) error {
	if d.hook == nil {
		return nil
	}
	if err := d.hook(step, name); err != nil {
		return fmt.Errorf("%s %q: %w", step, name, err)
	}
	return nil
}

// write makes a file of data: under a temporary name, then renamed. It is durable after the next save.
func (d *disk) write(name string, data []byte) error {
	return d.writeBy(name, func(f *os.File) error { return d.fill(f, name, data) })
}

// writeBy is write for a file that is too large to be made in memory.
func (d *disk) writeBy(name string, fill func(*os.File) error) error {
	folder := path.Dir(name)
	root, short, err := d.place(folder, name)
	if err != nil {
		return err
	}
	temp := ".tmp-" + strconv.FormatInt(d.temp.Add(1), 36)
	if err := d.writeTemp(root, temp, short, name, fill); err != nil {
		return errors.Join(err, ignoreMissing(root.Remove(temp)))
	}
	d.written(name)
	return d.at(stepDone, name)
}

func (d *disk) written(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.files[name], d.folders[path.Dir(name)] = true, true
}

// place makes the folder of a file and returns an open one above it, with the file's name from there.
func (d *disk) place(folder, name string) (*os.Root, string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.folderLocked(folder); err != nil {
		return nil, "", err
	}
	short, ok := strings.CutPrefix(name, blobFolder+"/")
	if !ok {
		return d.root, name, nil
	}
	if d.blobs == nil {
		var err error
		if d.blobs, err = d.root.OpenRoot(blobFolder); err != nil {
			return nil, "", err
		}
	}
	return d.blobs, short, nil
}

func (d *disk) writeTemp(root *os.Root, temp, short, name string, fill func(*os.File) error) error {
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = fill(f)
	// A full disk may show only when the file is closed.
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = d.at(stepRename, name)
	}
	if err != nil {
		return err
	}
	return root.Rename(temp, short)
}

// remove takes a file away again.
func (d *disk) remove(name string) error {
	d.mu.Lock()
	delete(d.files, name)
	d.folders[path.Dir(name)] = true
	d.mu.Unlock()
	return d.root.Remove(name)
}

func (d *disk) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.root.Close()
	if d.blobs != nil {
		err = errors.Join(err, d.blobs.Close())
	}
	return err
}

// fill writes data; a short write is always an error of Write.
func (d *disk) fill(f *os.File, name string, data []byte) error {
	if d.hook != nil {
		if err := d.at(stepWrite, name); err != nil {
			_, short := f.Write(data[:len(data)/2])
			return errors.Join(err, short)
		}
	}
	_, err := f.Write(data)
	return err
}

// folderLocked makes a folder and those above it.
func (d *disk) folderLocked(name string) error {
	if d.made[name] {
		return nil
	}
	if err := d.folderLocked(path.Dir(name)); err != nil {
		return err
	}
	if err := d.root.Mkdir(name, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	d.made[name], d.folders[name], d.folders[path.Dir(name)] = true, true, true
	return nil
}

func (d *disk) sync(name string) error {
	if err := d.at(stepSync, name); err != nil {
		return err
	}
	f, err := d.root.Open(name)
	if err != nil {
		return err
	}
	err = f.Sync()
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
