package plugin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/plugin"
)

// setting changes one setting of the adapter itself.
func setting(name string, value any) func(map[string]any) {
	return func(all map[string]any) { all[name] = value }
}

func openGenerator(t *testing.T, cfg adapters.Config) adapters.Generator {
	t.Helper()
	g, err := plugin.Factory().OpenGenerator(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return g
}

func say(ctx context.Context, g adapters.Generator, text string) (string, error) {
	response, err := g.Generate(ctx, adapters.GenerateRequest{Messages: []adapters.Message{{Role: "user", Text: text}}})
	return response.Text, err
}

// holds checks the kind of an error and parts of its text.
func holds(t *testing.T, err error, kind adapters.Kind, parts ...string) {
	t.Helper()
	if err == nil || adapters.KindOf(err) != kind {
		t.Fatalf("%v, want an error of kind %q", err, kind)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error %q does not hold %q", err, part)
		}
	}
	if strings.ContainsAny(err.Error(), "\x1b\n") {
		t.Errorf("the error %q would act on a terminal", err)
	}
}

func TestAPluginThatCannotBeStarted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	soon := setting("start_timeout", "500ms")
	path := func(p string) func(map[string]any) { return setting("path", p) }
	for name, tt := range map[string]struct {
		plugin string
		change func(map[string]any)
		kind   adapters.Kind
		want   []string
	}{
		"missing":               {"rig", path("./no/such/plugin"), adapters.KindInvalid, []string{"setting backends.generator.path", "no/such/plugin", "build it"}},
		"not in PATH":           {"rig", path("no-such-program-anywhere"), adapters.KindInvalid, []string{"setting backends.generator.path", "in PATH", "./no-such-program-anywhere"}},
		"a folder":              {"rig", path(dir), adapters.KindInvalid, []string{"setting backends.generator.path", "is a folder"}},
		"not executable":        {"rig", path(file("script.sh", "#!/bin/sh\n", 0o600)), adapters.KindInvalid, []string{"setting backends.generator.path", "chmod +x", "script.sh"}},
		"no program":            {"rig", path(file("text", "hello\n", 0o700)), adapters.KindInvalid, []string{"setting backends.generator.path", "text", "no program for this system"}},
		"no interpreter":        {"rig", path(file("py", "#!/no/such/python\n", 0o700)), adapters.KindInvalid, []string{"py", "interpreter is missing"}},
		"silent":                {"silent", soon, adapters.KindTimeout, []string{"of backends.generator.path prints no handshake line within backends.generator.start_timeout"}},
		"dies":                  {"dies", nil, adapters.KindPermanent, []string{"of backends.generator.path", "exit status 7", "no licence for this machine", "standard error"}},
		"prints something else": {"chatty", nil, adapters.KindPermanent, []string{"of backends.generator.path", "Loading model...", "log to standard error"}},
		"lacks a package": {
			"rig", path(file("lacks.sh", "#!/bin/sh\necho \"ModuleNotFoundError: No module named 'grpc'\" >&2\nexit 1\n", 0o700)), adapters.KindPermanent,
			[]string{"lacks.sh", "This Python lacks grpcio, grpcio-status and protobuf", ".venv/bin/python"},
		},
		"lacks a module": {
			"rig", path(file("module.sh", "#!/bin/sh\necho \"ModuleNotFoundError: No module named 'numpy'\" >&2\nexit 1\n", 0o700)), adapters.KindPermanent,
			[]string{`lacks the module "numpy"`},
		},
		"shakes hands and listens nowhere": {
			"rig", path(file("dead.sh", "#!/bin/sh\necho '1|1|tcp|127.0.0.1:1|grpc'\nexec sleep 100\n", 0o700)), adapters.KindTransient,
			[]string{"dead.sh", "cannot be used", "asking it what it is"},
		},
		"prints without an end": {"unending", nil, adapters.KindPermanent, []string{"more than 8192 bytes"}},
		"another version":       {"raw", setting("args", []string{"plugin:raw", "7"}), adapters.KindUnsupported, []string{"another version", "Plugin version: 7", "than 1"}},
		"a false version":       {"raw", setting("args", []string{"plugin:raw", "no"}), adapters.KindPermanent, []string{"cannot be used"}},
		"no certificate":        {"raw", setting("mtls", "on"), adapters.KindPermanent, []string{"mtls", "auto"}},
		"hangs in open":         {"rig", func(m map[string]any) { m["start_timeout"] = "10s"; m["settings"] = map[string]any{"open": "hang"} }, adapters.KindTimeout, []string{"does not open within backends.generator.start_timeout", "waiting for a lock"}},
		"crashes in open":       {"rig", setting("settings", map[string]any{"open": "crash"}), adapters.KindTransient, []string{"panic: no index"}},
		"refuses":               {"rig", setting("settings", map[string]any{"open": "refuse"}), adapters.KindUnauthorised, []string{"the key is not accepted"}},
		"wrong settings": {
			"rig", setting("settings", map[string]any{"lie": 3, "count": "x", "other": true}), adapters.KindInvalid,
			[]string{"backends.generator.settings.lie", "backends.generator.settings.count", "other"},
		},
		"a missing variable":  {"rig", setting("env", []string{"CULPRIT_NO_SUCH_VARIABLE"}), adapters.KindInvalid, []string{"setting backends.generator.env", "CULPRIT_NO_SUCH_VARIABLE"}},
		"a reserved variable": {"rig", setting("env", []string{"PLUGIN_CLIENT_CERT"}), adapters.KindInvalid, []string{"setting backends.generator.env", "PLUGIN_CLIENT_CERT"}},
		"another sum":         {"rig", setting("checksum", "sha256:"+strings.Repeat("0", 64)), adapters.KindInvalid, []string{"backends.generator.checksum says sha256:000", "its sum is sha256:"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			change := tt.change
			if change == nil {
				change = func(map[string]any) {}
			}
			g, err := plugin.Factory().OpenGenerator(t.Context(), as(t, tt.plugin, nil, change))
			if err == nil {
				_ = g.Close()
			}
			holds(t, err, tt.kind, tt.want...)
		})
	}
}

func TestCheckOfSettings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "program"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	registry, err := adapters.NewRegistry(plugin.Factory())
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		settings, says string
		later          bool
	}{
		{`{"path": "./program"}`, "", false},
		{`{"path": "./nix"}`, `there is no program "./nix": build it before a run`, true},
		{`{"path": "no-such-program-anywhere"}`, `there is no program "no-such-program-anywhere" in PATH`, true},
		{`{"path": "./folder"}`, "is a folder: name the program", false},
		{`{"path": "./program", "env": ["PATH"]}`, `setting backends.store.env holds "PATH", which Culprit sets itself`, false},
	} {
		got := registry.Check(adapters.RoleStore, plugin.Name, adapters.Config{Settings: json.RawMessage(test.settings), Dir: dir})
		switch {
		case test.says == "":
			if got != nil {
				t.Errorf("%s: %v", test.settings, got)
			}
		case len(got) != 1 || !strings.Contains(got[0].Error(), test.says) || got[0].Later != test.later:
			t.Errorf("%s: %v, want %q", test.settings, got, test.says)
		}
	}
}

func TestARoleThatThePluginDoesNotPlay(t *testing.T) {
	t.Parallel()
	_, err := openPluginStore(t, as(t, "onlymodel", nil))
	holds(t, err, adapters.KindUnsupported, "serves no store", "generator")
}

func TestSumsOfScripts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := filepath.Join(dir, "plugin.sh")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(script, fmt.Appendf(nil, "exec %s plugin:rig\n", self), 0o600); err != nil {
		t.Fatal(err)
	}
	sum, err := plugin.Sum(script)
	if err != nil {
		t.Fatal(err)
	}
	shell, err := plugin.Sum("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	open := func(checksum any) error {
		cfg := as(t, "rig", nil, setting("path", "sh"), setting("args", []string{"plugin.sh"}), setting("checksum", checksum))
		cfg.Dir = dir
		g, err := plugin.Factory().OpenGenerator(t.Context(), cfg)
		if err == nil {
			err = g.Close()
		}
		return err
	}
	if err := open(map[string]string{"plugin.sh": sum}); err != nil {
		t.Errorf("with the sum of the script: %v", err)
	}
	holds(t, open(shell), adapters.KindInvalid, "plugin.sh", "may be code", sum)
	if err := os.WriteFile(script, fmt.Appendf(nil, "# changed\nexec %s plugin:rig\n", self), 0o600); err != nil {
		t.Fatal(err)
	}
	holds(t, open(map[string]string{"plugin.sh": sum}), adapters.KindInvalid, "plugin.sh", sum, "pins")
	holds(t, open(map[string]string{"other.sh": sum}), adapters.KindInvalid, "other.sh")
}

func TestAPluginThatDiesIsStartedAgain(t *testing.T) {
	t.Parallel()
	g := openGenerator(t, as(t, "rig", nil))
	for range 2 * 3 { // an answer in between starts the count again
		_, err := say(t.Context(), g, "crash")
		holds(t, err, adapters.KindTransient, "the plugin exited", "panic: index out of range")
		if !errors.Is(err, plugin.ErrPluginExited) {
			t.Errorf("%v is not ErrPluginExited", err)
		}
		if text, err := say(t.Context(), g, "hello"); err != nil || text != "echo hello" {
			t.Fatalf("after the crash: %q, %v", text, err)
		}
	}
	for range 3 {
		_, err := say(t.Context(), g, "exit")
		holds(t, err, adapters.KindTransient, "exit status 3")
	}
	_, err := say(t.Context(), g, "hello")
	holds(t, err, adapters.KindPermanent, "the plugin exited 3 times", "not started again")
	if !errors.Is(err, plugin.ErrPluginExited) {
		t.Errorf("%v is not ErrPluginExited", err)
	}
}

func TestAPluginThatHangsIsLeft(t *testing.T) {
	t.Parallel()
	g := openGenerator(t, as(t, "rig", nil))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := say(ctx, g, "hang")
	holds(t, err, adapters.KindTimeout)
	if text, err := say(t.Context(), g, "hello"); err != nil || text != "echo hello" {
		t.Errorf("the next call: %q, %v", text, err)
	}
}

func TestAFrozenPluginIsEndedByForce(t *testing.T) {
	t.Parallel()
	g, err := plugin.Factory().OpenGenerator(t.Context(), as(t, "rig", nil))
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	text, err := say(t.Context(), g, "pid")
	if _, scanErr := fmt.Sscan(text, &pid); err != nil || scanErr != nil {
		t.Fatal(err, scanErr)
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := g.Close(); err != nil {
		t.Errorf("closing: %v", err)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d is there: %v", pid, err)
	}
}

func TestAFloodOfOutputHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"rig", "raw"} {
		g := openGenerator(t, as(t, name, nil))
		for range 2 {
			if text, err := say(t.Context(), g, "flood"); err != nil || text != "flooded" {
				t.Errorf("%s: %q, %v", name, text, err)
			}
		}
	}
}

func TestCloseCutsCallsShort(t *testing.T) {
	t.Parallel()
	g := openGenerator(t, as(t, "rig", nil))
	failed := make(chan error)
	go func() {
		_, err := say(t.Context(), g, "wait")
		failed <- err
	}()
	if _, err := say(t.Context(), g, "hello"); err != nil {
		t.Fatal(err)
	}
	if err := g.Close(); err != nil {
		t.Errorf("closing: %v", err)
	}
	if err := <-failed; !errors.Is(err, adapters.ErrClosed) {
		t.Errorf("%v is not ErrClosed", err)
	}
}

func TestAPluginSeesLittle(t *testing.T) {
	t.Setenv("CULPRIT_TEST_KEY", "sk-4417")
	t.Setenv("CULPRIT_TEST_OTHER", "sk-other-9921")
	for _, mtls := range []string{"auto", "off"} {
		g := openGenerator(t, as(t, "rig", nil, setting("env", []string{"CULPRIT_TEST_KEY", "HOME"}), setting("mtls", mtls)))
		text, err := say(t.Context(), g, "environment")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text, "CULPRIT_TEST_KEY=sk-4417") || strings.Contains(text, "sk-other") {
			t.Errorf("the environment is\n%s", text)
		}
		for line := range strings.Lines(text) {
			name, _, found := strings.Cut(line, "=")
			if found && !strings.HasPrefix(name, "PLUGIN_") && strings.ToUpper(name) == name {
				switch name {
				case "PATH", "HOME", "TMPDIR", "CULPRIT_PLUGIN", "CULPRIT_TEST_KEY":
				default:
					t.Errorf("the plugin sees %s", name)
				}
			}
		}
		if text, err := say(t.Context(), g, "stdin"); err != nil || text != `"" <nil>` {
			t.Errorf("standard input: %s, %v", text, err)
		}
		for _, word := range []string{"leak", "leave"} {
			_, err := say(t.Context(), g, word+" sk-4417")
			if err == nil || strings.Contains(err.Error(), "4417") || !strings.Contains(err.Error(), adapters.Redacted) {
				t.Errorf("%s: %v", word, err)
			}
		}
	}
}

func TestNothingIsLeftBehind(t *testing.T) {
	t.Parallel()
	g := openGenerator(t, as(t, "rig", nil))
	folder, err := say(t.Context(), g, "folder")
	if err != nil {
		t.Fatal(err)
	}
	child, err := say(t.Context(), g, "child")
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Close(); err != nil {
		t.Errorf("closing: %v", err)
	}
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("the folder %s is there: %v", folder, err)
	}
	// The child is nobody's, so that it may stay as a zombie until whoever adopted it has waited for it.
	for {
		status, err := os.ReadFile(filepath.Join("/proc", child, "stat"))
		if err != nil || strings.Contains(string(status), ") Z ") {
			return
		}
		if t.Context().Err() != nil {
			t.Fatalf("the child %s is there: %s", child, status)
		}
	}
}

func TestAnswersThatAreNotUTF8(t *testing.T) {
	t.Parallel()
	s := openLiar(t, "utf8")
	_, err := s.Search(t.Context(), adapters.SearchRequest{Mode: "keyword", Query: "x", Limit: 3})
	holds(t, err, adapters.KindPermanent, "UTF-8")
	response, err := openLiar(t, "").Search(t.Context(), adapters.SearchRequest{Mode: "keyword", Query: "caf\xe9", Limit: 3})
	if err != nil || len(response.Hits) != 3 {
		t.Errorf("a query that is not UTF-8: %+v, %v", response, err)
	}
}

func openLiar(t *testing.T, lie string) adapters.VectorStore {
	t.Helper()
	s, err := openPluginStore(t, as(t, "rig", map[string]any{"lie": lie}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestAStoreThatLies(t *testing.T) {
	t.Parallel()
	search := func(req adapters.SearchRequest) func(context.Context, adapters.VectorStore) error {
		req.Mode, req.Query = "keyword", "x"
		if req.Limit == 0 {
			req.Limit = 3
		}
		return func(ctx context.Context, s adapters.VectorStore) error {
			_, err := s.Search(ctx, req)
			return err
		}
	}
	scan := func(ctx context.Context, s adapters.VectorStore) error {
		_, err := s.Scan(ctx, adapters.ScanRequest{}, func(adapters.Item) error { return nil })
		return err
	}
	plain := search(adapters.SearchRequest{})
	for lie, tt := range map[string]struct {
		call func(context.Context, adapters.VectorStore) error
		want string // empty: no error
	}{
		"":              {plain, ""},
		"limit":         {search(adapters.SearchRequest{Limit: 2}), "3 hits for a limit of 2"},
		"twice":         {plain, `"a" is ranked twice`},
		"order":         {plain, "does not come before"},
		"tie":           {plain, "equal scores are ordered by id"},
		"rank":          {plain, "has the rank 7"},
		"score":         {plain, "+Inf"},
		"id":            {plain, "no id"},
		"cap":           {plain, "caps a limit of 3 at 1000"},
		"exact":         {search(adapters.SearchRequest{Exact: true}), "declares exact searches"},
		"refuses":       {search(adapters.SearchRequest{Exact: true}), "its capabilities declare what was asked for"},
		"only":          {search(adapters.SearchRequest{Only: []string{"b"}}), "restricted to"},
		"scanned twice": {scan, `"a" is scanned twice`},
		"nameless":      {scan, "item 2 of the scan has no id"},
		"report":        {scan, "reports 2 items of 3, and 3 came"},
		"count": {func(ctx context.Context, s adapters.VectorStore) error {
			_, err := s.Describe(ctx)
			return err
		}, "counts -1 items"},
		"fetch": {func(ctx context.Context, s adapters.VectorStore) error {
			_, err := s.Fetch(ctx, adapters.FetchRequest{IDs: []string{"c", "a"}})
			return err
		}, "not asked for"},
	} {
		t.Run(lie, func(t *testing.T) {
			t.Parallel()
			err := tt.call(t.Context(), openLiar(t, lie))
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			holds(t, err, adapters.KindPermanent, "breaks the contract", tt.want)
		})
	}
	_, err := openPluginStore(t, as(t, "rig", map[string]any{"lie": "mode"}))
	holds(t, err, adapters.KindPermanent, "breaks the contract", "fuzzy")
}

func TestModelsThatLie(t *testing.T) {
	t.Parallel()
	for lie, want := range map[string]string{
		"few": "1 vectors for 2 texts", "uneven": "dimensions", "empty": "0 dimensions", "nan": "NaN", "truncated": "text 9 of 2", "tokens": "-1 tokens",
	} {
		e, err := plugin.Factory().OpenEmbedder(t.Context(), as(t, "rig", map[string]any{"lie": lie}))
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.Embed(t.Context(), adapters.EmbedRequest{Texts: []string{"a", "b"}, Purpose: adapters.ForQuery})
		_ = e.Close()
		holds(t, err, adapters.KindPermanent, "breaks the contract", want)
	}
	for lie, want := range map[string]string{"index": "document 2 of 2", "twice": "two scores for document 0"} {
		r, err := plugin.Factory().OpenReranker(t.Context(), as(t, "rig", map[string]any{"lie": lie}))
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.Rerank(t.Context(), adapters.RerankRequest{Query: "q", Documents: []string{"a", "b"}})
		_ = r.Close()
		holds(t, err, adapters.KindPermanent, "breaks the contract", want)
	}
	g := openGenerator(t, as(t, "rig", nil))
	_, err := say(t.Context(), g, "unfinished")
	holds(t, err, adapters.KindPermanent, "breaks the contract", "finish reason")
	_, err = g.Generate(t.Context(), adapters.GenerateRequest{Messages: []adapters.Message{{Role: "user"}}, Format: &adapters.Format{Name: "x"}})
	holds(t, err, adapters.KindUnsupported, "formats")
}
