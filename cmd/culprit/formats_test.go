package main

import (
	"encoding/json"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var (
	// formats are the forms that an answer or a file may have, as its first bytes tell.
	formats = []string{"text/plain; charset=utf-8", "application/zip", "application/octet-stream"} // JSON is text, and so is the fence of Markdown; an index is octets
	// mediaTypes are those that a bundle may list.
	mediaTypes = []string{"application/json", "application/jsonl", "application/octet-stream", "application/yaml", "text/plain"}
	// fileNames are those of the files that may be written.
	fileNames = regexp.MustCompile(`^(.*\.bundle\.zip|.*\.bundle\.zip\.dsse\.json|.*\.evaluation\.replay\.json|execution\.json|ledger\.jsonl|index\.sqlite)$`)
)

// Attacks 1, 6 and 7: no HTML, no JUnit and no CSV is written, and no flag asks for any. Whoever adds a form of output adds the attack on
// it to docs/attacks.md, with its test, and then the form to these lists.
func TestAttackOtherFormats(t *testing.T) {
	t.Parallel()
	for _, c := range commandsBelow(newRoot(t)) {
		others := regexp.MustCompile(`(?i)\b(html|junit|xml|[ct]sv|pdf|svg|sarif|xlsx?|format)\b`)
		texts := []string{c.Short, c.Long}
		c.Flags().VisitAll(func(f *pflag.Flag) { texts = append(texts, f.Name, f.Usage) })
		for _, text := range texts {
			if says := others.FindString(text); says != "" && c.Name()+" "+says != "judge CSV" { // which it reads
				t.Errorf("%s speaks of %q, and no attack on that is tried: %q", c.CommandPath(), says, text)
			}
		}
	}
	dir := hostileExperiment(t)
	out := filepath.Join(t.TempDir(), "results")
	look := func(args ...string) {
		t.Helper()
		stdout, stderr, code := invoke(t.Context(), func(string) string { return "" }, append(args, "--results", out)...)
		if code == exitUsage || code == exitInternal {
			t.Errorf("%q: exit code %d: %s", args, code, stderr)
		}
		for _, text := range []string{stdout, stderr} {
			if form := http.DetectContentType([]byte(text)); form != formats[0] {
				t.Errorf("%q prints %s: %.100q", args, form, text)
			}
		}
	}
	for range 2 {
		look("run", dir, "--all")
	}
	key := privateKey(t)
	for _, m := range [][]string{nil, {"--json"}} {
		for _, args := range [][]string{
			{"report", "--all"},
			{"explain", "lunch"},
			{"explain", "lunch", "--why-not", "generate/ignored-evidence"},
			{"diff", "--all"},
			{"history"},
			{"history", "lunch"},
			{"verify", out},
			{"sign", out, "--key", key},
			{"replay", out, "--write"},
			{"redact", out, "--out", filepath.Join(out, "redacted")},
		} {
			look(append(args, m...)...)
		}
	}
	look("diff", "--markdown")
	look("explain", "lunch", "--full")
	look("index", "rebuild")
	seen := 0
	err := filepath.WalkDir(out, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		seen++
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if form := http.DetectContentType(data); !fileNames.MatchString(e.Name()) || !slices.Contains(formats, form) {
			t.Errorf("%s is written, and is %s", path, form)
		}
		if !strings.HasSuffix(path, ".bundle.zip") {
			return nil
		}
		var m struct {
			Files []struct {
				Path string `json:"path"`
				Type string `json:"media_type"`
			} `json:"files"`
		}
		if err := json.Unmarshal(members(t, path)["manifest.json"], &m); err != nil {
			return err
		}
		for _, f := range m.Files {
			if !slices.Contains(mediaTypes, f.Type) {
				t.Errorf("%s holds %s, which is said to be %s", path, f.Path, f.Type)
			}
		}
		return nil
	})
	if err != nil || seen < 15 {
		t.Errorf("%d files: %v", seen, err)
	}
}

func newRoot(t *testing.T) *cobra.Command {
	t.Helper()
	registry, err := builtIn()
	if err != nil {
		t.Fatal(err)
	}
	return (&app{registry: registry}).root()
}

func commandsBelow(c *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		all = append(all, commandsBelow(sub)...)
	}
	return all
}

// Attack 24: nothing is sent to anybody who collects telemetry, however loudly the environment asks for it, and no part of the program
// could.
func TestAttackTelemetry(t *testing.T) {
	t.Parallel()
	deps, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	exporter := regexp.MustCompile(`(?i)(telemetry|otel|otlp|jaeger|zipkin|prometheus|statsd|sentry|datadog|newrelic|honeycomb|posthog|segmentio|expvar)`)
	if found := exporter.FindAllString(string(deps), -1); found != nil || !strings.Contains(string(deps), "google.golang.org/grpc\n") {
		t.Errorf("the program has %q: %s", found, deps)
	}
	collector, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int64
	served := make(chan struct{})
	go func() {
		defer close(served)
		for {
			c, err := collector.Accept()
			if err != nil {
				return
			}
			asked.Add(1)
			_ = c.Close() // it is to say nothing
		}
	}()
	stop := func() {
		_ = collector.Close()
		<-served
	}
	defer stop()
	host, port, _ := net.SplitHostPort(collector.Addr().String())
	env := []string{
		"OTEL_SDK_DISABLED=false", "OTEL_TRACES_EXPORTER=otlp", "OTEL_METRICS_EXPORTER=otlp", "OTEL_LOGS_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
		"STATSD_HOST=" + host, "STATSD_PORT=" + port, "DD_AGENT_HOST=" + host, "DD_TRACE_AGENT_PORT=" + port, "SENTRY_DSN=http://key@" + collector.Addr().String() + "/1",
	}
	for _, name := range []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT",
		"OTEL_EXPORTER_ZIPKIN_ENDPOINT", "OTEL_EXPORTER_JAEGER_ENDPOINT", "DD_TRACE_AGENT_URL", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy",
	} {
		env = append(env, name+"=http://"+collector.Addr().String())
	}
	p := newTill(t, 0)
	dir := shop(t, p, 2, 3, 2)
	for _, args := range [][]string{{"run", "shop.yaml"}, {"run", "shop.yaml"}, {"report"}, {"diff"}, {"history"}, {"explain", "no-such"}, {"run", "none.yaml"}} {
		one := startIn(t, dir, nil, env, args...)
		if code := one.wait(t); code != exitOK && code != exitUsage {
			t.Errorf("%q: exit code %d: %s", args, code, one.stderr.String())
		}
	}
	if p.billed() == 0 {
		t.Error("nobody was asked anything")
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("%d connections came to the collector", n)
	}
	// It does listen.
	c, err := net.DialTimeout("tcp", collector.Addr().String(), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = c.Read(make([]byte, 1)) // until it is closed
	if err := c.Close(); err != nil || asked.Load() != 1 {
		t.Errorf("the collector heard %d of 1: %v", asked.Load(), err)
	}
}
