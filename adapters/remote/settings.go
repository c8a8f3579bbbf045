package remote

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/culprit-rag/culprit/adapters"
)

// settings are the settings of a pipeline, as its schema describes them.
type settings struct {
	URL           string            `json:"url"`
	Capabilities  *capabilities     `json:"capabilities"`
	Map           mapping           `json:"map"`
	Headers       map[string]string `json:"headers"`
	HeadersEnv    map[string]string `json:"headers_env"`
	APIKeyEnv     string            `json:"api_key_env"`
	APIKeyFile    string            `json:"api_key_file"`
	RequestHeader string            `json:"request_id_header"`
	Deterministic bool              `json:"deterministic"`
	TLS           adapters.TLS      `json:"tls"`
	Tap           *tapSettings      `json:"tap"`
}

// capabilities are what a service says of itself at <url>/capabilities, or what the settings say for one that does not.
type capabilities struct {
	Name      string `json:"name"`
	Version   string `json:"version"`
	Context   bool   `json:"context"`
	Retrieval bool   `json:"retrieval"`
}

type mapping struct {
	Request  string `json:"request"`
	Response string `json:"response"`
}

// tapSettings say where a tap stands before the service's model, and where in its prompt the context is.
type tapSettings struct {
	URL    string `json:"url"`
	KeyEnv string `json:"key_env"`
	Begin  string `json:"begin"`
	End    string `json:"end"`
	Item   string `json:"item"`
}

const (
	setting            = "setting backends.service."
	defaultHeader      = "X-Request-ID"
	defaultItem        = "[{{id}}] {{text}}\n"
	capabilitiesSuffix = "/capabilities"
)

func readSettings(raw json.RawMessage) (settings, error) {
	s := settings{RequestHeader: defaultHeader}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return s, fmt.Errorf("reading the settings: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return s, errors.New("the settings go on after their JSON object")
	}
	if err := checkURL("url", s.URL); err != nil {
		return s, err
	}
	for name := range s.Headers {
		switch http.CanonicalHeaderKey(name) {
		case "Authorization", "Cookie", "Proxy-Authorization":
			return s, fmt.Errorf("%sheaders holds %q, which carries a secret: give it with api_key_env or headers_env", setting, name)
		}
	}
	if t := s.Tap; t != nil {
		if err := checkURL("tap.url", t.URL); err != nil {
			return s, err
		}
		if t.Item == "" {
			t.Item = defaultItem
		}
		if !strings.Contains(t.Item, "{{text}}") {
			return s, errors.New(setting + "tap.item has no {{text}}: write an item as the service's prompt shows it")
		}
	}
	return s, nil
}

func checkURL(name, value string) error {
	u, err := url.Parse(value)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return fmt.Errorf("%s%s is no http or https URL", setting, name)
	case u.User != nil || u.Fragment != "":
		return fmt.Errorf("%s%s holds more than an address: give a key with api_key_env", setting, name)
	}
	return nil
}
