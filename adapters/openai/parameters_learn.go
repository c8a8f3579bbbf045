package openai

import (
	"strings"

	"github.com/culprit-rag/culprit/adapters/modelapi"
)

// refuses reports whether the server says that it does not take something that was sent.
func refuses(c *modelapi.Complaint) bool {
	return c.Has("unsupported", "not supported", "does not support", "unknown parameter", "unrecogni", "unknown field", "not permitted",
		"extra_forbidden", "extra inputs", "unexpected keyword", "invalid parameter", "not allowed")
}

// about returns which of the sent parameters a refusal is about: by the field for it, else the one that is named first.
func about(c *modelapi.Complaint, sent []parameter) (parameter, bool) {
	best, at := parameter(""), len(c.Message)
	for _, name := range sent {
		names := []string{string(name)}
		if name == schemaForm {
			names = append(names, string(objectForm))
		}
		for _, n := range names {
			if c.Param == n || strings.HasPrefix(c.Param, n+".") {
				return name, true
			}
			if i := mention(c.Message, n); i >= 0 && i < at {
				best, at = name, i
			}
		}
	}
	return best, best != "" && c.Param == "" // what is refused is another one, where the field names it
}

// mention returns where a text holds name as a word of its own, -1 for nowhere.
func mention(text, name string) int {
	isWord := func(b byte) bool {
		return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
	}
	for at := 0; ; {
		i := strings.Index(text[at:], name)
		if i < 0 {
			return -1
		}
		from, to := at+i, at+i+len(name)
		if (from == 0 || !isWord(text[from-1])) && (to == len(text) || !isWord(text[to])) {
			return from
		}
		at = to
	}
}

// learn looks at a refused call for the one parameter that it is about, and leaves that out from now on. It reports whether another
// call would differ: not where the settings say that the server takes it.
func (p *parameters) learn(said *modelapi.Complaint, sent []parameter, text string) bool {
	if !refuses(said) {
		return false
	}
	name, ok := about(said, sent)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !ok || p.declared[name] {
		return false
	}
	p.refuses[name], p.learned[name] = "the server refused it: "+text, true
	switch { // the other name of the same limit
	case name == maxTokens && !p.learned[maxComplete]:
		delete(p.refuses, maxComplete)
	case name == maxComplete && !p.learned[maxTokens]:
		delete(p.refuses, maxTokens)
	}
	return true
}
