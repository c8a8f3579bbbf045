package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/culprit-rag/culprit/adapters"
)

const (
	defaultBaseURL    = "https://api.openai.com/v1"
	defaultKeyEnv     = "OPENAI_API_KEY"
	defaultAzureAPI   = "2024-10-21" // the oldest stable version that knows answers of a JSON Schema
	defaultBatch      = 128
	largestBatch      = 2048 // of OpenAI
	structuredSchema  = "json_schema"
	structuredObject  = "json_object"
	structuredNone    = "none"
	limitAuto         = "auto"
	limitMaxTokens    = "max_tokens"
	limitCompletion   = "max_completion_tokens"
	encodingFloat     = "float"
	encodingBase64    = "base64"
	chatPath          = "/chat/completions"
	embeddingsPath    = "/embeddings"
	longestModelNamed = 256
)

// connection are the settings that both roles have.
type connection struct {
	Model      string            `json:"model"`
	BaseURL    string            `json:"base_url"`
	APIKeyEnv  string            `json:"api_key_env"`
	APIKeyFile string            `json:"api_key_file"`
	Org        string            `json:"organization"` //nolint:misspell // OpenAI spells it so
	Azure      *azureSettings    `json:"azure"`
	Headers    map[string]string `json:"headers"`
	HeadersEnv map[string]string `json:"headers_env"`
	TLS        adapters.TLS      `json:"tls"`

	role string // for messages
}

type azureSettings struct {
	Deployment string `json:"deployment"`
	APIVersion string `json:"api_version"`
}

// generatorSettings are the settings of a generator, as its schema describes them.
type generatorSettings struct {
	connection
	TokenLimit      string   `json:"token_limit"`
	Supports        supports `json:"supports"`
	ReasoningEffort string   `json:"reasoning_effort"`
	Structured      string   `json:"structured"`
	Deterministic   bool     `json:"deterministic"`
}

// supports says which parameters the server takes; nil is to be found out.
type supports struct {
	Temperature *bool `json:"temperature"`
	TopP        *bool `json:"top_p"`
	Seed        *bool `json:"seed"`
	Stop        *bool `json:"stop"`
}

// embedderSettings are the settings of an embedder, as its schema describes them.
type embedderSettings struct {
	connection
	Dimensions    int    `json:"dimensions"`
	QueryPrefix   string `json:"query_prefix"`
	PassagePrefix string `json:"passage_prefix"`
	Encoding      string `json:"encoding"`
	Batch         int    `json:"batch"`
}

func decode(raw json.RawMessage, into any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("reading the settings: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("the settings go on after their JSON object")
	}
	return nil
}

func readGenerator(raw json.RawMessage) (generatorSettings, error) {
	s := generatorSettings{connection: connection{role: "generator"}, TokenLimit: limitAuto, Structured: structuredSchema}
	if err := decode(raw, &s); err != nil {
		return s, err
	}
	switch {
	case s.TokenLimit != limitAuto && s.TokenLimit != limitMaxTokens && s.TokenLimit != limitCompletion:
		return s, fmt.Errorf("setting backends.generator.token_limit is %q: it is auto, max_tokens or max_completion_tokens", s.TokenLimit)
	case s.Structured != structuredSchema && s.Structured != structuredObject && s.Structured != structuredNone:
		return s, fmt.Errorf("setting backends.generator.structured is %q: it is json_schema, json_object or none", s.Structured)
	}
	return s, s.check()
}

func readEmbedder(raw json.RawMessage) (embedderSettings, error) {
	s := embedderSettings{connection: connection{role: "embedder"}, Encoding: encodingFloat, Batch: defaultBatch}
	if err := decode(raw, &s); err != nil {
		return s, err
	}
	switch {
	case s.Encoding != encodingFloat && s.Encoding != encodingBase64:
		return s, fmt.Errorf("setting backends.embedder.encoding is %q: it is float or base64", s.Encoding)
	case s.Batch < 1 || s.Batch > largestBatch:
		return s, fmt.Errorf("setting backends.embedder.batch is %d: it is from 1 to %d", s.Batch, largestBatch)
	case s.Dimensions < 0:
		return s, fmt.Errorf("setting backends.embedder.dimensions is %d: it is from 1, or 0 for as many as the model has", s.Dimensions)
	}
	return s, s.check()
}

// check repeats what the schema says where a wrong value would do harm further on, and what a schema cannot say.
func (c *connection) check() error {
	setting := "setting backends." + c.role + "."
	if c.Model == "" || len(c.Model) > longestModelNamed {
		return errors.New(setting + "model is missing: name the model as the server knows it")
	}
	if c.Azure != nil && (c.BaseURL == "" || c.Azure.Deployment == "") {
		return errors.New(setting + "azure needs azure.deployment, and base_url with the resource's endpoint, such as https://NAME.openai.azure.com")
	}
	if c.BaseURL == "" {
		c.BaseURL = defaultBaseURL
		if c.APIKeyEnv == "" && c.APIKeyFile == "" {
			c.APIKeyEnv = defaultKeyEnv
		}
	}
	c.BaseURL = strings.TrimSuffix(c.BaseURL, "/")
	u, err := url.Parse(c.BaseURL)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return errors.New(setting + "base_url is no http or https URL: give what stands before " + chatPath + ", such as http://localhost:8000/v1")
	case u.Scheme == "http" && c.TLS.On:
		return errors.New(setting + "tls is given, and base_url begins with http://: begin it with https://")
	case c.Azure != nil && !isDeployment.MatchString(c.Azure.Deployment):
		return fmt.Errorf("%sazure.deployment is %q: a deployment's name has letters, digits, dots, hyphens and underscores", setting, c.Azure.Deployment)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New(setting + "base_url holds more than an address: give the key with api_key_env, and other headers with headers")
	case strings.HasSuffix(u.Path, chatPath) || strings.HasSuffix(u.Path, embeddingsPath):
		return fmt.Errorf("%sbase_url ends with the endpoint: give what stands before it, %q", setting, strings.TrimSuffix(strings.TrimSuffix(c.BaseURL, chatPath), embeddingsPath))
	}
	return c.checkHeaders()
}

var (
	isDeployment = regexp.MustCompile(`^[\w.-]+$`)
	carriesKey   = regexp.MustCompile(`(?i)auth|key|token|secret|cookie|password|credential|signature`)
)

func (c *connection) checkHeaders() error {
	setting := "setting backends." + c.role + "."
	for name, value := range c.Headers {
		_, twice := c.HeadersEnv[name]
		switch {
		case carriesKey.MatchString(name):
			return fmt.Errorf("%sheaders holds %q, which carries a secret: give it with api_key_env or headers_env", setting, name)
		case twice:
			return fmt.Errorf("%sheaders and headers_env both hold %q", setting, name)
		case !httpguts.ValidHeaderFieldValue(value):
			return fmt.Errorf("%sheaders: the value of %q cannot be sent", setting, name)
		}
	}
	for _, headers := range []map[string]string{c.Headers, c.HeadersEnv} {
		for name := range headers {
			switch http.CanonicalHeaderKey(name) {
			case "Content-Type", "Content-Length", "Host", "Accept", "Accept-Encoding":
				return fmt.Errorf("%sheaders holds %q, which the client sets itself", setting, name)
			}
			if !httpguts.ValidHeaderFieldName(name) {
				return fmt.Errorf("%sheaders: %q is no name of a header", setting, name)
			}
		}
	}
	return nil
}

// named is the model as the settings name it, for messages.
func (c *connection) named() string {
	if c.Azure != nil {
		return fmt.Sprintf("backends.%s.azure.deployment %q", c.role, c.Azure.Deployment)
	}
	return fmt.Sprintf("backends.%s.model %q", c.role, c.Model)
}

// keySetting says where the key is told, for messages.
func (c *connection) keySetting() string {
	setting := "backends." + c.role + "."
	switch {
	case c.APIKeyEnv != "":
		return fmt.Sprintf("%sapi_key_env (the variable %q)", setting, c.APIKeyEnv)
	case c.APIKeyFile != "":
		return fmt.Sprintf("%sapi_key_file (%q)", setting, c.APIKeyFile)
	}
	return setting + "api_key_env, which is not set"
}
