package results

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// verifyPython runs testdata/verify.py, which shares nothing with this package, and returns its exit code and what it says.
func verifyPython(t *testing.T, args ...string) (code int, said string) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		if os.Getenv("CULPRIT_TEST_SHORT") == "1" || testing.Short() {
			t.Skip("needs python3: left out by -short or CULPRIT_TEST_SHORT=1")
		}
		t.Fatal("needs python3, or CULPRIT_TEST_SHORT=1 to leave it out")
	}
	out, err := exec.CommandContext(t.Context(), python, append([]string{"-I", "testdata/verify.py"}, args...)...).CombinedOutput()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		code = exit.ExitCode()
	case err != nil:
		t.Fatal(err)
	}
	if strings.Contains(string(out), "Traceback") {
		t.Errorf("it breaks:\n%s", out)
	}
	return code, string(out)
}

func TestPythonVerifierIsShort(t *testing.T) {
	t.Parallel()
	if n := bytes.Count(readAll(t, "testdata/verify.py"), []byte("\n")); n > 150 {
		t.Errorf("it has %d lines, and is to show that 150 are enough", n)
	}
}

func TestPythonVerifiesTheSeal(t *testing.T) {
	t.Parallel()
	bundle := sealed(t)
	b, err := Open(bundle)
	if err != nil {
		t.Fatal(err)
	}
	end := b.Manifest.Journal
	for name, tc := range map[string]struct {
		attack func(t *testing.T, dir string)         // on the unpacked bundle, which is packed again
		bytes  func(t *testing.T, data []byte) []byte // on the zip file
		code   int
		want   string
	}{
		"as it was": {want: "intact: case attacked, "},
		"a file edited": {code: 1, want: "evaluation.json is not the file that was sealed", attack: func(t *testing.T, dir string) {
			write(t, dir, evaluationFile, bytes.Replace(read(t, dir, evaluationFile), []byte("fail"), []byte("pass"), 1))
		}},
		"an answer edited": {code: 1, want: "is not the file that was sealed", attack: func(t *testing.T, dir string) {
			write(t, dir, firstBlob(t, dir), []byte("answer 9"))
		}},
		"an answer edited, sealed anew": {code: 1, want: "is not a name of its content", attack: func(t *testing.T, dir string) {
			edited(t, dir, firstBlob(t, dir), "answer", "Answer")
			reseal(t, dir, nil)
		}},
		"an evaluation edited, its digest left": {code: 1, want: "digest of evaluation.json", attack: func(t *testing.T, dir string) {
			edited(t, dir, evaluationFile, "fail", "pass")
			reseal(t, dir, func(m *Manifest) { m.Digests.Evaluation = m.Digests.Plan })
		}},
		"a file added":   {code: 1, want: "['extra']", attack: func(t *testing.T, dir string) { write(t, dir, "extra", nil) }},
		"a file dropped": {code: 1, want: pinsFile, attack: func(t *testing.T, dir string) { remove(t, dir, pinsFile) }},
		"no manifest":    {code: 2, want: manifestFile, attack: func(t *testing.T, dir string) { remove(t, dir, manifestFile) }},
		"other sums": {code: 1, want: sumsFile, attack: func(t *testing.T, dir string) {
			write(t, dir, sumsFile, append(read(t, dir, sumsFile), '\n'))
		}},
		"a newer schema": {code: 1, want: "culprit.bundle/v2", attack: func(t *testing.T, dir string) {
			rewriteManifest(t, dir, func(m map[string]any) { m["schema"] = "culprit.bundle/v2" })
		}},
		"a manifest in another form": {code: 1, want: "canonical", attack: func(t *testing.T, dir string) {
			write(t, dir, manifestFile, append(read(t, dir, manifestFile), '\n'))
		}},
		"a record edited, sealed anew": {code: 1, want: "line 3 of the journal", attack: func(t *testing.T, dir string) {
			edited(t, dir, journalFile, `"attempt":1`, `"attempt":2`)
			reseal(t, dir, nil)
		}},
		"the last record cut, sealed anew": {code: 1, want: "does not end as it was sealed", attack: func(t *testing.T, dir string) {
			all := records(t, dir)
			place(t, dir, journalFile, chained(t, all[:len(all)-1]))
			reseal(t, dir, func(m *Manifest) { m.Journal = end })
		}},
		"the last line torn, sealed anew": {code: 1, want: "of the journal", attack: func(t *testing.T, dir string) {
			edited(t, dir, journalFile, "\"}\n{\"seq\":2", "\"}{\"seq\":2")
			reseal(t, dir, nil)
		}},
		"a byte of an answer changed in place": {code: 1, want: "Bad CRC-32", bytes: func(_ *testing.T, data []byte) []byte {
			data[bytes.Index(data, []byte("answer "))] = 'A'
			return data
		}},
		"something behind the zip file":  {code: 2, want: "not in the one form", bytes: func(_ *testing.T, data []byte) []byte { return append(data, 0) }},
		"something before the zip file":  {code: 2, want: "not in the one form", bytes: func(_ *testing.T, data []byte) []byte { return append([]byte("#!/bin/sh\n"), data...) }},
		"a time in the header of a file": {code: 2, want: "not in the one form", bytes: func(_ *testing.T, data []byte) []byte { data[11] ^= 1; return data }},
		"no zip file":                    {code: 2, want: "not a zip file", bytes: func(*testing.T, []byte) []byte { return []byte("{}") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), filepath.Base(bundle))
			data := readAll(t, bundle)
			if tc.attack != nil {
				dir := unpack(t, bundle)
				tc.attack(t, dir)
				data = readAll(t, packFolder(t, dir))
			}
			if tc.bytes != nil {
				data = tc.bytes(t, data)
			}
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			if code, said := verifyPython(t, path); code != tc.code || !strings.Contains(said, tc.want) {
				t.Errorf("want %d and %q, got %d: %s", tc.code, tc.want, code, said)
			}
		})
	}
	for name, path := range map[string]string{"unpacked": unpack(t, bundle), "packed again": packAgain(t, bundle)} {
		code, said := verifyPython(t, path)
		if code != 0 || strings.Contains(said, "packed again") != (name == "packed again") {
			t.Errorf("%s: %d: %s", name, code, said)
		}
	}
	for name, tc := range packedAgainAttacks(t) { // which Verify does not find intact either
		path := filepath.Join(t.TempDir(), filepath.Base(bundle))
		if err := os.WriteFile(path, tc.file(t, bundle), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, said := verifyPython(t, path); code != 1 && code != 2 && (code != 0 || !tc.whole) {
			t.Errorf("packed again with %s: %d: %s", name, code, said)
		}
	}
	dir := unpack(t, bundle)
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if code, said := verifyPython(t, dir); code != 1 || !strings.Contains(said, "what is no file") {
		t.Errorf("a folder with a link: %d: %s", code, said)
	}
	for name, golden := range goldens(t) {
		if code, said := verifyPython(t, golden); code != 0 {
			t.Errorf("golden bundle %q: %d: %s", name, code, said)
		}
	}
	if code, said := verifyPython(t, filepath.Join(t.TempDir(), "none.bundle.zip")); code != 2 {
		t.Errorf("no file: %d: %s", code, said)
	}
	if code, said := verifyPython(t); code != 2 || !strings.Contains(said, "usage:") {
		t.Errorf("no argument: %d: %s", code, said)
	}
}

func TestPythonVerifiesSignatures(t *testing.T) {
	t.Parallel()
	private, public := newKeys(t, 3)
	bundle := sealed(t)
	for _, key := range private[:2] {
		if _, err := signAs(bundle, key); err != nil {
			t.Fatal(err)
		}
	}
	signature := readAll(t, SignatureFile(bundle))
	line := func(key TrustedKey) string {
		return "ssh-ed25519 " + base64.StdEncoding.EncodeToString(append([]byte("\x00\x00\x00\x0bssh-ed25519\x00\x00\x00\x20"), key.PublicKey...))
	}
	pemOf := func(key TrustedKey) string {
		der, err := x509.MarshalPKIXPublicKey(key.PublicKey)
		if err != nil {
			t.Fatal(err)
		}
		return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	}
	edit := func(old, new string) func([]byte) []byte {
		return func(data []byte) []byte { return bytes.Replace(data, []byte(old), []byte(new), 1) }
	}
	reenvelope := func(change func(e *envelope)) func([]byte) []byte {
		return func(data []byte) []byte {
			e, err := decodeEnvelope(data)
			if err != nil {
				t.Fatal(err)
			}
			change(e)
			if data, err = plainJSON(e); err != nil {
				t.Fatal(err)
			}
			return data
		}
	}
	for name, tc := range map[string]struct {
		trusted   string
		threshold int
		attack    func([]byte) []byte // on the signatures; nil from it: they are gone
		code      int
		want      string
	}{
		"by one":                    {trusted: line(public[0]) + " me\n", want: "signed by 1 of 1"},
		"by one with a name":        {trusted: "# keys\nme@example.com " + line(public[1]) + "\n", want: "signed by 1 of 1"},
		"by two, in PEM":            {trusted: pemOf(public[0]) + pemOf(public[1]), threshold: 2, want: "signed by 2 of 2"},
		"by two of three":           {trusted: line(public[0]) + "\n" + line(public[2]) + "\n" + line(public[1]), threshold: 2, want: "signed by 2 of 3"},
		"a key that is there twice": {trusted: line(public[0]) + "\n" + pemOf(public[0]), threshold: 2, code: 3, want: "2 are asked for"},
		"by another":                {trusted: line(public[2]), code: 3, want: "no trusted key"},
		"an authority":              {trusted: "cert-authority " + line(public[0]), code: 3, want: "no trusted key"},
		"no signature":              {trusted: line(public[0]), attack: func([]byte) []byte { return nil }, code: 3, want: "no signature"},
		"no envelope":               {trusted: line(public[0]), attack: func([]byte) []byte { return []byte("[]") }, code: 3},
		"another type":              {trusted: line(public[0]), attack: edit("in-toto+json", "in-toto+yaml"), code: 3, want: "is of type"},
		"another payload": {trusted: line(public[0]), attack: reenvelope(func(e *envelope) {
			e.Payload = bytes.Replace(e.Payload, []byte(testFailed), []byte(testPassed), 1)
		}), code: 3, want: "no trusted key"},
		"another bundle": {trusted: line(public[0]), attack: reenvelope(func(e *envelope) {
			e.Payload, e.Signatures = bytes.Replace(e.Payload, []byte(`"attacked"`), []byte(`"other"`), 1), nil
			e.sign(private[0])
		}), code: 3, want: "another bundle"},
		"a signature in another form": {trusted: line(public[0]), attack: reenvelope(func(e *envelope) {
			e.Signatures[0].Sig = malleated(t, e.Signatures[0].Sig)
		}), code: 3, want: "no trusted key"},
		"a key that is none": {trusted: line(TrustedKey{PublicKey: append([]byte{2}, make([]byte, 31)...)}), code: 2, want: "no point of the curve"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, filepath.Base(bundle))
			write(t, dir, filepath.Base(bundle), readAll(t, bundle))
			data := signature
			if tc.attack != nil {
				data = tc.attack(data)
			}
			if data != nil {
				write(t, dir, filepath.Base(SignatureFile(path)), data)
			}
			write(t, dir, "trusted", []byte(tc.trusted))
			code, said := verifyPython(t, path, filepath.Join(dir, "trusted"), strconv.Itoa(max(tc.threshold, 1)))
			if code != tc.code || !strings.Contains(said, tc.want) {
				t.Errorf("want %d and %q, got %d: %s", tc.code, tc.want, code, said)
			}
		})
	}
}
