package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/culprit-rag/culprit/results"
)

// standin is an OpenAI-compatible endpoint that answers every chat after a fixed time, no two in the same words, and counts.
type standin struct {
	*httptest.Server
	calls, connections atomic.Int64
	open, most         atomic.Int64 // calls under way, and the most at once
}

func newStandin(b *testing.B, latency time.Duration) *standin {
	b.Helper()
	s := &standin{}
	type caller struct {
		due    time.Time
		answer chan struct{}
	}
	callers := make(chan caller, 4096) // all take as long, so that they are answered in the order in which they came
	go func() {
		for c := range callers {
			sleep(time.Until(c.due))
			close(c.answer)
		}
	}()
	const answer = `{"id":"chatcmpl-%d","object":"chat.completion","created":1,"model":"stand-in-2026-01-01","system_fingerprint":"fp_1",` +
		`"choices":[{"index":0,"message":{"role":"assistant","content":"The code is not given. I don't know. (%d)"},"finish_reason":"stop"}],` +
		`"usage":{"prompt_tokens":400,"completion_tokens":9,"total_tokens":409}}`
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := s.calls.Add(1)
		open := s.open.Add(1)
		defer s.open.Add(-1)
		for most := s.most.Load(); open > most && !s.most.CompareAndSwap(most, open); most = s.most.Load() {
		}
		c := caller{time.Now().Add(latency), make(chan struct{})}
		callers <- c
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		<-c.answer
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, answer, n, n)
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.connections.Add(1)
		}
	}
	s.Start()
	b.Cleanup(func() {
		s.Close() // which waits for the last answer
		close(callers)
	})
	return s
}

// loads are how many calls there are at once, and what each takes. 256 calls at once of 50 ms are 5,120 a second, more than two cores can
// make; with 500 ms they are as many as 26 of 50 ms.
var loads = []struct {
	concurrency int
	latency     time.Duration
}{{32, 50 * time.Millisecond}, {256, 50 * time.Millisecond}, {256, 500 * time.Millisecond}}

// BenchmarkGenerateBare is the floor of [BenchmarkGenerate]: clients of net/http that send a prompt again and again and read the answers,
// and look at nothing. CPU is that of client and stand-in together.
func BenchmarkGenerateBare(b *testing.B) {
	const rounds = 40
	body := fmt.Appendf(nil, `{"model":"stand-in-2026-01-01","messages":[{"role":"user","content":%q}]}`, sentence(1, 350))
	for _, load := range loads {
		b.Run(fmt.Sprintf("concurrency=%d/latency=%v", load.concurrency, load.latency), func(b *testing.B) {
			s := newStandin(b, load.latency)
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: load.concurrency}}
			defer client.CloseIdleConnections()
			for b.Loop() {
				before, start := spent(), time.Now()
				var group errgroup.Group
				for range load.concurrency {
					group.Go(func() error {
						for range rounds {
							if err := post(b.Context(), client, s.URL, body); err != nil {
								return err
							}
						}
						return nil
					})
				}
				if err := group.Wait(); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(time.Since(start).Seconds()/(rounds*load.latency.Seconds()), "×ideal")
				b.ReportMetric(float64((spent()-before).Microseconds())/1000/float64(rounds*load.concurrency), "cpu-ms/call")
			}
		})
	}
}

func post(ctx context.Context, client *http.Client, url string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return errors.Join(err, resp.Body.Close())
}

// spent is the CPU time of this process so far, 0 where the system has no /proc.
func spent() time.Duration {
	stat, _ := os.ReadFile("/proc/self/stat")
	_, behind, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(behind)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * time.Second / 100 // Linux counts these in hundredths of a second
}

// BenchmarkGenerate is a run of more than 10,000 generations against the stand-in: the time by calls × latency / concurrency, CPU a
// call of the program and of the stand-in, peak memory, how many connections were opened, and the latency that the bundles report.
func BenchmarkGenerate(b *testing.B) {
	path := program(b)
	for _, load := range loads {
		b.Run(fmt.Sprintf("concurrency=%d/latency=%v", load.concurrency, load.latency), func(b *testing.B) {
			for b.Loop() {
				s := newStandin(b, load.latency)
				dir := b.TempDir()
				experiment(b, dir, 2000, 340, 5, "keyword")
				text, err := os.ReadFile(filepath.Join(dir, "experiment.yaml"))
				if err != nil {
					b.Fatal(err)
				}
				from, _, _ := strings.Cut(string(text), "  generator:")
				write(b, filepath.Join(dir, "experiment.yaml"), fmt.Appendf(nil, `%s  generator: {adapter: openai, base_url: %q, model: stand-in-2026-01-01}
pipeline:
  search: {mode: keyword, k: 5}
  assemble: {budget: 400 words}
runs: {repeats: 5}
limits: {concurrency: %d}
cases: [cases.yaml]
`, from, s.URL+"/v1", load.concurrency))
				before := spent()
				u := execute(b, dir, path, "run", ".", "--json")
				served := spent() - before
				calls := float64(s.calls.Load())
				ideal := calls * load.latency.Seconds() / float64(load.concurrency)
				b.ReportMetric(calls, "calls")
				b.ReportMetric(u.wall.Seconds(), "s/run")
				b.ReportMetric(u.wall.Seconds()/ideal, "×ideal")
				b.ReportMetric(float64(u.cpu.Microseconds())/1000/calls, "cpu-ms/call")
				b.ReportMetric(float64(served.Microseconds())/1000/calls, "stand-in-cpu-ms/call")
				b.ReportMetric(u.peakMB, "peak-MB")
				b.ReportMetric(float64(s.connections.Load()), "connections")
				b.ReportMetric(float64(s.most.Load()), "most-at-once")
				middle, slow := reported(b, dir)
				b.ReportMetric(middle, "ms-reported-median")
				b.ReportMetric(slow, "ms-reported-p99")
			}
		})
	}
}

// reported reads the latencies of generations out of the bundles.
func reported(b *testing.B, dir string) (median, p99 float64) {
	b.Helper()
	bundles, err := filepath.Glob(filepath.Join(dir, "culprit-results", "*", "*.bundle.zip"))
	if err != nil || len(bundles) == 0 {
		b.Fatalf("no generations are recorded: %v", err)
	}
	var all []int
	for _, bundle := range bundles {
		data, err := results.ReadFile(bundle, "observations/generations.jsonl")
		if err != nil {
			b.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			var trial struct {
				MS int `json:"latency_ms"`
			}
			if err := json.Unmarshal(line, &trial); err != nil {
				b.Fatal(err)
			}
			if trial.MS > 0 { // the others were not run
				all = append(all, trial.MS)
			}
		}
	}
	if len(all) == 0 {
		b.Fatal("no latency is recorded")
	}
	slices.Sort(all)
	return float64(all[len(all)/2]), float64(all[len(all)*99/100])
}
