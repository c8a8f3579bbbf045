package modelapi

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/culprit-rag/culprit/adapters"
)

// A key shorter than this is a word ("none", "ollama") that servers without keys are given: an answer may well hold it.
const shortestKey = 12

// Format hides the connection, which holds the keys, from every verb of fmt.
func (c *Client) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, c.to.Adapter+"("+c.to.Model+" at "+c.to.URL+")")
}

// guardKeys prepares what takes keys out of texts.
func (c *Client) guardKeys(secrets []string) {
	c.redact = adapters.NewRedactor(secrets...)
	c.inAnswers = adapters.NewRedactor(slices.DeleteFunc(slices.Clone(secrets), func(s string) bool { return len(s) < shortestKey })...)
}

// WithoutKeys takes the keys of this connection, which a server may repeat, out of what is kept of its answer.
func (c *Client) WithoutKeys(text string) string {
	parts := strings.Split(text, "://") // the redactor cuts the queries of URLs, which an answer may hold
	for i, part := range parts {
		parts[i] = c.inAnswers.String(part)
	}
	return strings.Join(parts, "://")
}

// halfHidden is a key as a provider repeats it, with stars in its middle.
var halfHidden = regexp.MustCompile(`[^\s"'<>]*\*{3,}[^\s"'<>]*`)

// Short makes a server's text one line without keys, of a length that can be read.
func (c *Client) Short(s string) string {
	const most = 300
	s = c.redact.String(s) // before it is cut: half a key is found no more
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	s = halfHidden.ReplaceAllString(s, adapters.Redacted)
	if len(s) <= most {
		return s
	}
	cut := most
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + " …"
}
