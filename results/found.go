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

// Shared is what all processes of an execution have asked for all cases together.
type Shared struct {
	Near  []matrix.Asked `json:"near,omitempty"`     // of what lives in the process and costs nothing
	Far   []matrix.Asked `json:"far,omitempty"`      // of others, by calls of which an outcome tells
	Spent Spent          `json:"spent,omitzero"`     // of limits.budget, by these
	Open  int            `json:"open,omitempty"`     // calls to these that were announced, and of which nothing tells yet what came of them
	Most  Spent          `json:"most,omitzero"`      // that those may take, and maybe others that were made beside them
	Doubt int            `json:"in_doubt,omitempty"` // calls that were open when an earlier process was ended
}

// Asked is what was asked of each backend.
func (s *Shared) Asked() []matrix.Asked {
	return matrix.AddAsked(matrix.AddAsked(nil, s.Near...), s.Far...)
}

// settle makes what is open of an earlier process calls in doubt, which took the most that they may have taken.
func (s *Shared) settle() {
	s.Doubt += s.Open
	if s.Open > 0 {
		s.Spent.Add(s.Most)
	}
	s.Open, s.Most = 0, Spent{}
}

// KeepShared keeps what all processes so far have asked for all cases together, so that it stays in the totals of whoever goes on.
func (e *Execution) KeepShared(s Shared) error {
	if e.lock == nil {
		return nil
	}
	data, err := json.Marshal(s)
	if err == nil {
		err = e.inWork(func(d *disk) error { return errors.Join(d.write(sharedFile, data), d.syncEach()) })
	}
	if err != nil {
		return fmt.Errorf("execution %q: %w", e.id, err)
	}
	return nil
}

// ReadShared returns what earlier processes have kept with [Execution.KeepShared], and how many of the calls in doubt nobody has been
// told of yet.
func (e *Execution) ReadShared() (s Shared, undecided int, err error) {
	data, err := e.readBeside(sharedFile)
	if err == nil && data != nil {
		err = decodeStrict(data, &s)
	}
	if err != nil {
		return s, 0, fmt.Errorf("execution %q: %q: %w", e.id, sharedFile, err)
	}
	undecided = s.Open
	s.settle()
	return s, undecided, nil
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
