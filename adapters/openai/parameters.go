package openai

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

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
	effort      parameter = "reasoning_effort"
)

// parameters knows what the server takes: by the settings, by the rules of known models, and by what it refused so far.
type parameters struct {
	declared map[parameter]bool // by the settings: the server takes it, and a refusal is an error

	mu      sync.Mutex           // guards what is below
	refuses map[parameter]string // why it is not sent
	learned map[parameter]bool   // it was refused by the server
}

// reasons are the models of OpenAI that reason, by their names: o1, o3-mini, gpt-5 and so on, also behind a router's prefix. The chat
// models of that family take the usual parameters.
var reasons = regexp.MustCompile(`^(?:[\w.-]+/)?(?:o[134](?:-|$)|gpt-(?:[5-9]|\d\d)(?:[.-]|$))`)

func isReasoning(model string) bool {
	return reasons.MatchString(strings.ToLower(model)) && !strings.Contains(model, "chat")
}

func newParameters(s *generatorSettings) *parameters {
	p := &parameters{declared: map[parameter]bool{}, refuses: map[parameter]string{}, learned: map[parameter]bool{}}
	byRule := isReasoning(s.Model)
	for name, told := range map[parameter]*bool{temperature: s.Supports.Temperature, topP: s.Supports.TopP, seed: s.Supports.Seed, stop: s.Supports.Stop} {
		switch {
		case told != nil && *told:
			p.declared[name] = true
		case told != nil:
			p.refuses[name] = "backends." + s.role + ".supports says that the server does not take it"
		case byRule && (name == temperature || name == topP):
			p.refuses[name] = "models that reason take none"
		}
	}
	if s.TokenLimit != limitAuto {
		p.declared[parameter(s.TokenLimit)] = true
	}
	if s.TokenLimit == limitMaxTokens || s.TokenLimit == limitAuto && !byRule {
		p.refuses[maxComplete] = ""
	} else {
		p.refuses[maxTokens] = ""
	}
	if s.Structured != structuredSchema {
		p.refuses[schemaForm] = "backends." + s.role + ".structured is " + s.Structured
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
	c := &chat{body: map[string]any{"model": s.Model, "messages": messages, "stream": false}}
	for i, m := range req.Messages {
		messages[i] = message{m.Role, m.Text}
		if !utf8.ValidString(m.Text) {
			c.notes = append(c.notes, fmt.Sprintf("message %d held bytes that are no UTF-8, and was sent with U+FFFD in their place", i+1))
		}
	}
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
		c.set(p, effort, s.ReasoningEffort)
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
