package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/plugin/sdk"
)

// sentinel is the key of a place. It holds what encodings write in different ways.
func sentinel(place string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(place))
	return fmt.Sprintf(`zq%x+/~.%s==`, h.Sum64(), place)
}

var sentinelIn = regexp.MustCompile(`zq[0-9a-f]{1,16}\+/~\.([A-Z_]+)==`)

// encoded are the forms in which a key may travel.
func encoded(key string) []string {
	quoted, _ := json.Marshal(key) // a string always can
	var plain bytes.Buffer
	e := json.NewEncoder(&plain)
	e.SetEscapeHTML(false)
	_ = e.Encode(key)
	inside := func(s string) string { return strings.Trim(strings.TrimSpace(s), `"`) }
	escaped := url.QueryEscape(key)
	return []string{
		key, inside(string(quoted)), inside(plain.String()), escaped, url.PathEscape(key), regexp.MustCompile("%..").ReplaceAllStringFunc(escaped, strings.ToLower),
		hex.EncodeToString([]byte(key)), strings.ToUpper(hex.EncodeToString([]byte(key))),
		base64.StdEncoding.EncodeToString([]byte(key)), base64.RawStdEncoding.EncodeToString([]byte(key)),
		base64.URLEncoding.EncodeToString([]byte(key)), base64.RawURLEncoding.EncodeToString([]byte(key)),
	}
}

// unkept fails where a text holds a sentinel in any form, or the first half of one.
func unkept(t *testing.T, where, text string, places ...string) {
	t.Helper()
	for _, place := range places {
		for _, form := range encoded(sentinel(place)) {
			if i := strings.Index(text, form[:len(form)/2]); i >= 0 {
				t.Errorf("%s holds the key of %s: …%.300q", where, place, text[max(0, i-80):])
				return
			}
		}
	}
}

// secretive is a folder with an experiment, and an environment that holds the keys of all places.
type secretive struct {
	dir, results, cache string
	places              []string
}

func (s *secretive) env(name string) string {
	switch {
	case name == "CULPRIT_CACHE":
		return s.cache
	case slices.Contains(s.places, name):
		return sentinel(name)
	case name == "PATH":
		return os.Getenv("PATH")
	}
	return ""
}

// newSecretive writes an experiment with these backends, whose variables hold the keys of the places; more is what else its pipeline holds.
func newSecretive(t *testing.T, backends, more string, places ...string) *secretive {
	t.Helper()
	s := &secretive{dir: t.TempDir(), places: places}
	s.results, s.cache = filepath.Join(s.dir, "results"), filepath.Join(s.dir, "cache")
	write(t, filepath.Join(s.dir, "experiment.yaml"), "culprit: v1\nname: keys\nbackends:\n"+backends+`
pipeline:
  prompt: {user: "{{#context}}[{{id}}] {{text}}\n{{/context}}{{query}}"}
  generate: {temperature: 0, max_tokens: 100}
`+more+`
runs: {repeats: 2, perturbations: none}
limits: {retries: 0, timeout: 400ms}
cases:
  - {id: rules, query: When do the new rules apply?, risk: blocking, claims: [{id: day, any: [first of May]}],
     evidence: {required: [{source: a.md, span: from the first of May}]}}
`)
	return s
}

// all runs every command that reads or runs the experiment, and looks for the keys in what they say and keep.
func (s *secretive) all(t *testing.T) {
	t.Helper()
	for _, args := range [][]string{
		{"check", s.dir},
		{"plan", s.dir},
		{"plan", s.dir, "--resolved"},
		{"probe", s.dir},
		{"run", s.dir, "--results", s.results},
		{"explain", "rules", "--results", s.results, "--full"},
		{"explain", "rules", "--results", s.results, "--json"},
		{"report", "--results", s.results, "--all"},
		{"report", "--results", s.results, "--json"},
	} {
		stdout, stderr, code := invoke(t.Context(), s.env, args...)
		if code == exitInternal {
			t.Errorf("%s: %s%s", args[0], stdout, stderr)
		}
		unkept(t, args[0], stdout+stderr, s.places...)
	}
	s.kept(t)
}

// kept looks for the keys in every file below the folder.
func (s *secretive) kept(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(s.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		unkept(t, path, path+"\n"+string(data), s.places...)
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

const (
	keyedDocuments = "  store: {adapter: embedded, documents: [{id: a, source: a.md, text: The new rules apply from the first of May.}, {id: b, source: b.md, text: Trains are free on Sundays.}]}\n"
	keyedAnswers   = "  generator: {adapter: embedded}\n"
)

// TestSecretsStayHidden puts a key of its own in each place where there can be one. The server repeats it in answers, headers and errors
// of all kinds, in all forms; nothing that the program says or keeps may hold it.
func TestSecretsStayHidden(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"generator", "embedder", "reranker", "judge", "service", "tap"} {
		for _, fault := range faultsOf {
			t.Run(role+" "+fault, func(t *testing.T) {
				t.Parallel()
				path := map[string]string{"tap": "/-/culprit/"}[role]
				if path == "" {
					path = "/" + role + "/"
				}
				g := startGossip(t, path, fault)
				models := func(role, keys string) string {
					return fmt.Sprintf("  %s: {adapter: openai, base_url: %s/%s/v1, model: m, %s}\n", role, g.URL, role, keys)
				}
				var backends, more string
				places := []string{"GENERATOR", "EMBEDDER", "RERANKER", "JUDGE", "JUDGE_HEADER"}
				if role == "service" || role == "tap" {
					places = []string{"SERVICE", "SERVICE_HEADER", "TAP"}
					backends = keyedDocuments + keyedAnswers + fmt.Sprintf("  service: {adapter: remote, url: %[1]s/service/ask, api_key_env: SERVICE, headers_env: {X-Gateway-Key: SERVICE_HEADER}, tap: {url: %[1]s, key_env: TAP}}\n", g.URL)
				} else {
					backends = keyedDocuments + models("generator", "api_key_env: GENERATOR") + models("embedder", "headers_env: {X-Gateway-Key: EMBEDDER}") +
						models("judge", "api_key_env: JUDGE, headers_env: {Cookie: JUDGE_HEADER}") +
						fmt.Sprintf("  reranker: {adapter: rerank, url: %s/reranker/rerank, model: m, api_key_env: RERANKER}\n", g.URL)
					more = "  search: {mode: dense, k: 2}\n  rerank: {top: 2}\njudge: {claims: true}\n"
				}
				s := newSecretive(t, backends, more, places...)
				s.all(t)
				if fault == "" {
					if role == "generator" { // no answer is left to be judged
						places = places[:3]
					}
					g.told(t, places...)
				}
			})
		}
	}
}

// TestKeysInFilesStayHidden reads the keys from files.
func TestKeysInFilesStayHidden(t *testing.T) {
	t.Parallel()
	file := func(place string) string {
		path := filepath.Join(t.TempDir(), "key")
		write(t, path, sentinel(place)+"\n")
		return path
	}
	for _, fault := range faultsOf {
		g := startGossip(t, "/", fault)
		s := newSecretive(t, keyedDocuments+fmt.Sprintf("  generator: {adapter: openai, base_url: %s/v1, model: m, api_key_file: %s}\n", g.URL, file("GENERATOR_FILE")), "", "GENERATOR_FILE")
		s.all(t)
		g.told(t, "GENERATOR_FILE")
	}
}

// TestStoreSecretsStayHidden asks servers of stores that repeat their keys in errors.
func TestStoreSecretsStayHidden(t *testing.T) {
	t.Parallel()
	for _, fault := range faultsOf {
		if fault == "hang" { // says nothing, and the store waits long for it to be opened
			continue
		}
		t.Run("weaviate "+fault, func(t *testing.T) {
			t.Parallel()
			g := startGossip(t, "/", fault)
			for range 6 { // errors are cut at another place each time
				s := newSecretive(t, fmt.Sprintf("  store: {adapter: weaviate, address: %q, collection: Docs, api_key_env: STORE}\n", strings.TrimPrefix(g.URL, "http://"))+keyedAnswers, "", "STORE")
				s.all(t)
			}
			g.told(t, "STORE")
		})
	}
	for _, code := range []codes.Code{codes.Unauthenticated, codes.Internal, codes.Unavailable} {
		t.Run("qdrant "+code.String(), func(t *testing.T) {
			t.Parallel()
			var asked sync.Map
			server := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
				all, _ := metadata.FromIncomingContext(stream.Context())
				said := ""
				for _, values := range all {
					for _, value := range values {
						for _, place := range sentinelIn.FindAllStringSubmatch(value, -1) {
							asked.Store(place[1], true)
						}
						said += strings.Join(encoded(strings.TrimPrefix(value, "Bearer ")), " ") + " " + base64.StdEncoding.EncodeToString([]byte(value))
					}
				}
				return status.Error(code, said)
			}))
			listener := httptest.NewUnstartedServer(nil).Listener // a free port of this machine
			go func() { _ = server.Serve(listener) }()
			t.Cleanup(server.Stop)
			s := newSecretive(t, fmt.Sprintf("  store: {adapter: qdrant, address: %q, collection: docs, api_key_env: STORE, token_env: STORE_TOKEN}\n", listener.Addr())+keyedAnswers, "", "STORE", "STORE_TOKEN")
			s.all(t)
			for _, place := range s.places {
				if _, ok := asked.Load(place); !ok {
					t.Errorf("the key of %s was never sent", place)
				}
			}
		})
	}
}

// TestSecretsInSettingsAreRefused gives keys where none may stand.
func TestSecretsInSettingsAreRefused(t *testing.T) {
	t.Parallel()
	key := sentinel("LITERAL")
	for _, settings := range []string{
		"api_key: " + fmt.Sprintf("%q", key),
		fmt.Sprintf("base_url: %q", "http://user:"+url.QueryEscape(key)+"@localhost:1/v1"),
		fmt.Sprintf("base_url: %q", "http://user:"+key+"@localhost:1/v1"),
		fmt.Sprintf("base_url: %q", "http://localhost:1/v1?key="+url.QueryEscape(key)),
		fmt.Sprintf("headers: {Authorization: %q}", key),
		fmt.Sprintf("headers: {X-Api-Key: %q}", key),
	} {
		s := newSecretive(t, keyedDocuments+keyedAnswers, "", "LITERAL")
		write(t, filepath.Join(s.dir, "experiment.yaml"), "culprit: v1\nname: keys\nbackends:\n"+keyedDocuments+"  generator: {adapter: openai, model: m, "+settings+"}\ncases: [{id: rules, query: q, expect: abstain, risk: investigate}]\n")
		for _, args := range [][]string{{"check", s.dir}, {"plan", s.dir}, {"probe", s.dir}, {"run", s.dir, "--results", s.results}, {"check", s.dir, "--json"}} {
			stdout, stderr, code := invoke(t.Context(), s.env, args...)
			if code == exitOK && args[0] == "run" {
				t.Errorf("%s: %s is accepted", args[0], settings)
			}
			unkept(t, args[0]+" of "+settings[:10], stdout+stderr, "LITERAL")
		}
	}
}

// TestProxySecretsStayHidden gives the password of a proxy, which repeats it. The library reads the variables once in a process.
func TestProxySecretsStayHidden(t *testing.T) {
	t.Parallel()
	for _, fault := range faultsOf {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			proxy := startGossip(t, "/", fault)
			s := newSecretive(t, keyedDocuments+"  generator: {adapter: openai, base_url: \"http://model.invalid/v1\", model: m, api_key_env: GENERATOR}\n", "", "GENERATOR", "PROXY")
			at := strings.Replace(proxy.URL, "http://", "http://user:"+url.QueryEscape(sentinel("PROXY"))+"@", 1)
			s.process(t, "HTTP_PROXY="+at)
			proxy.told(t, "PROXY", "GENERATOR")
		})
	}
	t.Run("no URL", func(t *testing.T) {
		t.Parallel()
		s := newSecretive(t, keyedDocuments+"  generator: {adapter: openai, base_url: \"http://model.invalid/v1\", model: m, api_key_env: GENERATOR}\n", "", "GENERATOR", "PROXY")
		s.process(t, "HTTP_PROXY=http://user:"+sentinel("PROXY")+"@proxy.invalid:1")
	})
}

// process runs the program with more variables, and looks for the keys.
func (s *secretive) process(t *testing.T, variables ...string) {
	t.Helper()
	program := inPath(t, "culprit")
	for _, args := range [][]string{{"run", s.dir, "--results", s.results}, {"explain", "rules", "--results", s.results, "--full"}} {
		c := exec.CommandContext(t.Context(), program, args...)
		c.Env = append(os.Environ(), "CULPRIT_CACHE="+s.cache, "GENERATOR="+sentinel("GENERATOR"))
		c.Env = append(c.Env, variables...)
		out, err := c.CombinedOutput()
		if args[0] == "explain" && err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		unkept(t, args[0], string(out), s.places...)
	}
	s.kept(t)
}

// inPath finds a program that TestMain has made.
func inPath(t *testing.T, name string) string {
	t.Helper()
	program, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// TestTapSecretsStayHidden sends a model's server keys in each place through the tap, which records what is asked and answered.
func TestTapSecretsStayHidden(t *testing.T) {
	t.Parallel()
	places := []string{"BEARER", "BASIC", "API_KEY", "GATEWAY", "COOKIE", "X_AUTH", "QUERY", "CONTROL", "PROXY"}
	s := &secretive{places: places}
	for _, fault := range faultsOf {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			g := startGossip(t, "/", fault)
			record := filepath.Join(t.TempDir(), "prompts.jsonl")
			env := func(name string) string {
				if name == "HTTP_PROXY" { // an error may tell it, though no call to this machine takes it
					return "http://user:" + sentinel("PROXY") + "@proxy.invalid"
				}
				return s.env(name)
			}
			base, stop := startTap(t, env, "--upstream", g.URL+"/v1", "--key-env", "CONTROL", "--record", record, "--json")
			call := func(method, path, name, value string) {
				ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
				defer cancel()
				body := fmt.Sprintf(`{"model": %[1]q, "user": %[1]q, "messages": [{"role": "user", "content": %[1]q}]}`, strings.Join(encoded(value[strings.Index(value, " ")+1:]), " "))
				req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(base, "/v1")+path, strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set(name, value)
				response, err := (&http.Client{
					Transport:     &http.Transport{DisableKeepAlives: true},
					CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
				}).Do(req)
				if err == nil {
					_, _ = io.Copy(io.Discard, response.Body) // a hung answer ends by the context
					err = response.Body.Close()
				}
				if err != nil && fault != "hang" {
					t.Error(err)
				}
			}
			const chat = "/v1/chat/completions"
			call(http.MethodPost, chat, "Authorization", "Bearer "+sentinel("BEARER"))
			call(http.MethodPost, chat, "Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("user:"+sentinel("BASIC"))))
			call(http.MethodPost, chat, "Api-Key", sentinel("API_KEY"))
			call(http.MethodPost, chat, "X-Gateway-Key", sentinel("GATEWAY"))
			call(http.MethodPost, chat, "Cookie", "session="+sentinel("COOKIE"))
			call(http.MethodPost, chat, "X-Auth", sentinel("X_AUTH"))
			call(http.MethodPost, chat+"?key="+url.QueryEscape(sentinel("QUERY")), "X-Query", sentinel("QUERY"))
			call(http.MethodPost, chat, "X-Nothing", sentinel("PROXY"))
			call(http.MethodGet, "/-/culprit/v1/requests/unknown", "Authorization", "Bearer "+sentinel("CONTROL"))
			shown := stop()
			kept, err := os.ReadFile(record)
			if err != nil || len(kept) == 0 && fault != "hang" {
				t.Errorf("%v, and %d bytes are recorded", err, len(kept))
			}
			unkept(t, "tap", shown, places...)
			unkept(t, "the record", string(kept), places...)
			g.told(t, "BEARER", "BASIC", "API_KEY", "GATEWAY", "COOKIE", "X_AUTH", "QUERY")
		})
	}
}

// gossipPlugin is a generator that tells its variables to everybody; its setting "fault" says how it fails.
func gossipPlugin() {
	sdk.Serve("1.0.0", adapters.Factory{
		Name:   "gossip",
		Schema: map[adapters.Role]json.RawMessage{adapters.RoleGenerator: json.RawMessage(`{"type": "object"}`)},
		OpenGenerator: func(_ context.Context, cfg adapters.Config) (adapters.Generator, error) {
			var set struct {
				Fault string `json:"fault"`
			}
			if err := json.Unmarshal(cfg.Settings, &set); err != nil {
				return nil, err
			}
			said := strings.Repeat("x", 900) + strings.Join(encoded(os.Getenv("MINE")), " ")
			fmt.Fprintln(os.Stderr, said)
			if set.Fault == "open" {
				return nil, errors.New(said)
			}
			return gossiping{set.Fault, said}, nil
		},
	})
}

type gossiping struct{ fault, said string }

func (g gossiping) Close() error { return nil }

func (g gossiping) Describe(context.Context) (adapters.GeneratorInfo, error) {
	return adapters.GeneratorInfo{Adapter: "gossip", Model: "m " + g.said}, nil
}

func (g gossiping) Generate(context.Context, adapters.GenerateRequest) (adapters.GenerateResponse, error) {
	switch g.fault {
	case "call":
		return adapters.GenerateResponse{}, errors.New(g.said)
	case "crash":
		panic(g.said)
	}
	return adapters.GenerateResponse{Text: g.said, ModelReported: g.said, RequestID: g.said, FinishReason: g.said, Notes: []string{g.said}, Metadata: map[string]string{"a": g.said}}, nil
}

// TestPluginSecretsStayHidden gives a plugin a key of its own, which it repeats.
func TestPluginSecretsStayHidden(t *testing.T) {
	t.Parallel()
	program := inPath(t, "gossip-plugin")
	for _, fault := range []string{"", "open", "call", "crash"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			s := newSecretive(t, keyedDocuments+fmt.Sprintf("  generator: {adapter: plugin, path: %q, env: [MINE], settings: {fault: %q}}\n", program, fault), "", "MINE")
			s.all(t)
			stdout, stderr, code := invoke(t.Context(), s.env, "plugin", "test", program, "--env", "MINE", "--settings", fmt.Sprintf(`{"fault": %q}`, fault))
			if code != exitBlocked && code != exitEnvironment {
				t.Errorf("plugin test: exit code %d\n%s%s", code, stdout, stderr)
			}
			unkept(t, "plugin test", stdout+stderr, s.places...)
		})
	}
}
