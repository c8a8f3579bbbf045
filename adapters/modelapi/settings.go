package modelapi

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"golang.org/x/net/http/httpguts"

	"github.com/culprit-rag/culprit/adapters"
)

// Settings are those that every adapter of a model's server has.
type Settings struct {
	Model      string            `json:"model"`
	APIKeyEnv  string            `json:"api_key_env"`
	APIKeyFile string            `json:"api_key_file"`
	Headers    map[string]string `json:"headers"`
	HeadersEnv map[string]string `json:"headers_env"`
	TLS        adapters.TLS      `json:"tls"`
}

const longestModelNamed = 256

// CheckModel says what is wrong with the name of the model. Role is whose settings they are, as in the other checks.
func (s *Settings) CheckModel(role string) error {
	if s.Model == "" || len(s.Model) > longestModelNamed {
		return errors.New(Setting(role, "model") + " is missing: name the model as the server knows it")
	}
	return nil
}

// CheckURL says what is wrong with an address, which stands in the setting field; want is what should.
func (s *Settings) CheckURL(role, field, address, want string) (*url.URL, error) {
	setting := Setting(role, field)
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return nil, fmt.Errorf("%s is no http or https URL: give %s", setting, want)
	case u.Scheme == "http" && s.TLS.On:
		return nil, fmt.Errorf("%s is given, and %s begins with http://: begin it with https://", Setting(role, "tls"), field)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("%s holds more than an address: give the key with api_key_env, and other headers with headers", setting)
	}
	return u, nil
}

// CheckHeaders says what is wrong with the headers.
func (s *Settings) CheckHeaders(role string) error {
	setting := Setting(role, "headers")
	for name, value := range s.Headers {
		_, twice := s.HeadersEnv[name]
		switch {
		case adapters.CarriesKey(name):
			return fmt.Errorf("%s holds %q, which carries a secret: give it with api_key_env or headers_env", setting, name)
		case twice:
			return fmt.Errorf("%s and headers_env both hold %q", setting, name)
		case !httpguts.ValidHeaderFieldValue(value):
			return fmt.Errorf("%s: the value of %q cannot be sent", setting, name)
		}
	}
	for _, headers := range []map[string]string{s.Headers, s.HeadersEnv} {
		for name := range headers {
			switch http.CanonicalHeaderKey(name) {
			case "Content-Type", "Content-Length", "Host", "Accept", "Accept-Encoding":
				return fmt.Errorf("%s holds %q, which the client sets itself", setting, name)
			}
			if !httpguts.ValidHeaderFieldName(name) {
				return fmt.Errorf("%s: %q is no name of a header", setting, name)
			}
		}
	}
	return nil
}

// Setting names a setting of a backend in messages.
func Setting(role, field string) string { return "setting backends." + role + "." + field }

// Server is whom a client asks, and what its messages call it.
type Server struct {
	Settings
	Adapter  string
	Role     string // whose settings they are: "generator"
	URL      string
	URLField string // the setting that holds it: "base_url"
	Asked    string // the setting that says what answers: `backends.generator.model "m"`
	TooLong  string // what may be too long for the model, with its verb: "the prompt and max_tokens are"
}

func (s *Server) field(name string) string { return "backends." + s.Role + "." + name }

// keySetting says where the key is told, for messages.
func (s *Server) keySetting() string {
	switch {
	case s.APIKeyEnv != "":
		return fmt.Sprintf("%s (the variable %q)", s.field("api_key_env"), s.APIKeyEnv)
	case s.APIKeyFile != "":
		return fmt.Sprintf("%s (%q)", s.field("api_key_file"), s.APIKeyFile)
	}
	return s.field("api_key_env") + ", which is not set"
}
