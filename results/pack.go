package results

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"

	"github.com/culprit-rag/culprit/matrix"
)

const packFile = "blobs.pack"

// pack is the file of the blobs of a case that is under way, each once: a line with its reference and its size, its bytes, and a line
// end. After a failed write nothing more is written, or it would merge with a torn blob.
type pack struct {
	file *os.File
	disk *disk

	guard func([]byte) error // nil: none

	mu    sync.Mutex
	blobs map[string]extent // by reference
	size  int64
	frame []byte
	err   error
}

// extent is where the bytes of a blob stand in a pack.
type extent struct{ at, size int64 }

func newPack(d *disk) (*pack, error) {
	f, err := d.create(packFile)
	if err != nil {
		return nil, err
	}
	return &pack{file: f, disk: d, blobs: map[string]extent{}}, nil
}

// add keeps data for the bundle and returns its reference, "" for nil.
func (p *pack) add(data []byte) (string, error) {
	if data == nil {
		return "", nil
	}
	ref := matrix.DigestBytes(data)
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.blobs[ref]; ok {
		return ref, nil
	}
	at, err := p.append(ref, data)
	if err == nil {
		p.blobs[ref] = extent{at, int64(len(data))}
	}
	return ref, err
}

// keep writes what is no blob of the bundle.
func (p *pack) keep(ref string, data []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := p.append(ref, data)
	return err
}

// append writes a blob and returns where its bytes begin.
func (p *pack) append(ref string, data []byte) (int64, error) {
	if p.err != nil {
		return 0, p.err
	}
	if p.guard != nil {
		if err := p.guard(data); err != nil {
			return 0, fmt.Errorf("blob %q: %w", ref, err)
		}
	}
	if int64(len(data)) > maxFile {
		return 0, fmt.Errorf("blob of %d bytes is over the limit of %d", len(data), maxFile)
	}
	p.frame = append(packLine(p.frame[:0], ref, len(data)), data...)
	p.frame = append(p.frame, '\n')
	if p.err = p.disk.fill(p.file, packFile, p.frame); p.err != nil {
		return 0, p.err
	}
	p.size += int64(len(p.frame))
	p.disk.written(packFile)
	return p.size - int64(len(data)) - 1, p.disk.at(stepDone, packFile)
}

func packLine(b []byte, ref string, size int) []byte {
	b = append(append(b, ref...), ' ')
	return append(strconv.AppendInt(b, int64(size), 10), '\n')
}

// read returns a blob that was added, in the memory of buffer where that is large enough, and holds it to its digest.
func (p *pack) read(ref string, buffer []byte) ([]byte, error) {
	p.mu.Lock()
	e := p.blobs[ref]
	p.mu.Unlock()
	data := slices.Grow(buffer[:0], int(e.size))[:e.size]
	if _, err := p.file.ReadAt(data, e.at); err != nil {
		return nil, fmt.Errorf("blob %q: %w", ref, err)
	}
	if matrix.DigestBytes(data) != ref {
		return nil, fmt.Errorf("blob %q: %w", ref, errPack)
	}
	return data, nil
}

func (p *pack) close() error {
	if p == nil {
		return nil
	}
	return p.file.Close()
}

var errPack = errors.New("the file of blobs is damaged")

// decodePack reads a pack: where its blobs stand, by reference, and the bytes of a last one that a killed process did not finish.
func decodePack(data []byte) (blobs map[string]extent, torn int, err error) {
	blobs = map[string]extent{}
	for size := len(data); len(data) > 0; {
		at := int64(size - len(data))
		line, rest, whole := bytes.Cut(data, []byte{'\n'})
		if !whole && len(line) < maxPackLine {
			return blobs, len(data), nil
		}
		ref, size, err := decodePackLine(line)
		if err != nil {
			return nil, 0, fmt.Errorf("%w: %w", err, errPack)
		}
		if len(rest) <= size {
			return blobs, len(data), nil
		}
		if rest[size] != '\n' || matrix.DigestBytes(rest[:size]) != ref {
			return nil, 0, fmt.Errorf("blob %q holds something else: %w", ref, errPack)
		}
		blobs[ref], data = extent{at + int64(len(line)) + 1, int64(size)}, rest[size+1:]
	}
	return blobs, 0, nil
}

// maxPackLine is the length of the line before the largest blob.
var maxPackLine = len(packLine(nil, "sha256:"+hex.EncodeToString(make([]byte, sha256.Size)), maxFile))

func decodePackLine(line []byte) (ref string, size int, err error) {
	before, after, _ := bytes.Cut(line, []byte{' '})
	ref = string(before)
	size, err = strconv.Atoi(string(after))
	if err != nil || !isRef(ref) || size < 0 || size > maxFile || !bytes.Equal(append(line[:len(line):len(line)], '\n'), packLine(nil, ref, size)) {
		return "", 0, errors.New("no blob begins where one should")
	}
	return ref, size, nil
}
