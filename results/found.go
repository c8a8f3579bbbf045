package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/culprit-rag/culprit/matrix"
)

// Beside its invocation an execution that is not finished keeps what no case holds.
const (
	foundFile  = "found.json"  // what was known of the backends before the first case
	sharedFile = "shared.json" // what was asked for all cases together
)

// ReadFound returns what was kept with [Execution.Keep], nil where nothing was.
func (e *Execution) ReadFound() ([]byte, error) { return e.readBeside(foundFile) }

// KeepShared keeps what all processes so far have asked for all cases together, so that it stays in the totals of whoever goes on.
func (e *Execution) KeepShared(asked []matrix.Asked) error {
	if e.lock == nil || len(asked) == 0 {
		return nil
	}
	data, err := json.Marshal(asked)
	if err == nil {
		err = e.inWork(func(d *disk) error { return errors.Join(d.write(sharedFile, data), d.syncEach()) })
	}
	if err != nil {
		return fmt.Errorf("execution %q: %w", e.id, err)
	}
	return nil
}

// ReadShared returns what was kept with [Execution.KeepShared].
func (e *Execution) ReadShared() (asked []matrix.Asked, err error) {
	if e.lock == nil {
		return nil, nil
	}
	data, err := e.readBeside(sharedFile)
	if err == nil && data != nil {
		err = json.Unmarshal(data, &asked)
	}
	if err != nil {
		return nil, fmt.Errorf("execution %q: %q: %w", e.id, sharedFile, err)
	}
	return asked, nil
}

// readBeside reads a file that stands beside the invocation, nil where there is none.
func (e *Execution) readBeside(name string) (data []byte, err error) {
	err = e.inWork(func(d *disk) error {
		info, err := d.root.Lstat(name)
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err == nil {
			err = isPrivate(filepath.Join(e.out, workFolder, string(e.id), name), info)
		}
		if err == nil {
			data, err = readFile(d.root, name, maxTotal)
		}
		return err
	})
	return data, err
}
