package results

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What was revealed is the file that was sealed, wherever the texts stood, and as private.
func TestReveal(t *testing.T) {
	t.Parallel()
	whole := restrictedBundle(t, "the salary is 4000 crowns")
	redacted, err := Redact(whole, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, from := range map[string][2]string{
		"from the file":             {redacted.Copy, whole},
		"of a folder, from another": {unpack(t, redacted.Copy), unpack(t, whole)},
		"both packed again":         {packAgain(t, redacted.Copy), packAgain(t, whole)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(t.TempDir(), "out")
			done, err := Reveal(from[0], from[1], out)
			if err != nil || done.Revealed != redacted.Withheld || done.Withheld != 0 || !bytes.Equal(readAll(t, done.Copy), readAll(t, whole)) {
				t.Fatalf("%+v, %v", done, err)
			}
			for path, mode := range map[string]os.FileMode{out: 0o700, filepath.Dir(done.Copy): 0o700, done.Copy: 0o600} {
				if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
					t.Errorf("%s has the mode %v, %v", path, info.Mode(), err)
				}
			}
			if again, err := Reveal(from[0], from[1], out); err != nil || again != done {
				t.Errorf("once more: %+v, %v", again, err)
			}
		})
	}
}

// What is not proved to be the copy's own is not put into it, and nothing is written.
func TestRevealRefuses(t *testing.T) {
	t.Parallel()
	whole := restrictedBundle(t, "the salary is 4000 crowns")
	redacted, err := Redact(whole, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	changed := func(change func(dir, name string)) string { // the whole, after what is done to a restricted file
		dir := unpack(t, whole)
		name, err := filepath.Rel(dir, firstRestricted(t, dir))
		if err != nil {
			t.Fatal(err)
		}
		change(dir, filepath.ToSlash(name))
		return dir
	}
	for name, tc := range map[string]struct {
		copied, full, want string
		is                 error
	}{
		"a bundle of the same case and texts": {redacted.Copy, restrictedBundle(t, "the salary is 4000 crowns"), "are under two seals", ErrNotRevealed},
		"another copy":                        {redacted.Copy, redacted.Copy, "is not full", ErrNotRevealed},
		"a bundle that lacks nothing":         {whole, whole, "lacks no file", ErrNotRevealed},
		"a text that is missing":              {redacted.Copy, changed(func(dir, name string) { remove(t, dir, name) }), "1 of its files are withheld", ErrNotRevealed},
		"a text that is another": {redacted.Copy, changed(func(dir, name string) {
			data := read(t, dir, name)
			data[len(data)-1] ^= 1
			place(t, dir, name, data)
		}), "its sum differs", nil},
		"a text that is cut":     {redacted.Copy, changed(func(dir, name string) { place(t, dir, name, read(t, dir, name)[:saltSize]) }), "its sum differs", nil},
		"no bundle":              {redacted.Copy, filepath.Join(t.TempDir(), "none"), "no such file", os.ErrNotExist},
		"a copy that is no more": {filepath.Join(t.TempDir(), "none"), whole, "no such file", os.ErrNotExist},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := t.TempDir()
			_, err := Reveal(tc.copied, tc.full, out)
			if err == nil || !strings.Contains(err.Error(), tc.want) || tc.is != nil && !errors.Is(err, tc.is) {
				t.Errorf("want %q, got %v", tc.want, err)
			}
			if left := filesIn(t, out); len(left) > 0 {
				t.Errorf("it leaves %q", left)
			}
		})
	}
	if _, err := Reveal(redacted.Copy, whole, filepath.Dir(filepath.Dir(redacted.Copy))); !errors.Is(err, os.ErrExist) {
		t.Errorf("in place of the copy: %v", err)
	}
}

// TestOutsideBundles: what is made of a bundle does not go into one that was unpacked, which would not be intact any more.
func TestOutsideBundles(t *testing.T) {
	t.Parallel()
	whole := restrictedBundle(t, "the salary is 4000 crowns")
	redacted, err := Redact(whole, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir, old := unpack(t, redacted.Copy), byOthers(t, "pass", func(string) {})
	for _, out := range []string{dir, filepath.Join(dir, "case", "deep")} {
		_, redact := Redact(whole, out)
		_, reveal := Reveal(dir, whole, out)
		_, migrate := Migrate(old, out, testTime)
		for name, err := range map[string]error{"redact": redact, "reveal": reveal, "migrate": migrate} {
			if !errors.Is(err, ErrInside) {
				t.Errorf("%s into %q: %v", name, out, err)
			}
		}
	}
	entries, err := os.ReadDir(filepath.Join(dir, "case"))
	if _, made := os.Lstat(filepath.Join(dir, filepath.Base(filepath.Dir(redacted.Copy)))); err != nil || len(entries) != 2 || !errors.Is(made, os.ErrNotExist) {
		t.Errorf("something was written: %v, %v, %v", entries, err, made)
	}
}
