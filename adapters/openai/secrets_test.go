package openai

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

const sentinel = "sk-Sentinel+3b1f/7c9d=="

// forms are the ways in which a key may show as a whole.
func forms(key string) []string {
	return []string{
		key, url.QueryEscape(key), url.PathEscape(key), base64.StdEncoding.EncodeToString([]byte(key)), base64.RawURLEncoding.EncodeToString([]byte(key)),
		hex.EncodeToString([]byte(key)),
	}
}

// repeats is a server's answer that shows every header of the call, in every form, whole and where texts are cut.
func repeats(body func(text string) string) func(*http.Request) string {
	return func(r *http.Request) string {
		var all strings.Builder
		for name, values := range r.Header {
			for _, value := range values {
				key := strings.TrimPrefix(value, "Bearer ")
				fmt.Fprintf(&all, "%s: %s ", name, value)
				for _, form := range append(forms(key), base64.StdEncoding.EncodeToString([]byte(value))) {
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
		"an error": func(s string) string { return `{"error": {"message": ` + quote(s) + `, "code": ` + quote(s) + `}}` },
		"a text":   func(s string) string { return `{"error": ` + quote(s) + `}` },
		"a refusal": func(s string) string {
			return `{"error": {"message": ` + quote("temperature is not supported: "+s) + `}}`
		},
		"a web page":        func(s string) string { return "<html><title>" + s + "</title>" },
		"what is no JSON":   func(s string) string { return s },
		"what is other":     func(s string) string { return `{"headers": ` + quote(s) + `}` },
		"what is cut in it": func(s string) string { return strings.Repeat("x", 290) + s },
		"an answer": func(s string) string {
			return `{"id": ` + quote(s) + `, "model": ` + quote(s) + `, "system_fingerprint": ` + quote(s) + `, "provider": ` + quote(s) + `, "choices": [{"message": {"content": ` + quote(s) + `, "refusal": ` + quote(s) + `}, "finish_reason": ` + quote(s) + `}]}`
		},
		"vectors": func(s string) string {
			return `{"model": ` + quote(s) + `, "data": [{"index": 0, "embedding": [1, 0]}]}`
		},
	}
	for place, more := range map[string]string{
		"api_key_env":  `, "api_key_env": "SENTINEL"`,
		"api_key_file": `, "api_key_file": ` + quote(file),
		"headers_env":  `, "headers_env": {"X-Gateway-Key": "SENTINEL"}`,
		"azure":        `, "api_key_env": "SENTINEL", "azure": {"deployment": "d"}`,
	} {
		for name, body := range bodies {
			for _, status := range []int{200, 307, 400, 401, 500} {
				f := openaitest.StartFake(t, openaitest.FakeOptions{})
				f.Script(openaitest.FakeReply{Status: status, Header: map[string]string{"Location": "https://u:" + url.QueryEscape(sentinel) + "@elsewhere.example/" + url.QueryEscape(sentinel)}, Echo: repeats(body)})
				cfg := fakeConfig(f, more)
				cfg.Secrets.Env = func(string) (string, bool) { return sentinel, true }
				g, err := openGenerator(t.Context(), cfg)
				if err != nil {
					t.Fatal(err)
				}
				e, err := openEmbedder(t.Context(), cfg)
				if err != nil {
					t.Fatal(err)
				}
				req := full()
				response, failure := g.Generate(t.Context(), req)
				vectors, other := e.Embed(t.Context(), adapters.EmbedRequest{Texts: []string{"a"}, Purpose: adapters.ForQuery})
				hidden(t, place+", "+name, response, vectors, failure, other, g, e)
				g.Close()
				e.Close()
			}
		}
	}
}

// hidden looks for the key in all that values show.
func hidden(t *testing.T, where string, values ...any) {
	t.Helper()
	for _, v := range values {
		texts := []string{fmt.Sprintf("%v %+v %#v %s", v, v, v, v)}
		if data, err := json.Marshal(v); err == nil {
			texts = append(texts, string(data))
		}
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

// TestKeysThatCannotBeRead names the setting and the variable, before any call.
func TestKeysThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for settings, says := range map[string]string{
		`{"model": "m"}`: `backends.generator.api_key_env names the variable "OPENAI_API_KEY", which is not set`,
		`{"model": "m", "base_url": "http://localhost:1/v1", "api_key_env": "MY_KEY"}`:                 `the variable "MY_KEY", which is not set`,
		`{"model": "m", "base_url": "http://localhost:1/v1", "api_key_file": "/nowhere/key"}`:          "api_key_file",
		`{"model": "m", "base_url": "http://localhost:1/v1", "headers_env": {"X-Gateway": "GATE"}}`:    `header "X-Gateway"`,
		`{"model": "m", "base_url": "http://localhost:1/v1", "api_key_env": "A", "api_key_file": "b"}`: "name one place",
	} {
		_, err := openGenerator(t.Context(), adapters.Config{Settings: json.RawMessage(settings), Secrets: &adapters.Secrets{}})
		checkError(t, err, adapters.KindInvalid, says)
	}
	// A server of one's own is asked without a key, and never with OpenAI's.
	asked := false
	g, err := openGenerator(t.Context(), adapters.Config{
		Settings: json.RawMessage(`{"model": "m", "base_url": "http://localhost:1/v1"}`),
		Secrets:  &adapters.Secrets{Env: func(name string) (string, bool) { asked = asked || name == "OPENAI_API_KEY"; return sentinel, true }},
	})
	if err != nil || asked {
		t.Errorf("%v; a key was read: %t", err, asked)
	}
	g.Close()
}
