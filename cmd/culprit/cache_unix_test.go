//go:build unix

package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Without a home, the cache is a folder of temporary files that is this user's alone.
func TestCacheWithoutHome(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		make  func(dir string) error // what is there before
		wrong string                 // what the error says; "" for none
	}{
		{"nothing is there", func(string) error { return nil }, ""},
		{"it is there", func(dir string) error { return os.Mkdir(dir, 0o700) }, ""},
		{"others may look into it", func(dir string) error {
			return errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o755))
		}, "is open to other users"},
		{"others may write to it", func(dir string) error {
			return errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o777))
		}, "is open to other users"},
		{"a link", func(dir string) error { return os.Symlink(filepath.Dir(dir), dir) }, "is not a folder"},
		{"a file", func(dir string) error { return os.WriteFile(dir, nil, 0o600) }, "is not a folder"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			temp := t.TempDir()
			want := filepath.Join(temp, "culprit-cache-"+strconv.Itoa(os.Getuid()))
			if err := tc.make(want); err != nil {
				t.Fatal(err)
			}
			a, _, _ := testApp(t, func(name string) string { return map[string]string{"TMPDIR": temp}[name] })
			got, err := a.cacheDir()
			if tc.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wrong) || !strings.Contains(err.Error(), "set CULPRIT_CACHE") || exitCode(err) != exitUsage {
					t.Errorf("got %q, %v", got, err)
				}
				return
			}
			if err != nil || got != want {
				t.Fatalf("got %q, %v", got, err)
			}
			if info, err := os.Stat(got); err != nil || info.Mode() != fs.ModeDir|0o700 {
				t.Errorf("got %v, %v", info, err)
			}
		})
	}
}

// Another user's folder is refused, even one that nobody else may look into.
func TestCacheOfAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can give a folder away")
	}
	dir := filepath.Join(t.TempDir(), "cache")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Chown(dir, 12345, -1)); err != nil {
		t.Skip(err)
	}
	if _, err := ownFolder(dir); err == nil {
		t.Error("it is taken")
	}
}
