package matrix

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

// Canonical returns v as RFC 8785 (JCS) bytes, for the values this project stores: objects, arrays, strings, booleans,
// null and integers within ±(2^53−1). A number that is not such an integer, or invalid UTF-8, is an error: a fraction or a
// large id belongs in a string, or it would change silently on the way.
func Canonical(v any) (b []byte, err error) {
	err = canonical(v, func(data []byte) { b = bytes.Clone(data) })
	return b, err
}

// Differs returns v's canonical bytes where data is not the same, and nil where it is.
func Differs(data []byte, v any) (own []byte, err error) {
	err = canonical(v, func(made []byte) {
		if !bytes.Equal(data, made) {
			own = bytes.Clone(made)
		}
	})
	return own, err
}

// Digest returns "sha256:<hex>" of v's canonical bytes.
func Digest(v any) (digest string, err error) {
	err = canonical(v, func(data []byte) { digest = DigestBytes(data) })
	return digest, err
}

// canonical hands over v's canonical bytes, which are valid until use returns.
func canonical(v any, use func([]byte)) error {
	c := canonicalisers.Get().(*canonicaliser)
	defer canonicalisers.Put(c)
	var plain bool
	if c.out, plain = canonicalPlain(c.out[:0], v); plain {
		use(c.out)
		return nil
	}
	return c.any(v, use)
}

// canonicalAny is canonical by way of encoding/json.
func canonicalAny(v any, use func([]byte)) error {
	c := canonicalisers.Get().(*canonicaliser)
	defer canonicalisers.Put(c)
	return c.any(v, use)
}

func (c *canonicaliser) any(v any, use func([]byte)) error {
	c.raw.Reset()
	encoder := json.NewEncoder(&c.raw)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return err
	}
	c.rest, c.out, c.members = c.raw.Bytes(), c.out[:0], c.members[:0]
	if err := c.value(); err != nil {
		return err
	}
	use(c.out)
	return nil
}

// DigestBytes returns "sha256:<hex>" of b.
func DigestBytes(b []byte) string {
	const name = "sha256:"
	sum := sha256.Sum256(b)
	var out [len(name) + 2*sha256.Size]byte
	hex.Encode(out[copy(out[:], name):], sum[:])
	return string(out[:])
}

func decodeNumbers(data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return fmt.Errorf("more than one JSON value")
	}
	return nil
}

const maxSafeInteger = 1<<53 - 1

// canonicalisers are kept, since a case takes hundreds of digests.
var canonicalisers = sync.Pool{New: func() any { return new(canonicaliser) }}

// canonicaliser rewrites the output of encoding/json, which is valid and compact, without a tree between them.
type canonicaliser struct {
	raw     bytes.Buffer
	rest    []byte // of raw, not yet read
	out     []byte
	members []member // of the objects that are open, the innermost last
	sorted  []byte
}

// member is a member of an object that was written to out[from:to].
type member struct {
	key      []byte
	from, to int
}

func (c *canonicaliser) value() error {
	switch c.rest[0] {
	case '{':
		return c.object()
	case '[':
		return c.array()
	case '"':
		_, err := c.text()
		return err
	case 't', 'n':
		c.take(len("true"))
		return nil
	case 'f':
		c.take(len("false"))
		return nil
	}
	n := 0
	for n < len(c.rest) && strings.IndexByte("+-.0123456789Ee", c.rest[n]) >= 0 {
		n++
	}
	i, err := strconv.ParseInt(string(c.rest[:n]), 10, 64)
	if err != nil || i > maxSafeInteger || i < -maxSafeInteger {
		return fmt.Errorf("number %s cannot be stored exactly: write it as a string", c.rest[:n])
	}
	c.rest, c.out = c.rest[n:], strconv.AppendInt(c.out, i, 10)
	return nil
}

// take moves bytes to the output as they are.
func (c *canonicaliser) take(n int) {
	c.out, c.rest = append(c.out, c.rest[:n]...), c.rest[n:]
}

func (c *canonicaliser) array() error {
	for c.take(1); c.rest[0] != ']'; {
		if err := c.value(); err != nil {
			return err
		}
		if c.rest[0] == ',' {
			c.take(1)
		}
	}
	c.take(1)
	return nil
}

func (c *canonicaliser) object() error {
	first, ordered := len(c.members), true
	c.take(1)
	begin := len(c.out)
	for c.rest[0] != '}' {
		from := len(c.out)
		key, err := c.text()
		if err != nil {
			return err
		}
		c.take(len(":"))
		if err := c.value(); err != nil {
			return err
		}
		if len(c.members) > first && compareUTF16(c.members[len(c.members)-1].key, key) >= 0 {
			ordered = false
		}
		c.members = append(c.members, member{key, from, len(c.out)})
		if c.rest[0] == ',' {
			c.take(1)
		}
	}
	if !ordered {
		c.order(begin, c.members[first:])
	}
	c.members = c.members[:first]
	c.take(1)
	return nil
}

// order writes the members anew by their keys. Of two with one key, which only raw JSON can have, the last counts, as everywhere
// in encoding/json.
func (c *canonicaliser) order(begin int, members []member) {
	slices.SortStableFunc(members, func(a, b member) int { return compareUTF16(a.key, b.key) })
	c.sorted = c.sorted[:0]
	for i, m := range members {
		if i+1 < len(members) && bytes.Equal(m.key, members[i+1].key) {
			continue
		}
		if len(c.sorted) > 0 {
			c.sorted = append(c.sorted, ',')
		}
		c.sorted = append(c.sorted, c.out[m.from:m.to]...)
	}
	c.out = append(c.out[:begin], c.sorted...)
}

// text moves a string and returns what it says.
func (c *canonicaliser) text() ([]byte, error) {
	n := 1 + bytes.IndexByte(c.rest[1:], '"')
	if says := c.rest[1:n]; bytes.IndexByte(says, '\\') < 0 && utf8.Valid(says) {
		c.take(n + 1)
		return says, nil
	}
	for n = 1; c.rest[n] != '"'; n++ {
		if c.rest[n] == '\\' {
			n++
		}
	}
	quoted := c.rest[:n+1]
	var says string
	if err := json.Unmarshal(quoted, &says); err != nil {
		return nil, err
	}
	c.rest = c.rest[len(quoted):]
	var err error
	c.out, err = appendString(c.out, says)
	return []byte(says), err
}

// compareUTF16 orders keys by UTF-16 code units, as RFC 8785 asks. Where the first bytes that differ are ASCII, they decide it.
func compareUTF16(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	if n == len(a) || n == len(b) || a[n] < utf8.RuneSelf && b[n] < utf8.RuneSelf {
		return bytes.Compare(a[n:], b[n:])
	}
	return slices.Compare(utf16.Encode([]rune(string(a))), utf16.Encode([]rune(string(b))))
}

// standsForItself reports whether a string is of characters of ASCII alone that are written as they are. Of eight at once each test leaves
// the high bit of the first byte that it is for, and may leave those behind it.
func standsForItself(s []byte) bool {
	const (
		ones   = 0x0101010101010101
		high   = 0x80 * ones
		quotes = '"' * ones
		slants = '\\' * ones
	)
	for ; len(s) >= 8; s = s[8:] {
		w := binary.LittleEndian.Uint64(s)
		quote, slant := w^quotes, w^slants
		if (w|(w-' '*ones)|(quote-ones)|(slant-ones))&high != 0 {
			return false
		}
	}
	for _, c := range s {
		if c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

func appendString(b []byte, s string) ([]byte, error) {
	begin := len(b)
	b = append(append(b, '"'), s...)
	if standsForItself(b[begin+1:]) {
		return append(b, '"'), nil
	}
	b = b[:begin]
	if !utf8.ValidString(s) {
		return b, fmt.Errorf("string %q is not valid UTF-8", s)
	}
	b = append(b, '"')
	from := 0 // of what is not yet written
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\b':
			b = append(b, '\\', 'b')
		case '\f':
			b = append(b, '\\', 'f')
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = fmt.Appendf(b, `\u%04x`, c)
		}
	}
	b = append(b, s[from:]...)
	return append(b, '"'), nil
}
