package embedded

import (
	"strings"

	"github.com/culprit-rag/culprit/adapters"
)

// block is one piece of context, as the generator finds it in a prompt.
type block struct {
	id   string
	text string
}

// prompt is what the generator makes of the messages.
type prompt struct {
	blocks   []block
	question string
	tokens   int // that were read
}

const questionMark = "Question:"

// readPrompt reads the messages. A block begins at a line that starts with "[id] " and ends before the next such line, a
// line that starts with "Question:", an empty line (not where paragraphs is set) and the end of the message. The question
// is what follows the last "Question:", else the last line of the last user message.
func readPrompt(messages []adapters.Message, paragraphs bool) prompt {
	var p prompt
	for _, m := range messages {
		p.tokens += runs(inToken).count(m.Text)
		p.blocks = appendBlocks(p.blocks, m.Text, paragraphs)
	}
	p.question = findQuestion(messages)
	return p
}

func appendBlocks(blocks []block, text string, paragraphs bool) []block {
	id, start, inside := "", 0, false
	end := func(at int) {
		if inside {
			blocks = append(blocks, block{id: id, text: strings.TrimSpace(text[start:at])})
			inside = false
		}
	}
	for at := 0; at < len(text); {
		line, next := lineAt(text, at)
		if name, ok := marker(line); ok {
			end(at)
			id, start, inside = name, at+len(name)+len("[] "), true
		} else if strings.HasPrefix(line, questionMark) || !paragraphs && strings.TrimSpace(line) == "" {
			end(at)
		}
		at = next
	}
	end(len(text))
	return blocks
}

// lineAt returns the line of text that begins at i, and where the next one begins.
func lineAt(text string, i int) (line string, next int) {
	n := strings.IndexByte(text[i:], '\n')
	if n < 0 {
		return text[i:], len(text)
	}
	return text[i : i+n], i + n + 1
}

// marker returns the id of a line that begins with "[id] ".
func marker(line string) (id string, ok bool) {
	if !strings.HasPrefix(line, "[") {
		return "", false
	}
	id, rest, ok := strings.Cut(line[1:], "]")
	if !ok || strings.TrimSpace(id) == "" || !strings.HasPrefix(rest, " ") {
		return "", false
	}
	return id, true
}

func findQuestion(messages []adapters.Message) string {
	for i := len(messages) - 1; i >= 0; i-- {
		text := messages[i].Text
		at := strings.LastIndex("\n"+text, "\n"+questionMark)
		if at < 0 {
			at = strings.LastIndex(text, questionMark)
		}
		if at >= 0 {
			return strings.TrimSpace(beforeBlocks(text[at+len(questionMark):]))
		}
	}
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role == "user" {
			text := strings.TrimSpace(messages[i].Text)
			return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
		}
	}
	return ""
}

// beforeBlocks returns text up to its first block, for a prompt that puts the context after the question.
func beforeBlocks(text string) string {
	_, at := lineAt(text, 0)
	for at < len(text) {
		line, next := lineAt(text, at)
		if _, ok := marker(line); ok {
			return text[:at]
		}
		at = next
	}
	return text
}

// withoutRole returns the messages of all other roles.
func withoutRole(messages []adapters.Message, role string) []adapters.Message {
	var kept []adapters.Message
	for _, m := range messages {
		if m.Role != role {
			kept = append(kept, m)
		}
	}
	return kept
}

// lastTokens returns the end of the messages, n tokens in all, as a server does that cuts silently.
func lastTokens(messages []adapters.Message, n int) []adapters.Message {
	kept := make([]adapters.Message, len(messages))
	for i := len(messages) - 1; i >= 0; i-- {
		text, count := runs(inToken).last(messages[i].Text, n)
		kept[i] = adapters.Message{Role: messages[i].Role, Text: text}
		n -= count
	}
	return kept
}
