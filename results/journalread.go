package results

import (
	"bytes"
	"encoding/json"
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
	defer func() { err = errors.Join(err, r.Close()) }()
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

// decodeJournal checks every line against the chain. A last line without an end is what a killed process leaves.
func decodeJournal(data []byte) (*Journal, error) {
	j := &Journal{Head: noRecord}
	for seq := 1; len(data) > 0; seq++ {
		line, rest, whole := bytes.Cut(data, []byte{'\n'})
		if !whole {
			j.Torn = len(line)
			break
		}
		if len(line) > maxJournalLine {
			return nil, fmt.Errorf("line %d has %d bytes; the limit is %d: %w", seq, len(line), maxJournalLine, ErrJournal)
		}
		rec, sum, err := decodeJournalLine(line, seq, j.Head)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w: %w", seq, err, ErrJournal)
		}
		j.Records, j.Head, data = append(j.Records, rec), sum, rest
	}
	return j, nil
}

func decodeJournalLine(line []byte, seq int, prev string) (rec Record, sum string, err error) {
	var envelope struct {
		Seq  int             `json:"seq"`
		Prev string          `json:"prev"`
		Rec  json.RawMessage `json:"rec"`
		Sum  string          `json:"sum"`
	}
	if err := decodeStrict(line, &envelope); err != nil {
		return rec, "", err
	}
	sum = recordSum(seq, prev, envelope.Rec)
	// The line must be the very bytes that are written for this record at this place.
	if !bytes.Equal(append(line[:len(line):len(line)], '\n'), journalLine(seq, prev, envelope.Rec, sum)) {
		return rec, "", errors.New("the record does not follow the one before it, or its sum differs")
	}
	if err := json.Unmarshal(envelope.Rec, &rec); err != nil {
		return rec, "", err
	}
	return rec, sum, nil
}
