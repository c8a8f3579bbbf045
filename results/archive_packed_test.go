package results

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// squeezed is a member that is compressed, with the sizes before it as most programs write them.
func squeezed(tb testing.TB, name, data string) member {
	tb.Helper()
	m := stored(name, data)
	m.Method, m.data = zip.Deflate, squeeze(tb, data)
	m.CompressedSize64 = uint64(len(m.data))
	return m
}

func squeeze(tb testing.TB, data string) string {
	tb.Helper()
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestCompression)
	if err == nil {
		_, err = io.WriteString(w, data)
	}
	if err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.String()
}

// squeezedMembers are those of a bundle, compressed.
func squeezedMembers(tb testing.TB, path string) []member {
	tb.Helper()
	members := membersOf(tb, path)
	for i := range members {
		members[i] = squeezed(tb, members[i].Name, members[i].data)
	}
	return members
}

// packAgain packs a bundle as other programs do, below a folder of its own name.
func packAgain(tb testing.TB, path string) string {
	tb.Helper()
	again := filepath.Join(tb.TempDir(), filepath.Base(path))
	if err := os.WriteFile(again, zipOf(tb, squeezedMembers(tb, path)), 0o600); err != nil {
		tb.Fatal(err)
	}
	return again
}

// What other programs make of a bundle is read as the bundle that was sealed, and the file that was sealed can be made of it again.
func TestPackedAgainIsRead(t *testing.T) {
	t.Parallel()
	path := goldens(t)["repeated"]
	want, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := ReplayBundle(path)
	if err != nil {
		t.Fatal(err)
	}
	streamed := func(m []member) []byte { // sizes behind each member, folders, other times, the last first, and what is small stored
		var out bytes.Buffer
		z := zip.NewWriter(&out)
		if _, err := z.Create("observations/"); err != nil {
			t.Fatal(err)
		}
		slices.Reverse(m)
		for i := range m {
			header := &zip.FileHeader{Name: m[i].Name, Method: zip.Deflate, Modified: time.Date(2026, 11, 30, 1, 2, 3, 0, time.UTC)}
			if len(m[i].data) < 100 {
				header.Method = zip.Store
			}
			header.SetMode(0o755)
			w, err := z.CreateHeader(header)
			if err == nil {
				_, err = io.WriteString(w, m[i].data)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	for name, data := range map[string][]byte{
		"compressed member by member": zipOf(t, squeezedMembers(t, path)),
		"compressed in a stream":      streamed(membersOf(t, path)),
		"one member compressed": func() []byte {
			m := membersOf(t, path)
			m[len(m)-1] = squeezed(t, m[len(m)-1].Name, m[len(m)-1].data)
			return zipOf(t, m)
		}(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			again := filepath.Join(t.TempDir(), filepath.Base(path))
			if err := os.WriteFile(again, data, 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := Open(again)
			if err != nil {
				t.Fatal(err)
			}
			if got.Path = want.Path; !cmp.Equal(want, got) {
				t.Errorf("it is read otherwise: %s", cmp.Diff(want, got))
			}
			v, whole := Verify(again, Policy{}), Verify(path, Policy{})
			if v.Packed = !v.Packed; v.Packed || !cmp.Equal(whole.Problems, v.Problems) || v.State != whole.State || v.Files != whole.Files || v.Bytes != whole.Bytes {
				t.Errorf("it is %s, packed again %v:\n%s", v.State, !v.Packed, listed(v))
			}
			r, err := ReplayBundle(again)
			if err != nil || !slices.EqualFunc(remade(t, sealed), remade(t, r), bytes.Equal) {
				t.Errorf("other bytes follow from it, %v", err)
			}
			if _, err := ReadJournal(again); err != nil {
				t.Error(err)
			}
			if brief, err := ReadBrief(again); err != nil || brief.ManifestSum != v.Manifest {
				t.Errorf("in brief it is %v, %v", brief, err)
			}
			done, err := Copy(again, t.TempDir())
			if err != nil || !bytes.Equal(readAll(t, done.Copy), readAll(t, path)) {
				t.Errorf("the copy is not the file that was sealed, %v", err)
			}
			if _, err := Copy(path, filepath.Dir(filepath.Dir(done.Copy))); err != nil {
				t.Errorf("an earlier copy does not stay: %v", err)
			}
		})
	}
}

// A copy of the bundle that was packed again is not taken for the file that was sealed.
func TestCopyIsNotPackedAgain(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	path := sealed(t)
	done, err := Copy(path, out)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(done.Copy, readAll(t, packAgain(t, path)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Copy(path, out); err == nil || !strings.Contains(err.Error(), "file already exists") {
		t.Errorf("got %v", err)
	}
}

// packedAttack is an attack on what is compressed.
type packedAttack struct {
	change func([]member) []member
	edit   func([]byte) []byte // of the file
	want   string              // in what Open says
	whole  bool                // the container lies, and the files that come out of it are those that were sealed
}

// file is the attacked form of a bundle.
func (a *packedAttack) file(tb testing.TB, path string) []byte {
	tb.Helper()
	members := squeezedMembers(tb, path)
	if a.change != nil {
		members = a.change(members)
	}
	data := zipOf(tb, members)
	if a.edit != nil {
		data = a.edit(data)
	}
	return data
}

func packedAgainAttacks(tb testing.TB) map[string]packedAttack {
	tb.Helper()
	zeros := squeezed(tb, "zz", strings.Repeat("\x00", maxFile))
	le := binary.LittleEndian
	const form = "another form than that of a bundle"
	add := func(more ...member) func([]member) []member {
		return func(m []member) []member { return append(m, more...) }
	}
	at := func(name string, change func(m *member)) func([]member) []member {
		return func(m []member) []member {
			change(&m[slices.IndexFunc(m, func(m member) bool { return m.Name == name })])
			return m
		}
	}
	claims := func(name string, size uint64) func([]member) []member {
		return at(name, func(m *member) { m.UncompressedSize64 = size })
	}
	return map[string]packedAttack{
		"a member above the bundle": {change: add(squeezed(tb, "../evil", "x")), want: "leaves the bundle"},
		"a folder above the bundle": {change: add(stored("../evil/", "")), want: "leaves the bundle", whole: true},
		"a folder that holds bytes": {
			change: add(stored("case_", "x")), want: "bytes of its own",
			edit: func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("case_"), []byte("case/")) },
		},
		"a member twice":             {change: add(squeezed(tb, evaluationFile, "{}")), want: "there twice"},
		"a member that is no listed": {change: add(squeezed(tb, "zz", "x")), want: "1 files that manifest.json does not list"},
		"a member differs by case":   {change: add(squeezed(tb, "Evaluation.json", "{}")), want: "1 files that manifest.json does not list"},
		"a link":                     {change: at(evaluationFile, func(m *member) { m.SetMode(fs.ModeSymlink | 0o777) }), want: "is a link"},
		"a secret":                   {change: at(evaluationFile, func(m *member) { m.Flags |= 1 }), want: "is encrypted"},
		"another compressor":         {change: at(evaluationFile, func(m *member) { m.Method = 12 }), want: form},
		"a bomb":                     {change: claims(evaluationFile, 1<<31), want: "the limit is 67108864"},
		"a claim that no bytes bear": {change: claims(evaluationFile, maxFile), want: "cannot stand for"},
		"bombs": {change: func(m []member) []member {
			for i := range maxTotal/maxFile + 1 {
				zeros := zeros
				zeros.Name = fmt.Sprintf("zz%d", i)
				m = append(m, zeros)
			}
			return m
		}, want: "bytes together; the limit is"},
		"a manifest that is a bomb":      {change: at(manifestFile, func(m *member) { name := m.Name; *m = zeros; m.Name = name }), want: "the limit is 16777216"},
		"a file that is a bomb":          {change: at(evaluationFile, func(m *member) { name := m.Name; *m = zeros; m.Name = name }), want: "the limit is"},
		"more comes out than is claimed": {change: at(evaluationFile, func(m *member) { m.data, m.CompressedSize64 = zeros.data, zeros.CompressedSize64 }), want: "not the file that the archive lists"},
		"less comes out than is claimed": {change: at(evaluationFile, func(m *member) {
			m.data = squeeze(tb, "{}")
			m.CompressedSize64 = uint64(len(m.data))
			m.UncompressedSize64 = 10
		}), want: "cannot be unpacked"},
		"something else comes out":        {change: at(evaluationFile, func(m *member) { m.CRC32++ }), want: "not the file that the archive lists"},
		"bytes behind what comes out":     {change: at(evaluationFile, func(m *member) { m.data += "x"; m.CompressedSize64++ }), want: "not the file that the archive lists", whole: true},
		"nothing comes out":               {change: at(evaluationFile, func(m *member) { m.data = strings.Repeat("\xff", len(m.data)) }), want: "cannot be unpacked"},
		"it is stored, of another length": {change: at(evaluationFile, func(m *member) { m.Method = zip.Store }), want: "cannot stand for"},
		"data behind it":                  {edit: func(b []byte) []byte { return append(b, 'x') }, want: "something follows it"},
		"data before it":                  {edit: func(b []byte) []byte { return append([]byte("#!/bin/sh\n"), b...) }, want: form},
		"more members than are told":      {edit: func(b []byte) []byte { le.PutUint16(b[len(b)-12:], 3); return b }, want: form},
		"another disk":                    {edit: func(b []byte) []byte { b[len(b)-18] = 1; return b }, want: form},
		"a member where another stands": {edit: func(b []byte) []byte { // as in bombs whose members overlap
			second := bytes.Index(b, []byte("PK\x01\x02"))
			second += 1 + bytes.Index(b[second+1:], []byte("PK\x01\x02"))
			le.PutUint32(b[second+entryAt:], 0)
			return b
		}, want: "stands where something else does"},
		"a member outside": {edit: func(b []byte) []byte {
			le.PutUint32(b[bytes.LastIndex(b, []byte("PK\x01\x02"))+entryAt:], 1<<31)
			return b
		}, want: "stands where something else does"},
		"an entry that is cut": {edit: func(b []byte) []byte {
			le.PutUint16(b[bytes.LastIndex(b, []byte("PK\x01\x02"))+entryMore:], 1<<15)
			return b
		}, want: form, whole: true},
		"a header that names another member": {edit: func(b []byte) []byte { b[nameAt(b, evaluationFile)] = 'E'; return b }, want: "not the file that the archive lists"},
		"a header with another sum":          {edit: func(b []byte) []byte { b[nameAt(b, evaluationFile)-localSize+14] ^= 1; return b }, want: "not the file that the archive lists", whole: true},
		"a header that reaches into another": {edit: func(b []byte) []byte { le.PutUint16(b[nameAt(b, evaluationFile)-2:], 1<<10); return b }, want: "not the file that the archive lists"},
	}
}

// Attacks 8 and 9 on what is compressed: what is claimed is held to the limits before memory is taken, and what comes out to what is claimed.
// Not parallel: it measures how much memory is taken.
func TestOpenPackedAgainRefuses(t *testing.T) { //nolint:paralleltest // it measures memory
	path := sealed(t)
	for name, tc := range packedAgainAttacks(t) {
		t.Run(name, func(t *testing.T) {
			data := tc.file(t, path)
			attacked := filepath.Join(t.TempDir(), filepath.Base(path))
			if err := os.WriteFile(attacked, data, 0o600); err != nil {
				t.Fatal(err)
			}
			const most = 24 << 20 // of an archive that is read at once, and of what a bundle of this size takes
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Open(attacked)
			v := Verify(attacked, Policy{})
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("want one line with %q, got %v", tc.want, err)
			}
			if v.State != StateBroken && v.State != StateMalformed {
				t.Errorf("verify finds it %s:\n%s", v.State, listed(v))
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > most {
				t.Errorf("it took %d bytes", took)
			}
		})
	}
}

// A bundle that was packed again takes the memory that its files take, and not what they are compressed to again and again.
func TestUnpackTakesOneWindow(t *testing.T) { //nolint:paralleltest // it measures memory
	content := strings.Repeat("\x00", maxFile)
	data := zipOf(t, []member{squeezed(t, "zeros", content)})
	a, err := newArchive(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	size := 0
	err = a.stream("zeros", maxFile, func(chunk []byte) { size += len(chunk) })
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; err != nil || size != maxFile || took > 1<<20 {
		t.Errorf("%d bytes came out and %d were taken, %v", size, took, err)
	}
	runtime.ReadMemStats(&before)
	whole, err := a.read("zeros", maxFile)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; err != nil || crc32.ChecksumIEEE(whole) != crc32.ChecksumIEEE([]byte(content)) || took > maxFile+1<<20 {
		t.Errorf("%d bytes came out and %d were taken, %v", len(whole), took, err)
	}
	if _, err := a.read("zeros", maxFile-1); err == nil {
		t.Error("the limit is passed")
	}
}
