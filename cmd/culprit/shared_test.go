package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/culprit-rag/culprit/results"
)

// embeddingShop is a shop whose documents and queries are embedded by the till as well.
func embeddingShop(t *testing.T, p *till, cases int) string {
	t.Helper()
	dir := shop(t, p, cases, 2, 1)
	path := filepath.Join(dir, "shop.yaml")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(data), "  generator:", fmt.Sprintf("  embedder: {adapter: openai, base_url: \"%s/v1\", model: e, dimensions: 3}\n  generator:", p.URL), 1)
	text = strings.Replace(text, "mode: keyword", "mode: dense", 1)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// settleShared holds the bill to the last end of the ledger.
func (p *till) settleShared(t *testing.T, folder string) results.LedgerRecord {
	t.Helper()
	l, err := results.ReadLedger(folder)
	if err != nil {
		t.Fatal(err)
	}
	end := l.Records[len(l.Records)-1]
	if bill := p.billed(); end.Type != results.LedgerEnd || bill < end.Paid || bill > end.Paid+end.InDoubt {
		t.Errorf("%d were billed, and the ledger ends with %+v", bill, end)
	}
	return end
}

// TestSharedCallsStayInTheTotals kills a run at every call that it makes for all cases together, and a few later. It stands in the ledger
// before any of them, those in doubt are told before anything is called, and the bill is what the ledger says in the end.
func TestSharedCallsStayInTheTotals(t *testing.T) {
	t.Parallel()
	whole := newTill(t, 0)
	dir := embeddingShop(t, whole, 2)
	run := start(t, dir, nil, "run", "shop.yaml", "--json")
	if code := run.wait(t); code != exitOK {
		t.Fatalf("exit code %d: %s", code, run.stderr.String())
	}
	end := whole.settleShared(t, filepath.Join(dir, defaultResults))
	if end.InDoubt != 0 || end.Paid != whole.billed() {
		t.Fatalf("%d were billed, and the ledger ends with %+v", whole.billed(), end)
	}
	s, err := results.ReadSummary(filepath.Join(dir, defaultResults), end.Execution)
	if err != nil || s.Shared == nil || s.Shared.Paid == 0 {
		t.Fatalf("nothing is shared: %+v, %v", s, err)
	}
	for at := 1; at <= s.Shared.Paid+2; at++ {
		t.Run(fmt.Sprint("call ", at), func(t *testing.T) {
			t.Parallel()
			p := newTill(t, 50*time.Millisecond)
			dir := embeddingShop(t, p, 2)
			folder := filepath.Join(dir, defaultResults)
			if code, stderr := p.killedAfter(t, dir, at, "run", "shop.yaml"); code != -1 {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			l, err := results.ReadLedger(folder)
			if err != nil || len(l.Records) != 1 || l.Records[0].Type != results.LedgerBegin {
				t.Fatalf("the ledger is %+v, %v", l, err)
			}
			before := p.billed()
			held := start(t, dir, nil, "resume")
			if code := held.wait(t); code != exitHeld || p.billed() != before {
				t.Fatalf("exit code %d, %d calls: %s", code, p.billed()-before, held.stderr.String())
			}
			if at <= s.Shared.Paid {
				isIn(t, "standard error", held.stderr.String(), "1 call for all cases together")
				list := start(t, dir, nil, "resume", "--list")
				if code := list.wait(t); code != exitOK {
					t.Errorf("exit code %d", code)
				}
				isIn(t, "the list", list.stdout.String(), "and 1 in doubt", "1 call for all cases together")
			}
			ended := start(t, dir, nil, "resume", "--in-doubt", "retry")
			if code := ended.wait(t); code != exitOK {
				t.Fatalf("exit code %d: %s", code, ended.stderr.String())
			}
			if end := p.settleShared(t, folder); end.InDoubt != 1 || end.Execution != only(t, folder) {
				t.Errorf("the ledger ends with %+v", end)
			}
		})
	}
}

// TestEndBeforeTheFirstCase: what a run asked that could not begin its first case stands in the ledger, with its end; what one asked that was
// killed there does when it is dropped.
func TestEndBeforeTheFirstCase(t *testing.T) {
	t.Parallel()
	p := newTill(t, 0)
	p.fails = func(int, string) int { return http.StatusInternalServerError }
	dir := embeddingShop(t, p, 1)
	folder := filepath.Join(dir, defaultResults)
	run := start(t, dir, nil, "run", "shop.yaml")
	if code := run.wait(t); code == exitOK || p.billed() == 0 {
		t.Fatalf("exit code %d, %d calls", code, p.billed())
	}
	if end := p.settleShared(t, folder); end.Paid != p.billed() || end.Stopped != results.StoppedError || end.Exit == exitOK {
		t.Errorf("%d were billed, and the ledger ends with %+v", p.billed(), end)
	}
	if ids, err := results.Resumable(folder); err != nil || len(ids) > 0 {
		t.Errorf("%v can be gone on with, %v", ids, err)
	}

	slow := newTill(t, 50*time.Millisecond)
	dir = embeddingShop(t, slow, 1)
	folder = filepath.Join(dir, defaultResults)
	if code, stderr := slow.killedAfter(t, dir, 1, "run", "shop.yaml"); code != -1 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	seal := start(t, dir, nil, "resume", "--seal")
	if code := seal.wait(t); code != exitUsage || slow.billed() != 1 {
		t.Errorf("exit code %d, %d calls: %s", code, slow.billed(), seal.stderr.String())
	}
	drop := start(t, dir, nil, "resume", "--drop")
	if code := drop.wait(t); code != exitOK {
		t.Errorf("exit code %d: %s", code, drop.stderr.String())
	}
	l, err := results.ReadLedger(folder)
	if err != nil {
		t.Fatal(err)
	}
	if r := l.Records[len(l.Records)-1]; r.Type != results.LedgerDrop || r.Calls != 1 || r.InDoubt != 1 {
		t.Errorf("the ledger ends with %+v", r)
	}
}

// TestLostTriesStayInTheTotals: a try that failed before its run was killed is no answer that another run can take over, and was billed.
func TestLostTriesStayInTheTotals(t *testing.T) {
	t.Parallel()
	p := newTill(t, 50*time.Millisecond)
	p.fails = func(n int, _ string) int {
		if n == 3 {
			return http.StatusInternalServerError
		}
		return 0
	}
	dir := shop(t, p, 1, 20, 2)
	path := filepath.Join(dir, "shop.yaml")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(data), "retries: 0", "retries: 3", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, stderr := p.killedAfter(t, dir, 6, "run", "shop.yaml"); code != -1 { // in the wait behind the third
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	folder := filepath.Join(dir, defaultResults)
	ended := start(t, dir, nil, "run", "shop.yaml")
	if code := ended.wait(t); code != exitOK {
		t.Fatalf("exit code %d: %s", code, ended.stderr.String())
	}
	end := p.settleShared(t, folder)
	if again := start(t, dir, nil, "run", "shop.yaml"); again.wait(t) != exitOK {
		t.Fatal(again.stderr.String())
	}
	l, err := results.ReadLedger(folder)
	if err != nil {
		t.Fatal(err)
	}
	if third := l.Records[len(l.Records)-1]; third.Paid != 40 || end.Paid <= 40-end.InDoubt {
		t.Errorf("the second run ends with %+v, and the third with %+v", end, third)
	}
}
