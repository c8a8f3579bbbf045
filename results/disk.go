package results

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"sync"
)

// Steps of a write, as they are told to a disk's hook.
const (
	stepWrite  = "write"  // half of the data has been written when the hook fails
	stepSync   = "sync"   // before the file or folder is synced
	stepRename = "rename" // the temporary file is whole
	stepDone   = "done"   // the file has its name
	stepRemove = "remove" // before a work folder is removed
)

// tempPrefix begins the name of a file that is not whole.
const tempPrefix = ".tmp-"

// hook is called at every step; an error of it fails the step. It is nil except in tests, which fail or die there.
type hook func(step, name string) error

// disk makes files in one folder. It remembers what was not synced yet.
type disk struct {
	root *os.Root
	hook hook

	saves group // where the file system cannot be synced as a whole

	mu     sync.Mutex
	files  map[string]bool // written and not synced
	folder bool            // its entries were not synced
}

func newDisk(root *os.Root, h hook) *disk {
	return &disk{root: root, hook: h, files: map[string]bool{}, folder: true}
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

// create makes a file that is written to bit by bit.
func (d *disk) create(name string) (*os.File, error) {
	f, err := d.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err == nil {
		d.listed(name)
	}
	return f, err
}

// write makes a file of data that is whole or absent under its name: under a temporary one, then renamed. It is durable after the
// next save.
func (d *disk) write(name string, data []byte) error {
	return d.writeBy(name, func(f *os.File) error { return d.fill(f, name, data) })
}

// writeBy is write for a file that is too large to be made in memory.
func (d *disk) writeBy(name string, fill func(*os.File) error) error {
	temp := tempPrefix + rand.Text() // of nobody else: what a killed process has left of that name would be in the way
	if err := d.writeTemp(temp, name, fill); err != nil {
		return errors.Join(err, ignoreMissing(d.root.Remove(temp)))
	}
	d.listed(name)
	return d.at(stepDone, name)
}

// written remembers that a file is to be synced.
func (d *disk) written(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.files[name] = true
}

// listed remembers that a file is to be synced, and the folder, which has it from now on.
func (d *disk) listed(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.files[name], d.folder = true, true
}

func (d *disk) writeTemp(temp, name string, fill func(*os.File) error) error {
	f, err := d.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
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
	return d.root.Rename(temp, name)
}

// remove takes a file away again.
func (d *disk) remove(name string) error {
	d.mu.Lock()
	delete(d.files, name)
	d.mu.Unlock()
	return d.root.Remove(name)
}

func (d *disk) close() error { return d.root.Close() }

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
