package rerank

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/culprit-rag/culprit/adapters/modelapi"
)

// The shapes of requests. Answers are told apart by themselves.
const (
	shapeAuto   = "auto"
	shapeCohere = "cohere"
	shapeJina   = "jina"
	shapeTEI    = "tei"
	shapeVLLM   = "vllm"
)

// Documents of one call where the settings do not say.
const (
	defaultBatch = 1000 // what Cohere advises not to pass
	teiBatch     = 32   // TEI's --max-client-batch-size
	largestBatch = 10_000
)

const role = "reranker"

// settings are described in reranker.schema.json.
type settings struct {
	modelapi.Settings
	URL       string `json:"url"`
	Shape     string `json:"shape"`
	Batch     int    `json:"batch"`
	MaxTokens int    `json:"max_tokens"`
	Truncate  *bool  `json:"truncate"`
	RawScores *bool  `json:"raw_scores"`
}

func read(raw json.RawMessage) (settings, error) {
	s := settings{Shape: shapeAuto}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return s, fmt.Errorf("reading the settings: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return s, errors.New("the settings go on after their JSON object")
	}
	return s, s.check()
}

// check repeats what the schema says where a wrong value would do harm further on, and what a schema cannot say.
func (s *settings) check() error {
	if err := s.CheckModel(role); err != nil {
		return err
	}
	const want = "the whole address of the endpoint, such as http://localhost:8080/rerank"
	u, err := s.CheckURL(role, "url", s.URL, want)
	if err != nil {
		return err
	}
	switch path := strings.TrimSuffix(u.Path, "/"); {
	case path == "" || strings.HasSuffix(path, "/v1") || strings.HasSuffix(path, "/v2"):
		return fmt.Errorf("%s names no endpoint: give %s", modelapi.Setting(role, "url"), want)
	case s.Shape != shapeAuto && s.Shape != shapeCohere && s.Shape != shapeJina && s.Shape != shapeTEI && s.Shape != shapeVLLM:
		return fmt.Errorf("%s is %q: it is auto, cohere, jina, tei or vllm", modelapi.Setting(role, "shape"), s.Shape)
	case s.Batch < 0 || s.Batch > largestBatch:
		return fmt.Errorf("%s is %d: it is from 1 to %d, or 0 for what the shape says", modelapi.Setting(role, "batch"), s.Batch, largestBatch)
	case s.MaxTokens < 0:
		return fmt.Errorf("%s is %d: it is from 1, or 0 for what the server does by itself", modelapi.Setting(role, "max_tokens"), s.MaxTokens)
	case s.MaxTokens > 0 && s.Shape != shapeCohere && s.Shape != shapeVLLM:
		return errors.New(modelapi.Setting(role, "max_tokens") + " goes with shape: cohere or shape: vllm, which have a parameter for it")
	case (s.Truncate != nil || s.RawScores != nil) && s.Shape != shapeTEI:
		return errors.New(modelapi.Setting(role, "truncate") + " and raw_scores go with shape: tei, which has parameters for them")
	}
	return s.CheckHeaders(role)
}

// most is how many documents one call takes.
func (s *settings) most(shape string) int {
	switch {
	case s.Batch > 0:
		return s.Batch
	case shape == shapeTEI:
		return teiBatch
	}
	return defaultBatch
}

// request is the body of a call in any shape.
type request struct {
	Model           string   `json:"model,omitempty"`
	Query           string   `json:"query"`
	Documents       []string `json:"documents,omitempty"`
	Texts           []string `json:"texts,omitempty"`
	MaxTokensPerDoc int      `json:"max_tokens_per_doc,omitempty"`
	TruncatePrompt  int      `json:"truncate_prompt_tokens,omitempty"`
	ReturnDocuments *bool    `json:"return_documents,omitempty"`
	Truncate        *bool    `json:"truncate,omitempty"`
	RawScores       *bool    `json:"raw_scores,omitempty"`
}

// body writes a call. How many results are wanted is sent nowhere, for all of them are.
func (s *settings) body(shape, query string, documents []string) ([]byte, error) {
	r := request{Query: query}
	if shape == shapeTEI {
		r.Texts, r.Truncate, r.RawScores = documents, s.Truncate, s.RawScores
		return json.Marshal(r)
	}
	r.Model, r.Documents = s.Model, documents
	switch shape {
	case shapeCohere:
		r.MaxTokensPerDoc = s.MaxTokens
	case shapeVLLM:
		r.TruncatePrompt = s.MaxTokens
	case shapeJina:
		r.ReturnDocuments = new(bool) // it sends the documents back unless it is told not to
	}
	return json.Marshal(r)
}
