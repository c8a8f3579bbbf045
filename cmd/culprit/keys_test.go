package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/culprit-rag/culprit/results"
)

func newKey(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func keyFile(t *testing.T, data []byte, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, data, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func must[T any](t *testing.T) func(v T, err error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestReadPrivateKey(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	other := must[*rsa.PrivateKey](t)(rsa.GenerateKey(rand.Reader, 2048))
	pkcs8 := func(key any) []byte {
		return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: must[[]byte](t)(x509.MarshalPKCS8PrivateKey(key))})
	}
	open := pem.EncodeToMemory(must[*pem.Block](t)(ssh.MarshalPrivateKey(key, "me")))
	locked := pem.EncodeToMemory(must[*pem.Block](t)(ssh.MarshalPrivateKeyWithPassphrase(key, "me", []byte("horse"))))
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: must[[]byte](t)(x509.MarshalPKIXPublicKey(key.Public()))})
	for name, tc := range map[string]struct {
		data       []byte
		mode       os.FileMode
		passphrase string
		want       string // in the error
	}{
		"OpenSSH":                      {data: open, mode: 0o600},
		"OpenSSH that only is read":    {data: open, mode: 0o400},
		"OpenSSH with a passphrase":    {data: locked, mode: 0o600, passphrase: "horse"},
		"PKCS #8":                      {data: pkcs8(key), mode: 0o600},
		"no passphrase":                {data: locked, mode: 0o600, want: "--passphrase-env"},
		"another passphrase":           {data: locked, mode: 0o600, passphrase: "donkey", want: "does not open"},
		"a key that the group reads":   {data: open, mode: 0o640, want: "mode 0640"},
		"a key that everybody reads":   {data: open, mode: 0o604, want: "chmod 600"},
		"another algorithm":            {data: pkcs8(other), mode: 0o600, want: "only Ed25519"},
		"the public key":               {data: public, mode: 0o600, want: "is a public key"},
		"the public key of OpenSSH":    {data: ssh.MarshalAuthorizedKey(must[ssh.PublicKey](t)(ssh.NewPublicKey(key.Public()))), mode: 0o600, want: "holds no private key"},
		"PKCS #8 with a passphrase":    {data: []byte("-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n"), mode: 0o600, want: "openssl pkey"},
		"something else":               {data: []byte("horse"), mode: 0o600, want: "holds no private key"},
		"a torn key":                   {data: bytes.Replace(open, []byte("b3BlbnNza"), []byte("b3BlbnNzb"), 1), mode: 0o600, want: "private key"},
		"something that is very large": {data: make([]byte, maxKeys+1), mode: 0o600, want: "no file of keys"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := readPrivateKey(keyFile(t, tc.data, tc.mode), tc.passphrase)
			switch {
			case tc.want == "" && (err != nil || !got.Equal(key)):
				t.Errorf("got another key, or %v", err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("want an error with %q, got %v", tc.want, err)
			case err != nil && tc.passphrase != "" && strings.Contains(err.Error(), tc.passphrase):
				t.Errorf("the error tells the passphrase: %v", err)
			}
		})
	}
}

func TestReadTrusted(t *testing.T) {
	t.Parallel()
	a, b := newKey(t), newKey(t)
	line := func(key any) string {
		public := must[ssh.PublicKey](t)(ssh.NewPublicKey(key))
		if key, ok := key.(ed25519.PublicKey); ok && ssh.FingerprintSHA256(public) != results.Fingerprint(key) {
			t.Error("OpenSSH has another fingerprint of the key")
		}
		return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(public)))
	}
	spki := func(key any) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: must[[]byte](t)(x509.MarshalPKIXPublicKey(key))}))
	}
	secret := string(pem.EncodeToMemory(must[*pem.Block](t)(ssh.MarshalPrivateKey(a, ""))))
	first, second := line(a.Public()), line(b.Public())
	other := must[*rsa.PrivateKey](t)(rsa.GenerateKey(rand.Reader, 2048))
	for name, tc := range map[string]struct {
		text  string
		names string // of a and b
		want  string // in the error
	}{
		"authorized_keys":        {text: "# us\n\n" + first + " lab one\r\n" + second + " two", names: "lab one|two"},
		"allowed_signers":        {text: "one@example.com " + first + "\ntwo@example.com,2@example.com " + second + " two\n", names: "one@example.com|two@example.com,2@example.com"},
		"no names":               {text: first + "\n" + second, names: "|"},
		"PEM":                    {text: spki(a.Public()) + spki(b.Public()), names: "|"},
		"PEM beside a line":      {text: "# us\n" + spki(a.Public()) + second + " two\n", names: "|two"},
		"a line before PEM":      {text: second + " two\n" + spki(a.Public()), names: "|two"},
		"PEM that is cut":        {text: first + "\n" + spki(b.Public())[:60], want: "PEM that is damaged"},
		"no key behind PEM":      {text: spki(a.Public()) + "horse", want: "line 4 is no public key"},
		"each key once":          {text: first + " one\n" + second + "\n" + first + " again", names: "one|"},
		"other algorithms":       {text: line(other.Public()) + " r\n" + first + " one\n" + second, names: "one|"},
		"other algorithms alone": {text: line(other.Public()), want: "no Ed25519 key"},
		"other algorithms, PEM":  {text: spki(other.Public()), want: "no Ed25519 key"},
		"nothing":                {text: "# none yet\n", want: "no Ed25519 key"},
		"a private key":          {text: secret, want: `holds a "OPENSSH PRIVATE KEY"`},
		"an authority":           {text: "cert-authority " + first, want: `line 1 restricts its key with "cert-authority"`},
		"an authority of a name": {text: "*@example.com cert-authority " + first, want: `restricts its key with "*@example.com cert-authority"`},
		"an end":                 {text: first + "\n" + `one@example.com valid-before="20200101" ` + second, want: "line 2 restricts"},
		"a command":              {text: `command="echo a" ` + first, want: "line 1 restricts"},
		"a key that is cut":      {text: first[:30], want: "line 1"},
		"no key":                 {text: "horse", want: "line 1 is no public key"},
		"a kind without a key":   {text: "ssh-ed25519", want: "line 1 is no public key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keys, err := readTrusted(keyFile(t, []byte(tc.text), 0o644))
			if tc.want != "" {
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("want an error with %q, got %v", tc.want, err)
				}
				return
			}
			if err != nil || len(keys) != 2 || !keys[0].Equal(a.Public()) || !keys[1].Equal(b.Public()) || keys[0].Name+"|"+keys[1].Name != tc.names {
				t.Errorf("got %v, %v", keys, err)
			}
		})
	}
}
