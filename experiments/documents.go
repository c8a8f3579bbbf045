package experiments

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"iter"
	"maps"
	"math"
	"slices"
	"sync"
	"time"
)

// Document is one item that a store is filled from, already cut to size.
type Document struct {
	ID         string
	Source     string // what cases name; the id where the document names none
	Revision   string
	Text       string
	Collection string // another collection than the store's; "" is the store's
	EmbedModel string
	Access     []string
	Metadata   map[string][]string
	IndexedAt  time.Time
	UpdatedAt  time.Time
	Vector     []float32
	File       string // where it was written
	Line       int
}

// DocumentSet is the corpus of an experiment. It holds names, not texts: every iteration reads the files again and keeps
// one document at a time, beside 24 bytes for each id, so that an id that is taken can be told.
type DocumentSet struct {
	folder *folder
	inputs []input
	chunk  chunking

	mu     sync.Mutex // guards digest, which is made once
	digest string
}

// input is a file of documents, or one document that stands in the experiment.
type input struct {
	name   string // relative to the experiment's folder
	source string // relative to the folder that the experiment names
	at     position
	inline *node
}

// Len returns the number of files and inline documents.
func (d *DocumentSet) Len() int { return len(d.inputs) }

// Documents yields every document in a fixed order. An error is the last thing it yields; it is a [Problem] where the
// documents are at fault.
func (d *DocumentSet) Documents(ctx context.Context) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		var failed error
		more := true
		err := d.read(ctx, visitor{
			document: func(doc Document) bool {
				more = yield(doc, nil)
				return more
			},
			problem: func(p Problem) bool {
				if p.Warning {
					return true
				}
				failed = p
				return false
			},
		})
		if err == nil {
			err = failed
		}
		if err != nil && more {
			yield(Document{}, err)
		}
	}
}

// Digest identifies the documents: equal digests, equal documents in the same order. It reads every document once.
func (d *DocumentSet) Digest(ctx context.Context) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.digest != "" {
		return d.digest, nil
	}
	sum := newDocumentHash()
	for doc, err := range d.Documents(ctx) {
		if err != nil {
			return "", err
		}
		sum.add(&doc)
	}
	d.digest = sum.String()
	return d.digest, nil
}

// visitor takes what reading finds; either function ends the reading by returning false.
type visitor struct {
	document func(Document) bool
	problem  func(Problem) bool
}

var errStopped = errors.New("stopped")

// read goes through every document and every problem.
func (d *DocumentSet) read(ctx context.Context, v visitor) error {
	r := &documentReader{set: d, visitor: v, seen: map[[16]byte]documentPlace{}}
	for i := range d.inputs {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := r.input(ctx, i)
		if errors.Is(err, errStopped) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

type documentPlace struct {
	input, line int32
}

type documentReader struct {
	visitor
	set        *DocumentSet
	seen       map[[16]byte]documentPlace
	dimensions int // of the vectors, 0 before the first
	firstAt    position
}

// emit passes a document on unless its id is taken or unfit.
func (r *documentReader) emit(index int, at position, doc Document) error {
	if found := hidden(doc.ID); found != "" {
		return r.report(at.problem("document id " + show(doc.ID) + " holds " + found + ": take it out, or no case can name the document"))
	}
	if found := hidden(doc.Source); found != "" {
		return r.report(at.problem("source " + show(doc.Source) + " holds " + found + ": take it out, or no case can name the document"))
	}
	switch n := len(doc.Vector); {
	case n == 0:
	case r.dimensions == 0:
		r.dimensions, r.firstAt = n, at
	case n != r.dimensions:
		return r.report(at.problem(fmt.Sprintf("the vector of document %s has %d dimensions, and the one at %s has %d: one index holds one kind", show(doc.ID), n, r.firstAt, r.dimensions)))
	}
	sum := sha256.Sum256([]byte(doc.ID))
	key := [16]byte(sum[:16])
	if first, taken := r.seen[key]; taken {
		other := r.set.inputs[first.input]
		there := position{file: &file{name: r.set.folder.shown(other.name)}, line: int(first.line), column: 1}
		if other.inline != nil {
			there = other.inline.at
		}
		return r.report(at.problem("document id " + show(doc.ID) + " is taken by " + there.String() + ": ids must be unique"))
	}
	r.seen[key] = documentPlace{input: int32(index), line: int32(min(doc.Line, math.MaxInt32))} //nolint:gosec // an index of inputs
	if !r.document(doc) {
		return errStopped
	}
	return nil
}

func (r *documentReader) report(p Problem) error {
	if !r.problem(p) {
		return errStopped
	}
	return nil
}

// documentHash is the running digest of documents.
type documentHash struct {
	hash.Hash
	buffer []byte
}

func newDocumentHash() *documentHash {
	h := &documentHash{Hash: sha256.New()}
	h.text("culprit.documents/v1")
	return h
}

func (h *documentHash) String() string { return "sha256:" + hex.EncodeToString(h.Sum(nil)) }

// text adds a length and the text, so that no two lists of texts look alike.
func (h *documentHash) text(s string) {
	h.buffer = binary.AppendUvarint(h.buffer[:0], uint64(len(s)))
	h.buffer = append(h.buffer, s...)
	_, _ = h.Write(h.buffer) // a hash never fails
}

func (h *documentHash) texts(list []string) {
	h.buffer = binary.AppendUvarint(h.buffer[:0], uint64(len(list)))
	_, _ = h.Write(h.buffer)
	for _, s := range list {
		h.text(s)
	}
}

func (h *documentHash) add(d *Document) {
	for _, s := range []string{d.ID, d.Source, d.Revision, d.Text, d.Collection, d.EmbedModel, stamp(d.IndexedAt), stamp(d.UpdatedAt)} {
		h.text(s)
	}
	h.texts(d.Access)
	names := slices.Sorted(maps.Keys(d.Metadata))
	h.texts(names)
	for _, name := range names {
		h.texts(d.Metadata[name])
	}
	h.buffer = binary.AppendUvarint(h.buffer[:0], uint64(len(d.Vector)))
	for _, v := range d.Vector {
		h.buffer = binary.LittleEndian.AppendUint32(h.buffer, math.Float32bits(v))
	}
	_, _ = h.Write(h.buffer)
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
