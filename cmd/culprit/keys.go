package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/culprit-rag/culprit/results"
)

// maxKeys is the largest file of keys that is read.
const maxKeys = 1 << 20

func readKeys(path string) ([]byte, fs.FileMode, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, fmt.Errorf("there is no file %q; ssh-keygen -t ed25519 -f <file> makes a key, and <file>.pub beside it", path)
	}
	if err != nil {
		return nil, 0, err
	}
	if info.Size() > maxKeys {
		return nil, 0, fmt.Errorf("%q has %d bytes, which no file of keys has", path, info.Size())
	}
	data, err := os.ReadFile(path)
	return data, info.Mode(), err
}

// readPrivateKey reads an Ed25519 key as ssh-keygen or openssl writes it. One that others can read is refused, as ssh does. Passphrase
// is "" where there is none.
func readPrivateKey(path, passphrase string) (ed25519.PrivateKey, error) {
	data, mode, err := readKeys(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(data)
	open := mode.Perm()&0o077 != 0 && runtime.GOOS != "windows" // where modes do not say who can read
	switch {
	case block == nil:
		return nil, fmt.Errorf("%q holds no private key in PEM or OpenSSH form", path)
	case strings.HasSuffix(block.Type, "PUBLIC KEY"):
		return nil, fmt.Errorf("%q is a public key: --key takes the private one", path)
	case open:
		return nil, fmt.Errorf("others can read the private key %q (mode %04o): make it yours alone with chmod 600, or use another", path, mode.Perm())
	case block.Type == "ENCRYPTED PRIVATE KEY":
		return nil, fmt.Errorf("the private key %q is encrypted in a form that is not read: take the passphrase off with openssl pkey, or use a key of ssh-keygen", path)
	}
	var key any
	if passphrase == "" {
		key, err = ssh.ParseRawPrivateKey(data)
	} else {
		key, err = ssh.ParseRawPrivateKeyWithPassphrase(data, []byte(passphrase))
	}
	var missing *ssh.PassphraseMissingError
	switch {
	case errors.As(err, &missing):
		return nil, fmt.Errorf("the private key %q has a passphrase: name the environment variable that holds it with %s", path, passphraseFlag)
	case errors.Is(err, x509.IncorrectPasswordError):
		return nil, fmt.Errorf("the passphrase does not open the private key %q", path)
	case err != nil:
		return nil, fmt.Errorf("private key %q: %w", path, err)
	}
	switch key := key.(type) {
	case *ed25519.PrivateKey: // OpenSSH
		return *key, nil
	case ed25519.PrivateKey: // PKCS #8
		return key, nil
	}
	return nil, fmt.Errorf("the private key %q is a %T, and only Ed25519 is signed with: make one with ssh-keygen -t ed25519", path, key)
}

// readTrusted reads the Ed25519 keys of a file: lines of authorized_keys or of allowed_signers, and public keys in PEM. Other kinds
// of keys are passed over; each key is there once.
func readTrusted(path string) (keys []results.TrustedKey, err error) {
	data, _, err := readKeys(path)
	if err != nil {
		return nil, err
	}
	add := func(k results.TrustedKey) {
		if !slices.ContainsFunc(keys, func(known results.TrustedKey) bool { return known.Equal(k.PublicKey) }) {
			keys = append(keys, k)
		}
	}
	lines, blocks := partPEM(string(data))
	if err = decodePEM([]byte(blocks), add); err == nil {
		err = decodeLines(lines, add)
	}
	if err == nil && len(keys) == 0 {
		err = errors.New("it holds no Ed25519 key")
	}
	if err != nil {
		return nil, fmt.Errorf("trusted keys %q: %w", path, err)
	}
	return keys, nil
}

// partPEM parts what stands in PEM from the lines around it, which keep their numbers.
func partPEM(text string) (lines, blocks string) {
	var rest, pems strings.Builder
	inside := false
	for line := range strings.Lines(text) {
		if inside = inside || strings.HasPrefix(line, "-----BEGIN"); !inside {
			rest.WriteString(line)
			continue
		}
		pems.WriteString(line)
		rest.WriteByte('\n')
		inside = !strings.HasPrefix(line, "-----END")
	}
	return rest.String(), pems.String()
}

func decodePEM(data []byte, add func(results.TrustedKey)) error {
	for {
		var block *pem.Block
		block, data = pem.Decode(data)
		if block == nil {
			if len(bytes.TrimSpace(data)) > 0 {
				return errors.New("it holds PEM that is damaged or not whole")
			}
			return nil
		}
		if block.Type != "PUBLIC KEY" {
			return fmt.Errorf("it holds a %q where public keys should stand: name the .pub file beside it", block.Type)
		}
		key, err := x509.ParsePKIXPublicKey(block.Bytes)
		if err != nil {
			return err
		}
		if key, ok := key.(ed25519.PublicKey); ok {
			add(results.TrustedKey{PublicKey: key})
		}
	}
}

// decodeLines reads lines "[name] kind key [comment]". What OpenSSH lets stand before the kind beside a name restricts a key, or makes
// it one that signs other keys: a line that holds anything of it is refused, since nothing here would keep to it.
func decodeLines(text string, add func(results.TrustedKey)) error {
	n := 0
	for line := range strings.Lines(text) {
		n++
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		at := slices.IndexFunc(fields, isKind)
		if at < 0 || at+1 == len(fields) {
			return fmt.Errorf("line %d is no public key", n)
		}
		if at > 1 || at == 1 && (strings.ContainsAny(fields[0], `="`) || fields[0] == "cert-authority") {
			return fmt.Errorf("line %d restricts its key with %q, which is not kept to here: give the key alone, or with one name", n, strings.Join(fields[:at], " "))
		}
		key, comment, _, _, err := ssh.ParseAuthorizedKey([]byte(strings.Join(fields[at:], " ")))
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if at == 1 {
			comment = fields[0]
		}
		if key, ok := key.(ssh.CryptoPublicKey); ok {
			if key, ok := key.CryptoPublicKey().(ed25519.PublicKey); ok {
				add(results.TrustedKey{Name: comment, PublicKey: key})
			}
		}
	}
	return nil
}

// isKind reports whether a field of a line names the kind of a key.
func isKind(field string) bool {
	return strings.HasPrefix(field, "ssh-") || strings.HasPrefix(field, "ecdsa-") || strings.HasPrefix(field, "sk-")
}
