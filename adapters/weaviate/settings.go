package weaviate

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/adapters"
)

//go:embed store.schema.json
var storeSchema []byte

// storeSettings are the settings of the store, as its schema describes them.
type storeSettings struct {
	Address     string          `json:"address"`
	TLS         adapters.TLS    `json:"tls"`
	APIKeyEnv   string          `json:"api_key_env"`
	APIKeyFile  string          `json:"api_key_file"`
	Collection  string          `json:"collection"`
	Vector      string          `json:"vector"`
	Keyword     keywordSettings `json:"keyword"`
	Hybrid      hybridSettings  `json:"hybrid"`
	Consistency string          `json:"consistency"`
	Tenants     []string        `json:"tenants"`
	TenantField string          `json:"tenant_field"`
	Filter      string          `json:"filter"`
	Fields      fieldSettings   `json:"fields"`
	PageSize    int             `json:"page_size"`
}

type keywordSettings struct {
	Fields   []string `json:"fields"`
	Operator string   `json:"operator"`
}

type hybridSettings struct {
	Alpha      float64 `json:"alpha"`
	Fusion     string  `json:"fusion"`
	Candidates int     `json:"candidates"`
}

// fieldSettings name the properties that an item's fields are read from.
type fieldSettings struct {
	Text       string `json:"text"`
	Source     string `json:"source"`
	Revision   string `json:"revision"`
	Access     string `json:"access"`
	IndexedAt  string `json:"indexed_at"`
	UpdatedAt  string `json:"updated_at"`
	EmbedModel string `json:"embed_model"`
}

// named returns the mapped fields by the setting's name, in a fixed order.
func (f fieldSettings) named() [][2]string {
	return [][2]string{
		{"text", f.Text},
		{"source", f.Source},
		{"revision", f.Revision},
		{"access", f.Access},
		{"indexed_at", f.IndexedAt},
		{"updated_at", f.UpdatedAt},
		{"embed_model", f.EmbedModel},
	}
}

const (
	operatorOr     = "or"
	operatorAnd    = "and"
	fusionRanked   = "ranked"
	fusionRelative = "relative"
)

func readSettings(raw json.RawMessage) (storeSettings, error) {
	s := storeSettings{
		Keyword:     keywordSettings{Operator: operatorOr},
		Hybrid:      hybridSettings{Alpha: 0.75, Fusion: fusionRelative, Candidates: 100},
		TenantField: "tenant",
		Filter:      filterServer,
		Fields:      fieldSettings{Text: "text"},
		PageSize:    500,
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return s, fmt.Errorf("reading the settings: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return s, errors.New("the settings go on after their JSON object")
	}
	if len(s.Keyword.Fields) == 0 {
		s.Keyword.Fields = []string{s.Fields.Text}
	}
	return s, s.check()
}

// The forms of names. They stand in GraphQL as they are.
var (
	className    = regexp.MustCompile(`^[A-Za-z][_0-9A-Za-z]*$`)
	propertyName = regexp.MustCompile(`^[_A-Za-z][_0-9A-Za-z]*$`)
	keywordName  = regexp.MustCompile(`^([_A-Za-z][_0-9A-Za-z]*)(\^[0-9]+(\.[0-9]+)?)?$`)
)

// check repeats what the schema says where a wrong value would do harm further on.
func (s *storeSettings) check() error {
	if err := checkAddress(s.Address); err != nil {
		return err
	}
	switch {
	case !className.MatchString(s.Collection):
		return fmt.Errorf("setting \"collection\": %q is no name of a class: letters, digits and _, a letter first", s.Collection)
	case s.Vector != "" && !propertyName.MatchString(s.Vector):
		return fmt.Errorf("setting \"vector\": %q is no name of a vector", s.Vector)
	case s.Keyword.Operator != operatorOr && s.Keyword.Operator != operatorAnd:
		return fmt.Errorf("setting \"keyword.operator\": %q is neither or nor and", s.Keyword.Operator)
	case s.Hybrid.Fusion != fusionRanked && s.Hybrid.Fusion != fusionRelative:
		return fmt.Errorf("setting \"hybrid.fusion\": %q is neither ranked nor relative", s.Hybrid.Fusion)
	case !(s.Hybrid.Alpha >= 0 && s.Hybrid.Alpha <= 1):
		return fmt.Errorf("setting \"hybrid.alpha\" is %v and must be from 0 (keywords alone) to 1 (vectors alone)", s.Hybrid.Alpha)
	case s.Hybrid.Candidates < 1:
		return fmt.Errorf("setting \"hybrid.candidates\" is %d and must be at least 1", s.Hybrid.Candidates)
	case !slices.Contains([]string{filterServer, filterChecked}, s.Filter):
		return fmt.Errorf("setting \"filter\": %q is none of %s, %s", s.Filter, filterServer, filterChecked)
	case !slices.Contains([]string{"", "ONE", "QUORUM", "ALL"}, s.Consistency):
		return fmt.Errorf("setting \"consistency\": %q is none of ONE, QUORUM, ALL", s.Consistency)
	case s.TenantField == "":
		return errors.New("setting \"tenant_field\" is empty")
	case s.Fields.Text == "":
		return errors.New("setting \"fields.text\" is empty")
	case s.PageSize < 1 || s.PageSize > 10_000:
		return fmt.Errorf("setting \"page_size\" is %d and must be from 1 to 10000", s.PageSize)
	}
	for _, f := range s.Fields.named() {
		if f[1] != "" && !propertyName.MatchString(f[1]) {
			return fmt.Errorf("setting \"fields.%s\": %q is no name of a property: letters, digits and _, no digit first", f[0], f[1])
		}
	}
	for _, name := range s.Keyword.Fields {
		if !keywordName.MatchString(name) {
			return fmt.Errorf("setting \"keyword.fields\": %q is no name of a property, with or without a boost as in title^2", name)
		}
	}
	return nil
}

func checkAddress(address string) error {
	if strings.Contains(address, "/") {
		return fmt.Errorf("setting \"address\": %q must be host:port, without https:// (that is \"tls\": true) and without a path", address)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil || host == "" || port == "" {
		return fmt.Errorf("setting \"address\": %q is not host:port, as in localhost:8080", address)
	}
	return nil
}
