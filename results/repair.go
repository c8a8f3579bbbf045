package results

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// JournalError is about the journal of unfinished work. It is [ErrJournal] where that is damaged.
type JournalError struct {
	Path string
	Err  error
}

func (e *JournalError) Error() string { return fmt.Sprintf("journal %q: %v", e.Path, e.Err) }

// Unwrap returns the cause.
func (e *JournalError) Unwrap() error { return e.Err }

// RepairedSchema is the schema of [Repaired].
const RepairedSchema = "culprit.repaired/v1"

// Repaired is what is whole of a damaged journal.
type Repaired struct {
	Schema  string `json:"schema"`
	Journal string `json:"journal"`
	Copy    string `json:"copy,omitempty"` // "": nothing is to be repaired, and none was made
	Records int    `json:"records"`        // that are whole, and stand in the copy
	Why     string `json:"why,omitempty"`  // the next line is no record
	Lost    int    `json:"lost"`           // lines that do not stand in the copy
	Calls   int    `json:"calls"`          // that are announced in them, as far as they can be read
}

// RepairJournal copies the lines of a journal that are whole, up to the first that is not, to a new file, and leaves the journal as it is.
// The error is [ErrJournal] where not even its first line is whole.
func RepairJournal(path, to string) (*Repaired, error) {
	r, err := repairJournal(path, to)
	if err != nil {
		return nil, &JournalError{path, err}
	}
	return r, nil
}

func repairJournal(path, to string) (_ *Repaired, err error) {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	data, err := readFile(root, filepath.Base(path), maxTotal)
	if err != nil {
		return nil, err
	}
	c, damage := decodeChain[Record](data, maxJournalLine)
	r := &Repaired{Schema: RepairedSchema, Journal: path, Records: len(c.records)}
	switch {
	case damage == nil && c.torn == 0:
		return r, nil
	case len(c.records) == 0:
		return nil, errors.Join(damage, ErrJournal)
	case c.records[0].Type != RecordOpen:
		return nil, fmt.Errorf("its first line is no record %q: %w", RecordOpen, ErrJournal)
	case damage == nil:
		damage = errors.New("it has no end")
	}
	r.Why, r.Copy = damage.Error(), to
	for line := range bytes.Lines(data[c.whole:]) {
		r.Lost++
		if bytes.Contains(line, []byte(`"t":"intent"`)) {
			r.Calls++
		}
	}
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = f.Write(data[:c.whole])
	return r, errors.Join(err, f.Sync(), f.Close())
}
