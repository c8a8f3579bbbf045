package results

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"sync"
)

// A bundle is never sealed compressed: another version of a compressor makes other bytes. A mail gateway may pack one again all the same.
// An archive with a compressed member is therefore read too, in whatever order and of whatever times its members are: the manifest says
// what they hold. What is claimed of them is held to the limits before memory is taken, and their bytes to what is claimed. An archive
// without one has no reason to be in another form, so that every changed byte of the one form is still seen.

// deflated is the method of a compressed member; mostDeflated is how many bytes one byte of it can stand for.
const (
	deflated     = 8
	mostDeflated = 1032
)

// packedAgain is where a member stands that was packed again.
type packedAgain struct {
	method uint16
	size   int64 // in the archive
	end    int64 // the header of the next member, or what stands behind all
}

// compressed reports whether a member is.
func compressed(directory []byte) bool {
	le := binary.LittleEndian
	for b := directory; len(b) >= entrySize; {
		if le.Uint16(b[entryMethod:]) != 0 {
			return true
		}
		b = b[min(len(b), entrySize+int(le.Uint16(b[entryName:]))+int(le.Uint16(b[entryMore:]))+int(le.Uint16(b[entryMore+2:]))):]
	}
	return false
}

// decodePackedAgain reads what stands behind the members, from that place in the archive on. Folders are left out: they hold nothing.
func decodePackedAgain(tail []byte, from int64) ([]entry, error) {
	le := binary.LittleEndian
	b, end := tail[:len(tail)-endSize], tail[len(tail)-endSize:]
	n := le.Uint16(end[10:])
	if le.Uint32(end[4:]) != 0 || le.Uint16(end[8:]) != n || int64(le.Uint32(end[16:])) != from || le.Uint16(end[20:]) != 0 {
		return nil, errNotOurForm
	}
	var entries []entry
	total := int64(0)
	for len(b) > 0 {
		if len(b) < entrySize || !bytes.HasPrefix(b, []byte("PK\x01\x02")) {
			return nil, errNotOurForm
		}
		named := entrySize + int(le.Uint16(b[entryName:]))
		size := named + int(le.Uint16(b[entryMore:])) + int(le.Uint16(b[entryMore+2:]))
		if len(b) < size {
			return nil, errNotOurForm
		}
		e := entry{name: string(b[entrySize:named]), crc: le.Uint32(b[entryCRC:]), size: int64(le.Uint32(b[entryLength:])), at: int64(le.Uint32(b[entryAt:]))}
		e.packed = &packedAgain{method: le.Uint16(b[entryMethod:]), size: int64(le.Uint32(b[entryPacked:]))}
		if err := e.check(b); err != nil {
			return nil, err
		}
		if total += e.size; total > maxTotal+2*maxManifest {
			return nil, fmt.Errorf("its files are said to have %d bytes together; the limit is %d", total, int64(maxTotal))
		}
		entries, b = append(entries, e), b[size:]
	}
	if len(entries) != int(n) {
		return nil, errNotOurForm
	}
	if err := layOut(entries, from); err != nil {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, func(e entry) bool { return strings.HasSuffix(e.name, "/") })
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	for i := 1; i < len(entries); i++ {
		if entries[i].name == entries[i-1].name {
			return nil, fmt.Errorf("path %q is there twice", entries[i].name)
		}
	}
	return entries, nil
}

// check refuses what no member of a bundle is, whatever it holds.
func (e *entry) check(header []byte) error {
	const (
		options = 1<<1 | 1<<2 | 1<<3 | 1<<11 // of the compressor, sizes that stand behind the member, and names in UTF-8
		unix    = 3
		regular = 8
	)
	le := binary.LittleEndian
	p := e.packed
	name, isFolder := strings.CutSuffix(e.name, "/")
	kind := header[entryMode+3] >> 4
	switch {
	case !staysInside(name):
		return fmt.Errorf("path %q leaves the bundle", e.name)
	case isFolder && (e.size > 0 || p.size > 0):
		return fmt.Errorf("folder %q is said to hold bytes of its own", e.name)
	case !isFolder && header[5] == unix && kind != 0 && kind != regular:
		return fmt.Errorf("%q is a link, or something else than a file", e.name)
	case le.Uint16(header[8:])&^options != 0 || p.method != 0 && p.method != deflated:
		return fmt.Errorf("%q is encrypted, or compressed in another way than Deflate: %w", e.name, errNotOurForm)
	case e.size > maxFile:
		return fmt.Errorf("file %q is said to have %d bytes; the limit is %d", e.name, e.size, maxFile)
	case p.method == 0 && p.size != e.size, p.method == deflated && e.size > p.size*mostDeflated:
		return fmt.Errorf("file %q is said to have %d bytes, which %d cannot stand for", e.name, e.size, p.size)
	}
	return nil
}

// layOut finds out where each member ends at the latest. No two share bytes, and none stands outside.
func layOut(entries []entry, from int64) error {
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(b.at, a.at) }) // from the last to the first
	end := from
	for i := range entries {
		e := &entries[i]
		if e.packed.end = end; e.at+localSize+int64(len(e.name))+e.packed.size > end {
			return fmt.Errorf("file %q stands where something else does", e.name)
		}
		end = e.at
	}
	if end != 0 {
		return errNotOurForm
	}
	return nil
}

// inflaters are kept, since a bundle has hundreds of files.
var inflaters = sync.Pool{New: func() any { return flate.NewReader(bytes.NewReader(nil)) }}

// unpack hands a member that was packed again out, a chunk at a time. What was handed out before an error is void.
func (a *archive) unpack(e *entry, use func([]byte)) error {
	le := binary.LittleEndian
	p := e.packed
	header := make([]byte, localSize+len(e.name))
	if _, err := a.at.ReadAt(header, e.at); err != nil {
		return fmt.Errorf("%q: %w", e.name, err)
	}
	const sizesBehind = 1 << 3
	from := e.at + int64(len(header)) + int64(le.Uint16(header[28:]))
	switch {
	case !bytes.HasPrefix(header, []byte("PK\x03\x04")), string(header[localSize:]) != e.name, le.Uint16(header[8:]) != p.method, from+p.size > p.end:
		return errNotListed(e.name)
	case le.Uint16(header[6:])&sizesBehind != 0:
	case le.Uint32(header[14:]) != e.crc, int64(le.Uint32(header[18:])) != p.size, int64(le.Uint32(header[22:])) != e.size:
		return errNotListed(e.name)
	}
	packed := bufio.NewReaderSize(io.NewSectionReader(a.at, from, p.size), 4<<10) // of which no more is read than is meant
	var content io.Reader = packed
	if p.method == deflated {
		inflater := inflaters.Get().(io.Reader)
		defer inflaters.Put(inflater)
		if err := inflater.(flate.Resetter).Reset(packed, nil); err != nil {
			return err
		}
		content = inflater
	}
	crc := uint32(0)
	err := inChunks(content, e.size, func(chunk []byte) {
		crc = crc32.Update(crc, crc32.IEEETable, chunk)
		use(chunk)
	})
	if err != nil {
		return fmt.Errorf("%q: it cannot be unpacked: %w", e.name, err)
	}
	var more [1]byte
	if n, err := io.ReadFull(content, more[:]); n > 0 || err != io.EOF || crc != e.crc {
		return errNotListed(e.name)
	}
	if _, err := packed.ReadByte(); err != io.EOF {
		return errNotListed(e.name)
	}
	return nil
}
