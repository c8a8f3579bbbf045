package rerank

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/openai/openaitest"
)

const sentinel = "co-Sentinel+3b1f/7c9d=="

// forms are the ways in which a key may show as a whole.
func forms(key string) []string {
	return []string{
		key, url.QueryEscape(key), url.PathEscape(key), base64.StdEncoding.EncodeToString([]byte(key)), base64.RawURLEncoding.EncodeToString([]byte(key)),
		hex.EncodeToString([]byte(key)),
	}
}

// repeats is a server's answer that shows every header of the call, in every form.
func repeats(body func(text string) string) func(*http.Request) string {
	return func(r *http.Request) string {
		var all strings.Builder
		for name, values := range r.Header {
			for _, value := range values {
				fmt.Fprintf(&all, "%s: %s ", name, value)
				for _, form := range append(forms(strings.TrimPrefix(value, "Bearer ")), base64.StdEncoding.EncodeToString([]byte(value))) {
					all.WriteString(form + " ")
				}
			}
		}
		return body(all.String())
	}
}

// TestKeysStayHidden puts a key in each place where there can be one, and lets the server repeat it in errors and answers of all kinds.
func TestKeysStayHidden(t *testing.T) {
	t.Parallel()
	quote := func(s string) string {
		data, _ := json.Marshal(s)
		return string(data)
	}
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(sentinel+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	bodies := map[string]func(string) string{
		"an error":          func(s string) string { return `{"message": ` + quote(s) + `}` },
		"about a batch":     func(s string) string { return `{"error": ` + quote("batch size "+s) + `}` },
		"about texts":       func(s string) string { return "missing field `texts` " + s },
		"a web page":        func(s string) string { return "<html><title>" + s + "</title>" },
		"what is no JSON":   func(s string) string { return s },
		"no number":         func(s string) string { return `[{"index": 0, "score": NaN, "text": ` + quote(s) + `}]` },
		"what is cut in it": func(s string) string { return strings.Repeat("x", 290) + s },
		"an index":          func(s string) string { return `[{"index": ` + quote(s) + `, "score": 1}]` },
		"a score":           func(s string) string { return `[{"index": 0, "score": ` + quote(s) + `}]` },
		"an answer": func(s string) string {
			return `{"model": ` + quote(s) + `, "results": [{"index": 0, "relevance_score": 1}], "meta": {"warnings": [` + quote(s) + `]}}`
		},
	}
	for place, more := range map[string]string{
		"api_key_env":  `, "api_key_env": "SENTINEL"`,
		"api_key_file": `, "api_key_file": ` + quote(file),
		"headers_env":  `, "headers_env": {"X-Gateway-Key": "SENTINEL"}`,
	} {
		for name, body := range bodies {
			for _, status := range []int{200, 307, 401, 413, 422, 500} {
				f := openaitest.StartFake(t, openaitest.FakeOptions{})
				f.Script(openaitest.FakeReply{Status: status, Header: map[string]string{"Location": "https://u:" + url.QueryEscape(sentinel) + "@elsewhere.example/" + url.QueryEscape(sentinel)}, Echo: repeats(body)})
				r := newReranker(t, f, more)
				resp, err := r.Rerank(t.Context(), adapters.RerankRequest{Query: "a", Documents: []string{"b"}})
				hidden(t, fmt.Sprintf("%s, %s, %d", place, name, status), resp, err, r)
			}
		}
	}
}

// hidden looks for the key in all that values show.
func hidden(t *testing.T, where string, values ...any) {
	t.Helper()
	for _, v := range values {
		texts := []string{fmt.Sprintf("%v %+v %#v %s", v, v, v, v)}
		if err, ok := v.(error); ok {
			for ; err != nil; err = errors.Unwrap(err) {
				texts = append(texts, err.Error(), fmt.Sprintf("%#v", err))
			}
		}
		for _, text := range texts {
			bearer := base64.StdEncoding.EncodeToString([]byte("Bearer " + sentinel))
			for _, form := range append(forms(sentinel), bearer[12:]) {
				if strings.Contains(text, form) || strings.Contains(text, form[:len(form)-3]) {
					t.Fatalf("%s: %q stands in %.1000s", where, form, text)
				}
			}
		}
	}
}
