package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/culprit-rag/culprit/matrix"
)

// sealed returns a bundle.
func sealed(tb testing.TB) string {
	tb.Helper()
	e := newTestExecution(tb, tb.TempDir())
	path, err := writeCase(e, testBundle(tb, "attacked", 2), false)
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

// unpacked returns the folder of a bundle.
func unpacked(tb testing.TB) string {
	tb.Helper()
	return unpack(tb, sealed(tb))
}

// rewriteManifest changes the manifest and keeps it canonical.
func rewriteManifest(t *testing.T, dir string, change func(map[string]any)) {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(read(t, dir, manifestFile), &m); err != nil {
		t.Fatal(err)
	}
	change(m)
	data, err := matrix.Canonical(m)
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, manifestFile, data)
}

func write(t *testing.T, dir, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func firstFile(m map[string]any) map[string]any { return m["files"].([]any)[0].(map[string]any) }

// firstBlob returns the path of a blob that a text refers to.
func firstBlob(t *testing.T, dir string) string {
	t.Helper()
	b, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return blobPath(b.Observations.Trials[0].Answer.Ref)
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		attack func(t *testing.T, dir string)
		want   string
		folder bool // no archive can hold it
	}{
		{name: "no manifest", attack: func(t *testing.T, dir string) { remove(t, dir, manifestFile) }, want: "not a bundle"},
		{name: "a newer schema, in one line", attack: func(t *testing.T, dir string) {
			rewriteManifest(t, dir, func(m map[string]any) { m["schema"], m["new"] = "culprit.bundle/v2", map[string]any{} })
		}, want: `schema "culprit.bundle/v2" is newer than this version of culprit`},
		{name: "another kind of file", attack: func(t *testing.T, dir string) {
			rewriteManifest(t, dir, func(m map[string]any) { m["schema"] = "culprit.plan/v1" })
		}, want: `schema is "culprit.plan/v1"`},
		{name: "an unknown field", attack: func(t *testing.T, dir string) {
			rewriteManifest(t, dir, func(m map[string]any) { m["withheld"] = true })
		}, want: `unknown field "withheld"`},
		{name: "a manifest in another form", attack: func(t *testing.T, dir string) {
			write(t, dir, manifestFile, append([]byte(" "), read(t, dir, manifestFile)...))
		}, want: "canonical"},
		{name: "a second manifest behind the first", attack: func(t *testing.T, dir string) {
			m := read(t, dir, manifestFile)
			write(t, dir, manifestFile, append(m, m...))
		}, want: "after top-level value"},
		{name: "a path out of the bundle", attack: func(t *testing.T, dir string) {
			rewriteManifest(t, dir, func(m map[string]any) { firstFile(m)["path"] = "../../etc/passwd" })
		}, want: "leaves the bundle"},
		{name: "an absolute path", attack: func(t *testing.T, dir string) {
			rewriteManifest(t, dir, func(m map[string]any) { firstFile(m)["path"] = "/etc/passwd" })
		}, want: "leaves the bundle"},
		{name: "a path of Windows", attack: func(t *testing.T, dir string) {
			rewriteManifest(t, dir, func(m map[string]any) { firstFile(m)["path"] = `..\x` })
		}, want: "leaves the bundle"},
		{name: "a file that is listed twice", attack: func(t *testing.T, dir string) {
			rewriteManifest(t, dir, func(m map[string]any) { m["files"] = append(m["files"].([]any), m["files"].([]any)[0]) })
		}, want: "listed twice"},
		{name: "a size that fills the memory", attack: func(t *testing.T, dir string) {
			rewriteManifest(t, dir, func(m map[string]any) { firstFile(m)["size"] = 1 << 50 })
		}, want: "the limit is"},
		{name: "an unknown status", attack: func(t *testing.T, dir string) {
			rewriteManifest(t, dir, func(m map[string]any) { m["status"] = "perfect" })
		}, want: `status "perfect"`},
		{name: "the manifest of another case", attack: func(t *testing.T, dir string) {
			rewriteManifest(t, dir, func(m map[string]any) { m["case_id"] = "other" })
		}, want: `is of case "other"`},
		{name: "a verdict that was edited", attack: func(t *testing.T, dir string) {
			write(t, dir, evaluationFile, []byte(strings.Replace(string(read(t, dir, evaluationFile)), "fail", "pass", 1)))
		}, want: "its sum differs"},
		{name: "a file that was made longer", attack: func(t *testing.T, dir string) {
			write(t, dir, featuresFile, append(read(t, dir, featuresFile), ' '))
		}, want: "the limit is"},
		{name: "a file that is gone", attack: func(t *testing.T, dir string) { remove(t, dir, pinsFile) }, want: pinsFile},
		{name: "an answer that is gone", attack: func(t *testing.T, dir string) { remove(t, dir, firstBlob(t, dir)) }, want: "blobs/sha256/"},
		{name: "a link to a secret", attack: func(t *testing.T, dir string) {
			secret := filepath.Join(t.TempDir(), "secret")
			write(t, filepath.Dir(secret), "secret", read(t, dir, evaluationFile))
			remove(t, dir, evaluationFile)
			if err := os.Symlink(secret, filepath.Join(dir, evaluationFile)); err != nil {
				t.Fatal(err)
			}
		}, want: "not a regular file", folder: true},
		{name: "a folder that is a link to elsewhere", attack: func(t *testing.T, dir string) {
			elsewhere := filepath.Join(filepath.Dir(dir), "elsewhere")
			if err := os.Rename(filepath.Join(dir, "observations"), elsewhere); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(elsewhere, filepath.Join(dir, "observations")); err != nil {
				t.Fatal(err)
			}
		}, want: "escapes", folder: true},
		{name: "a pipe that never answers", attack: func(t *testing.T, dir string) {
			remove(t, dir, evaluationFile)
			if err := syscall.Mkfifo(filepath.Join(dir, evaluationFile), 0o600); err != nil {
				t.Fatal(err)
			}
		}, want: "not a regular file", folder: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir := unpacked(t)
			tc.attack(t, dir)
			paths := []string{dir}
			if !tc.folder {
				paths = append(paths, packFolder(t, dir))
			}
			for _, path := range paths {
				_, err := Open(path)
				if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
					t.Errorf("want one line with %q and the path, got %v", tc.want, err)
				}
			}
		})
	}
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
		t.Fatal(err)
	}
}

// A reader says of a newer major that it is newer, in one line, whatever else is in it that it does not know.
func TestNewerSchemaIsSaidInOneLine(t *testing.T) {
	t.Parallel()
	bundle := sealed(t)
	for _, name := range []string{pinsFile, planFile, environmentFile, featuresFile, evaluationFile} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := unpack(t, bundle)
			kind := strings.TrimSuffix(path.Base(name), ".json")
			edited(t, dir, name, fmt.Sprintf(`"schema":"culprit.%s/v1"`, kind), fmt.Sprintf(`"schema":"culprit.%s/v2","unknown":{}`, kind))
			reseal(t, dir, nil)
			if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), `/v2" is newer than this version of culprit`) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v", err)
			}
		})
	}
	line := journalLine(nil, 1, noRecord, []byte(`{"t":"open","schema":"culprit.journal/v2"}`), recordSum(1, noRecord, []byte(`{"t":"open","schema":"culprit.journal/v2"}`)))
	if _, err := decodeJournal(line); err == nil || !strings.Contains(err.Error(), "newer") || errors.Is(err, ErrJournal) {
		t.Errorf("journal: %v", err)
	}
}

func TestReadJournalFindsEveryChange(t *testing.T) {
	t.Parallel()
	lines := func(t *testing.T, dir string) []string {
		return strings.SplitAfter(strings.TrimSuffix(string(read(t, dir, journalFile)), "\n"), "\n")
	}
	for name, attack := range map[string]func([]string) []string{
		"its last record cut":   func(l []string) []string { return l[:len(l)-1] },
		"a record dropped":      func(l []string) []string { return append(l[:2:2], l[3:]...) },
		"two records swapped":   func(l []string) []string { l[2], l[3] = l[3], l[2]; return l },
		"a record edited":       func(l []string) []string { l[2] = strings.Replace(l[2], "intent", "result", 1); return l },
		"a key given twice":     func(l []string) []string { l[0] = strings.Replace(l[0], `{"seq":1`, `{"seq":9,"seq":1`, 1); return l },
		"white space added":     func(l []string) []string { l[1] = strings.Replace(l[1], `"seq":`, `"seq": `, 1); return l },
		"a record added":        func(l []string) []string { return append(l, l[len(l)-1]) },
		"nothing left":          func([]string) []string { return nil },
		"an unknown key beside": func(l []string) []string { l[1] = strings.Replace(l[1], `{"seq"`, `{"x":1,"seq"`, 1); return l },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := unpacked(t)
			data := []byte(strings.Join(attack(lines(t, dir)), ""))
			write(t, dir, journalFile, data)
			// The manifest is made to agree, as an attacker would: only the chain and its end are left to tell.
			rewriteManifest(t, dir, func(m map[string]any) {
				for _, f := range m["files"].([]any) {
					if f := f.(map[string]any); f["path"] == journalFile {
						f["size"], f["sha256"] = len(data), strings.TrimPrefix(matrix.DigestBytes(data), "sha256:")
					}
				}
			})
			if _, err := ReadJournal(dir); !errors.Is(err, ErrJournal) {
				t.Errorf("want damaged, got %v", err)
			}
		})
	}
}

// A line that a killed process did not finish is no record; everything before it stands.
func TestTornJournal(t *testing.T) {
	t.Parallel()
	data := read(t, unpacked(t), journalFile)
	whole, err := decodeJournal(data)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range data {
		j, err := decodeJournal(data[:cut])
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if torn := cut - (strings.LastIndexByte(string(data[:cut]), '\n') + 1); j.Torn != torn || len(j.Records) > len(whole.Records) {
			t.Fatalf("cut at %d: %d bytes torn, %d records", cut, j.Torn, len(j.Records))
		}
	}
}
