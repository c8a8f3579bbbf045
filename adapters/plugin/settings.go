package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/culprit-rag/culprit/adapters"
)

// settings are the settings of a plugin, as the schema describes them.
type settings struct {
	Path         string          `json:"path"`
	Args         []string        `json:"args"`
	Checksum     checksums       `json:"checksum"`
	Settings     json.RawMessage `json:"settings"`
	Env          []string        `json:"env"`
	Protocol     protocol        `json:"protocol"`
	StartTimeout duration        `json:"start_timeout"`
	MTLS         string          `json:"mtls"`

	role string // whose settings they are, as the experiment calls it; "": of a plugin that stands in none
}

// at names a setting as the experiment has it.
func (s *settings) at(name string) string {
	if s.role == "" {
		return name
	}
	return "backends." + s.role + "." + name
}

// setting is at as the first words of a message.
func (s *settings) setting(name string) string {
	if s.role == "" {
		return name
	}
	return "setting " + s.at(name)
}

// The values of mtls.
const (
	mtlsAuto = "auto"
	mtlsOn   = "on"
	mtlsOff  = "off"
)

// protocol is a version, or 0 for the newest.
type protocol int

// UnmarshalJSON reads "auto" or a number.
func (p *protocol) UnmarshalJSON(data []byte) error {
	if string(data) == `"auto"` {
		*p = 0
		return nil
	}
	return json.Unmarshal(data, (*int)(p))
}

type duration time.Duration

// UnmarshalJSON reads a time with its unit.
func (d *duration) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	parsed, err := time.ParseDuration(text)
	if err == nil && parsed <= 0 {
		err = fmt.Errorf("start_timeout: %q is no time to wait", text)
	}
	*d = duration(parsed)
	return err
}

func readSettings(raw json.RawMessage, role string) (settings, error) {
	set := settings{role: role, Settings: json.RawMessage(`{}`), StartTimeout: duration(30 * time.Second), MTLS: mtlsAuto}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&set); err != nil {
		return set, fmt.Errorf("reading the settings: %w", err)
	}
	switch {
	case set.Path == "":
		return set, errors.New(set.setting("path") + " is missing: name the program that is the plugin")
	case !slices.Contains([]string{mtlsAuto, mtlsOn, mtlsOff}, set.MTLS):
		return set, fmt.Errorf("%s is %q, none of auto, on, off", set.setting("mtls"), set.MTLS)
	}
	for _, name := range set.Env {
		if reserved(name) {
			return set, fmt.Errorf("%s holds %q, which Culprit sets itself: leave it away", set.setting("env"), name)
		}
	}
	return set, nil
}

// reserved names mean something to the plugin's start.
func reserved(name string) bool {
	return strings.HasPrefix(name, "PLUGIN_") || slices.Contains([]string{"CULPRIT_PLUGIN", "PATH", "TMPDIR"}, name)
}

// plain variables hold no key; their values are not taken out of errors, which would tear paths apart.
func plain(name string) bool {
	return strings.HasPrefix(name, "LC_") || slices.Contains([]string{
		"HOME", "LANG", "TZ", "USER", "PYTHONPATH", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "NO_PROXY",
	}, name)
}

// environment returns what the plugin gets to see: PATH and the named variables. Their values are remembered as secrets.
func (s *settings) environment(secrets *adapters.Secrets) ([]string, error) {
	look := func(string) (string, bool) { return "", false }
	if secrets != nil && secrets.Env != nil {
		look = secrets.Env
	}
	var env []string
	if path, set := look("PATH"); set {
		env = append(env, "PATH="+path)
	}
	for _, name := range s.Env {
		value, set := look(name)
		if !set || value == "" {
			return nil, fmt.Errorf("%s names the variable %q, which is not set or empty: before a run, export %s=…", s.setting("env"), name, name)
		}
		if !plain(name) {
			_, _ = secrets.Read("env", name, "", "") // remembers the value, whatever it says of its form
		}
		env = append(env, name+"="+value)
	}
	return env, nil
}

// program returns the absolute path of the program.
func (s *settings) program(dir string) (string, error) {
	if !strings.ContainsAny(s.Path, `/\`) {
		path, err := exec.LookPath(s.Path)
		if err != nil {
			return "", fmt.Errorf("%s: there is no program %q in PATH: name a path, such as ./%s", s.setting("path"), s.Path, s.Path)
		}
		return filepath.Abs(path)
	}
	return filepath.Abs(within(dir, s.Path))
}

func within(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
