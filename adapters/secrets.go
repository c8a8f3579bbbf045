package adapters

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Secrets reads keys from where the settings say they are, and remembers them for a [Redactor]. Settings never hold a key
// themselves. It is safe for concurrent use; the nil Secrets knows none.
type Secrets struct {
	Env func(name string) (string, bool) // an environment variable; nil: there is none

	mu     sync.Mutex
	values []string
	redact *Redactor // of values; nil: one was read since
}

// Read returns the key that stands in the environment variable env or else in file, without space around it, and "" where
// neither is named. A key that is named and not there is an error, which names the setting (its name without "_env") and
// never the key.
func (s *Secrets) Read(setting, env, file, dir string) (string, error) {
	var value string
	switch {
	case env == "" && file == "":
		return "", nil
	case env != "" && file != "":
		return "", fmt.Errorf("%s_env and %s_file are both given: name one place for the key", setting, setting)
	case s == nil:
		return "", errors.New("no keys can be read here")
	case env != "":
		if s.Env != nil {
			value, _ = s.Env(env)
		}
		if value = strings.TrimSpace(value); value == "" {
			return "", fmt.Errorf("%s_env names the variable %q, which is not set or empty: export %s=…", setting, env, env)
		}
	default:
		if !filepath.IsAbs(file) {
			file = filepath.Join(dir, file)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("%s_file: %w", setting, err)
		}
		if value = strings.TrimSpace(string(data)); value == "" {
			return "", fmt.Errorf("%s_file: %s is empty", setting, file)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values, s.redact = append(s.values, value), nil
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) {
		place := "_env"
		if env == "" {
			place = "_file"
		}
		return "", fmt.Errorf("%s%s holds more than a key: no key has a line break, or a character that is not printable ASCII", setting, place)
	}
	return value, nil
}

// Proxies are the secrets in the variables that name a proxy, which Go's HTTP client sends by itself.
func (s *Secrets) Proxies() []string {
	if s == nil || s.Env == nil {
		return nil
	}
	var secrets []string
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		value, _ := s.Env(name)
		at := strings.LastIndexByte(value, '@')
		if at < 0 {
			continue
		}
		user := value[:at] // by hand: a password that nobody has escaped is told in errors, too
		if _, behind, ok := strings.Cut(user, "://"); ok {
			user = behind
		}
		if _, password, ok := strings.Cut(user, ":"); ok {
			user = password
		}
		secrets = append(secrets, user)
		if plain, err := url.PathUnescape(user); err == nil && plain != user {
			secrets = append(secrets, plain)
		}
	}
	return secrets
}

// Redactor takes every key that was read so far, and those of proxies, out of what passes it.
func (s *Secrets) Redactor() *Redactor {
	if s == nil {
		return NewRedactor()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.redact == nil {
		s.redact = NewRedactor(append(s.Proxies(), s.values...)...)
	}
	return s.redact
}
