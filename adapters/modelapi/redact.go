package modelapi

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/culprit-rag/culprit/adapters"
)

// Format hides the connection, which holds the keys, from every verb of fmt.
func (c *Client) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, c.to.Adapter+"("+c.to.Model+" at "+c.to.URL+")")
}

// WithoutKeys takes the keys of this connection, which a server may repeat, out of what is kept of its answer.
func (c *Client) WithoutKeys(text string) string { return c.redact.Answer(text) }

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
