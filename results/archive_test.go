package results

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// member is what an attacker puts into a zip file.
type member struct {
	zip.FileHeader
	data string
}

// zipOf writes members with archive/zip, as they are said to be.
func zipOf(tb testing.TB, members []member) []byte {
	tb.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for i := range members {
		w, err := z.CreateRaw(&members[i].FileHeader)
		if err == nil {
			_, err = io.WriteString(w, members[i].data)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// stored is a member in the form of a bundle.
func stored(name, data string) member {
	m := member{FileHeader: zip.FileHeader{
		Name: name, ReaderVersion: 20, CreatorVersion: 20, CRC32: crc32.ChecksumIEEE([]byte(data)),
		CompressedSize64: uint64(len(data)), UncompressedSize64: uint64(len(data)),
	}, data: data}
	m.ModifiedDate = 1<<5 | 1
	m.SetMode(0o644)
	return m
}

// membersOf returns the members of a bundle.
func membersOf(tb testing.TB, path string) []member {
	tb.Helper()
	dir := unpack(tb, path)
	var members []member
	for _, name := range filesIn(tb, dir) {
		members = append(members, stored(name, string(read(tb, dir, name))))
	}
	return members
}

// nameAt returns where the name of a member stands in the header before it.
func nameAt(data []byte, name string) int {
	for at := 0; ; {
		n := int(binary.LittleEndian.Uint16(data[at+26:]))
		if at += localSize; string(data[at:at+n]) == name {
			return at
		}
		at += n + int(binary.LittleEndian.Uint32(data[at-localSize+18:]))
	}
}

// The form of a bundle is one that archive/zip writes: the bytes are the same.
func TestArchiveIsAZipFile(t *testing.T) {
	t.Parallel()
	path := sealed(t)
	if !bytes.Equal(zipOf(t, membersOf(t, path)), readAll(t, path)) {
		t.Error("archive/zip writes other bytes for the same members")
	}
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range z.File {
		if f.Method != zip.Store || f.Mode() != 0o644 || f.Modified.Format("2006-01-02 15:04:05") != "1980-01-01 00:00:00" {
			t.Errorf("%s: method %d, mode %v, of %v", f.Name, f.Method, f.Mode(), f.Modified)
		}
	}
	if err := z.Close(); err != nil {
		t.Error(err)
	}
	// The same case at the same time, and its calls in the same order, is the same file but for the id of the execution.
	e := newTestExecution(t, t.TempDir())
	first, err := writeCase(e, testBundle(t, "same", 8), false)
	if err != nil {
		t.Fatal(err)
	}
	aside := filepath.Join(t.TempDir(), filepath.Base(first))
	if err := os.Rename(first, aside); err != nil {
		t.Fatal(err)
	}
	again, err := writeCase(e, testBundle(t, "same", 8), false)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(readAll(t, aside), readAll(t, again)) {
		t.Error("the same content is not the same bytes")
	}
}

// Attacks 8 and 9: names that lead elsewhere, links, twins, bombs, sizes that lie, and archives of another kind. None is unpacked, and
// none takes more memory than it has bytes.
func TestOpenArchiveRefuses(t *testing.T) {
	t.Parallel()
	reshape := func(change func(members []member) []member) func(tb testing.TB, path string) []byte {
		return func(tb testing.TB, path string) []byte {
			tb.Helper()
			return zipOf(tb, change(membersOf(tb, path)))
		}
	}
	add := func(m member) func(tb testing.TB, path string) []byte {
		return reshape(func(members []member) []member {
			members = append(members, m)
			slices.SortStableFunc(members, func(a, b member) int { return strings.Compare(a.Name, b.Name) })
			return members
		})
	}
	each := func(change func(*member)) func(tb testing.TB, path string) []byte {
		return reshape(func(members []member) []member {
			change(&members[3])
			return members
		})
	}
	edit := func(change func(data []byte) []byte) func(tb testing.TB, path string) []byte {
		return func(tb testing.TB, path string) []byte {
			tb.Helper()
			return change(readAll(tb, path))
		}
	}
	le := binary.LittleEndian
	const form = "another form than that of a bundle"
	for name, tc := range map[string]struct {
		attack func(tb testing.TB, path string) []byte
		want   string
	}{
		"a member above the bundle":     {add(stored("../evil", "x")), "leaves the bundle"},
		"an absolute member":            {add(stored("/etc/passwd", "x")), "leaves the bundle"},
		"a member of Windows":           {add(stored(`..\evil`, "x")), "leaves the bundle"},
		"a drive of Windows":            {add(stored(`C:evil`, "x")), "leaves the bundle"},
		"a folder":                      {add(stored("case/", "")), "leaves the bundle"},
		"a member twice":                {add(stored(evaluationFile, "{}")), "out of order or there twice"},
		"a member that differs by case": {add(stored("Evaluation.json", "{}")), "1 files that manifest.json does not list"},
		"a member that is not listed":   {add(stored("zz", "x")), "1 files that manifest.json does not list"},
		"members out of order":          {reshape(func(m []member) []member { m[0], m[1] = m[1], m[0]; return m }), "out of order or there twice"},
		"a member that is said to be compressed": {reshape(func(m []member) []member {
			for i := range m {
				m[i].Method = zip.Deflate
			}
			return m
		}), "cannot be unpacked"},
		"a bomb":                              {each(func(m *member) { m.UncompressedSize64 = 1 << 30 }), "the limit is"},
		"two sizes":                           {each(func(m *member) { m.UncompressedSize64++ }), form},
		"a link":                              {each(func(m *member) { m.SetMode(fs.ModeSymlink | 0o777) }), form},
		"a program":                           {each(func(m *member) { m.SetMode(0o755) }), form},
		"another time":                        {each(func(m *member) { m.ModifiedTime = 1 }), form},
		"an extra field":                      {each(func(m *member) { m.Extra = []byte{1, 0, 0, 0} }), form},
		"a comment of a member":               {each(func(m *member) { m.Comment = "x" }), form},
		"another sum":                         {each(func(m *member) { m.CRC32++ }), "not the file that the archive lists"},
		"sizes that are told later":           {each(func(m *member) { m.Flags |= 8 }), form},
		"no sums":                             {reshape(func(m []member) []member { return m[1:] }), `"SHA256SUMS": file does not exist`},
		"no member":                           {reshape(func([]member) []member { return nil }), form},
		"data behind it":                      {edit(func(b []byte) []byte { return append(b, 'x') }), "something follows it"},
		"data before it":                      {edit(func(b []byte) []byte { return append([]byte("#!/bin/sh\n"), b...) }), form},
		"its end cut":                         {edit(func(b []byte) []byte { return b[:len(b)-1] }), "it was cut"},
		"nothing":                             {edit(func([]byte) []byte { return nil }), "it was cut"},
		"a comment of the whole":              {edit(func(b []byte) []byte { le.PutUint16(b[len(b)-2:], 1); return append(b, 'x') }), "something follows it"},
		"a directory of more than there is":   {edit(func(b []byte) []byte { le.PutUint32(b[len(b)-10:], uint32(len(b))); return b }), "the limits are"},
		"a directory that would fill memory":  {edit(func(b []byte) []byte { le.PutUint32(b[len(b)-10:], 1<<31); return b }), "the limits are"},
		"more members than a bundle may have": {edit(func(b []byte) []byte { le.PutUint16(b[len(b)-12:], 1<<16-1); return b }), "the limits are"},
		"so many members that it takes zip64": {reshape(func(m []member) []member {
			for i := range 1 << 16 {
				m = append(m, stored(fmt.Sprintf("z%06d", i), ""))
			}
			return m
		}), "the limits are"},
		"fewer members than there are": {edit(func(b []byte) []byte { le.PutUint16(b[len(b)-12:], 3); return b }), form},
		"a header that names another member": {edit(func(b []byte) []byte {
			b[nameAt(b, evaluationFile)] = 'E'
			return b
		}), "not the file that the archive lists"},
		"one bit of a verdict": {edit(func(b []byte) []byte {
			b[nameAt(b, evaluationFile)+len(evaluationFile)+20] ^= 1
			return b
		}), "not the file that the archive lists"},
		"a member of another size before its header": {edit(func(b []byte) []byte {
			i := bytes.LastIndex(b, []byte("PK\x01\x02"))
			le.PutUint32(b[i+42:], 0)
			return b
		}), form},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := sealed(t)
			if err := os.WriteFile(path, tc.attack(t, path), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Open(path)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
				t.Errorf("want one line with %q and the path, got %v", tc.want, err)
			}
			v := Verify(path, Policy{})
			if !slices.ContainsFunc(v.Problems, func(p Problem) bool { return slices.Contains([]string{stepEntries, stepManifest, stepFiles}, p.Step) }) {
				t.Errorf("verify finds it %s:\n%s", v.State, listed(v))
			}
		})
	}
}

func TestOpenRefusesWhatIsNoFile(t *testing.T) {
	t.Parallel()
	if _, err := Open(os.DevNull); err == nil || !strings.Contains(err.Error(), "neither a file nor a folder") {
		t.Errorf("got %v", err)
	}
	if _, err := ReadFile(sealed(t), "other.json"); err == nil || !strings.Contains(err.Error(), `"other.json" is not listed`) {
		t.Errorf("got %v", err)
	}
}

// Whatever a file holds, it is refused or is the one form of its members; or another program has packed that again.
func FuzzArchive(f *testing.F) {
	path := sealed(f)
	f.Add(readAll(f, path))
	f.Add(readAll(f, packAgain(f, path)))
	for _, attack := range packedAgainAttacks(f) {
		if data := attack.file(f, path); len(data) < 1<<16 {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "x.bundle.zip")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		a, err := openArchive(file, int64(len(data)), false)
		if err != nil {
			return
		}
		form := oneForm(t, a)
		switch {
		case form == nil: // a member is not what is listed
		case !a.packed:
			if !bytes.Equal(form, data) {
				t.Error("accepted and not in the one form")
			}
		default:
			again, err := newArchive(bytes.NewReader(form), int64(len(form)))
			if err != nil || again.packed || !slices.EqualFunc(a.entries, again.entries, func(a, b entry) bool { return a.name == b.name && a.size == b.size && a.crc == b.crc }) {
				t.Errorf("its one form holds something else, %v", err)
			}
		}
	})
}

// oneForm returns the archive that holds the same members in the form of a bundle, nil where one cannot be read.
func oneForm(tb testing.TB, a *archive) []byte {
	tb.Helper()
	names, err := a.names()
	if err != nil {
		tb.Fatal(err)
	}
	var out bytes.Buffer
	z := newArchiveWriter(&out)
	for _, name := range names {
		content, err := a.read(name, maxFile)
		if err != nil {
			return nil
		}
		if err := z.add(name, content); err != nil {
			tb.Fatal(err)
		}
	}
	if err := z.finish(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// What a pack holds up to any cut is read, and any other damage is found.
func TestPack(t *testing.T) {
	t.Parallel()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	p, err := newPack(newDisk(root, nil))
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{"one", "", "sha256:\n\n", "one", strings.Repeat("x", 5000)}
	ends := []int{0}
	for _, text := range texts {
		ref, err := p.add([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := p.read(ref, nil); err != nil || string(got) != text {
			t.Errorf("got %q, %v", got, err)
		}
		ends = append(ends, int(p.size))
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	data := read(t, root.Name(), packFile)
	ends = slices.Compact(ends)
	if len(ends) != len(texts) || ends[len(ends)-1] != len(data) {
		t.Fatalf("blobs end at %v, and the file at %d: each is there once", ends, len(data))
	}
	for cut := range len(data) + 1 {
		whole := 0
		for ends[min(whole+1, len(ends)-1)] <= cut && whole+1 < len(ends) {
			whole++
		}
		blobs, torn, err := decodePack(data[:cut])
		if err != nil || len(blobs) != whole || torn != cut-ends[whole] {
			t.Fatalf("cut at %d: %d blobs, %d bytes torn, %v", cut, len(blobs), torn, err)
		}
	}
	for at := range ends[len(ends)-2] {
		damaged := bytes.Clone(data)
		damaged[at] ^= 1
		blobs, torn, err := decodePack(damaged)
		if err == nil && torn == 0 || err != nil && !errors.Is(err, errPack) {
			t.Errorf("a bit changed at %d: %d blobs, %d torn, %v", at, len(blobs), torn, err)
		}
	}
}

// After a failed write nothing more is written to the pack, and no call is made whose request it does not hold.
func TestPackEndsWithAFailedWrite(t *testing.T) {
	t.Parallel()
	full, failure := false, errors.New("full")
	e, err := newExecution(t.TempDir(), "travel-policy", testTime, func(step, name string) error {
		if full && step == stepWrite && name == packFile {
			return failure
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	b := testBundle(t, "long-haul", 0)
	w, err := e.Case(&b.Case, "", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Intent(Intent{CallKey: "a", Attempt: 1, Request: []byte("first"), Durable: true}); err != nil {
		t.Fatal(err)
	}
	full = true
	if err := w.Intent(Intent{CallKey: "b", Attempt: 1, Request: []byte("second")}); !errors.Is(err, failure) {
		t.Errorf("got %v", err)
	}
	full = false
	if err := w.Intent(Intent{CallKey: "c", Attempt: 1, Request: []byte("third")}); !errors.Is(err, failure) {
		t.Errorf("got %v", err)
	}
	if err := w.Abort(); err != nil {
		t.Fatal(err)
	}
	blobs, torn, err := decodePack(read(t, e.workDir("long-haul"), packFile))
	if err != nil || len(blobs) != 1 || torn == 0 {
		t.Errorf("%d blobs, %d torn, %v", len(blobs), torn, err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}
