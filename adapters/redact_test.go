package adapters_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/culprit-rag/culprit/adapters"
)

const canary = `sk-canary/47+"ü&`

func TestRedactorForms(t *testing.T) {
	t.Parallel()
	quoted, err := json.Marshal(canary)
	if err != nil {
		t.Fatal(err)
	}
	r := adapters.NewRedactor(canary, "another-secret", "  padded-secret\n")
	for name, secret := range map[string]string{
		"plain":                      canary,
		"the second":                 "another-secret",
		"space around it":            "padded-secret",
		"base64":                     base64.StdEncoding.EncodeToString([]byte(canary)),
		"base64 without padding":     base64.RawStdEncoding.EncodeToString([]byte(canary)),
		"base64 for URLs":            base64.URLEncoding.EncodeToString([]byte(canary)),
		"a query":                    url.QueryEscape(canary),
		"a path":                     url.PathEscape(canary),
		"lower-case percent escapes": strings.NewReplacer("%2B", "%2b", "%2F", "%2f", "%C3%BC", "%c3%bc").Replace(url.QueryEscape(canary)),
		"JSON":                       string(quoted),
		"Go":                         fmt.Sprintf("%q", canary),
		"Go in ASCII":                fmt.Sprintf("%+q", canary),
		"hexadecimal":                hex.EncodeToString([]byte(canary)),
		"upper-case hexadecimal":     fmt.Sprintf("%X", canary),
	} {
		got := r.String("before " + secret + " after")
		if strings.Contains(got, strings.Trim(secret, `"`)) || !strings.Contains(got, adapters.Redacted) {
			t.Errorf("%s: %q", name, got)
		}
		if !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") {
			t.Errorf("%s: the text around it changed: %q", name, got)
		}
	}
}

// TestRedactorTellsNoPart: what a server repeats of a key in parts is not shown either.
func TestRedactorTellsNoPart(t *testing.T) {
	t.Parallel()
	const secret = "sk-test-0123456789abcdefghij"
	r := adapters.NewRedactor(secret, "a-key-of-20-letters-", "/srv/plugins/mystore/lib")
	for text, want := range map[string]string{
		"wrong key sk-test-0123… of":                           "wrong key [redacted]… of",
		"sk-test-0123, sk-test-0123456789abcd":                 "[redacted], [redacted]",
		"wrong key sk-test-0123":                               "wrong key [redacted]",
		"/srv/plugins/other":                                   "/srv/plugins/other",
		"sk-test- is how a key begins":                         "sk-test- is how a key begins",
		"a-key-of-20-":                                         "a-key-of-20-", // more than half of a short one is not its beginning alone
		"the key\nsk-test-0123456\r\n789abcdefghij is wrong":   "[redacted]",
		"the key a-key-of-\n20-letters- is wrong":              "[redacted]",
		`the key \u0061-key-of-20-l\u0065tters\u002d is wrong`: "[redacted]",
	} {
		if got := r.String(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// TestRedactorInsideBase64 puts the secret at each place modulo 3 of a longer text, as in an Authorization header.
func TestRedactorInsideBase64(t *testing.T) {
	t.Parallel()
	const secret = "correct-horse-battery"
	r := adapters.NewRedactor(secret)
	for _, user := range []string{"", "a", "ab", "abc", "user:"} {
		for _, after := range []string{"", "z", "zz"} {
			text := base64.StdEncoding.EncodeToString([]byte(user + secret + after))
			got := r.String("Basic " + text)
			left := strings.ReplaceAll(strings.TrimPrefix(got, "Basic "), adapters.Redacted, "")
			if len(left) > len(text)-len(secret) || !strings.Contains(got, adapters.Redacted) {
				t.Errorf("user %q: %q became %q", user, text, got)
			}
		}
	}
}

func TestRedactorCutsURLs(t *testing.T) {
	t.Parallel()
	r := adapters.NewRedactor()
	for text, want := range map[string]string{
		`Get "https://example.org/v1?key=abc&x=1": dial tcp: no such host`: `Get "https://example.org/v1?[redacted]": dial tcp: no such host`,
		"https://user:pass@example.org/v1#part":                            "https://[redacted]@example.org/v1#part",
		"see <redis://:pw@db:6379/0?a=b>":                                  "see <redis://[redacted]@db:6379/0?[redacted]>",
		"is a@b.org at https://example.org/a?":                             "is a@b.org at https://example.org/a?",
		"Is 1<2? :// yes":                                                  "Is 1<2? :// yes",
	} {
		if got := r.String(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestRedactorLeavesTheRest(t *testing.T) {
	t.Parallel()
	for _, r := range []*adapters.Redactor{nil, adapters.NewRedactor(), adapters.NewRedactor("", " ", "abc", "\n")} {
		if got := r.String("abc def"); got != "abc def" {
			t.Errorf("a text without secrets became %q", got)
		}
		if err := r.Error(io.EOF); err != io.EOF { //nolint:errorlint // the very same
			t.Errorf("an error without secrets became another: %v", err)
		}
		if r.Error(nil) != nil {
			t.Error("no error became one")
		}
	}
}

func TestRedactorErrorKeepsMeaning(t *testing.T) {
	t.Parallel()
	r := adapters.NewRedactor(canary)
	inner := fmt.Errorf("header %s: %w", canary, errors.Join(context.DeadlineExceeded, io.ErrUnexpectedEOF, nil))
	err := fmt.Errorf("asking %s: %w", url.QueryEscape(canary), &adapters.Error{
		Adapter: "a", Op: "generate", Kind: adapters.KindUnauthorised, RetryAfter: time.Second, Err: inner,
	})
	got := r.Error(err)
	for _, target := range []error{context.DeadlineExceeded, io.ErrUnexpectedEOF, adapters.ErrUnauthorised} {
		if !errors.Is(got, target) {
			t.Errorf("it is no longer %v", target)
		}
	}
	if errors.Is(got, adapters.ErrNotFound) || errors.Is(got, context.Canceled) {
		t.Error("it became what it was not")
	}
	var known *adapters.Error
	if !errors.As(got, &known) || known.Kind != adapters.KindUnauthorised || known.RetryAfter != time.Second || known.Op != "generate" {
		t.Errorf("the adapter's error in it is %+v", known)
	}
	if want := "asking [redacted]: a: generate: unauthorised: header [redacted]: context deadline exceeded\nunexpected EOF"; got.Error() != want {
		t.Errorf("text\n got %q\nwant %q", got.Error(), want)
	}
	levels := 0
	everyError(got, func(err error) {
		levels++
		if text := fmt.Sprintf("%v|%s|%q|%+v", err, err, err, err); r.String(text) != text {
			t.Errorf("level %d still tells: %s", levels, text)
		}
	})
	if levels != 6 {
		t.Errorf("the chain has %d errors, want 6", levels)
	}
}

// TestRedactorErrorBelowACleanOne: a text that hides its cause must not be the way to it.
func TestRedactorErrorBelowACleanOne(t *testing.T) {
	t.Parallel()
	got := adapters.NewRedactor(canary).Error(quiet{errors.New(canary)})
	everyError(got, func(err error) {
		if strings.Contains(err.Error(), canary) {
			t.Errorf("a cause still tells: %v", err)
		}
	})
	if errors.As(got, new(quiet)) {
		t.Error("the error that leads to the secret can be had by errors.As")
	}
}

type quiet struct{ error }

func (quiet) Error() string   { return "something went wrong" }
func (q quiet) Unwrap() error { return q.error }

func everyError(err error, visit func(error)) {
	visit(err)
	switch e := err.(type) { //nolint:errorlint // level by level
	case interface{ Unwrap() error }:
		if cause := e.Unwrap(); cause != nil {
			everyError(cause, visit)
		}
	case interface{ Unwrap() []error }:
		for _, cause := range e.Unwrap() {
			everyError(cause, visit)
		}
	}
}

func FuzzRedactor(f *testing.F) {
	f.Add(canary, "text ", " text")
	f.Add("\x00\xff\xfe\xfd", "://", "?a")
	f.Add("aaaa", "aa", "aaa")
	f.Fuzz(func(t *testing.T, secret, before, after string) {
		if len(strings.TrimSpace(secret)) < 4 || strings.Contains(adapters.Redacted, secret) { // a secret that the mark itself holds cannot be told from it
			t.Skip()
		}
		r := adapters.NewRedactor(secret)
		for _, form := range []string{secret, base64.StdEncoding.EncodeToString([]byte(secret)), hex.EncodeToString([]byte(secret))} {
			if got := r.String(before + form + after); got == before+form+after {
				t.Errorf("%q is let through in %q", form, got)
			}
		}
	})
}

// A key is found however a server spells it.
func TestHoldsAnySpelling(t *testing.T) {
	t.Parallel()
	const key = "sk-Zq9+/~.sentinelKEY77=="
	r := adapters.NewRedactor(key)
	encoded := base64.StdEncoding.EncodeToString([]byte("Authorization: Bearer " + key))
	for _, text := range []string{
		key, `{"a":"sk-Zq9+\/~.sentinelKEY77=="}`, `sk-Zq9\u002b/~.sentinelKEY77==`, `sk-Zq9\u002B\/~.sentinelKEY77\u003d\u003D`, `sk-Zq9+/~.sentinelKEY77%3D=`,
		`sk-Zq9+/%7E.sentinelKEY77==`, `sk%2DZq9%2b%2f%7e%2esentinelKEY77%3d%3d`, encoded[:30] + "\n" + encoded[30:], encoded[:40] + "\r\n" + encoded[40:],
		"sk-Zq9+/~.\nsentinelKEY77==", `\u0073\u006b-Zq9+/~.sentinelKEY77==`,
	} {
		if !r.Holds([]byte("before " + text + " behind")) {
			t.Errorf("it is not found in %q", text)
		}
	}
	for _, text := range []string{"", `\`, `%`, `\u`, `\u00`, `%2`, `%zz`, `sk-Zq9+\n/~.`, "100 % of sk-Zq9", strings.Repeat(`\u0041%41`, 1000), "sk-Zq9+/~.sentinelKEY78=="} {
		if r.Holds([]byte(text)) {
			t.Errorf("it is found in %q", text)
		}
	}
}

// FuzzHolds compares the search for all forms at once with one for each.
func FuzzHolds(f *testing.F) {
	f.Add("correct-horse-battery", "before ", " after")
	f.Add("aaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaa", "b")
	f.Add(canary, "sk-canary/47", "")
	f.Fuzz(func(t *testing.T, secret, before, after string) {
		r := adapters.NewRedactor(secret)
		for _, text := range []string{before + after, before + secret + after, base64.StdEncoding.EncodeToString([]byte(before + secret + after))} {
			if got, want := r.Holds([]byte(text)), r.Answer(text) != text && !strings.Contains(secret, adapters.Redacted); got != want && (want || !strings.ContainsAny(text, "\\%\n")) && !strings.Contains(adapters.Redacted, secret) {
				t.Errorf("secret %q in %q: %t, want %t", secret, text, got, want)
			}
		}
	})
}
