package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// render fills the prompt.
func render(packed []item, query string) []message {
	var b strings.Builder
	b.WriteString("Context:\n")
	for _, i := range packed {
		fmt.Fprintf(&b, "[%s] %s\n", i.ID, i.Text)
	}
	b.WriteString("\nAnswer with the sentence of the context that says it, word for word.\nQuestion: " + query)
	return []message{{"system", systemPrompt}, {"user", b.String()}}
}

// extract stands in for a model: it answers with the sentence of the first item that shares two words with the question.
func extract(_ context.Context, _ string, prompt []message, _ *request) (answer, finish, model string, err error) {
	text := prompt[len(prompt)-1].Text
	body, question, _ := strings.Cut(text, "Question: ")
	asked := content(question)
	for line := range strings.Lines(body) {
		id, said, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "["), "] ")
		if !ok || !strings.HasPrefix(line, "[") || shared(said, asked) < 2 {
			continue
		}
		best, most := "", -1
		for _, sentence := range strings.SplitAfter(said, ". ") {
			if n := shared(sentence, asked); n > most {
				best, most = strings.TrimSpace(sentence), n
			}
		}
		return best + " [" + id + "]", "stop", "extractive", nil
	}
	return "I don't know.", "stop", "extractive", nil
}

func content(s string) map[string]bool {
	set := map[string]bool{}
	for _, w := range wordsOf(s) {
		if !stop[w] {
			set[singular(w)] = true
		}
	}
	return set
}

func singular(w string) string {
	if len(w) > 3 {
		return strings.TrimSuffix(w, "s")
	}
	return w
}

func shared(text string, asked map[string]bool) int {
	n := 0
	for w := range content(text) {
		if asked[w] {
			n++
		}
	}
	return n
}

// chat asks an OpenAI-compatible model, and hands the request id on to it.
func chat(base, model string) func(context.Context, string, []message, *request) (string, string, string, error) {
	return func(ctx context.Context, id string, prompt []message, r *request) (answer, finish, reported string, err error) {
		type chatMessage struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		}
		body := map[string]any{"model": model, "temperature": r.Params.Temperature, "seed": r.Params.Seed, "max_tokens": max(r.Params.MaxTokens, 1)}
		messages := make([]chatMessage, len(prompt))
		for i, m := range prompt {
			messages[i] = chatMessage{m.Role, m.Text}
		}
		body["messages"] = messages
		data, err := json.Marshal(body)
		if err != nil {
			return "", "", "", err
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(base, "/")+"/chat/completions", bytes.NewReader(data))
		if err != nil {
			return "", "", "", err
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Request-ID", id)
		response, err := http.DefaultClient.Do(req)
		if err != nil {
			return "", "", "", err
		}
		defer response.Body.Close()
		var out struct {
			Model   string `json:"model"`
			Choices []struct {
				Message struct {
					Content string `json:"content"`
				} `json:"message"`
				FinishReason string `json:"finish_reason"`
			} `json:"choices"`
			Error json.RawMessage `json:"error"`
		}
		if err := json.NewDecoder(response.Body).Decode(&out); err != nil {
			return "", "", "", fmt.Errorf("the model: %w", err)
		}
		if len(out.Choices) == 0 {
			return "", "", "", fmt.Errorf("the model answers %s: %s", response.Status, out.Error)
		}
		return out.Choices[0].Message.Content, out.Choices[0].FinishReason, out.Model, nil
	}
}
