package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/embedded"
	"github.com/culprit-rag/culprit/results"
)

// panicking is a generator of elsewhere that makes a mistake in one of its calls, and names in it what it was asked and its key.
type panicking struct {
	adapters.Generator
	calls atomic.Int64
	at    int64 // 0: never
	key   string
}

func (g *panicking) Describe(ctx context.Context) (adapters.GeneratorInfo, error) {
	info, err := g.Generator.Describe(ctx)
	info.Local, info.Deterministic = false, false
	return info, err
}

func (g *panicking) Generate(ctx context.Context, req adapters.GenerateRequest) (adapters.GenerateResponse, error) {
	if g.calls.Add(1) == g.at {
		panic("asking " + req.Messages[0].Text + " with " + g.key)
	}
	return g.Generator.Generate(ctx, req)
}

// TestPanic: a panic on the goroutine of a call ends the run as an error does. What was answered is kept and gone on with, and nothing of
// what was asked is shown.
func TestPanic(t *testing.T) {
	t.Parallel()
	const key = "a-long-key-that-nobody-is-shown"
	for _, test := range []struct {
		name string
		args []string
		at   int64
	}{
		{"in the first case", nil, 3},
		{"in a pool", nil, 12},
		{"as JSON", []string{"--json"}, 12},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newTill(t, 0)
			dir := shop(t, p, 4, 5, 3)
			path := filepath.Join(dir, "shop.yaml")
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			text = bytes.Replace(text, []byte(`{adapter: openai, base_url: "`+p.URL+`/v1", model: m}`), []byte("{adapter: wild}"), 1)
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			g := &panicking{at: test.at, key: key}
			program := func(args ...string) (stdout, stderr string, code int) {
				wild := embedded.Factory()
				open := wild.OpenGenerator
				wild.Name, wild.OpenStore, wild.OpenReranker, wild.OpenEmbedder = "wild", nil, nil, nil
				wild.OpenGenerator = func(ctx context.Context, cfg adapters.Config) (adapters.Generator, error) {
					g.Generator, err = open(ctx, cfg)
					return g, err
				}
				registry, err := adapters.NewRegistry(embedded.Factory(), wild)
				if err != nil {
					t.Fatal(err)
				}
				env := func(name string) string {
					if name == "CULPRIT_CACHE" {
						return filepath.Join(dir, "cache")
					}
					return ""
				}
				var out, errs bytes.Buffer
				a := &app{out: stream{Writer: &out}, err: stream{Writer: &errs}, env: env, registry: registry}
				code = a.main(t.Context(), append(args, "--results", filepath.Join(dir, "results")))
				return out.String(), errs.String(), code
			}
			stdout, stderr, code := program(slices.Concat([]string{"run", path}, test.args)...)
			if code != exitInternal {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			folder := filepath.Join(dir, "results")
			isIn(t, "standard error", stderr, "culprit made a mistake and gave up (a panic): a value of the type string", "(*panicking).Generate (panic_test.go:",
				" of 4 cases are finished and kept in ", "go on with: culprit resume "+only(t, folder).String())
			for _, canary := range []string{key, "What is the cap", "euros a day"} {
				if strings.Contains(stderr, canary) {
					t.Errorf("it shows %q: %s", canary, stderr)
				}
			}
			if test.args != nil {
				said := struct {
					Error errorRecord `json:"error"`
				}{}
				lines := strings.Split(strings.TrimSpace(stderr), "\n")
				if err := json.Unmarshal([]byte(lines[len(lines)-1]), &said); err != nil || len(said.Error.Stack) == 0 || said.Error.Exit != exitInternal {
					t.Errorf("%v: %+v; standard output %s", err, said, stdout)
				}
			}
			l, err := results.ReadLedger(folder)
			if err != nil {
				t.Fatal(err)
			}
			// The call that it happened in has no outcome.
			if end := l.Records[len(l.Records)-1]; end.Type != results.LedgerEnd || end.Stopped != results.StoppedError || end.InDoubt != 1 || int64(end.Paid) != g.calls.Load()-1 {
				t.Errorf("the ledger ends with %+v, of %d calls", end, g.calls.Load())
			}
			g.at = 0
			if _, stderr, code := program("resume"); code != exitHeld || strings.Count(stderr, ": generate by wild") != 1 {
				t.Errorf("exit code %d: %s", code, stderr)
			}
			if _, stderr, code := program("resume", "--in-doubt", "retry"); code != exitOK {
				t.Errorf("exit code %d: %s", code, stderr)
			}
			if want := int64(4*5*2) + 1; g.calls.Load() != want {
				t.Errorf("%d calls were made, want %d", g.calls.Load(), want)
			}
		})
	}
}
