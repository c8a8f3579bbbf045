package openai

import (
	"fmt"
	"slices"

	"github.com/sashabaranov/go-openai"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/modelapi"
)

// client is the connection of one backend.
type client struct {
	*modelapi.Client
	api *openai.Client
}

// What is read of one answer; a longer one is an error, and not kept.
const (
	answerLimit = 16 << 20
	vectorLimit = 256 << 20
)

// connect makes a client. It makes no call.
func connect(set *connection, cfg adapters.Config) (*client, error) {
	to := set.server()
	c, err := modelapi.Connect(&to, cfg)
	if err != nil {
		return nil, err
	}
	config := openai.DefaultConfig(c.Key)
	if set.Azure != nil {
		config = openai.DefaultAzureConfig(c.Key, set.BaseURL)
		config.APIVersion = set.Azure.APIVersion
		if config.APIVersion == "" {
			config.APIVersion = defaultAzureAPI
		}
		config.AzureModelMapperFunc = func(string) string { return set.Azure.Deployment }
	}
	config.BaseURL, config.OrgID, config.HTTPClient = set.BaseURL, set.Org, c.HTTP
	return &client{c, openai.NewClientWithConfig(config)}, nil
}

// server is whom a client asks.
func (c *connection) server() modelapi.Server {
	asked := fmt.Sprintf("backends.%s.model %q", c.role, c.Model)
	if c.Azure != nil {
		asked = fmt.Sprintf("backends.%s.azure.deployment %q", c.role, c.Azure.Deployment)
	}
	tooLong := "the prompt and max_tokens are"
	if c.role == string(adapters.RoleEmbedder) {
		tooLong = "a text is"
	}
	return modelapi.Server{
		Settings: c.Settings, Adapter: Name, Role: c.role, URL: c.BaseURL, URLField: "base_url", Asked: asked,
		TooLong: tooLong,
	}
}

// hide takes keys that a server repeats out of what is kept beside its answer. One in the answer is an error, and nothing of it is kept.
func (c *client) hide(op string, r *adapters.GenerateResponse) (err error) {
	if c.WithoutKeys(r.Text) != r.Text || c.WithoutKeys(r.Refusal) != r.Refusal {
		r.Text, r.Refusal, err = "", "", adapters.SecretInOutput(Name, op)
	}
	for _, s := range []*string{&r.ModelReported, &r.SystemFingerprint, &r.RequestID, &r.FinishReason} {
		*s = c.WithoutKeys(*s)
	}
	for name, value := range r.Metadata {
		r.Metadata[name] = c.WithoutKeys(value)
	}
	r.Notes = slices.Clone(r.Notes)
	for i, note := range r.Notes {
		r.Notes[i] = c.WithoutKeys(note)
	}
	return err
}
