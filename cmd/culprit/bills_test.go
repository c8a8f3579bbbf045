package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/culprit-rag/culprit/results"
)

// manyBills is the variable that says how many rounds TestEveryExecutionIsBilled makes, and billSeed the one that begins with a seed that it has
// logged. A long test:
//
//	CULPRIT_TEST_BILLS=40 go test -timeout 60m -run TestEveryExecutionIsBilled ./cmd/culprit
const manyBills, billSeed = "CULPRIT_TEST_BILLS", "CULPRIT_TEST_BILL_SEED"

// TestEveryExecutionIsBilled kills runs at random moments, and goes on with them in each way that there is: the same execution, a new one that
// takes over what it can, one that does not, what is left is dropped. After each process the bill of the provider is what the executions of the
// folder sum up to.
func TestEveryExecutionIsBilled(t *testing.T) {
	t.Parallel()
	rounds, err := strconv.Atoi(os.Getenv(manyBills))
	if err != nil {
		rounds = 3
	}
	seed, err := strconv.ParseUint(os.Getenv(billSeed), 10, 64)
	if err != nil {
		seed = rand.Uint64N(1 << 32)
	}
	for round := range uint64(rounds) {
		t.Logf("%s=%d", billSeed, seed+round)
		billRound(t, rand.New(rand.NewPCG(seed+round, 0)))
	}
}

func billRound(t *testing.T, random *rand.Rand) {
	t.Helper()
	p := newTill(t, 3*time.Millisecond)
	var mu sync.Mutex
	p.fails = func(int, string) int { // at times
		mu.Lock()
		defer mu.Unlock()
		switch random.IntN(25) {
		case 0:
			return http.StatusInternalServerError
		case 1:
			return http.StatusTooManyRequests
		}
		return 0
	}
	dir := library(t, p, 30, 4, 10)
	edit(t, filepath.Join(dir, "shop.yaml"), "repeats: 2", "repeats: 12", "concurrency: 1, retries: 0", "concurrency: 4, retries: 3", "cases:\n", `cases:
  - id: another
    query: "What is the cap for lunch, or for dinner?"
    risk: investigate
    evidence: {required: [{source: d1, span: 40 euros}]}
    claims: [{id: cap, any: ["40 euros"]}]
`)
	folder := filepath.Join(dir, defaultResults)
	draw := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return random.IntN(n)
	}
	const most, ahead = 12, 7 // calls that are announced at once, by the 4 that are under way and half as many ahead, and one for all cases
	kills := 0
	for processes := 1; ; processes++ {
		args := []string{"run", "shop.yaml"}
		open, err := results.Resumable(folder)
		if err != nil && processes > 1 {
			t.Fatal(err)
		}
		switch way := draw(8); {
		case way == 0:
			args = append(args, "--fresh")
		case way == 1 || len(open) == 0:
		case way == 2 && processes < most:
			args = []string{"resume", "--drop"}
		case way == 3:
			args = []string{"resume", "--in-doubt", "skip"}
		case way == 4 && processes < most:
			args = []string{"resume", "--seal"}
		default:
			args = []string{"resume", "--in-doubt", "retry"}
		}
		calls := 1 + draw(40)
		if processes > most {
			calls = 1 << 20
		}
		code, stderr := p.killedAfter(t, dir, calls, args...)
		time.Sleep(5 * p.delay) // what was sent arrives
		if code == -1 {
			kills++
		}
		if b := p.holdBill(t, folder, args); b.InDoubt > kills*ahead {
			t.Errorf("after %d kills %d calls are in doubt", kills, b.InDoubt)
		}
		t.Logf("%q until call %d: exit code %d, %d billed", args, calls, code, p.billed())
		if code == exitInternal {
			t.Fatalf("%q: exit code %d: %s", args, code, stderr)
		}
		if code == exitOK && args[0] == "run" || processes > 2*most {
			return
		}
	}
}

// holdBill holds the bill to what all executions of a folder sum up to, each call counted once.
func (p *till) holdBill(t *testing.T, folder string, after []string) results.Bills {
	t.Helper()
	stdout, stderr, code := invoke(t.Context(), os.Getenv, "history", "--results", folder, "--json")
	if code != exitOK {
		t.Fatalf("after %q: %s", after, stderr)
	}
	var h results.History
	if err := json.Unmarshal([]byte(stdout), &h); err != nil {
		t.Fatal(err)
	}
	if h.Bill == nil {
		t.Fatalf("there is no sum: %s", stdout)
	}
	if b := h.Bill; b.Unknown > 0 || p.billed() < b.Paid || p.billed() > b.Paid+b.InDoubt {
		t.Errorf("after %q %d were billed, and the executions sum up to %+v: %s", after, p.billed(), b, stdout)
	}
	return *h.Bill
}

// TestTakenOverIsCountedOnce: what a new run takes over from one that was killed, or stopped at its budget, is counted at the one that paid for
// it, whether that has an end in the ledger or not. Where what it left is gone, more may have been asked.
func TestTakenOverIsCountedOnce(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"killed", "stopped", "killed, and what it left removed"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			p := newTill(t, 20*time.Millisecond)
			dir := library(t, p, 10, 4, 10)
			folder := filepath.Join(dir, defaultResults)
			edit(t, filepath.Join(dir, "shop.yaml"), "repeats: 2", "repeats: 10")
			if way == "stopped" {
				stopped := start(t, dir, nil, "run", "shop.yaml", "--set", "limits.budget.calls=14")
				if code := stopped.wait(t); code != exitHeld {
					t.Fatalf("exit code %d: %s", code, stopped.stderr.String())
				}
			} else if code, stderr := p.killedAfter(t, dir, 12, "run", "shop.yaml"); code != -1 {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			if way == "killed, and what it left removed" {
				if err := os.RemoveAll(filepath.Join(folder, ".work")); err != nil {
					t.Fatal(err)
				}
				stdout, stderr, code := invoke(t.Context(), os.Getenv, "history", "--results", folder)
				if code != exitOK {
					t.Fatal(stderr)
				}
				isIn(t, "the history", stdout, "what else it asked for is not known")
				return
			}
			before := p.holdBill(t, folder, nil)
			ended := start(t, dir, nil, "run", "shop.yaml")
			if code := ended.wait(t); code != exitOK {
				t.Fatalf("exit code %d: %s", code, ended.stderr.String())
			}
			after := p.holdBill(t, folder, nil)
			if after.InDoubt != before.InDoubt || way == "stopped" && after != (results.Bills{Paid: p.billed()}) {
				t.Errorf("%d were billed; the sums were %+v, and are %+v", p.billed(), before, after)
			}
			l, err := results.ReadLedger(folder)
			if err != nil {
				t.Fatal(err)
			}
			end := l.Records[len(l.Records)-1]
			if end.PaidElsewhere == 0 || end.Paid-end.PaidElsewhere != after.Paid-before.Paid || end.InDoubtElsewhere != end.InDoubt {
				t.Errorf("the ledger ends with %+v", end)
			}
			shown, stderr, code := invoke(t.Context(), os.Getenv, "history", "--results", folder)
			if code != exitOK {
				t.Fatal(stderr)
			}
			isIn(t, "the history", shown, fmt.Sprintf("%d of them by other executions", end.PaidElsewhere+end.InDoubtElsewhere), fmt.Sprintf("all executions: %d paid", after.Paid))
		})
	}
}
