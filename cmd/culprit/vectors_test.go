package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/culprit-rag/culprit/results"
)

// library is an embeddingShop with more documents, of which the till embeds so many in a request. Each is about so long.
func library(t *testing.T, p *till, documents, batch, length int) string {
	t.Helper()
	dir := embeddingShop(t, p, 1)
	var more strings.Builder
	for i := range documents - 2 {
		fmt.Fprintf(&more, `, {id: more-%03d, text: "%s"}`, i, bookText(i, length))
	}
	edit(t, filepath.Join(dir, "shop.yaml"),
		"a day.\"}]", "a day.\"}"+more.String()+"]", "dimensions: 3", fmt.Sprintf("dimensions: 3, batch: %d", batch), "limits:", "checks: {sample: 0}\nlimits:")
	return dir
}

func bookText(i, length int) string {
	return fmt.Sprintf("Of shelf %03d%s", i, strings.Repeat(" nothing", length/8))
}

// edit replaces texts of a file, each of which it holds.
func edit(t *testing.T, path string, pairs ...string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("%s does not hold %q", path, pairs[i])
		}
		text = strings.Replace(text, pairs[i], pairs[i+1], 1)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// embedded counts how often each of the documents was embedded that no case asks for.
func (p *till) embedded(documents, length int) (times []int, again int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	counts := map[string]int{}
	for _, text := range p.texts {
		counts[text]++
	}
	for i := range documents - 2 {
		n := counts[bookText(i, length)]
		times, again = append(times, n), again+max(n-1, 0)
	}
	return times, again
}

func keptFiles(t *testing.T, cache string) []string {
	t.Helper()
	kept, err := filepath.Glob(filepath.Join(cache, "vectors-*"))
	if err != nil {
		t.Fatal(err)
	}
	return kept
}

// TestKilledWhileDocumentsAreEmbedded kills a run while its documents are embedded. No vector is lost that came back, whoever goes on: only
// what was asked in the one request of which nobody knows is asked again.
func TestKilledWhileDocumentsAreEmbedded(t *testing.T) {
	t.Parallel()
	const documents, batch = 40, 5
	for _, at := range []int{1, 2, 5, 8} {
		for _, how := range [][]string{{"resume", "--in-doubt", "retry"}, {"run", "shop.yaml"}, {"probe", "shop.yaml"}} {
			t.Run(fmt.Sprint(how[0], " after ", at), func(t *testing.T) {
				t.Parallel()
				p := newTill(t, 20*time.Millisecond)
				dir := library(t, p, documents, batch, 10)
				cache := filepath.Join(dir, "cache")
				if code, stderr := p.killedAfter(t, dir, at, "run", "shop.yaml"); code != -1 {
					t.Fatalf("exit code %d: %s", code, stderr)
				}
				for _, path := range keptFiles(t, cache) {
					if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
						t.Errorf("%s: %v, %v", path, info.Mode(), err)
					}
				}
				ended := start(t, dir, nil, how...)
				if code := ended.wait(t); code != exitOK {
					t.Fatalf("exit code %d: %s", code, ended.stderr.String())
				}
				times, again := p.embedded(documents, 10)
				for i, n := range times {
					if n == 0 {
						t.Errorf("document %d was never embedded", i)
					}
				}
				if again > batch {
					t.Errorf("%d texts were embedded again; a request has %d", again, batch)
				}
				if at > 1 {
					says := ended.stderr.String() + ended.stdout.String()
					isIn(t, "what it says", says, fmt.Sprintf("%d vectors of documents were paid for before by a run that was ended", (at-1)*batch))
				}
				if left := keptFiles(t, cache); len(left) > 0 {
					t.Errorf("left: %q", left)
				}
				if how[0] != "probe" {
					p.holdBill(t, filepath.Join(dir, defaultResults), how)
				}
				if how[0] == "resume" {
					end := p.settleShared(t, filepath.Join(dir, defaultResults))
					if s, err := results.ReadSummary(filepath.Join(dir, defaultResults), end.Execution); err != nil || s.Shared.Reused != (at-1)*batch {
						t.Errorf("%+v, %v", s.Shared, err)
					}
				}
			})
		}
	}
}

// TestFreshEmbedsAgain: culprit run --fresh asks for every vector.
func TestFreshEmbedsAgain(t *testing.T) {
	t.Parallel()
	const documents, batch = 20, 5
	p := newTill(t, 20*time.Millisecond)
	dir := library(t, p, documents, batch, 10)
	if code, stderr := p.killedAfter(t, dir, 3, "run", "shop.yaml"); code != -1 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	run := start(t, dir, nil, "run", "shop.yaml", "--fresh")
	if code := run.wait(t); code != exitOK {
		t.Fatalf("exit code %d: %s", code, run.stderr.String())
	}
	if _, again := p.embedded(documents, 10); again < 2*batch-2 {
		t.Errorf("%d texts were embedded again", again)
	}
}

// TestFailedWhileDocumentsAreEmbedded: an embedder that fails half way costs no vector that came before, and the ledger says what was paid.
func TestFailedWhileDocumentsAreEmbedded(t *testing.T) {
	t.Parallel()
	const documents, batch = 40, 5
	p := newTill(t, 0)
	p.mu.Lock()
	p.fails = func(n int, _ string) int {
		if n == 4 {
			return http.StatusInternalServerError
		}
		return 0
	}
	p.mu.Unlock()
	dir := library(t, p, documents, batch, 10)
	folder := filepath.Join(dir, defaultResults)
	run := start(t, dir, nil, "run", "shop.yaml")
	if code := run.wait(t); code == exitOK || p.billed() != 4 {
		t.Fatalf("exit code %d, %d calls: %s", code, p.billed(), run.stderr.String())
	}
	if end := p.settleShared(t, folder); end.Paid != 4 || end.InDoubt != 0 {
		t.Errorf("the ledger ends with %+v", end)
	}
	again := start(t, dir, nil, "run", "shop.yaml")
	if code := again.wait(t); code != exitOK {
		t.Fatalf("exit code %d: %s", code, again.stderr.String())
	}
	if times, twice := p.embedded(documents, 10); twice > 0 {
		t.Errorf("the documents were embedded so often: %v", times)
	}
	l, err := results.ReadLedger(folder)
	if err != nil {
		t.Fatal(err)
	}
	if end := l.Records[len(l.Records)-1]; end.Paid != p.billed()-4 {
		t.Errorf("%d were billed, 4 of them to the first run, and the ledger ends with %+v", p.billed(), end)
	}
}

// TestFullCacheBuysNothing: a cache folder that is full ends the run before another request, and when there is room again none is lost.
func TestFullCacheBuysNothing(t *testing.T) {
	t.Parallel()
	const documents, batch, length = 1000, 50, 10
	p := newTill(t, 0)
	dir := library(t, p, documents, batch, length)
	full := smallDisk(t, dir, "32k")
	if err := os.Symlink(full, filepath.Join(dir, "cache")); err != nil {
		t.Fatal(err)
	}
	run := start(t, dir, nil, "run", "shop.yaml")
	if code := run.wait(t); code == exitOK {
		t.Fatal("there was room")
	}
	billed := p.billed()
	if end := p.settleShared(t, filepath.Join(dir, defaultResults)); billed >= documents/batch || end.Paid != billed {
		t.Errorf("%d were billed, and the ledger ends with %+v: %s", billed, end, run.stderr.String())
	}
	if err := syscall.Mount("tmpfs", full, "tmpfs", syscall.MS_REMOUNT, "size=64m"); err != nil {
		t.Fatal(err)
	}
	again := start(t, dir, nil, "run", "shop.yaml")
	if code := again.wait(t); code != exitOK {
		t.Fatalf("exit code %d: %s", code, again.stderr.String())
	}
	if times, twice := p.embedded(documents, length); twice > batch {
		t.Errorf("the documents were embedded so often: %v", times)
	}
}

// TestRequestsAreCounted: each request for vectors is a call of its own in the totals, however many texts a store asks for at once.
func TestRequestsAreCounted(t *testing.T) {
	t.Parallel()
	for _, batch := range []int{7, 0} { // 0: as many as the adapter takes by itself
		p := newTill(t, 0)
		dir := library(t, p, 300, max(batch, 1), 10)
		if batch == 0 {
			edit(t, filepath.Join(dir, "shop.yaml"), ", batch: 1}", "}")
		}
		run := start(t, dir, nil, "run", "shop.yaml")
		if code := run.wait(t); code != exitOK {
			t.Fatalf("exit code %d: %s", code, run.stderr.String())
		}
		if end := p.settleShared(t, filepath.Join(dir, defaultResults)); end.Paid != p.billed() {
			t.Errorf("batches of %d: %d were billed, and the ledger ends with %+v", batch, p.billed(), end)
		}
	}
}

// TestServersHaveStoresOfTheirOwn: two servers that give their model one name do not get each other's vectors.
func TestServersHaveStoresOfTheirOwn(t *testing.T) {
	t.Parallel()
	const documents = 10
	one, other := newTill(t, 0), newTill(t, 0)
	dir := library(t, one, documents, 5, 10)
	path := filepath.Join(dir, "shop.yaml")
	run := func() {
		t.Helper()
		r := start(t, dir, nil, "run", "shop.yaml")
		if code := r.wait(t); code != exitOK {
			t.Fatalf("exit code %d: %s", code, r.stderr.String())
		}
	}
	run()
	edit(t, path, one.URL, other.URL) // of the embedder, which stands first
	run()
	edit(t, path, other.URL, one.URL) // whose store is still there
	run()
	for name, p := range map[string]*till{"the first": one, "the second": other} {
		if times, again := p.embedded(documents, 10); times[0] != 1 || again > 0 {
			t.Errorf("%s server embedded the documents so often: %v", name, times)
		}
	}
}
