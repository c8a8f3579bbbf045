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

// group lets callers that wait for a sync share it: one that began after a caller asked has done that caller's work too.
type group struct {
	asked atomic.Int64
	mu    sync.Mutex
	done  int64
	err   error // of the first failure: a file system may report a lost write once only
}

func (g *group) do(sync func() error) error {
	ticket := g.asked.Add(1)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err != nil || g.done >= ticket {
		return g.err
	}
	upTo := g.asked.Load()
	if g.err = sync(); g.err == nil {
		g.done = upTo
	}
	return g.err
}
