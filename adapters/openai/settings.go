package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/culprit-rag/culprit/adapters/modelapi"
)

const (
	defaultBaseURL   = "https://api.openai.com/v1"
	defaultKeyEnv    = "OPENAI_API_KEY"
	defaultAzureAPI  = "2024-10-21" // the oldest stable version that knows answers of a JSON Schema
	defaultBatch     = 128
	largestBatch     = 2048 // of OpenAI
	structuredSchema = "json_schema"
	structuredObject = "json_object"
	structuredNone   = "none"
	limitAuto        = "auto"
	limitMaxTokens   = "max_tokens"
	limitCompletion  = "max_completion_tokens"
	encodingFloat    = "float"
	encodingBase64   = "base64"
	chatPath         = "/chat/completions"
	embeddingsPath   = "/embeddings"
)

// connection are the settings that both roles have.
type connection struct {
	modelapi.Settings
	BaseURL string         `json:"base_url"`
	Org     string         `json:"organization"` //nolint:misspell // OpenAI spells it so
	Azure   *azureSettings `json:"azure"`

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

func readGenerator(raw json.RawMessage, as string) (generatorSettings, error) {
	s := generatorSettings{connection: connection{role: cmp.Or(as, "generator")}, TokenLimit: limitAuto, Structured: structuredSchema}
	if err := decode(raw, &s); err != nil {
		return s, err
	}
	switch {
	case s.TokenLimit != limitAuto && s.TokenLimit != limitMaxTokens && s.TokenLimit != limitCompletion:
		return s, fmt.Errorf("setting backends.%s.token_limit is %q: it is auto, max_tokens or max_completion_tokens", s.role, s.TokenLimit)
	case s.Structured != structuredSchema && s.Structured != structuredObject && s.Structured != structuredNone:
		return s, fmt.Errorf("setting backends.%s.structured is %q: it is json_schema, json_object or none", s.role, s.Structured)
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
	if err := c.CheckModel(c.role); err != nil {
		return err
	}
	if c.Azure != nil && (c.BaseURL == "" || c.Azure.Deployment == "") {
		return errors.New(setting + "azure needs azure.deployment, and base_url with the resource's endpoint, such as https://NAME.openai.azure.com")
	}
	if c.Azure != nil && !isDeployment.MatchString(c.Azure.Deployment) {
		return fmt.Errorf("%sazure.deployment is %q: a deployment's name has letters, digits, dots, hyphens and underscores", setting, c.Azure.Deployment)
	}
	if c.BaseURL == "" {
		c.BaseURL = defaultBaseURL
		if c.APIKeyEnv == "" && c.APIKeyFile == "" {
			c.APIKeyEnv = defaultKeyEnv
		}
	}
	c.BaseURL = strings.TrimSuffix(c.BaseURL, "/")
	u, err := c.CheckURL(c.role, "base_url", c.BaseURL, "what stands before "+chatPath+", such as http://localhost:8000/v1")
	if err != nil {
		return err
	}
	if strings.HasSuffix(u.Path, chatPath) || strings.HasSuffix(u.Path, embeddingsPath) {
		return fmt.Errorf("%sbase_url ends with the endpoint: give what stands before it, %q", setting, strings.TrimSuffix(strings.TrimSuffix(c.BaseURL, chatPath), embeddingsPath))
	}
	return c.CheckHeaders(c.role)
}

var isDeployment = regexp.MustCompile(`^[\w.-]+$`)
