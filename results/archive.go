package results

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
)

// A bundle is a zip file in one form alone: its members are stored, not compressed, in the order of their paths, one behind the other,
// of 1 January 1980 and of mode 0644, with no comment, no extra field and none of the extensions for what is larger than the limits.
// The same content is therefore the same bytes, and what a reader compares with them can hold nothing else. archive/zip reads all that
// may be a zip file, with memory for as many members as it claims, and shows no header of a member; so the headers, which are of
// fixed sizes, are made and read here. Tests hold them to archive/zip.

// The sizes of the headers of a zip file, without the name of a member.
const (
	localSize = 30 // before the bytes of a member
	entrySize = 46 // for each member, behind all of them
	endSize   = 22 // at the end
)

// The places of fields in an entry.
const (
	entryMethod = 10
	entryCRC    = 16
	entryPacked = 20 // its length where it is compressed
	entryLength = 24
	entryName   = 28 // its length
	entryMore   = 30 // lengths of an extra field and of a comment
	entryMode   = 38
	entryAt     = 42
)

// entry is a member of an archive.
type entry struct {
	name string
	crc  uint32
	size int64
	at   int64 // of its header

	packed *packedAgain // nil: it is in the one form
}

// header appends what the two headers of a member have in common.
func (e *entry) header(b []byte) []byte {
	le := binary.LittleEndian
	const (
		version = 20
		stored  = 0
		day     = 1<<5 | 1 // 1 January 1980
	)
	for _, v := range []uint16{version, 0, stored, 0, day} {
		b = le.AppendUint16(b, v)
	}
	b = le.AppendUint32(b, e.crc)
	b = le.AppendUint32(le.AppendUint32(b, uint32(e.size)), uint32(e.size))
	b = le.AppendUint16(b, uint16(len(e.name)))
	return le.AppendUint16(b, 0)
}

func (e *entry) local(b []byte) []byte {
	return append(e.header(append(b, "PK\x03\x04"...)), e.name...)
}

func (e *entry) next() int64 { return e.at + localSize + int64(len(e.name)) + e.size }

// directory appends what stands behind the members.
func directory(b []byte, entries []entry) []byte {
	le := binary.LittleEndian
	const (
		madeBy = 3<<8 | 20 // Unix
		mode   = 0o100644  // a regular file
	)
	from, at := len(b), int64(0)
	for i := range entries {
		e := &entries[i]
		b = e.header(le.AppendUint16(append(b, "PK\x01\x02"...), madeBy))
		b = append(b, 0, 0, 0, 0, 0, 0)
		b = le.AppendUint32(b, mode<<16)
		b = append(le.AppendUint32(b, uint32(e.at)), e.name...)
		at = e.next()
	}
	size := len(b) - from
	b = append(b, "PK\x05\x06\x00\x00\x00\x00"...)
	b = le.AppendUint16(le.AppendUint16(b, uint16(len(entries))), uint16(len(entries)))
	b = le.AppendUint32(le.AppendUint32(b, uint32(size)), uint32(at))
	return append(b, 0, 0)
}

// archiveWriter writes an archive.
type archiveWriter struct {
	w       *bufio.Writer
	entries []entry
	at      int64
	header  []byte
}

func newArchiveWriter(w io.Writer) *archiveWriter {
	return &archiveWriter{w: bufio.NewWriterSize(w, 32<<10)}
}

// add writes a member; its path is behind the one before.
func (z *archiveWriter) add(name string, data []byte) error {
	e := entry{name: name, crc: crc32.ChecksumIEEE(data), size: int64(len(data)), at: z.at}
	z.header = e.local(z.header[:0])
	z.entries, z.at = append(z.entries, e), e.next()
	_, err := z.w.Write(z.header)
	_, wrote := z.w.Write(data)
	return cmp.Or(err, wrote)
}

func (z *archiveWriter) finish() error {
	_, err := z.w.Write(directory(nil, z.entries))
	return cmp.Or(err, z.w.Flush())
}

// archive is a bundle in one file.
type archive struct {
	file    *os.File
	at      io.ReaderAt // the file, or all that it holds
	all     []byte      // that it holds; nil: it is read member by member
	entries []entry     // in the order of their paths
	packed  bool        // another program has packed it again
}

// archives keeps the memory that small archives are read into.
var archives sync.Pool

// recycle gives the memory of the archive back. What was read of it must be in use no more.
func (a *archive) recycle() {
	if all := a.all; all != nil {
		a.at, a.all, a.entries = nil, nil, nil
		archives.Put(&all)
	}
}

// openArchive reads what stands behind the members, and holds it to the one form. With all, a small archive is read at once: its members
// are many and small.
func openArchive(f *os.File, size int64, all bool) (a *archive, err error) {
	const small = 4 << 20
	if all && size <= small {
		var data []byte
		if kept, ok := archives.Get().(*[]byte); ok {
			data = *kept
		}
		data = slices.Grow(data[:0], int(size))[:size]
		if _, err := f.ReadAt(data, 0); err != nil {
			return nil, err
		}
		if a, err = newArchive(bytes.NewReader(data), size); err == nil {
			a.all = data
		}
	} else {
		a, err = newArchive(f, size)
	}
	if err == nil {
		a.file = f
	}
	return a, err
}

func newArchive(f io.ReaderAt, size int64) (*archive, error) {
	end := make([]byte, endSize)
	if _, err := f.ReadAt(end, max(0, size-endSize)); err != nil || !bytes.HasPrefix(end, []byte("PK\x05\x06")) {
		if size > 0 && !startsAs(f, "PK") {
			return nil, errors.New("it is no zip file, and so no bundle")
		}
		return nil, errors.New("it does not end as a zip file does: it was cut, or something follows it")
	}
	n, length := int(binary.LittleEndian.Uint16(end[10:])), int64(binary.LittleEndian.Uint32(end[12:]))
	if n > maxFiles+2 || length > maxDirectory || length > size-endSize {
		return nil, fmt.Errorf("it is said to have %d files, listed in %d bytes; the limits are %d and %d", n, length, maxFiles, maxDirectory)
	}
	tail := make([]byte, length+endSize)
	from := size - int64(len(tail))
	if _, err := f.ReadAt(tail, from); err != nil {
		return nil, err
	}
	entries, err := decodeEntries(tail[:length], n)
	if err == nil && (len(entries) != n || n == 0 || entries[n-1].next() != from || !bytes.Equal(directory(make([]byte, 0, len(tail)), entries), tail)) {
		err = errNotOurForm
	}
	packed := err != nil && compressed(tail[:length])
	if packed {
		entries, err = decodePackedAgain(tail, from)
	}
	if err != nil {
		return nil, err
	}
	return &archive{at: f, entries: entries, packed: packed}, nil
}

// startsAs says whether a file begins so.
func startsAs(f io.ReaderAt, with string) bool {
	begin := make([]byte, len(with))
	n, _ := f.ReadAt(begin, 0) // shorter is otherwise
	return string(begin[:n]) == with
}

var errNotOurForm = errors.New("it is a zip file in another form than that of a bundle: unpack it into a folder and open that")

func decodeEntries(b []byte, n int) ([]entry, error) {
	le := binary.LittleEndian
	entries := make([]entry, 0, n)
	at, text := int64(0), string(b) // which the names are parts of
	for len(b) >= entrySize {
		size := entrySize + int(le.Uint16(b[entryName:]))
		if len(b) < size || le.Uint32(b[entryMore:]) != 0 {
			return nil, errNotOurForm
		}
		e := entry{name: text[len(text)-len(b):][entrySize:size], crc: le.Uint32(b[entryCRC:]), size: int64(le.Uint32(b[entryLength:])), at: at}
		switch {
		case !staysInside(e.name):
			return nil, fmt.Errorf("path %q leaves the bundle", e.name)
		case len(entries) > 0 && e.name <= entries[len(entries)-1].name:
			return nil, fmt.Errorf("path %q is out of order or there twice: %w", e.name, errNotOurForm)
		case le.Uint16(b[entryMethod:]) != 0:
			return nil, errNotOurForm
		case e.size > maxFile:
			return nil, fmt.Errorf("file %q is said to have %d bytes; the limit is %d", e.name, e.size, maxFile)
		}
		entries, at, b = append(entries, e), e.next(), b[size:]
	}
	return entries, nil
}

func (a *archive) close() error { return a.file.Close() }

func (a *archive) names() ([]string, error) {
	names := make([]string, len(a.entries))
	for i := range a.entries {
		names[i] = a.entries[i].name
	}
	return names, nil
}

// entry finds a member, nil where there is none.
func (a *archive) entry(name string) *entry {
	i, ok := slices.BinarySearchFunc(a.entries, name, func(e entry, name string) int { return strings.Compare(e.name, name) })
	if !ok {
		return nil
	}
	return &a.entries[i]
}

// member finds a member of at most limit bytes.
func (a *archive) member(name string, limit int64) (*entry, error) {
	e := a.entry(name)
	if e == nil {
		return nil, fmt.Errorf("%q: %w", name, os.ErrNotExist)
	}
	if e.size > limit {
		return nil, fmt.Errorf("%q has %d bytes; the limit is %d", name, e.size, limit)
	}
	return e, nil
}

// stream is [archive.read], a chunk at a time. What was handed out before an error is void.
func (a *archive) stream(name string, limit int64, use func([]byte)) error {
	e, err := a.member(name, limit)
	if err != nil {
		return err
	}
	if e.packed != nil {
		return a.unpack(e, use)
	}
	want := e.local(nil)
	header := make([]byte, len(want))
	if _, err := a.at.ReadAt(header, e.at); err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	crc := uint32(0)
	err = inChunks(io.NewSectionReader(a.at, e.at+int64(len(want)), e.size), e.size, func(chunk []byte) {
		crc = crc32.Update(crc, crc32.IEEETable, chunk)
		use(chunk)
	})
	if err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	if !bytes.Equal(header, want) || crc != e.crc {
		return errNotListed(name)
	}
	return nil
}

func errNotListed(name string) error {
	return fmt.Errorf("%q is not the file that the archive lists", name)
}

// read returns a member of at most limit bytes, whose header is as it stands behind the members. Nobody may write to it.
func (a *archive) read(name string, limit int64) ([]byte, error) {
	e, err := a.member(name, limit)
	if err != nil {
		return nil, err
	}
	var data []byte
	if e.packed != nil {
		data = make([]byte, 0, e.size)
		err = a.unpack(e, func(chunk []byte) { data = append(data, chunk...) })
		return data, err
	}
	if a.all != nil {
		data = a.all[e.at:e.next():e.next()]
	} else {
		data = make([]byte, e.next()-e.at)
		if _, err := a.at.ReadAt(data, e.at); err != nil {
			return nil, fmt.Errorf("%q: %w", name, err)
		}
	}
	header := e.local(make([]byte, 0, 256))
	content := data[len(header):]
	if !bytes.HasPrefix(data, header) || crc32.ChecksumIEEE(content) != e.crc {
		return nil, errNotListed(name)
	}
	return content, nil
}

// holds refuses an archive that holds anything but what its manifest lists.
func (a *archive) holds(m *Manifest) error {
	withheld := 0
	for _, f := range m.Files {
		if !a.has(f.Path) {
			if !f.Restricted {
				return fmt.Errorf("%q: %w", f.Path, os.ErrNotExist)
			}
			withheld++
		}
	}
	if !a.has(sumsFile) {
		return fmt.Errorf("%q: %w", sumsFile, os.ErrNotExist)
	}
	if n := len(a.entries) + withheld - len(m.Files) - 2; n != 0 {
		return fmt.Errorf("it holds %d files that %s does not list", n, manifestFile)
	}
	return nil
}

func (a *archive) has(name string) bool { return a.entry(name) != nil }
