package results

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// checkBundle holds a bundle to everything that FORMAT.md says: it opens, sealed and unpacked, its sums hold for sha256sum too, its
// journal ends as the manifest says, its files are as the schemas say, and no file is in it that is not listed.
func checkBundle(tb testing.TB, path string) *Bundle {
	tb.Helper()
	b, err := Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := ReadJournal(path); err != nil {
		tb.Fatal(err)
	}
	dir := unpack(tb, path)
	inFolder, err := Open(dir)
	if err != nil {
		tb.Fatal(err)
	}
	inFolder.Path = path
	if !reflect.DeepEqual(b, inFolder) {
		tb.Errorf("%s says something else when it is unpacked", path)
	}
	if packed := packFolder(tb, dir); !bytes.Equal(readAll(tb, packed), readAll(tb, path)) {
		tb.Errorf("%s is not the same bytes when it is packed again", path)
	}
	if err := validate(tb, dir); err != nil {
		tb.Errorf("%s: %#v", path, err)
	}
	listed := []string{manifestFile, sumsFile}
	for _, f := range b.Manifest.Files {
		listed = append(listed, f.Path)
		data := read(tb, dir, f.Path)
		if sum := fmt.Sprintf("%x", sha256.Sum256(data)); sum != f.SHA256 || f.told(int64(len(data))) != f.Size {
			tb.Errorf("%s: %s is not as listed", path, f.Path)
		}
	}
	found := filesIn(tb, dir)
	slices.Sort(listed)
	if !slices.Equal(listed, found) {
		tb.Errorf("%s holds\n%s\nand lists\n%s", path, strings.Join(found, "\n"), strings.Join(listed, "\n"))
	}
	if tool, err := exec.LookPath("sha256sum"); err == nil {
		cmd := exec.Command(tool, "--check", "--strict", "--quiet", sumsFile)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			tb.Errorf("%s: sha256sum: %v: %s", path, err, out)
		}
	}
	return b
}

func readAll(tb testing.TB, path string) []byte {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// unpack writes the files of a sealed bundle into a folder, as any zip program does, and returns it.
func unpack(tb testing.TB, path string) string {
	tb.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		tb.Fatal(err)
	}
	dir := filepath.Join(memoryDir(tb), strings.TrimSuffix(filepath.Base(path), ".zip"))
	if err := errors.Join(os.CopyFS(dir, z), z.Close()); err != nil {
		tb.Fatal(err)
	}
	return dir
}

// filesIn lists the files below a folder, sorted.
func filesIn(tb testing.TB, dir string) []string {
	tb.Helper()
	var found []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	slices.Sort(found)
	return found
}

// packFolder makes the archive of an unpacked bundle beside it.
func packFolder(tb testing.TB, dir string) string {
	tb.Helper()
	var out bytes.Buffer
	z := newArchiveWriter(&out)
	for _, name := range filesIn(tb, dir) {
		if err := z.add(name, read(tb, dir, name)); err != nil {
			tb.Fatal(err)
		}
	}
	if err := z.finish(); err != nil {
		tb.Fatal(err)
	}
	path := dir + ".zip"
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
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
			names = append(names, strings.TrimSuffix(filepath.Base(dir), archiveSuffix))
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
