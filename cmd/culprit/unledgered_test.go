package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"testing"

	"github.com/culprit-rag/culprit/results"
)

// TestCommandsSayWhatTheyAskedFor: a command that is no execution stands in no ledger; what it says that it paid is the bill, also where it fails.
func TestCommandsSayWhatTheyAskedFor(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"probe", "shop.yaml"}, {"calibrate", "floor", "shop.yaml", "--sample", "5"}, {"sweep", "shop.yaml", "--k", "1,2"}} {
		t.Run(args[0], func(t *testing.T) {
			t.Parallel()
			p := newTill(t, 0)
			dir := library(t, p, 12, 4, 10)
			edit(t, filepath.Join(dir, "shop.yaml"), "\ncases:", "\nprices: {currency: USD, embedder: {input: 1}, generator: {input: 1, output: 1}}\ncases:")
			p.mu.Lock()
			p.fails = func(n int, _ string) int {
				if n == 3 {
					return http.StatusInternalServerError
				}
				return 0
			}
			p.mu.Unlock()
			failed := start(t, dir, nil, args...)
			if code := failed.wait(t); code == exitOK || p.billed() != 3 {
				t.Fatalf("exit code %d, %d calls", code, p.billed())
			}
			isIn(t, "standard error", failed.stderr.String(), "3 calls, 3 paid; ", "they stand in no ledger")
			for _, how := range []string{"", "--json"} {
				before := p.billed()
				more := slices.Clone(args)
				if how != "" {
					more = append(more, how)
				}
				run := start(t, dir, nil, more...)
				code := run.wait(t)
				paid := p.billed() - before
				if paid == 0 {
					t.Fatalf("exit code %d, nothing was asked: %s", code, run.stderr.String())
				}
				if how == "" {
					isIn(t, "standard output", run.stdout.String(), fmt.Sprintf(", %d paid", paid), "cost ")
					continue
				}
				var said struct{ Totals *results.Totals }
				if err := json.Unmarshal(run.stdout.Bytes(), &said); err != nil {
					t.Fatal(err)
				}
				if said.Totals == nil || said.Totals.Paid != paid || said.Totals.TokensIn == nil {
					t.Errorf("%d were billed, and it says %+v", paid, said.Totals)
				}
			}
			if l, err := results.ReadLedger(filepath.Join(dir, defaultResults)); err != nil || len(l.Records) > 0 {
				t.Errorf("the ledger is %+v, %v", l, err)
			}
		})
	}
}
