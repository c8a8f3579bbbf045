package results

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/culprit-rag/culprit/crash"
)

// syncers is how many files are synced at once: a journalling file system makes one commit of them.
const syncers = 16

// syncEach syncs every file that was written and not synced, and the folder.
func (d *disk) syncEach() error {
	names := d.pending()
	errs := make([]error, len(names))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(syncers, len(names)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(names)); i = next.Add(1) - 1 {
				errs[i] = crash.Guard(func() error { return d.sync(names[i]) })()
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// pending takes the list of what was not synced, the folder behind its files.
func (d *disk) pending() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	names := slices.Sorted(maps.Keys(d.files))
	if d.folder {
		names = append(names, ".")
	}
	clear(d.files)
	d.folder = false
	return names
}

// group lets callers that wait for a sync share it: one that begins after a caller asked does that caller's work too. Each sync wakes all
// whom it was for at once, and the next may begin before any of them has run: thousands may wait.
type group struct {
	mu   sync.Mutex
	next *round // of who asks now; nil: nobody has asked since the last sync began
	busy bool   // a sync is under way, or about to be
	err  error  // of the first failure: a file system may report a lost write once only
}

// round is one sync and those who wait for it.
type round struct {
	turn chan struct{} // has a token for the one who is to make it
	done chan struct{} // closed when it was made
	err  error         // may be read then
}

func (g *group) do(sync func() error) error {
	g.mu.Lock()
	if g.next == nil {
		g.next = &round{turn: make(chan struct{}, 1), done: make(chan struct{})}
		if !g.busy {
			g.busy = true
			g.next.turn <- struct{}{}
		}
	}
	r := g.next
	g.mu.Unlock()
	select {
	case <-r.done:
		return r.err
	case <-r.turn:
	}
	g.mu.Lock()
	g.next = nil // it is too late for who asks from here on
	r.err = g.err
	g.mu.Unlock()
	if r.err == nil {
		r.err = sync()
	}
	g.mu.Lock()
	g.err = r.err
	if g.busy = g.next != nil; g.busy {
		g.next.turn <- struct{}{}
	}
	g.mu.Unlock()
	close(r.done)
	return r.err
}
