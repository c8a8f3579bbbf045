package adapters_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/adapters"
)

const longKey = "zq81/correct+horse~battery=="

// TestWriterMasksAcrossWrites writes each form of a key in pieces of every length.
func TestWriterMasksAcrossWrites(t *testing.T) {
	t.Parallel()
	r := adapters.NewRedactor(longKey)
	for _, form := range []string{longKey, hex.EncodeToString([]byte(longKey)), base64.StdEncoding.EncodeToString([]byte("user:" + longKey + "zz"))} {
		text := "before " + form + " after\n"
		for size := 1; size <= len(text); size++ {
			var out bytes.Buffer
			w := adapters.NewWriter(&out, func() *adapters.Redactor { return r })
			for rest := text; rest != ""; {
				n := min(size, len(rest))
				if wrote, err := w.Write([]byte(rest[:n])); err != nil || wrote != n {
					t.Fatal(wrote, err)
				}
				rest = rest[n:]
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			got := out.String()
			if r.Holds([]byte(got)) || !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after\n") || !strings.Contains(got, adapters.Redacted) {
				t.Fatalf("in pieces of %d: %q became %q", size, text, got)
			}
		}
	}
}

// TestWriterPassesOnTheRest: nothing is held back that cannot be a key, and nothing is lost that was held back.
func TestWriterPassesOnTheRest(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	known := (*adapters.Redactor)(nil)
	w := adapters.NewWriter(&out, func() *adapters.Redactor { return known })
	steps := []struct {
		write, out string
	}{
		{longKey, longKey}, // not read yet
		{"plain\n", longKey + "plain\n"},
		{"ends with zq8", longKey + "plain\nends with "},
		{"no key\n", longKey + "plain\nends with zq8no key\n"},
		{"zq81/corr", longKey + "plain\nends with zq8no key\n"},
	}
	for i, step := range steps {
		if i == 1 {
			known = adapters.NewRedactor(longKey, "short")
		}
		if _, err := fmt.Fprint(w, step.write); err != nil || out.String() != step.out {
			t.Fatalf("after %q: %q, want %q (%v)", step.write, out.String(), step.out, err)
		}
	}
	if err := w.Flush(); err != nil || !strings.HasSuffix(out.String(), "zq81/corr") {
		t.Errorf("%v: what waited is lost: %q", err, out.String())
	}
}

func TestRedactorHolds(t *testing.T) {
	t.Parallel()
	r := adapters.NewRedactor(longKey, "ollama")
	for _, user := range []string{"", "a", "ab", "abc"} {
		for _, text := range []string{
			user + longKey, hex.EncodeToString([]byte(user + longKey)), strings.ToUpper(hex.EncodeToString([]byte(longKey))),
			base64.StdEncoding.EncodeToString([]byte(user + longKey + "z")), base64.RawURLEncoding.EncodeToString([]byte(user + longKey)),
			"zq81%2Fcorrect%2Bhorse~battery%3D%3D", "zq81%2fcorrect%2bhorse~battery%3d%3d", `"zq81/correct+horse~battery=="`,
		} {
			if !r.Holds([]byte("x " + text + " y")) {
				t.Errorf("%q is not found", text)
			}
		}
	}
	for _, text := range []string{"", "ollama", longKey[1:], longKey[:len(longKey)-1], "[redacted]"} {
		if r.Holds([]byte(text)) {
			t.Errorf("%q is taken for a key", text)
		}
	}
	if (*adapters.Redactor)(nil).Holds([]byte(longKey)) {
		t.Error("nobody knows a key, and it is found")
	}
}

// BenchmarkHolds searches a text for four keys.
func BenchmarkHolds(b *testing.B) {
	var keys []string
	for i := range 4 {
		keys = append(keys, fmt.Sprintf("%s-%d", longKey, i))
	}
	r := adapters.NewRedactor(keys...)
	text := []byte(strings.Repeat(`{"rank":1,"id":"travel-2026","text":"sha256:0123456789abcdef","score":"0.87"} Business class may be booked for flights of ten hours. `, 2000))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if r.Holds(text) {
			b.Fatal("found")
		}
	}
}
