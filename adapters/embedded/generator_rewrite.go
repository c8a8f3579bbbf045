package embedded

import (
	"fmt"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/adapters"
)

// rewrites makes a prompt that asks for a query be answered with one.
type rewrites struct {
	When  string   `json:"when"`
	Loses []string `json:"loses"`
	Adds  []string `json:"adds"`
}

// rewritten answers a prompt that asks for a query: with its question, without the words that are lost, and with further queries, a
// numbered line each. It is false for every other prompt.
func (g *generator) rewritten(messages []adapters.Message, question string) (string, bool) {
	set := g.set.Rewrites
	if set == nil || !slices.ContainsFunc(messages, func(m adapters.Message) bool { return strings.Contains(m.Text, set.When) }) {
		return "", false
	}
	words := slices.DeleteFunc(strings.Fields(question), func(word string) bool {
		bare := strings.Trim(word, ".,;:!?")
		return slices.ContainsFunc(set.Loses, func(lost string) bool { return strings.EqualFold(lost, bare) })
	})
	query := strings.Join(words, " ")
	if len(set.Adds) == 0 {
		return query, true
	}
	lines := make([]string, 0, len(set.Adds)+1)
	for _, q := range append([]string{query}, set.Adds...) {
		if q != "" {
			lines = append(lines, fmt.Sprintf("%d. %s", len(lines)+1, q))
		}
	}
	return strings.Join(lines, "\n"), true
}
