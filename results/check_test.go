package results

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// checkBundle holds a bundle to everything that FORMAT.md says: it opens, its sums hold for sha256sum too, its journal ends as
// the manifest says, and no file is in it that is not listed.
func checkBundle(tb testing.TB, dir string) *Bundle {
	tb.Helper()
	b, err := Open(dir)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := ReadJournal(dir); err != nil {
		tb.Fatal(err)
	}
	listed := []string{manifestFile, sumsFile}
	for _, f := range b.Manifest.Files {
		listed = append(listed, f.Path)
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(f.Path)))
		if err != nil {
			tb.Fatal(err)
		}
		if sum := fmt.Sprintf("%x", sha256.Sum256(data)); sum != f.SHA256 || int64(len(data)) != f.Size {
			tb.Errorf("%s: %s is not as listed", dir, f.Path)
		}
	}
	var found []string
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			found = append(found, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	slices.Sort(listed)
	slices.Sort(found)
	if !slices.Equal(listed, found) {
		tb.Errorf("%s holds\n%s\nand lists\n%s", dir, strings.Join(found, "\n"), strings.Join(listed, "\n"))
	}
	if tool, err := exec.LookPath("sha256sum"); err == nil {
		cmd := exec.Command(tool, "--check", "--strict", "--quiet", sumsFile)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			tb.Errorf("%s: sha256sum: %v: %s", dir, err, out)
		}
	}
	return b
}

// checkFolder checks every bundle of a results folder and returns their case names.
func checkFolder(tb testing.TB, out string) []string {
	tb.Helper()
	ids, err := Executions(out)
	if err != nil {
		tb.Fatal(err)
	}
	var names []string
	for _, id := range ids {
		bundles, err := Bundles(out, id)
		if err != nil {
			tb.Fatal(err)
		}
		for _, dir := range bundles {
			checkBundle(tb, dir)
			names = append(names, strings.TrimSuffix(filepath.Base(dir), bundleSuffix))
		}
	}
	return names
}

// memoryDir is a folder in memory where the system has one: a killed process is no power cut, so the hundreds of writers of
// a test need not wait for a disk.
func memoryDir(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "culprit-test-") //nolint:usetesting // tb.TempDir is on a disk
	if err != nil {
		return tb.TempDir()
	}
	tb.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			tb.Error(err)
		}
	})
	return dir
}
