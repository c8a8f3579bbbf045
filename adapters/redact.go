package adapters

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Redacted stands where a secret stood.
const Redacted = "[redacted]"

const (
	// A shorter value is no secret, and taking it out would tear texts apart.
	shortestSecret = 4
	// A shorter one is a word ("none", "ollama") that servers without keys are given: an answer may well hold it.
	shortestInAnswers = 12
)

var carriesKey = regexp.MustCompile(`(?i)auth|key|token|secret|cookie|password|credential|signature`)

// CarriesKey reports whether a header or a parameter of that name is one that carries a secret.
func CarriesKey(name string) bool { return carriesKey.MatchString(name) }

// Redactor takes known secrets out of texts and errors, in the forms that they travel in: as they are, as base64 (also as a
// part of a longer base64 text, such as an Authorization header), hexadecimal, and escaped for URLs, JSON and Go. It also
// cuts user information and queries out of URLs, whose secrets it need not know. The nil Redactor changes nothing.
type Redactor struct {
	known     *strings.Replacer
	inAnswers *strings.Replacer
	marks     *marks   // of secrets of twelve bytes or more
	long      []string // the secrets of which a beginning of twelve bytes tells less than half
}

// NewRedactor returns a redactor of these secrets. Space around a secret is not part of it; what is then shorter than four
// bytes is ignored.
func NewRedactor(secrets ...string) *Redactor {
	inAnswers := formsOfAll(secrets, shortestInAnswers)
	var long []string
	for _, secret := range secrets {
		secret = strings.TrimSpace(secret)
		if len(secret) >= 2*shortestInAnswers && !strings.ContainsAny(secret[:shortestInAnswers], "/: ") { // paths, addresses and words begin alike
			long = append(long, secret)
		}
	}
	return &Redactor{known: replacer(formsOfAll(secrets, shortestSecret)), inAnswers: replacer(inAnswers), marks: newMarks(inAnswers), long: long}
}

// formsOfAll lists the forms of the secrets, the longest first.
func formsOfAll(secrets []string, shortest int) (forms []string) {
	for _, secret := range secrets {
		for _, s := range []string{secret, strings.TrimSpace(secret)} {
			if len(strings.TrimSpace(s)) >= shortest {
				forms = append(forms, formsOf(s)...)
			}
		}
	}
	// The longest first, so that no form leaves the end of a longer one behind; the rest of the order only makes it fixed.
	slices.SortFunc(forms, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	return slices.Compact(forms)
}

func replacer(forms []string) *strings.Replacer {
	var pairs []string
	for _, form := range forms {
		pairs = append(pairs, form, Redacted)
	}
	return strings.NewReplacer(pairs...)
}

func formsOf(secret string) []string {
	raw := []byte(secret)
	forms := []string{secret, url.QueryEscape(secret), url.PathEscape(secret)}
	for _, escaped := range forms[1:] {
		forms = append(forms, lowerPercents(escaped))
	}
	for _, quoted := range []string{jsonString(secret, true), jsonString(secret, false), strconv.Quote(secret), strconv.QuoteToASCII(secret)} {
		forms = append(forms, quoted[1:len(quoted)-1], strings.ReplaceAll(quoted[1:len(quoted)-1], "/", `\/`))
	}
	forms = append(forms, hex.EncodeToString(raw), strings.ToUpper(hex.EncodeToString(raw)))
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		forms = append(forms, encoding.EncodeToString(raw))
	}
	return append(forms, base64Cores(raw)...)
}

// base64Cores returns what the base64 form of any text that holds the secret must hold: for each of the three places
// modulo 3 where the secret may begin, the digits that depend on the secret alone.
func base64Cores(secret []byte) []string {
	const shortest = 8 // digits: less might stand in a text by chance
	var cores []string
	for before := range 3 {
		padded := append(make([]byte, before), secret...)
		skip := (before*8 + 5) / 6 // digits that depend on what stands before
		end := len(padded) * 8 / 6 // digits that do not depend on what follows
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			if core := encoding.EncodeToString(padded)[skip:end]; len(core) >= shortest {
				cores = append(cores, core)
			}
		}
	}
	return cores
}

var percent = regexp.MustCompile(`%[0-9A-F]{2}`)

func lowerPercents(s string) string { return percent.ReplaceAllStringFunc(s, strings.ToLower) }

func jsonString(s string, escapeHTML bool) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(escapeHTML)
	if err := enc.Encode(s); err != nil {
		return strconv.Quote(s)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

var (
	urlUser  = regexp.MustCompile(`\b([A-Za-z][A-Za-z0-9+.-]*://)[^\s/?#"'<>]*@`)
	urlQuery = regexp.MustCompile(`\b([A-Za-z][A-Za-z0-9+.-]*://[^\s?#"'<>]*\?)[^\s#"'<>]+`)
)

// String returns s without secrets, nor what of one stands in s from its beginning on. A text in which one is broken over lines, or escaped
// as no known form is, is left out whole.
func (r *Redactor) String(s string) string {
	if r == nil {
		return s
	}
	s = r.known.Replace(s)
	if r.Holds([]byte(s)) {
		return Redacted
	}
	for _, secret := range r.long {
		s = withoutBeginning(s, secret)
	}
	if strings.Contains(s, "://") {
		s = urlUser.ReplaceAllString(s, "${1}"+Redacted+"@")
		s = urlQuery.ReplaceAllString(s, "${1}"+Redacted)
	}
	return s
}

// withoutBeginning takes the longest beginnings of a secret out of s that have twelve bytes or more.
func withoutBeginning(s, secret string) string {
	for from := 0; ; from += len(Redacted) {
		at := strings.Index(s[from:], secret[:shortestInAnswers])
		if at < 0 {
			return s
		}
		from += at
		n := shortestInAnswers
		for n < len(secret) && from+n < len(s) && s[from+n] == secret[n] {
			n++
		}
		s = s[:from] + Redacted + s[from+n:]
	}
}

// Answer returns what a server answered without secrets that it repeats. It is evidence: no URL in it is cut, and no secret of fewer than
// twelve bytes is taken out.
func (r *Redactor) Answer(s string) string {
	if r == nil {
		return s
	}
	return r.inAnswers.Replace(s)
}

// Error returns err without secrets in its text, nor in that of any error that it wraps. Kinds, waits and errors.Is stay;
// an error whose text had to change is no longer found by errors.As, for that would hand its text out, but an *[Error] is.
func (r *Redactor) Error(err error) error {
	if r == nil || err == nil || r.clean(err) {
		return err
	}
	if e, ok := err.(*Error); ok { //nolint:errorlint // this level only: the ones below are masked in turn
		masked := *e
		masked.Err = r.Error(e.Err)
		return &masked
	}
	list := causes(err)
	masked := maskedError{text: r.String(err.Error()), err: err}
	if _, many := err.(interface{ Unwrap() []error }); many {
		joined := &maskedErrors{maskedError: masked}
		for _, cause := range list {
			joined.causes = append(joined.causes, r.Error(cause))
		}
		return joined
	}
	if len(list) > 0 {
		masked.cause = r.Error(list[0])
	}
	return &masked
}

// clean reports whether no text in err's tree changes.
func (r *Redactor) clean(err error) bool {
	if text := err.Error(); r.String(text) != text {
		return false
	}
	return !slices.ContainsFunc(causes(err), func(cause error) bool { return !r.clean(cause) })
}

func causes(err error) []error {
	switch e := err.(type) { //nolint:errorlint // one level
	case interface{ Unwrap() error }:
		if cause := e.Unwrap(); cause != nil {
			return []error{cause}
		}
	case interface{ Unwrap() []error }:
		return slices.DeleteFunc(slices.Clone(e.Unwrap()), func(cause error) bool { return cause == nil })
	}
	return nil
}

// maskedError stands for an error whose text, or that of one it wraps, held a secret.
type maskedError struct {
	text  string
	err   error // never handed out
	cause error // what err wraps, without secrets
}

func (m *maskedError) Error() string { return m.text }

// Is keeps errors.Is for values: the sentinels of any package.
func (m *maskedError) Is(target error) bool { return errors.Is(m.err, target) }

func (m *maskedError) Unwrap() error { return m.cause }

// maskedErrors stands for an error that wraps several.
type maskedErrors struct {
	maskedError
	causes []error
}

func (m *maskedErrors) Unwrap() []error { return m.causes }
