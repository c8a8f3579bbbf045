package openai

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/culprit-rag/culprit/adapters"
)

// parameter is one that a server may not take.
type parameter string

const (
	temperature parameter = "temperature"
	topP        parameter = "top_p"
	seed        parameter = "seed"
	stop        parameter = "stop"
	maxTokens   parameter = "max_tokens"
	maxComplete parameter = "max_completion_tokens"
	schemaForm  parameter = "json_schema"
	objectForm  parameter = "response_format"
)

// parameters knows what the server takes: by the settings, by the rules of known models, and by what it refused so far.
type parameters struct {
	mu      sync.Mutex
	refuses map[parameter]string // why it is not sent
}

// reasons are the models of OpenAI that reason, by their names: o1, o3-mini, gpt-5 and so on, also behind a router's prefix. The chat
// models of that family take the usual parameters.
var reasons = regexp.MustCompile(`^(?:[\w.-]+/)?(?:o[134](?:-|$)|gpt-(?:[5-9]|\d\d)(?:[.-]|$))`)

func isReasoning(model string) bool {
	return reasons.MatchString(strings.ToLower(model)) && !strings.Contains(model, "chat")
}

func newParameters(s *generatorSettings) *parameters {
	p := &parameters{refuses: map[parameter]string{}}
	byRule := isReasoning(s.Model)
	for name, told := range map[parameter]*bool{temperature: s.Supports.Temperature, topP: s.Supports.TopP, seed: s.Supports.Seed, stop: s.Supports.Stop} {
		switch {
		case told != nil && !*told:
			p.refuses[name] = "backends.generator.supports says that the server does not take it"
		case told == nil && byRule && (name == temperature || name == topP):
			p.refuses[name] = "models that reason take none"
		}
	}
	if s.TokenLimit == limitMaxTokens || s.TokenLimit == limitAuto && !byRule {
		p.refuses[maxComplete] = ""
	} else {
		p.refuses[maxTokens] = ""
	}
	if s.Structured != structuredSchema {
		p.refuses[schemaForm] = "backends.generator.structured is " + s.Structured
	}
	return p
}

// takes reports whether a parameter is sent, and else why not.
func (p *parameters) takes(name parameter) (bool, string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	why, refused := p.refuses[name]
	return !refused, why
}

// learn looks at a refused call for the one parameter that it is about. It reports whether another call would differ.
func (p *parameters) learn(said *complaint, sent []parameter) bool {
	if !said.has("unsupported", "not supported", "does not support", "unknown parameter", "unrecognized", "not permitted", "extra_forbidden", "extra inputs", "unexpected keyword", "invalid parameter", "not allowed") {
		return false
	}
	for _, name := range sent {
		if said.param != string(name) && !mentions(said.message, string(name)) && !(name == schemaForm && (said.param == string(objectForm) || mentions(said.message, string(objectForm)))) {
			continue
		}
		p.mu.Lock()
		p.refuses[name] = "the server refused it: " + short(said.message)
		switch name { // the other name of the same limit
		case maxTokens:
			delete(p.refuses, maxComplete)
		case maxComplete:
			delete(p.refuses, maxTokens)
		}
		p.mu.Unlock()
		return true
	}
	return false
}

func mentions(text, name string) bool {
	isWord := func(b byte) bool {
		return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
	}
	for at := 0; ; {
		i := strings.Index(text[at:], name)
		if i < 0 {
			return false
		}
		from, to := at+i, at+i+len(name)
		if (from == 0 || !isWord(text[from-1])) && (to == len(text) || !isWord(text[to])) {
			return true
		}
		at = to
	}
}

// chat is a request as it is sent, and what of it could not be.
type chat struct {
	body  map[string]any
	sent  []parameter // that a server might refuse
	notes []string
}

func (c *chat) set(p *parameters, name parameter, value any) {
	ok, why := p.takes(name)
	if ok {
		c.body[string(name)] = value
		c.sent = append(c.sent, name)
		return
	}
	c.notes = append(c.notes, fmt.Sprintf("%s %v was not sent: %s", name, value, why))
}

// newChat writes a request under what is known of the server.
func newChat(s *generatorSettings, p *parameters, req adapters.GenerateRequest) *chat {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	messages := make([]message, len(req.Messages))
	for i, m := range req.Messages {
		messages[i] = message{m.Role, m.Text}
	}
	c := &chat{body: map[string]any{"model": s.Model, "messages": messages, "stream": false}}
	if req.Temperature != nil {
		c.set(p, temperature, *req.Temperature)
	}
	if req.TopP != nil {
		c.set(p, topP, *req.TopP)
	}
	if req.Seed != nil {
		c.set(p, seed, *req.Seed)
	}
	if len(req.Stop) > 0 {
		c.set(p, stop, req.Stop)
	}
	if req.MaxTokens > 0 {
		name := maxTokens
		if ok, _ := p.takes(maxTokens); !ok {
			name = maxComplete
		}
		c.set(p, name, req.MaxTokens)
	}
	if s.ReasoningEffort != "" {
		c.body["reasoning_effort"] = s.ReasoningEffort
	}
	if f := req.Format; f != nil {
		if ok, why := p.takes(schemaForm); ok {
			c.body[string(objectForm)] = map[string]any{"type": structuredSchema, "json_schema": map[string]any{"name": f.Name, "strict": true, "schema": f.Schema}}
			c.sent = append(c.sent, schemaForm)
		} else if ok, refused := p.takes(objectForm); ok {
			c.body[string(objectForm)] = map[string]any{"type": structuredObject}
			c.sent = append(c.sent, objectForm)
			c.notes = append(c.notes, "the answer was asked for as a JSON object, not by its schema: "+why)
		} else {
			c.notes = append(c.notes, "the answer was not held to a form: "+refused)
		}
	}
	slices.Sort(c.notes)
	return c
}

var errNoForm = fmt.Errorf("the answer cannot be held to a form: backends.generator.structured is %q", structuredNone)
