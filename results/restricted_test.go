package results

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culprit-rag/culprit/matrix"
)

// restrictedBundle seals a bundle whose first hit is restricted, with a text in place of its own where one is given, and all that was made of it.
func restrictedBundle(tb testing.TB, text string) string {
	tb.Helper()
	b := testBundle(tb, "private", 3)
	hit := &b.Observations.Retrievals[0].Candidates[0]
	hit.Sensitivity = matrix.Restricted
	if text != "" {
		hit.Text = matrix.NewText(text)
	}
	for i := range b.Observations.Trials {
		t := &b.Observations.Trials[i]
		t.Packed[0].Text, t.Packed[0].Sensitivity = hit.Text, matrix.Restricted
		t.Sensitivity, t.AnswerSensitivity = matrix.Restricted, matrix.Restricted
	}
	b.Observations = *b.Observations.Restrict()
	digest, err := b.Observations.Digest()
	if err != nil {
		tb.Fatal(err)
	}
	b.Evaluation.ObservationDigest = digest
	path, err := writeCase(newTestExecution(tb, tb.TempDir()), b, true)
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

func firstRestricted(tb testing.TB, dir string) string {
	tb.Helper()
	names, err := filepath.Glob(filepath.Join(dir, restrictedFolder, "*"))
	if err != nil || len(names) == 0 {
		tb.Fatal("no restricted file", err)
	}
	return names[0]
}

// TestRestrictedSizesAreNotTold: texts of other lengths have the same sizes.
func TestRestrictedSizesAreNotTold(t *testing.T) {
	t.Parallel()
	sizes := func(path string) (sizes []int64) {
		b, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range b.Manifest.Files {
			if f.Restricted {
				sizes = append(sizes, f.Size)
			}
		}
		return sizes
	}
	short, long := sizes(restrictedBundle(t, "a")), sizes(restrictedBundle(t, strings.Repeat("a", 200)))
	if len(short) == 0 || len(short) != len(long) {
		t.Fatalf("%d and %d restricted files", len(short), len(long))
	}
	for i := range short {
		if short[i] != 256 || long[i] != 256 {
			t.Errorf("sizes %d and %d", short[i], long[i])
		}
	}
	if over := slices.Max(sizes(restrictedBundle(t, strings.Repeat("a", 300)))); over != 512 {
		t.Errorf("size %d, want 512", over)
	}
}

// TestOpenHoldsRestrictedFilesToTheirSums: one may be absent and none may be another.
func TestOpenHoldsRestrictedFilesToTheirSums(t *testing.T) {
	t.Parallel()
	sealed := restrictedBundle(t, "")
	tests := []struct {
		name   string
		change func(t *testing.T, dir, file string)
		want   string // "" for none
	}{
		{"absent", func(t *testing.T, _, file string) { removeFile(t, file) }, ""},
		{"another salt", func(t *testing.T, _, file string) {
			data := readFileAt(t, file)
			data[0] ^= 1
			writeFileAt(t, file, data)
		}, "its sum differs"},
		{"one byte longer", func(t *testing.T, _, file string) { writeFileAt(t, file, append(readFileAt(t, file), 'x')) }, "its sum differs"},
		{"another file of the bundle", func(t *testing.T, dir, file string) {
			names, _ := filepath.Glob(filepath.Join(dir, restrictedFolder, "*")) // the pattern is well formed
			writeFileAt(t, file, readFileAt(t, names[1]))
		}, "its sum differs"},
		{"a link", func(t *testing.T, dir, file string) {
			removeFile(t, file)
			if err := os.Symlink(filepath.Join(dir, caseSourceFile), file); err != nil {
				t.Skip(err)
			}
		}, "not a regular file"},
		{"a plain file absent", func(t *testing.T, dir, _ string) { removeFile(t, filepath.Join(dir, featuresFile)) }, "no such file"},
		{"a plain file called restricted", func(t *testing.T, dir, _ string) {
			rewriteManifest(t, dir, func(m map[string]any) { firstFile(m)["restricted"] = true })
		}, "restricted in another way"},
		{"a restricted file called plain", func(t *testing.T, dir, _ string) {
			rewriteManifest(t, dir, func(m map[string]any) {
				for _, f := range m["files"].([]any) {
					delete(f.(map[string]any), "restricted")
				}
			})
		}, "restricted in another way"},
		{"an exact size", func(t *testing.T, dir, _ string) {
			rewriteManifest(t, dir, func(m map[string]any) {
				for _, f := range m["files"].([]any) {
					if f := f.(map[string]any); f["restricted"] != nil {
						f["size"] = 100
					}
				}
			})
		}, "restricted in another way"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := unpack(t, sealed)
			tt.change(t, dir, firstRestricted(t, dir))
			b, err := Open(dir)
			if tt.want == "" {
				if err != nil || b.Withheld != 1 {
					t.Errorf("%v, withheld %d", err, b.Withheld)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// TestRedactRefuses: what would be overwritten, and what is not the bundle that was sealed.
func TestRedactRefuses(t *testing.T) {
	t.Parallel()
	sealed, out := restrictedBundle(t, ""), t.TempDir()
	done, err := Redact(sealed, out)
	if err != nil || done.Withheld == 0 {
		t.Fatal(err, done)
	}
	if again, err := Redact(sealed, out); err != nil || again != done {
		t.Errorf("%v: once more: %+v", err, again)
	}
	if _, err := Redact(restrictedBundle(t, ""), out); err != nil {
		t.Errorf("a bundle of another execution: %v", err)
	}
	writeFileAt(t, done.Copy, []byte("another"))
	if _, err := Redact(sealed, out); !errors.Is(err, os.ErrExist) {
		t.Errorf("error %v, want that something is there", err)
	}
	removeFile(t, done.Copy)
	if _, err := Redact(sealed, out); err != nil {
		t.Error(err)
	}
	if _, err := Redact(sealed, filepath.Dir(filepath.Dir(sealed))); err == nil {
		t.Error("the bundle itself is written over")
	}
	if again, err := Redact(done.Copy, t.TempDir()); err != nil || again.Withheld != done.Withheld || !bytes.Equal(readFileAt(t, again.Copy), readFileAt(t, done.Copy)) {
		t.Errorf("%v: a copy of the copy is another", err)
	}
	dir := unpack(t, sealed)
	if fromFolder, err := Redact(dir, t.TempDir()); err != nil || !bytes.Equal(readFileAt(t, fromFolder.Copy), readFileAt(t, done.Copy)) {
		t.Errorf("%v: a copy of the folder is another", err)
	}
	write(t, dir, caseSourceFile, []byte("id: other\n"))
	if _, err := Redact(dir, t.TempDir()); err == nil {
		t.Error("a changed bundle is copied")
	}
}

func removeFile(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func readFileAt(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func writeFileAt(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A copy whose restricted files were taken out has no other problem than the whole, for this program and for the one in Python; what is
// restricted is under the seal like anything else.
func TestVerifyRedacted(t *testing.T) {
	t.Parallel()
	whole := restrictedBundle(t, "the salary is 4000 crowns")
	done, err := Redact(whole, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	before, after := Verify(whole, Policy{}), Verify(done.Copy, Policy{})
	for _, v := range []*Verification{before, after} { // by other rules than these, what follows without the texts is another thing
		// What this bundle says was asked is made up, which shows where the texts are here.
		v.Problems = slices.DeleteFunc(v.Problems, func(p Problem) bool { return p.Step == stepEvaluator || p.Step == stepInputs })
	}
	if diff := cmp.Diff(before.Problems, after.Problems); diff != "" {
		t.Errorf("(-whole +copy):\n%s", diff)
	}
	if before.Withheld != 0 || after.Withheld != done.Withheld || after.Withheld == 0 || after.Files != before.Files-after.Withheld {
		t.Errorf("withheld: %d of %d files, and of the copy %d of %d", before.Withheld, before.Files, after.Withheld, after.Files)
	}
	for _, path := range []string{whole, done.Copy} {
		if code, said := verifyPython(t, path); code != 0 {
			t.Errorf("%s: %d, %s", path, code, said)
		}
	}
	dir := unpack(t, whole)
	name, err := filepath.Rel(dir, firstRestricted(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	data := read(t, dir, name)
	data[len(data)-1] ^= 1
	place(t, dir, filepath.ToSlash(name), data)
	changed := Verify(dir, Policy{})
	if !slices.ContainsFunc(changed.Problems, func(p Problem) bool {
		return p.Step == stepFiles && p.File == filepath.ToSlash(name) && strings.Contains(p.Message, "it was changed")
	}) {
		t.Errorf("a changed restricted file: %+v", changed.Problems)
	}
	if code, said := verifyPython(t, packFolder(t, dir)); code != 1 {
		t.Errorf("a changed restricted file in Python: %d, %s", code, said)
	}
}
