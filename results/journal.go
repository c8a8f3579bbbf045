package results

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
)

const (
	journalFile   = "journal.jsonl"
	journalSchema = "culprit.journal/v1"
)

// noRecord stands for the record before the first one.
var noRecord = strings.Repeat("0", 2*sha256.Size)

// recordSum chains a record to the one before it.
func recordSum(seq int, prev string, rec []byte) string {
	h := sha256.New()
	var buffer [2*sha256.Size + 32]byte
	head := append(append(strconv.AppendInt(buffer[:0], int64(seq), 10), '|'), prev...)
	h.Write(append(head, '|'))
	h.Write(rec)
	return hex.EncodeToString(h.Sum(buffer[:0]))
}

// journalLine appends a line to what is in a buffer.
func journalLine(line []byte, seq int, prev string, rec []byte, sum string) []byte {
	line = append(line, `{"seq":`...)
	line = strconv.AppendInt(line, int64(seq), 10)
	line = append(append(line, `,"prev":"`...), prev...)
	line = append(append(line, `","rec":`...), rec...)
	line = append(append(line, `,"sum":"`...), sum...)
	return append(line, '"', '}', '\n')
}

// journal appends records to a file. After a failed append nothing more is written, or it would merge with a torn line.
type journal struct {
	file *os.File
	disk *disk

	guard func([]byte) error // nil: none

	mu   sync.Mutex
	seq  int
	head string
	size int64
	err  error
	raw  bytes.Buffer // of the record that is appended
	line []byte
}

func newJournal(d *disk) (*journal, error) {
	f, err := d.create(journalFile)
	if err != nil {
		return nil, err
	}
	return &journal{file: f, disk: d, head: noRecord}, nil
}

// append writes one record.
func (j *journal) append(rec any) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.raw.Reset()
	if err := json.NewEncoder(&j.raw).Encode(rec); err != nil {
		return fmt.Errorf("journal record: %w", err)
	}
	raw := bytes.TrimSuffix(j.raw.Bytes(), []byte{'\n'})
	if j.guard != nil {
		if err := j.guard(raw); err != nil {
			return fmt.Errorf("journal record: %w", err)
		}
	}
	if j.err != nil {
		return j.err
	}
	seq := j.seq + 1
	sum := recordSum(seq, j.head, raw)
	j.line = journalLine(j.line[:0], seq, j.head, raw, sum)
	line := j.line
	if len(line) > maxJournalLine {
		return fmt.Errorf("journal record of %d bytes is over the limit of %d", len(line), maxJournalLine)
	}
	if j.err = j.disk.fill(j.file, journalFile, line); j.err != nil {
		return j.err
	}
	j.seq, j.head, j.size = seq, sum, j.size+int64(len(line))
	j.disk.written(journalFile)
	return j.disk.at(stepDone, journalFile)
}

func (j *journal) close() error {
	if j == nil || j.file == nil {
		return nil
	}
	err := j.file.Close()
	j.file = nil
	return err
}

// read returns the whole file.
func (j *journal) read() ([]byte, error) {
	data := make([]byte, j.size)
	if _, err := j.file.ReadAt(data, 0); err != nil {
		return nil, fmt.Errorf("%q: %w", journalFile, err)
	}
	return data, nil
}
