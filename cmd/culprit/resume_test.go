package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/culprit-rag/culprit/results"
)

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
	folder, listed := filepath.Join(dir, name), map[string]int{}
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
			said, undecided := strings.Count(stderr, ": generate by openai m at "), p.undecided(t, dir, name)
			if more := regexp.MustCompile(`and (\d+) more`).FindStringSubmatch(stderr); more != nil {
				n, _ := strconv.Atoi(more[1]) // digits
				said += n
			}
			if len(undecided) != said {
				t.Errorf("%d calls are said to be in doubt, and %d are listed", said, len(undecided))
			}
			for _, id := range undecided {
				listed[id]++
			}
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
	t.Logf("%d kills, %d planned, %d billed, %d announced, %d in doubt", kills, planned, p.billed(), tries, doubts)
	inDoubt := accountOf(t, folder, id).doubts
	for id, n := range inDoubt {
		if listed[id] < n {
			t.Errorf("call %s was in doubt %d times, and listed %d times", id, n, listed[id])
		}
	}
	for id := range listed { // once more where a process was killed before it had taken up the case
		if inDoubt[id] == 0 {
			t.Errorf("call %s was listed, and the journals have no doubt", id)
		}
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
	p.settle(t, folder, id)
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
	full := smallDisk(t, dir, "300k")
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
	p.settle(t, folder, only(t, folder))
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
			if !test.again {
				p.settle(t, folder, killed)
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
		if !regexp.MustCompile(`limits.budget.calls is 13, and 1[0-9] were made, [1-9][0-9]* of them in doubt`).MatchString(over.stderr.String()) {
			t.Errorf("it does not say that some are in doubt: %s", over.stderr.String())
		}
	}
}

// TestBillWithoutDoubt: where no call is in doubt, what the ledger says is paid is the bill, at every end of a run that stops at its budget
// and is gone on with, of a provider that fails now and then: it bills what it could not answer, and not what it refused.
func TestBillWithoutDoubt(t *testing.T) {
	t.Parallel()
	p := newTill(t, 0)
	p.fails = func(n int, _ string) int {
		switch n % 16 {
		case 7:
			return http.StatusInternalServerError
		case 12:
			return http.StatusTooManyRequests
		}
		return 0
	}
	dir := shop(t, p, 6, 10, 4)
	folder := filepath.Join(dir, "results")
	limits := []string{"--results", "results", "--set", "limits.retries=4", "--set"}
	for i, calls := range []int{40, 60, 90, 9999} {
		args, want := append([]string{"resume"}, limits...), exitHeld
		if i == 0 {
			args = append([]string{"run", "shop.yaml"}, limits...)
		}
		if calls == 9999 {
			want = exitOK
		}
		run := start(t, dir, nil, append(args, fmt.Sprintf("limits.budget.calls=%d", calls))...)
		if code := run.wait(t); code != want {
			t.Fatalf("exit code %d: %s", code, run.stderr.String())
		}
		l, err := results.ReadLedger(folder)
		if err != nil {
			t.Fatal(err)
		}
		end := l.Records[len(l.Records)-1]
		if end.Type != results.LedgerEnd || end.Paid != p.billed() || end.InDoubt != 0 {
			t.Errorf("with a budget of %d calls: %d were billed, and the ledger ends with %+v", calls, p.billed(), end)
		}
		isIn(t, "the table", run.stdout.String(), fmt.Sprintf(", %d paid", p.billed()))
		shown, stderr, code := invoke(t.Context(), os.Getenv, "history", "--results", folder)
		if code != exitOK {
			t.Fatal(stderr)
		}
		isIn(t, "the history", shown, fmt.Sprintf(", %d paid", p.billed()))
	}
	p.settle(t, folder, only(t, folder))
}

// TestTriesBeforeASkip: tries that failed stay in the totals where the next one is in doubt and left out.
func TestTriesBeforeASkip(t *testing.T) {
	t.Parallel()
	for _, how := range [][]string{{"--in-doubt", "skip"}, {"--seal"}} {
		t.Run(how[0], func(t *testing.T) {
			t.Parallel()
			p := newTill(t, 0)
			p.fails = func(_ int, id string) int {
				if strings.HasSuffix(id, "-1") {
					return http.StatusInternalServerError
				}
				return 0
			}
			p.delay = 300 * time.Millisecond
			dir := shop(t, p, 1, 10, 4)
			run := start(t, dir, nil, "run", "shop.yaml", "--set", "limits.retries=1")
			run.await(t, "a second try", func() bool {
				p.mu.Lock()
				defer p.mu.Unlock()
				return slices.ContainsFunc(p.bills, func(id string) bool { return strings.HasSuffix(id, "-2") })
			})
			if err := run.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			if code := run.wait(t); code != -1 {
				t.Fatalf("exit code %d: %s", code, run.stderr.String())
			}
			p.mu.Lock()
			p.fails = nil
			p.mu.Unlock()
			if how[0] == "--seal" {
				p.Close() // which needs nobody
			}
			ended := start(t, dir, nil, append([]string{"resume", "--set", "limits.retries=1"}, how...)...)
			if code := ended.wait(t); code != exitOK && code != exitEnvironment {
				t.Fatalf("exit code %d: %s", code, ended.stderr.String())
			}
			folder := filepath.Join(dir, defaultResults)
			id := only(t, folder)
			c := accountOf(t, folder, id)
			if failed := 0; sum(c.doubts) == 0 {
				t.Errorf("no call is in doubt: %+v", c)
			} else {
				for id := range c.doubts {
					failed += c.told[strings.TrimSuffix(id, "-2")+"-1"]
				}
				if failed == 0 {
					t.Errorf("no try of a call in doubt had failed before: %+v", c)
				}
			}
			p.settle(t, folder, id)
			bundles, err := results.Bundles(folder, id)
			if err != nil || len(bundles) != 1 {
				t.Fatal(bundles, err)
			}
			for _, args := range [][]string{{"verify", "--partial"}, {"replay"}} {
				if stdout, stderr, code := invoke(t.Context(), os.Getenv, append(args, bundles[0])...); code != exitOK {
					t.Errorf("%s: exit code %d: %s%s", args, code, stdout, stderr)
				}
			}
		})
	}
}

// A provider that heeds an Idempotency-Key answers a request whose key it knows with the answer that it gave: a second run of the same cases
// would get those of the first.
func TestRunsShareNoIdempotencyKey(t *testing.T) {
	t.Parallel()
	p := newTill(t, 0)
	dir := shop(t, p, 2, 3, 1)
	for _, folder := range []string{"one", "one", "two"} {
		if code, stderr := p.killedAfter(t, dir, 1000, "run", "shop.yaml", "--results", folder, "--fresh"); code != exitOK {
			t.Fatalf("exit code %d\n%s", code, stderr)
		}
	}
	slices.Sort(p.bills)
	if n := len(p.bills); n != 3*2*2*3 || len(slices.Compact(p.bills)) != n {
		t.Errorf("%d requests, and not as many keys", n)
	}
}
