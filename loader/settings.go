package loader

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/qdrant/bm25"
)

// settings are those of backends.store that say where to write and under which names; how to read is no matter here.
type settings struct {
	Address    string       `json:"address"`
	TLS        adapters.TLS `json:"tls"`
	APIKeyEnv  string       `json:"api_key_env"`
	APIKeyFile string       `json:"api_key_file"`
	Collection string       `json:"collection"`
	Vector     string       `json:"vector"` // "" is the one without a name
	Keyword    keyword      `json:"keyword"`
	Fields     fields       `json:"fields"`
	TokenEnv   string       `json:"token_env"`
	TokenFile  string       `json:"token_file"`

	adapter string
	key     string
	token   string      // a bearer token
	tls     *tls.Config // nil: none
}

// keyword is how texts become sparse vectors; without a Vector they do not.
type keyword struct {
	Vector   string `json:"vector"`
	Encoder  string `json:"encoder,omitempty"`
	Model    string `json:"model,omitempty"`
	Language string `json:"language"`
}

const (
	serverEncoder = "server"
	serverModel   = "qdrant/bm25" // the one that Culprit's own encoder does the same as
)

func (k *keyword) check() error {
	if k.Vector == "" {
		return nil
	}
	if k.Encoder == serverEncoder && k.Model != "" && k.Model != serverModel {
		return fmt.Errorf("backends.store.keyword.model is %q, and sparse vectors can only be made for %q: leave the model out, or fill the collection yourself", k.Model, serverModel)
	}
	if k.Language == "" {
		k.Language = bm25.English
	}
	k.Encoder, k.Model = "", "" // both give the same vectors
	return nil
}

// fields are the names of fields in the store; "" is not written.
type fields struct {
	Text       string `json:"text"`
	Source     string `json:"source"`
	Revision   string `json:"revision"`
	Access     string `json:"access"`
	IndexedAt  string `json:"indexed_at"`
	UpdatedAt  string `json:"updated_at"`
	EmbedModel string `json:"embed_model"`
}

// named lists the fields that are written, by the key of the setting.
func (f fields) named() map[string]string {
	all := map[string]string{
		"text": f.Text, "source": f.Source, "revision": f.Revision, "access": f.Access, "indexed_at": f.IndexedAt,
		"updated_at": f.UpdatedAt, "embed_model": f.EmbedModel,
	}
	for key, name := range all {
		if name == "" {
			delete(all, key)
		}
	}
	return all
}

// holds returns the key of the setting that has this name, "" for none.
func (f fields) holds(name string) string {
	for key, other := range f.named() {
		if other == name {
			return key
		}
	}
	if name == documentField {
		return "(the document's own id)"
	}
	return ""
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// readSettings reads what the loader needs of the store's settings, and the key.
func readSettings(job Job) (*settings, error) {
	s := &settings{adapter: job.Adapter}
	if err := json.Unmarshal(job.Settings, s); err != nil {
		return nil, fmt.Errorf("backends.store: %w", err)
	}
	switch {
	case s.Collection == "":
		return nil, errors.New("backends.store.collection is missing: name the collection to fill")
	case s.Address == "":
		return nil, errors.New("backends.store.address is missing: name the server, such as localhost:6334")
	case s.Fields.Text == "":
		s.Fields.Text = "text"
	}
	if err := s.Keyword.check(); err != nil {
		return nil, err
	}
	seen := map[string]string{documentField: "the document's own id"}
	for key, name := range s.Fields.named() {
		if other := seen[name]; other != "" {
			return nil, fmt.Errorf("backends.store.fields.%s has the name %q, which %s has already", key, name, other)
		}
		if why := s.badName(name); why != "" {
			return nil, fmt.Errorf("backends.store.fields.%s is %q, which %s", key, name, why)
		}
		seen[name] = "fields." + key
	}
	var err error
	if s.key, err = job.Secrets.Read("backends.store.api_key", s.APIKeyEnv, s.APIKeyFile, job.Dir); err != nil {
		return nil, err
	}
	if s.token, err = job.Secrets.Read("backends.store.token", s.TokenEnv, s.TokenFile, job.Dir); err != nil {
		return nil, err
	}
	s.tls, err = s.TLS.Config(job.Dir)
	return s, err
}

var weaviateName = regexp.MustCompile(`^[_a-z][_0-9A-Za-z]{0,230}$`)

// badName says why the store could not have a field of that name, "" where it can.
func (s *settings) badName(name string) string {
	switch {
	case name == "":
		return "is empty"
	case s.adapter == "weaviate" && (name == "id" || name == "_id" || name == "_additional"):
		return "is a name that Weaviate keeps for itself"
	case s.adapter == "weaviate" && !weaviateName.MatchString(name):
		return "is no name of a property in Weaviate (a small letter or _, then letters, digits and _)"
	case s.adapter == "qdrant" && strings.ContainsAny(name, `.[]"`):
		return `has a sign that Qdrant reads as a path (. [ ] ")`
	}
	return ""
}

// hostPort splits the address into a bare host and a port, which is standard where the address has none.
func (s *settings) hostPort(standard string) (host string, port int, err error) {
	host, text := strings.Trim(s.Address, "[]"), standard
	if bare := net.ParseIP(host) != nil || !strings.Contains(s.Address, ":"); !bare || standard == "" {
		if host, text, err = net.SplitHostPort(s.Address); err != nil || host == "" {
			return "", 0, fmt.Errorf("backends.store.address %q must be host:port", s.Address)
		}
	}
	if port, err = strconv.Atoi(text); err != nil || port < 1 || port > 65535 {
		return "", 0, fmt.Errorf("backends.store.address %q has no port from 1 to 65535", s.Address)
	}
	return host, port, nil
}

// layout identifies the names of what is written.
func (s *settings) layout() string {
	text, err := json.Marshal(struct {
		Fields  fields
		Vector  string
		Keyword keyword
	}{s.Fields, s.Vector, s.Keyword})
	if err != nil {
		panic(fmt.Sprintf("names cannot be written: %v", err))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
