package adapters

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// TLS is the setting of that name: true, false, or an object with what is special about the server, which means true. A
// certificate is always checked.
type TLS struct {
	On         bool   `json:"-"`
	CAFile     string `json:"ca_file"`     // a PEM file of the authorities to trust instead of the system's
	ServerName string `json:"server_name"` // that the certificate must be for, where it is not the address
}

// UnmarshalJSON reads either form.
func (t *TLS) UnmarshalJSON(data []byte) error {
	*t = TLS{}
	if err := json.Unmarshal(data, &t.On); err == nil {
		return nil
	}
	type object TLS
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode((*object)(t)); err != nil {
		return fmt.Errorf("tls: %w", err)
	}
	t.On = true
	return nil
}

// Config returns what a client needs, nil where TLS is off. A relative CAFile is relative to dir.
func (t *TLS) Config(dir string) (*tls.Config, error) {
	if !t.On {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.CAFile == "" {
		return c, nil
	}
	file := t.CAFile
	if !filepath.IsAbs(file) {
		file = filepath.Join(dir, file)
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("setting backends.store.tls.ca_file: %w", err)
	}
	c.RootCAs = x509.NewCertPool()
	if !c.RootCAs.AppendCertsFromPEM(pem) {
		return nil, errors.New("setting backends.store.tls.ca_file: " + file + " holds no certificate in PEM")
	}
	return c, nil
}
