package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// chain is what a chained file holds: every line names the sum of the one before.
type chain[T any] struct {
	records []T
	head    string // sum of the last record
	torn    int    // bytes of a last line that was never finished; they are no record
	whole   int    // bytes of the lines of the records
}

// decodeChain checks every line against the chain. A last line without an end is what a killed process leaves. With an error it returns what
// stands before the line that it is about.
func decodeChain[T any](data []byte, longest int) (*chain[T], error) {
	c := &chain[T]{head: noRecord}
	for seq := 1; len(data) > 0; seq++ {
		line, rest, whole := bytes.Cut(data, []byte{'\n'})
		if !whole {
			c.torn = len(line)
			break
		}
		if len(line) > longest {
			return c, fmt.Errorf("line %d has %d bytes; the limit is %d", seq, len(line), longest)
		}
		link, err := decodeLink(line)
		if err == nil && (link.Seq != seq || link.Prev != c.head) {
			err = errors.New("the record does not follow the one before it")
		}
		var rec T
		if err == nil {
			err = json.Unmarshal(link.Rec, &rec)
		}
		if err != nil {
			return c, fmt.Errorf("line %d: %w", seq, err)
		}
		c.records, c.head, data = append(c.records, rec), link.Sum, rest
		c.whole += len(line) + 1
	}
	return c, nil
}

// link is one line of a chained file.
type link struct {
	Seq  int             `json:"seq"`
	Prev string          `json:"prev"`
	Rec  json.RawMessage `json:"rec"`
	Sum  string          `json:"sum"`
}

// decodeLink reads a line, which must be the very bytes that are written for its record at its place.
func decodeLink(line []byte) (l link, err error) {
	if err := decodeStrict(line, &l); err != nil {
		return l, err
	}
	sum := recordSum(l.Seq, l.Prev, l.Rec)
	if !bytes.Equal(append(line[:len(line):len(line)], '\n'), journalLine(nil, l.Seq, l.Prev, l.Rec, sum)) {
		return l, errors.New("the record does not fit its sum")
	}
	return l, nil
}
