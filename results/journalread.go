package results

import (
	"errors"
	"fmt"
	"path/filepath"
)

// ErrJournal means that a journal was changed or damaged: a whole line fails its sum or does not follow the one before.
var ErrJournal = errors.New("the journal is damaged")

// Journal is the content of a journal.
type Journal struct {
	Records []Record
	Head    string // sum of the last record
	Torn    int    // bytes of a last line that was never finished; they are no record
}

// ReadJournal reads the journal of a bundle and compares its end with the manifest, so that a cut is found too.
func ReadJournal(bundle string) (*Journal, error) {
	j, err := readJournal(bundle)
	if err != nil {
		return nil, fmt.Errorf("journal %q: %w", filepath.Join(bundle, journalFile), err)
	}
	return j, nil
}

func readJournal(bundle string) (_ *Journal, err error) {
	r, err := openReader(bundle)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	data, err := r.read(journalFile)
	if err != nil {
		return nil, err
	}
	j, err := decodeJournal(data)
	if err != nil {
		return nil, err
	}
	if want := r.manifest.Journal; j.Torn > 0 || j.Head != want.Head || len(j.Records) != want.Records {
		return nil, fmt.Errorf("it has %d records and %s lists %d: %w", len(j.Records), manifestFile, want.Records, ErrJournal)
	}
	return j, nil
}

// decodeJournal reads a journal. A last line without an end is what a killed process leaves.
func decodeJournal(data []byte) (*Journal, error) {
	c, err := decodeChain[Record](data, maxJournalLine)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, ErrJournal)
	}
	for i := range c.records {
		if r := &c.records[i]; r.Type == RecordOpen && r.Schema != journalSchema {
			return nil, otherSchema(r.Schema, journalSchema)
		}
	}
	return &Journal{Records: c.records, Head: c.head, Torn: c.torn}, nil
}
