package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/culprit-rag/culprit/results"
)

// till is a provider that bills every request that reaches it, but for those that it refuses. What it answers depends on the request alone, and
// one in five answers is wrong.
type till struct {
	*httptest.Server
	delay time.Duration
	fails func(n int, id string) int // the status of what it does not answer; 0: it answers. nil: it answers all

	mu    sync.Mutex
	asked int
	bills []string // the idempotency key of each request
	texts []string // that it embedded, those of a request one after the other
	open  int      // connections
	hook  func(n int)
}

func newTill(t *testing.T, delay time.Duration) *till {
	t.Helper()
	p := &till{delay: delay}
	p.Server = httptest.NewUnstartedServer(http.HandlerFunc(p.serve))
	p.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		p.mu.Lock()
		defer p.mu.Unlock()
		switch state { //nolint:exhaustive // the others are between these
		case http.StateNew:
			p.open++
		case http.StateClosed:
			p.open--
		}
	}
	p.Start()
	t.Cleanup(p.Close)
	return p
}

// quiet waits until what an ended process has sent is read and billed: a connection that it had opened may not be accepted yet.
func (p *till) quiet(t *testing.T) {
	t.Helper()
	for since, until := time.Now(), time.Now().Add(30*time.Second); time.Since(since) < 20*time.Millisecond; time.Sleep(time.Millisecond) {
		p.mu.Lock()
		open := p.open
		p.mu.Unlock()
		if open > 0 {
			since = time.Now()
		}
		if time.Now().After(until) {
			t.Fatalf("%d connections of a process that has ended are open", open)
		}
	}
}

func (p *till) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // it never came whole
	}
	p.mu.Lock()
	id, status := r.Header.Get("Idempotency-Key"), 0
	if p.asked++; p.fails != nil {
		status = p.fails(p.asked, id)
	}
	if status != http.StatusTooManyRequests {
		p.bills = append(p.bills, id)
	}
	n, hook := len(p.bills), p.hook
	p.mu.Unlock()
	if hook != nil {
		hook(n)
	}
	time.Sleep(p.delay)
	if status != 0 {
		w.WriteHeader(status)
		return
	}
	var ask struct {
		Input    []string `json:"input"` // of an embedder
		Seed     int64    `json:"seed"`
		Messages []struct {
			Content string `json:"content"`
		} `json:"messages"`
	}
	err = json.Unmarshal(body, &ask)
	if err == nil && len(ask.Input) > 0 {
		p.mu.Lock()
		p.texts = append(p.texts, ask.Input...)
		p.mu.Unlock()
		vectors := make([]string, len(ask.Input))
		for i, text := range ask.Input {
			vectors[i] = fmt.Sprintf(`{"object": "embedding", "index": %d, "embedding": [1, %d, 0.5]}`, i, len(text))
		}
		fmt.Fprintf(w, `{"object": "list", "model": "e", "data": [%s], "usage": {"prompt_tokens": 9, "total_tokens": 9}}`, strings.Join(vectors, ","))
		return
	}
	if err != nil || len(ask.Messages) == 0 {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	text := "The cap is 40 euros a day."
	if (ask.Seed+int64(len(ask.Messages[0].Content)))%5 == 0 {
		text = "The cap is 55 euros a day."
	}
	fmt.Fprintf(w, `{"id": "chatcmpl-%d", "object": "chat.completion", "created": %d, "model": "m", "choices": [{"index": 0, "message": {"role": "assistant", "content": %q}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 20, "completion_tokens": 7, "total_tokens": 27}}`, n, 1767225600+n, text)
}

func (p *till) billed() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.bills)
}

// shop is an experiment of some cases, each of which asks the till for repeats answers to A and to B.
func shop(t *testing.T, p *till, cases, repeats, concurrency int) string {
	t.Helper()
	dir := t.TempDir()
	var text strings.Builder
	fmt.Fprintf(&text, `culprit: v1
name: shop
backends:
  store:
    adapter: embedded
    documents: [{id: d1, text: "The cap for lunch is 40 euros a day."}, {id: d2, text: "Dinner has no cap of euros a day."}]
  generator: {adapter: openai, base_url: "%s/v1", model: m}
pipeline: {search: {mode: keyword, k: 1}}
limits: {concurrency: %d, retries: 0}
runs: {perturbations: none, repeats: %d, repairs: false}
cases:
`, p.URL, concurrency, repeats)
	for i := range cases {
		fmt.Fprintf(&text, `  - id: case-%02d
    query: "What is the cap for lunch, question %d?"
    risk: investigate
    evidence: {required: [{source: d1, span: 40 euros}]}
    claims: [{id: cap, any: ["40 euros"]}]
`, i, i)
	}
	if err := os.WriteFile(filepath.Join(dir, "shop.yaml"), []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// derived is what must be the same however often a run was ended: by case the plan, the features, the evaluation and the digest of the
// observations, and what is made of all of them.
func derived(t *testing.T, folder string, id results.ExecutionID) map[string]string {
	t.Helper()
	out := map[string]string{}
	s, err := results.ReadSummary(folder, id)
	if err != nil {
		t.Fatal(err)
	}
	if s.Rebuilt {
		t.Errorf("execution %s has no summary", id)
	}
	s.Execution, s.Bundles, s.WallMS, s.Taken, s.Warnings = "20261129T200000Z-k3f9qa", "", 0, nil, nil
	for i := range s.Cases {
		c := &s.Cases[i]
		b, err := results.Open(filepath.Join(folder, id.String(), filepath.Base(c.Bundle)))
		if err != nil {
			t.Fatal(err)
		}
		m := b.Manifest
		out[c.ID] = strings.Join([]string{m.Status, m.Digests.Plan, m.Digests.Evaluation, m.Digests.Observation, m.Digests.Pins}, " ")
		for _, f := range m.Files {
			if f.Path == "features.json" {
				out[c.ID] += " " + f.SHA256
			}
		}
		c.Bundle, c.Totals = "", results.Totals{} // a call that was in doubt counts among them
	}
	out["generations"], s.Totals = strconv.Itoa(s.Totals.Generation), results.Totals{}
	summary, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	out["summary"] = string(summary)
	return out
}

func only(t *testing.T, folder string) results.ExecutionID {
	t.Helper()
	ids, err := results.Executions(folder)
	if err != nil || len(ids) != 1 {
		t.Fatalf("executions %v, %v", ids, err)
	}
	return ids[0]
}

// account is what the journals of an execution say of its calls of the generator, by the id that the provider was told.
type account struct {
	announced map[string]int // tries: one that was in doubt and is made again has the same id
	told      map[string]int // of which an outcome tells that they may have to be paid for
	unpaid    int            // of which one tells that they need not
	doubts    map[string]int // of which nothing tells
}

func sum(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// accountOf reads the journals of the bundles of an execution.
func accountOf(t *testing.T, folder string, id results.ExecutionID) account {
	t.Helper()
	c := account{announced: map[string]int{}, told: map[string]int{}, doubts: map[string]int{}}
	bundles, err := results.Bundles(folder, id)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range bundles {
		j, err := results.ReadJournal(path)
		if err != nil {
			t.Fatal(err)
		}
		open, again := map[string]string{}, map[string]string{} // the id of the try that is under way, and of the one that is made again
		for _, r := range j.Records {
			if r.From != "" || r.Type == results.RecordIntent && r.Call.Step != "generate" {
				continue
			}
			key := r.CallKey
			switch r.Type {
			case results.RecordIntent:
				if open[key] != "" {
					t.Errorf("%s: call %s is announced while it is under way", path, key)
				}
				if open[key] = again[key]; open[key] == "" {
					open[key] = results.TryID(id, key, r.Attempt)
				}
				delete(again, key)
				c.announced[open[key]]++
			case results.RecordResult, results.RecordFailure:
				if open[key] == "" {
					continue // of another step
				}
				switch {
				case r.Unmade: // it was announced, and no call of it
					c.announced[open[key]]--
				case r.Spent.Calls > 0:
					c.told[open[key]]++
				default:
					c.unpaid++
				}
				delete(open, key)
			case results.RecordInDoubt:
				c.doubts[open[key]]++
				again[key] = open[key]
				delete(open, key)
			}
		}
		if len(open) > 0 {
			t.Errorf("%s: nothing tells what came of %d calls", path, len(open))
		}
	}
	return c
}

// settle holds what the provider billed to what the program says: request by request, and in the sums of the summary and the ledger.
func (p *till) settle(t *testing.T, folder string, id results.ExecutionID) {
	t.Helper()
	c, billed := accountOf(t, folder, id), map[string]int{}
	p.mu.Lock()
	for _, id := range p.bills {
		billed[id]++
	}
	p.mu.Unlock()
	reached := 0 // of those in doubt
	for id, n := range billed {
		extra := n - c.told[id]
		if extra < 0 || extra > c.doubts[id] {
			t.Errorf("request %q was billed %d times; of its tries %d are known to be paid, and %d are in doubt", id, n, c.told[id], c.doubts[id])
		}
		reached += extra
	}
	for id, n := range c.told {
		if billed[id] < n {
			t.Errorf("request %q was billed %d times, and %d tries are said to be paid", id, billed[id], n)
		}
	}
	s, err := results.ReadSummary(folder, id)
	if err != nil {
		t.Fatal(err)
	}
	l, err := results.ReadLedger(folder)
	if err != nil {
		t.Fatal(err)
	}
	end := l.Records[len(l.Records)-1]
	if end.Type != results.LedgerEnd || end.Execution != id || end.Paid != s.Totals.Paid || end.InDoubt != s.Totals.InDoubt || end.Calls != s.Totals.Calls {
		t.Errorf("the ledger ends with %+v, and the summary says %+v", end, s.Totals)
	}
	if bill := sum(billed); bill != end.Paid+reached || end.Paid != sum(c.told) || end.InDoubt != sum(c.doubts) || s.Totals.Generation != sum(c.told)+c.unpaid {
		t.Errorf("%d were billed; the ledger counts %d paid and %d in doubt, of which %d reached the provider; the journals %d paid, %d unpaid and %d in doubt; %d generations",
			bill, end.Paid, end.InDoubt, reached, sum(c.told), c.unpaid, sum(c.doubts), s.Totals.Generation)
	}
	t.Logf("%d billed = %d paid + %d of %d in doubt; %d announced, %d unpaid", sum(billed), end.Paid, reached, end.InDoubt, sum(c.announced), c.unpaid)
}

func announced(t *testing.T, folder string, id results.ExecutionID) (tries, doubts int) {
	t.Helper()
	c := accountOf(t, folder, id)
	return sum(c.announced), sum(c.doubts)
}

// killedAfter runs the program and kills it when it has made so many calls. It returns the exit code, -1 where it was killed.
func (p *till) killedAfter(t *testing.T, dir string, calls int, args ...string) (code int, stderr string) {
	t.Helper()
	at := make(chan struct{})
	var once sync.Once
	p.mu.Lock()
	before := len(p.bills)
	p.hook = func(n int) {
		if n >= before+calls {
			once.Do(func() { close(at) })
		}
	}
	p.mu.Unlock()
	run := start(t, dir, nil, args...)
	ended := make(chan struct{})
	go func() {
		select {
		case <-at:
			_ = run.cmd.Process.Kill() // it may have ended
		case <-ended:
		}
	}()
	code = run.wait(t)
	close(ended)
	p.quiet(t)
	if code == exitHeld && p.billed() > before {
		t.Errorf("%d calls were made without a word", p.billed()-before)
	}
	return code, run.stderr.String()
}

// undecided are the ids of the calls in doubt that the program lists.
func (p *till) undecided(t *testing.T, dir, name string) (ids []string) {
	t.Helper()
	stdout, stderr, code := invoke(t.Context(), os.Getenv, "resume", "--list", "--json", "--results", filepath.Join(dir, name))
	var list unfinished
	if err := json.Unmarshal([]byte(stdout), &list); code != exitOK || err != nil || len(list.Executions) != 1 {
		t.Fatalf("exit code %d, %v: %s%s", code, err, stdout, stderr)
	}
	for _, u := range list.Executions[0].Left.Undecided {
		ids = append(ids, u.ID)
	}
	return ids
}
