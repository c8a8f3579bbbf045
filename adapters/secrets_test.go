package adapters_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/adapters"
)

func TestSecrets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"key": " file-key-1\n", "empty": "\n", "lines": "file-key-1\nfile-key-2\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{"KEY": "env-key-1\n", "BLANK": " ", "LINES": "env-key-1\nX-Other: 1", "WIDE": "env-key-é"}
	for _, tt := range []struct {
		env, file string
		want, err string
	}{
		{"", "", "", ""},
		{"KEY", "", "env-key-1", ""},
		{"", "key", "file-key-1", ""},
		{"", filepath.Join(dir, "key"), "file-key-1", ""},
		{"KEY", "key", "", "both given"},
		{"NONE", "", "", `"NONE", which is not set`},
		{"BLANK", "", "", "is not set or empty"},
		{"", "empty", "", "is empty"},
		{"", "nowhere", "", "api_key_file: open"},
		{"LINES", "", "", "api_key_env holds more than a key"},
		{"WIDE", "", "", "api_key_env holds more than a key"},
		{"", "lines", "", "api_key_file holds more than a key"},
	} {
		s := &adapters.Secrets{Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}
		got, err := s.Read("api_key", tt.env, tt.file, dir)
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("env %q, file %q: %q, %v; want %q, %q", tt.env, tt.file, got, err, tt.want, tt.err)
		}
		if err != nil && strings.Contains(err.Error(), "key-1") {
			t.Errorf("env %q, file %q: the error tells the key: %v", tt.env, tt.file, err)
		}
		if text := s.Redactor().String("key is " + got + "."); got != "" && strings.Contains(text, got) {
			t.Errorf("the key that was read is not taken out of %q", text)
		}
	}
	var none *adapters.Secrets
	if _, err := none.Read("api_key", "KEY", "", dir); err == nil {
		t.Error("a key is read from nowhere")
	}
	if got := none.Redactor().String("as it is"); got != "as it is" {
		t.Errorf("without keys a text becomes %q", got)
	}
}

// TestProxies reads the passwords of proxies, also of what is no URL, and takes them out of texts.
func TestProxies(t *testing.T) {
	t.Parallel()
	for value, want := range map[string][]string{
		"":                                       nil,
		"http://proxy.example:3128":              nil,
		"http://user:sk-one@proxy.example:3128":  {"sk-one"},
		"user:sk-one@proxy.example:3128":         {"sk-one"},
		"http://sk-token@proxy.example":          {"sk-token"},
		"http://user:sk%2Fone@proxy.example":     {"sk%2Fone", "sk/one"},
		"http://user:sk/o:n@e%zz@proxy.example/": {"sk/o:n@e%zz"},
	} {
		s := &adapters.Secrets{Env: func(name string) (string, bool) {
			if name == "HTTPS_PROXY" {
				return value, true
			}
			return "", false
		}}
		got := s.Proxies()
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
		for _, secret := range want {
			if text := s.Redactor().String("told " + secret); strings.Contains(text, secret) {
				t.Errorf("%q stands in %q", secret, text)
			}
		}
	}
}
