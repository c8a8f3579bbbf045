package results

import (
	"bytes"
	"testing"

	"github.com/culprit-rag/culprit/matrix"
)

// The seeds in testdata/fuzz are a journal and a manifest of a small bundle, and what attacks on them look like.

// What the journal reader accepts is, byte for byte, what the writer would write for those records.
func FuzzJournal(f *testing.F) {
	data := read(f, unpacked(f), journalFile)
	f.Add(data)
	f.Add(data[:len(data)-7])
	f.Fuzz(func(t *testing.T, data []byte) {
		j, err := decodeJournal(data)
		if err != nil {
			return
		}
		if len(data) > 0 && j.Torn == 0 && data[len(data)-1] != '\n' {
			t.Error("a torn line is taken for a record")
		}
		if got := bytes.Count(data, []byte("\n")); got != len(j.Records) {
			t.Errorf("%d lines and %d records", got, len(j.Records))
		}
	})
}

// A manifest that is accepted is canonical, stays inside its folder and inside the limits.
func FuzzManifest(f *testing.F) {
	f.Add(read(f, unpacked(f), manifestFile))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := decodeManifest(data)
		if err != nil {
			return
		}
		again, err := matrix.Canonical(m)
		if err != nil || !bytes.Equal(again, data) {
			t.Errorf("not canonical: %v", err)
		}
		for _, file := range m.Files {
			if file.Path == "" || file.Path[0] == '/' || bytes.Contains([]byte(file.Path), []byte("..")) && file.Path[:2] == ".." {
				t.Errorf("path %q", file.Path)
			}
		}
	})
}
