package adapters

import (
	"cmp"
	"context"
	"errors"
	"time"
)

// WrapStore returns s under the policy. A Scan is tried again only until its first item was visited, for no item may be
// visited twice. Its timeout is that of the wait for an item: a whole scan may take longer. It gives its slot back while visit
// runs, so that visit may call the store.
func WrapStore(s VectorStore, p Policy) VectorStore {
	return &wrappedStore{caller{p}, s}
}

type wrappedStore struct {
	caller
	next VectorStore
}

func (w *wrappedStore) Capabilities() StoreCapabilities { return w.next.Capabilities() }

func (w *wrappedStore) Describe(ctx context.Context) (StoreInfo, error) {
	return call(ctx, &w.caller, "describe", shape{}, w.next.Describe)
}

func (w *wrappedStore) Search(ctx context.Context, req SearchRequest) (SearchResponse, error) {
	if req.FilterStatistics && !w.Capabilities().FilterStatistics { // an adapter that knows nothing of it would search as ever
		return SearchResponse{}, NewError(w.policy.Name, "search", KindUnsupported, errors.New("word statistics over what the filter admits"))
	}
	return call(ctx, &w.caller, "search", shape{counts: true}, func(ctx context.Context) (SearchResponse, error) {
		resp, err := w.next.Search(ctx, req)
		for i := range resp.Hits {
			err = cmp.Or(err, w.kept("search", resp.Hits[i].Text))
		}
		return resp, err
	})
}

func (w *wrappedStore) Fetch(ctx context.Context, req FetchRequest) ([]Item, error) {
	return call(ctx, &w.caller, "fetch", shape{}, func(ctx context.Context) ([]Item, error) { return w.next.Fetch(ctx, req) })
}

func (w *wrappedStore) Close() error { return w.closing(w.next.Close()) }

func (w *wrappedStore) Scan(ctx context.Context, req ScanRequest, visit func(Item) error) (ScanReport, error) {
	visited := false
	var refused error // by visit
	place := &slot{pool: w.policy.Slots}
	how := shape{replayable: func() bool { return !visited }, keepsOwnTime: true, slot: place}
	report, err := call(ctx, &w.caller, "scan", how, func(ctx context.Context) (ScanReport, error) {
		ctx, stop, restart, end := w.idleTimeout(ctx)
		defer end()
		return w.next.Scan(ctx, req, func(item Item) error {
			stop()
			defer restart()
			place.give()
			visited = true
			refused = visit(item)
			if refused != nil {
				return refused
			}
			return place.take(ctx)
		})
	})
	if refused != nil {
		return report, refused // as it is: it is the caller's own
	}
	return report, err
}

// idleTimeout returns a context that is cancelled when the timeout passes between restart and stop.
func (c *caller) idleTimeout(ctx context.Context) (idle context.Context, stop, restart, end func()) {
	if c.policy.Timeout <= 0 {
		return ctx, func() {}, func() {}, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	timer := time.AfterFunc(c.policy.Timeout, cancel)
	stop = func() { timer.Stop() }
	return ctx, stop, func() { timer.Reset(c.policy.Timeout) }, func() { timer.Stop(); cancel() }
}
