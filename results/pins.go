package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"runtime"

	"github.com/culprit-rag/culprit/matrix"
)

// PinsSchema is the schema of [Pins].
const PinsSchema = "culprit.pins/v1"

// Pins is everything, declared and resolved, that can change a result. Counts and decimals are strings. What a backend
// does not tell is absent, which is not the same as equal.
type Pins struct {
	Schema     string            `json:"schema"`
	Experiment string            `json:"experiment"` // digest of experiment.json without the limits that change no result
	Declared   matrix.Pins       `json:"declared,omitzero"`
	Documents  string            `json:"documents,omitempty"` // digest of the documents that the store was filled from
	Store      StorePin          `json:"store"`
	Embedder   *EmbedderPin      `json:"embedder,omitempty"`
	Reranker   *RerankerPin      `json:"reranker,omitempty"`
	Generator  GeneratorPin      `json:"generator"`
	Judge      *JudgePin         `json:"judge,omitempty"`
	Prompt     PromptPin         `json:"prompt"`
	Tokenizer  *TokenizerPin     `json:"tokenizer,omitempty"`
	Toolchain  ToolchainPin      `json:"toolchain"`
	Extra      map[string]string `json:"extra,omitempty"` // what else an adapter declares
}

// StorePin is the store and the state of its collection.
type StorePin struct {
	Adapter     string `json:"adapter"`
	Version     string `json:"version,omitempty"`
	Collection  string `json:"collection,omitempty"`
	Count       string `json:"count,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"`
	Revision    string `json:"revision,omitempty"`
	EmbedModel  string `json:"embed_model,omitempty"` // declared by the collection
	Dimensions  int    `json:"dimensions,omitempty"`
	Distance    string `json:"distance,omitempty"`
}

// EmbedderPin is who embeds the queries.
type EmbedderPin struct {
	Adapter       string `json:"adapter"`
	Model         string `json:"model"`
	Dimensions    int    `json:"dimensions,omitempty"`
	QueryPrefix   string `json:"query_prefix,omitempty"`
	PassagePrefix string `json:"passage_prefix,omitempty"`
}

// RerankerPin is who reranks.
type RerankerPin struct {
	Adapter string `json:"adapter"`
	Model   string `json:"model"`
}

// GeneratorPin is who answers. ModelReported and SystemFingerprint hold every distinct value that was reported, sorted.
type GeneratorPin struct {
	Adapter           string          `json:"adapter"`
	ModelRequested    string          `json:"model_requested"`
	ModelReported     []string        `json:"model_reported,omitempty"`
	SystemFingerprint []string        `json:"system_fingerprint,omitempty"`
	Params            matrix.Generate `json:"params"`
	// DeterministicDeclared is what the generator says; DeterministicObserved is "no" once equal requests gave different
	// answers, "yes" where repeated ones did not, "unknown" where none was repeated.
	DeterministicDeclared bool          `json:"deterministic_declared"`
	DeterministicObserved matrix.Answer `json:"deterministic_observed"`
	Local                 bool          `json:"local,omitempty"` // it runs in this process and costs nothing
}

// JudgePin is who judges answers beside the deterministic checks, as [GeneratorPin]. Prompt is the digest of the judge's prompts.
type JudgePin struct {
	Adapter           string       `json:"adapter"`
	ModelRequested    string       `json:"model_requested"`
	ModelReported     []string     `json:"model_reported,omitempty"`
	SystemFingerprint []string     `json:"system_fingerprint,omitempty"`
	Params            matrix.Judge `json:"params"`
	Prompt            string       `json:"prompt_digest,omitempty"`
	Local             bool         `json:"local,omitempty"`
}

// PromptPin is the digests of the prompt templates.
type PromptPin struct {
	Engine string `json:"engine"`
	System string `json:"system_sha256,omitempty"`
	User   string `json:"user_sha256"`
}

// TokenizerPin is what counts the budget.
type TokenizerPin struct {
	Name string `json:"name"`
}

// ToolchainPin is what the tool was built with.
type ToolchainPin struct {
	Go   string `json:"go"`
	Arch string `json:"arch"`
}

// promptEngine names the template language of [matrix.Template].
const promptEngine = "culprit-mustache/1"

// NewPins fills in what the experiment alone declares. What the backends tell is for the caller to add.
func NewPins(e *matrix.Experiment) (Pins, error) {
	digest, err := experimentDigest(e)
	if err != nil {
		return Pins{}, err
	}
	p := Pins{
		Schema: PinsSchema, Experiment: digest, Declared: e.Pins,
		Generator: GeneratorPin{Params: e.Pipeline.Generate, DeterministicObserved: matrix.Unknown},
		Prompt:    PromptPin{Engine: promptEngine, User: matrix.DigestBytes([]byte(e.Pipeline.Prompt.User))},
		Toolchain: ToolchainPin{Go: runtime.Version(), Arch: runtime.GOARCH},
	}
	if system := e.Pipeline.Prompt.System; system != "" {
		p.Prompt.System = matrix.DigestBytes([]byte(system))
	}
	if name := e.Pipeline.Assemble.Tokenizer; name != "" {
		p.Tokenizer = &TokenizerPin{Name: name}
	}
	if b := e.Backends.Store; b != nil {
		p.Store.Adapter = b.Adapter
	}
	if b := e.Backends.Generator; b != nil {
		p.Generator.Adapter, p.Generator.ModelRequested = b.Adapter, modelOf(b)
	}
	if b := e.Backends.Embedder; b != nil {
		p.Embedder = &EmbedderPin{Adapter: b.Adapter, Model: modelOf(b)}
	}
	if b := e.Backends.Reranker; b != nil {
		p.Reranker = &RerankerPin{Adapter: b.Adapter, Model: modelOf(b)}
	}
	if b := e.Backends.Judge; b != nil && e.Judge.Asks() {
		p.Judge = &JudgePin{Adapter: b.Adapter, ModelRequested: modelOf(b), Params: *e.Judge}
	}
	return p, nil
}

// modelOf reads the one setting that every adapter with a model has.
func modelOf(b *matrix.Backend) string {
	var settings struct {
		Model string `json:"model"`
	}
	if b == nil || json.Unmarshal(b.Settings, &settings) != nil {
		return ""
	}
	return settings.Model
}

// ResolvedExperiment returns the bytes of experiment.json, which are RFC 8785.
func ResolvedExperiment(e *matrix.Experiment) ([]byte, error) {
	data, err := matrix.Canonical(e)
	if err != nil {
		return nil, fmt.Errorf("experiment %q: %w", e.Name, err)
	}
	return data, nil
}

// experimentDigest identifies the experiment. How many calls are made at once, how fast, how long each may take and how often it
// is tried again are knobs of the machine that runs it: two runs that differ in them alone are runs of the same thing.
func experimentDigest(e *matrix.Experiment) (string, error) {
	same := *e
	same.Limits.Concurrency, same.Limits.RequestsPerMinute, same.Limits.Timeout, same.Limits.Retries = 0, 0, 0, 0
	same.Limits.TokensPerMinute, same.Prices = 0, matrix.Prices{}
	data, err := ResolvedExperiment(&same)
	if err != nil {
		return "", err
	}
	return matrix.DigestBytes(data), nil
}

// plainJSON is one line of JSON with < and & as they are.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	if err := plainEncoder(&b).Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func plainEncoder(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc
}
