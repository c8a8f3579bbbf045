package remote

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/modelapi"
)

// settings are the settings of a pipeline, as its schema describes them.
type settings struct {
	modelapi.Settings               // all but the model, which is the service's own affair
	URL               string        `json:"url"`
	Capabilities      *capabilities `json:"capabilities"`
	Map               mapping       `json:"map"`
	RequestHeader     string        `json:"request_id_header"`
	Deterministic     bool          `json:"deterministic"`
	Tap               *tapSettings  `json:"tap"`
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
	role               = string(adapters.RolePipeline)
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
	if _, err := s.CheckURL(role, "url", s.URL, "where requests are posted to, such as http://localhost:8080/ask"); err != nil {
		return s, err
	}
	if err := s.CheckHeaders(role); err != nil {
		return s, err
	}
	if t := s.Tap; t != nil {
		if _, err := (&modelapi.Settings{}).CheckURL(role, "tap.url", t.URL, "the address of the tap, such as http://localhost:8089"); err != nil {
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
