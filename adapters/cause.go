package adapters

import (
	"regexp"
	"strings"
)

// layers are the words that gRPC, net and net/http put before the cause of a failed call: which of their layers saw it, and addresses.
var layers = regexp.MustCompile(`(?:\w+\(\) failed: )?rpc error: code = \w+ desc = |connection error: desc = |transport: |(?i:error while dial\w+: )|` +
	`authentication handshake failed: |error reading server preface: |name resolver error: |(?:Get|Post) "https?://[^"]*": |dial tcp: lookup \S+(?: on \S+)?: |\b(?:dial|read|write) (?:tcp|udp|unix)\S* \S+: `)

// Cause returns the error of a call without the words of the layers that it came through, for a message that names the address itself.
// It unwraps to err.
func Cause(err error) error { return cause{err} }

type cause struct{ error }

func (c cause) Error() string {
	text := c.error.Error()
	bare := layers.ReplaceAllLiteralString(text, "")
	if strings.Contains(text, `desc = "`) {
		bare = strings.ReplaceAll(bare, `"`, "")
	}
	return bare
}

func (c cause) Unwrap() error { return c.error }
