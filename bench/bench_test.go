// Package bench measures what the design promises, on the built program and from outside: time, memory, throughput.
// See README.md for the command and for what was measured.
package bench

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// program builds the command once for a benchmark and returns its path.
func program(b *testing.B) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "culprit")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, "github.com/culprit-rag/culprit/cmd/culprit")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("building: %v\n%s", err, out)
	}
	return path
}

// usage is what one run of the program took.
type usage struct {
	wall   time.Duration
	cpu    time.Duration
	peakMB float64
	stdout string
}

// execute runs the program in dir with a cache of its own. Any exit code that a finished run has is accepted.
func execute(b *testing.B, dir, program string, args ...string) usage {
	b.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CULPRIT_CACHE="+filepath.Join(dir, "cache"))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	peak := watch(cmd.Process.Pid)
	err := cmd.Wait()
	u := usage{wall: time.Since(start), peakMB: peak()}
	if code := cmd.ProcessState.ExitCode(); err != nil && code != 3 && code != 4 {
		b.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, stderr.String())
	}
	u.cpu, u.stdout = cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime(), stdout.String()
	return u
}

// watch reads a process's peak resident memory again and again; the returned function stops it and gives the last reading
// in MB, 0 where the system has no /proc. The peak that wait reports is no use: it begins at the parent's own size.
func watch(pid int) func() float64 {
	stop, done := make(chan struct{}), make(chan float64)
	go func() {
		peak := 0.0
		for {
			if status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)); err == nil {
				if _, rest, ok := strings.Cut(string(status), "VmHWM:"); ok {
					var kib float64
					if _, err := fmt.Sscan(rest, &kib); err == nil {
						peak = max(peak, kib/1024)
					}
				}
			}
			select {
			case <-stop:
				done <- peak
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return func() float64 {
		close(stop)
		return <-done
	}
}

// words are what generated documents and queries are made of.
var words = strings.Fields("harbour ledger copper meadow signal window pepper anchor violet timber lantern marble engine ribbon saddle" +
	" thicket bramble quarry beacon kettle rudder canvas barley furnace glacier orchard pebble compass lagoon hammer")

func sentence(n, length int) string {
	var s strings.Builder
	for i := range length {
		if i > 0 {
			s.WriteByte(' ')
		}
		s.WriteString(words[(n*(i+3)+i*i+n/(i+1))%len(words)])
	}
	return s.String()
}

// corpus writes a JSONL file of n chunks of about 60 words; chunk i holds the fact "code i is v<i>".
func corpus(b *testing.B, dir string, n int) {
	b.Helper()
	var out bytes.Buffer
	for i := range n {
		fmt.Fprintf(&out, "{\"id\":\"d%d\",\"text\":\"The code of item%d is value%d. %s.\"}\n", i, i, i, sentence(i, 50))
	}
	write(b, filepath.Join(dir, "corpus.jsonl"), out.Bytes())
}

func write(b *testing.B, path string, data []byte) {
	b.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		b.Fatal(err)
	}
}

// experiment writes an experiment of that many cases. With a stochastic generator each cell is repeated.
func experiment(b *testing.B, dir string, chunks, cases, repeats int, mode string) {
	b.Helper()
	corpus(b, dir, chunks)
	embedder := ""
	if mode != "keyword" {
		embedder = "  embedder: {adapter: embedded, model: hashing, dimensions: 256}\n"
	}
	flip := ""
	if repeats > 1 {
		flip = ", flip: {rate: 0.2, to: refuse}"
	}
	write(b, filepath.Join(dir, "experiment.yaml"), fmt.Appendf(nil, `culprit: v1
name: bench
backends:
  store: {adapter: embedded, documents: corpus.jsonl}
%s  generator: {adapter: embedded, model: extractive%s}
pipeline:
  search: {mode: %s, k: 5}
  assemble: {budget: 400 words}
runs: {repeats: %d}
cases: [cases.yaml]
`, embedder, flip, mode, max(repeats, 1)))
	var out bytes.Buffer
	for i := range cases {
		n := i * 7 % chunks
		fmt.Fprintf(&out, `- id: case-%d
  query: What is the code of item%d?
  risk: investigate
  evidence: {required: [{source: d%d, span: item%d is value%d}]}
  claims: [{id: code, any: [value%d]}]
`, i, n, n, n, n, n)
	}
	write(b, filepath.Join(dir, "cases.yaml"), out.Bytes())
}

// BenchmarkColdStart is the time of `culprit version`.
func BenchmarkColdStart(b *testing.B) {
	path, dir := program(b), b.TempDir()
	execute(b, dir, path, "version")
	var total time.Duration
	for b.Loop() {
		total += execute(b, dir, path, "version").wall
	}
	b.ReportMetric(float64(total.Microseconds())/1000/float64(b.N), "ms/start")
}

// BenchmarkTravelPolicy is the shipped example from process start to written bundles, with an empty cache.
func BenchmarkTravelPolicy(b *testing.B) {
	path := program(b)
	example, err := filepath.Abs("../experiments/examples/travel-policy")
	if err != nil {
		b.Fatal(err)
	}
	var total time.Duration
	for b.Loop() {
		total += execute(b, b.TempDir(), path, "run", example).wall
	}
	b.ReportMetric(float64(total.Milliseconds())/float64(b.N), "ms/run")
}

// BenchmarkCheck is `culprit check` of 1,000 cases.
func BenchmarkCheck(b *testing.B) {
	path, dir := program(b), b.TempDir()
	experiment(b, dir, 1000, 1000, 1, "keyword")
	var total time.Duration
	for b.Loop() {
		total += execute(b, dir, path, "check", ".").wall
	}
	b.ReportMetric(float64(total.Milliseconds())/float64(b.N), "ms/check")
}

// BenchmarkTrials is a run of at least 10,000 trials, over few and over many cases: time, CPU a trial, and peak memory,
// which must be flat in the number of cases. Each case has 6 cells that generate.
func BenchmarkTrials(b *testing.B) {
	path := program(b)
	for _, size := range []struct{ cases, repeats int }{{100, 20}, {400, 5}, {2000, 1}} {
		b.Run(fmt.Sprintf("cases=%d/repeats=%d", size.cases, size.repeats), func(b *testing.B) {
			var u usage
			trials := 0
			for b.Loop() {
				dir := b.TempDir()
				experiment(b, dir, 2000, size.cases, size.repeats, "keyword")
				u = execute(b, dir, path, "run", ".", "--json")
				trials = strings.Count(u.stdout, `"D/`)*size.repeats + 2*size.cases*size.repeats
			}
			b.ReportMetric(u.peakMB, "peak-MB")
			b.ReportMetric(u.wall.Seconds(), "s/run")
			b.ReportMetric(float64(u.cpu.Microseconds())/1000/float64(trials), "cpu-ms/trial")
			b.ReportMetric(float64(trials), "planned-trials")
		})
	}
}

// BenchmarkReplay replays a folder of 1,000 bundles, each of another case: reading, deciding and holding the report against the sealed one.
func BenchmarkReplay(b *testing.B) {
	const cases = 1000
	program, dir := program(b), b.TempDir()
	experiment(b, dir, 2*cases, cases, 2, "keyword")
	execute(b, dir, program, "run", "experiment.yaml", "--results", "results")
	bundles, err := filepath.Glob(filepath.Join(dir, "results", "*", "*.bundle.zip"))
	if err != nil || len(bundles) != cases {
		b.Fatalf("%d bundles, %v", len(bundles), err)
	}
	trials := 0
	for _, path := range bundles {
		trials += lines(b, path, "observations/generations.jsonl")
	}
	for b.Loop() {
		u := execute(b, dir, program, "replay", "results")
		if want := fmt.Sprintf("%d with the bytes that were sealed", cases); !strings.Contains(u.stdout, want) {
			b.Fatalf("not %s:\n%s", want, u.stdout)
		}
		b.ReportMetric(cases/u.cpu.Seconds(), "bundles/cpu-s")
		b.ReportMetric(cases/u.wall.Seconds(), "bundles/s")
		b.ReportMetric(u.peakMB, "peak-MB")
	}
	b.ReportMetric(float64(trials)/cases, "trials/bundle")
}

// lines counts the lines of a file of a bundle.
func lines(b *testing.B, bundle, name string) int {
	b.Helper()
	z, err := zip.OpenReader(bundle)
	if err != nil {
		b.Fatal(err)
	}
	data, err := fs.ReadFile(z, name)
	if err := errors.Join(err, z.Close()); err != nil {
		b.Fatal(err)
	}
	return bytes.Count(data, []byte{'\n'})
}

// BenchmarkCorpus indexes 100,000 chunks, and then proves presence by a complete scan of the finished store.
func BenchmarkCorpus(b *testing.B) {
	const chunks = 100_000
	path := program(b)
	for _, mode := range []string{"keyword", "hybrid"} {
		b.Run(mode, func(b *testing.B) {
			for b.Loop() {
				dir := b.TempDir()
				experiment(b, dir, chunks, 1, 1, mode)
				first := execute(b, dir, path, "run", ".")
				again := execute(b, dir, path, "run", ".")
				b.ReportMetric(chunks/(first.wall-again.wall).Seconds(), "chunks/s-indexed")
				b.ReportMetric(again.wall.Seconds(), "s/run-with-full-scan")
				b.ReportMetric(first.peakMB, "peak-MB-indexing")
				b.ReportMetric(again.peakMB, "peak-MB-scanning")
			}
		})
	}
}
