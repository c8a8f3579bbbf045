package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/culprit-rag/culprit/results"
)

// till is a provider that bills every request that reaches it. What it answers depends on the request alone, and one in five answers is
// wrong.
type till struct {
	*httptest.Server
	delay time.Duration

	mu    sync.Mutex
	bills []string // the idempotency key of each request
	hook  func(n int)
}

func newTill(t *testing.T, delay time.Duration) *till {
	t.Helper()
	p := &till{delay: delay}
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(p.Close)
	return p
}

func (p *till) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // it never came whole
	}
	p.mu.Lock()
	p.bills = append(p.bills, r.Header.Get("Idempotency-Key"))
	n, hook := len(p.bills), p.hook
	p.mu.Unlock()
	if hook != nil {
		hook(n)
	}
	time.Sleep(p.delay)
	var ask struct {
		Seed     int64 `json:"seed"`
		Messages []struct {
			Content string `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &ask); err != nil || len(ask.Messages) == 0 {
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
		c.Bundle, c.Totals = "", results.Totals{} // a call that was in doubt counts twice
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

// generateCalls counts the tries that the journals of an execution announce, and how many of them were in doubt.
func announced(t *testing.T, folder string, id results.ExecutionID) (tries, doubts int) {
	t.Helper()
	bundles, err := results.Bundles(folder, id)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range bundles {
		j, err := results.ReadJournal(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range j.Records {
			switch {
			case r.Type == results.RecordIntent && r.From == "" && r.Call.Step == "generate":
				tries++
			case r.Type == results.RecordInDoubt:
				doubts++
			}
		}
	}
	return tries, doubts
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
	if code == exitHeld && p.billed() > before {
		t.Errorf("%d calls were made without a word", p.billed()-before)
	}
	return code, run.stderr.String()
}

// TestKilledAndResumed kills a run of 400 calls at random moments, again and again, and goes on with it. What it ends with is what a run
// that nobody disturbed ends with; every request that the provider billed was announced; and no call was made twice but those that were
// listed as in doubt before.
func TestKilledAndResumed(t *testing.T) {
	t.Parallel()
	p := newTill(t, 2*time.Millisecond)
	dir := shop(t, p, 10, 20, 8)
	whole := start(t, dir, nil, "run", "shop.yaml", "--results", "whole")
	if code := whole.wait(t); code != exitOK {
		t.Fatalf("exit code %d: %s", code, whole.stderr.String())
	}
	planned := p.billed()
	want := derived(t, filepath.Join(dir, "whole"), only(t, filepath.Join(dir, "whole")))
	if planned < 400 {
		t.Fatalf("%d calls are planned", planned)
	}
	wanted, err := strconv.Atoi(os.Getenv(manyKills))
	if err != nil {
		wanted = 1
	}
	for round, kills := 0, 0; kills < wanted; round++ {
		kills += p.killOften(t, dir, fmt.Sprintf("killed-%d", round), planned, want)
		t.Logf("%d kills so far", kills)
	}
}

// manyKills is the variable that says how often TestKilledAndResumed kills at the least. A long test:
//
//	CULPRIT_TEST_KILLS=1000 go test -timeout 60m -run TestKilledAndResumed ./cmd/culprit
const manyKills = "CULPRIT_TEST_KILLS"

// killOften makes one run of many processes, and returns how many of them were killed.
func (p *till) killOften(t *testing.T, dir, name string, planned int, want map[string]string) (kills int) {
	t.Helper()
	p.mu.Lock()
	p.bills = nil
	p.mu.Unlock()
	folder, listed := filepath.Join(dir, name), 0
	for args := []string{"run", "shop.yaml", "--results", name, "--fresh"}; ; {
		code, stderr := p.killedAfter(t, dir, 1+rand.IntN(40), args...)
		if code == exitOK {
			break
		}
		args = []string{"resume", "--results", name}
		switch code {
		case -1:
			kills++
		case exitHeld: // it was asked to go on, and does not know how
			listed += strings.Count(stderr, ": generate by openai m at ")
			args = append(args, "--in-doubt", "retry")
		default:
			t.Fatalf("exit code %d: %s", code, stderr)
		}
	}
	if kills < 5 {
		t.Fatalf("it was killed %d times", kills)
	}
	id := only(t, folder)
	bundles, err := results.Bundles(folder, id)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range bundles {
		if stdout, stderr, code := invoke(t.Context(), os.Getenv, "verify", path); code != exitOK {
			t.Errorf("verify: exit code %d: %s%s", code, stdout, stderr)
		}
	}
	tries, doubts := announced(t, folder, id)
	got := derived(t, folder, id)
	t.Logf("%d kills, %d planned, %d billed, %d announced, %d in doubt, %d listed", kills, planned, p.billed(), tries, doubts, listed)
	if listed < doubts {
		t.Errorf("%d calls were in doubt, and %d of them listed", doubts, listed)
	}
	if p.billed() > tries || p.billed() < planned || tries != planned+doubts {
		t.Errorf("%d calls are planned, %d were billed, %d announced, %d of these in doubt", planned, p.billed(), tries, doubts)
	}
	seen := map[string]bool{}
	for _, key := range p.bills {
		if key == "" {
			t.Error("a request bears no idempotency key")
		}
		seen[key] = true
	}
	if len(seen) != planned {
		t.Errorf("%d keys, and %d calls are planned", len(seen), planned)
	}
	if got["generations"] != strconv.Itoa(tries) {
		t.Errorf("the summary counts %s generations, and the journals %d", got["generations"], tries)
	}
	got["generations"] = want["generations"]
	for name := range want {
		if diff := cmp.Diff(want[name], got[name]); diff != "" {
			t.Errorf("%s (-undisturbed +resumed):\n%s", name, diff)
		}
	}
	return kills
}

// Another process is not let at a run that is under way, nor at its cases.
func TestSecondProcess(t *testing.T) {
	t.Parallel()
	dir := slow(t, "60s")
	p := start(t, dir, nil, "run", "slow.yaml")
	p.appear(t, filepath.Join(dir, "culprit-results/.work/*/two/journal.jsonl"))
	for _, args := range [][]string{{"resume"}, {"resume", "--seal"}, {"resume", "--drop"}} {
		second := start(t, dir, nil, args...)
		if code := second.wait(t); code != exitUsage {
			t.Errorf("%q: exit code %d", args, code)
		}
		isIn(t, "standard error", second.stderr.String(), fmt.Sprintf("another process works on it (pid %d, host ", p.cmd.Process.Pid))
	}
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.wait(t)
	if drop := start(t, dir, nil, "resume", "--drop"); drop.wait(t) != exitOK {
		t.Error(drop.stderr.String())
	}
	if left, err := results.Unfinished(filepath.Join(dir, "culprit-results")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// A disk that is full ends the run before another call: every call that the provider billed was announced before on the disk. When there
// is room again, it goes on.
func TestFullDiskBuysNothing(t *testing.T) {
	t.Parallel()
	p := newTill(t, time.Millisecond)
	dir := shop(t, p, 10, 20, 4)
	full := filepath.Join(dir, "full")
	if err := os.Mkdir(full, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", full, "tmpfs", 0, "size=300k"); err != nil {
		t.Skipf("a small disk cannot be mounted here (%v); the writers are held to it by failing ones in package results", err)
	}
	defer func() {
		if err := syscall.Unmount(full, 0); err != nil {
			t.Error(err)
		}
	}()
	run := start(t, dir, nil, "run", "shop.yaml", "--results", "full/results")
	if code := run.wait(t); code != exitInternal {
		t.Fatalf("exit code %d: %s", code, run.stderr.String())
	}
	isIn(t, "standard error", run.stderr.String(), "no space left on device", "go on with: culprit resume ")
	billed := p.billed()
	again := start(t, dir, nil, "resume", "--results", "full/results") // as far as what was cleared up gives room
	if again.wait(t) != exitInternal {
		t.Errorf("without room it ended otherwise: %s", again.stderr.String())
	}
	if err := syscall.Mount("tmpfs", full, "tmpfs", syscall.MS_REMOUNT, "size=64m"); err != nil {
		t.Fatal(err)
	}
	rest := start(t, dir, nil, "resume", "--results", "full/results", "--in-doubt", "retry")
	if code := rest.wait(t); code != exitOK {
		t.Fatalf("exit code %d: %s", code, rest.stderr.String())
	}
	folder := filepath.Join(full, "results")
	const planned = 10 * 20 * 2
	tries, doubts := announced(t, folder, only(t, folder))
	t.Logf("%d billed before the disk was full, %d in all, %d in doubt", billed, p.billed(), doubts)
	if p.billed() < planned || p.billed() > tries || tries != planned+doubts {
		t.Errorf("%d were billed, %d announced, %d of these in doubt", p.billed(), tries, doubts)
	}
}

// TestCallsInDoubtStayInTheTotals kills a run and ends it in each way that does not ask again of the calls in doubt. Every call that the
// provider may have billed stands in the totals of the table, the summary, the bundles and the ledger.
func TestCallsInDoubtStayInTheTotals(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		args  []string
		code  int
		again bool // by another execution
	}{
		{"skip", []string{"resume", "--in-doubt", "skip"}, exitOK, false},
		{"seal", []string{"resume", "--seal"}, exitEnvironment, false},
		{"run", []string{"run", "shop.yaml"}, exitOK, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newTill(t, 100*time.Millisecond)
			dir := shop(t, p, 2, 10, 4)
			if code, stderr := p.killedAfter(t, dir, 9, "run", "shop.yaml"); code != -1 {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			folder := filepath.Join(dir, defaultResults)
			killed := only(t, folder)
			held := start(t, dir, nil, "resume")
			if code := held.wait(t); code != exitHeld {
				t.Fatalf("exit code %d: %s", code, held.stderr.String())
			}
			doubts := strings.Count(held.stderr.String(), ": generate by openai m at ")
			if doubts == 0 {
				t.Fatal("no call is in doubt")
			}
			ended := start(t, dir, nil, test.args...)
			if code := ended.wait(t); code != test.code {
				t.Fatalf("exit code %d: %s", code, ended.stderr.String())
			}
			isIn(t, "the table", ended.stdout.String(), fmt.Sprintf("paid, and %d in doubt that may have been", doubts))
			ids, err := results.Executions(folder)
			if err != nil {
				t.Fatal(err)
			}
			id := ids[0]
			if (id != killed) != test.again {
				t.Fatalf("executions %v", ids)
			}
			for _, rebuilt := range []bool{false, true} {
				s, err := results.ReadSummary(folder, id)
				if err != nil {
					t.Fatal(err)
				}
				if s.Totals.InDoubt != doubts || s.Totals.CostMicro != nil || s.Rebuilt != rebuilt {
					t.Errorf("rebuilt %v: %d in doubt, and %d were listed: %+v", rebuilt, s.Totals.InDoubt, doubts, s.Totals)
				}
				if tries, _ := announced(t, folder, id); !test.again && s.Totals.Paid+s.Totals.InDoubt != tries {
					t.Errorf("%d paid and %d in doubt, and %d were announced", s.Totals.Paid, s.Totals.InDoubt, tries)
				}
				if !rebuilt {
					if err := os.Remove(filepath.Join(folder, id.String(), "execution.json")); err != nil {
						t.Fatal(err)
					}
				}
			}
			l, err := results.ReadLedger(folder)
			if err != nil {
				t.Fatal(err)
			}
			if end := l.Records[len(l.Records)-1]; end.Type != results.LedgerEnd || end.InDoubt != doubts {
				t.Errorf("the ledger ends with %+v", end)
			}
			if !test.again {
				return
			}
			isIn(t, "standard error", ended.stderr.String(), "may have been made and have no answer: they were made again")
			third := start(t, dir, nil, "run", "shop.yaml")
			if code := third.wait(t); code != exitOK || strings.Contains(third.stdout.String(), "in doubt") {
				t.Errorf("exit code %d, a third run counts them again: %s", code, third.stdout.String())
			}
		})
	}
}

// TestBudgetNamesCallsInDoubt: what stops at the budget says how many of the calls that it counts are in doubt.
func TestBudgetNamesCallsInDoubt(t *testing.T) {
	t.Parallel()
	p := newTill(t, 100*time.Millisecond)
	dir := shop(t, p, 2, 10, 4)
	if code, stderr := p.killedAfter(t, dir, 9, "run", "shop.yaml"); code != -1 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	for _, args := range [][]string{{"--in-doubt", "skip"}, {}} { // it is known by whoever goes on later, too
		over := start(t, dir, nil, append([]string{"resume", "--set", "limits.budget.calls=13"}, args...)...)
		if code := over.wait(t); code != exitHeld {
			t.Errorf("exit code %d", code)
		}
		if !regexp.MustCompile(`limits.budget.calls is 13, and 13 were made, [1-9][0-9]* of them in doubt`).MatchString(over.stderr.String()) {
			t.Errorf("it does not say that some are in doubt: %s", over.stderr.String())
		}
	}
}
