package qdrant

import (
	"context"
	"fmt"
	"sync"

	"github.com/qdrant/go-client/qdrant"

	"github.com/culprit-rag/culprit/adapters"
)

// Scan visits every item in the order of ids, numbers before UUIDs. The next page is fetched while items are visited.
func (s *store) Scan(ctx context.Context, req adapters.ScanRequest, visit func(adapters.Item) error) (adapters.ScanReport, error) {
	const op = "scan"
	if err := s.enter(ctx, op); err != nil {
		return adapters.ScanReport{}, err
	}
	vectors, err := s.scanVectors(ctx, req)
	if err != nil {
		return adapters.ScanReport{}, err
	}
	collection, other := s.set.Collection, ""
	if req.Collection != "" && req.Collection != collection {
		collection, other = req.Collection, req.Collection
	}
	scan := scanning{store: s, pages: s.pages(collection, vectors, s.set.Page), other: other, vectors: req.Vectors}
	if s.set.ShardKey.key != nil {
		scan.report.LeftOut = "the shards without the key of backends.store.shard_key"
	}
	if err := scan.run(ctx, visit); err != nil {
		if scan.refused { // by visit: its error is the caller's own
			return scan.report, err
		}
		return scan.report, s.failed(ctx, op, err)
	}
	if scan.report.Counted, err = s.count(ctx, collection, nil); err != nil {
		return scan.report, s.failed(ctx, op, err)
	}
	scan.report.Unread, err = scan.texts.scanned(collection, s.set.Fields.Text)
	if other != "" && err != nil { // another collection may hold anything: say it, and go on
		scan.report.Unread, err = fmt.Sprintf("no item of collection %q has a text in the field %q", other, s.set.Fields.Text), nil
	}
	return scan.report, err
}

// scanVectors is what a scan asks for; a collection that is not the store's own may not have the vector.
func (s *store) scanVectors(ctx context.Context, req adapters.ScanRequest) (*qdrant.WithVectorsSelector, error) {
	const op = "scan"
	if req.Vectors && s.shape.dense == nil {
		return nil, fail(op, adapters.KindUnsupported, fmt.Errorf("collection %q has no dense vectors", s.set.Collection))
	}
	if req.Collection == "" || req.Collection == s.set.Collection {
		return s.withVectors(req.Vectors), nil
	}
	response, err := s.grpc.Collections().Get(ctx, &qdrant.GetCollectionInfoRequest{CollectionName: req.Collection})
	if err != nil {
		return nil, s.failed(ctx, op, fmt.Errorf("reading collection %q: %w", req.Collection, err))
	}
	there := denseVectors(response.GetResult().GetConfig())[s.set.Vector] != nil
	return s.withVectors(req.Vectors && there), nil
}

// count is the exact number of items.
func (s *store) count(ctx context.Context, collection string, filter *qdrant.Filter) (int, error) {
	if s.shape.noExact {
		return s.countIDs(ctx, collection, filter)
	}
	response, err := s.grpc.Points().Count(ctx, &qdrant.CountPoints{
		CollectionName: collection, Filter: filter, Exact: qdrant.PtrOf(true),
		ReadConsistency: s.set.ReadConsistency.value, ShardKeySelector: s.set.ShardKey.selector(), Timeout: s.timeout(ctx),
	})
	return int(response.GetResult().GetCount()), err
}

// idPage is how many ids are read at a time.
const idPage = 10_000

// countIDs counts by reading the ids, where strict mode forbids exact counts along with exact searches.
func (s *store) countIDs(ctx context.Context, collection string, filter *qdrant.Filter) (int, error) {
	p := s.pages(collection, qdrant.NewWithVectors(false), idPage)
	p.filter, p.bare = filter, true
	n := 0
	for !p.done {
		points, err := p.next(ctx)
		if err != nil {
			return 0, err
		}
		n += len(points)
	}
	return n, nil
}

// scanning is one scan.
type scanning struct {
	store   *store
	pages   *pages
	other   string // the collection, where it is not the store's own
	vectors bool
	texts   textFields
	report  adapters.ScanReport
	refused bool
}

// fetched is one page, or why there is none.
type fetched struct {
	points []*qdrant.RetrievedPoint
	err    error
}

// run visits all items. The fetcher is one page ahead, and has ended when run returns.
func (n *scanning) run(ctx context.Context, visit func(adapters.Item) error) error {
	ctx, cancel := context.WithCancel(ctx)
	var fetcher sync.WaitGroup
	defer fetcher.Wait()
	defer cancel()
	ready := make(chan fetched)
	fetcher.Go(func() {
		defer close(ready)
		for !n.pages.done {
			points, err := n.pages.next(ctx)
			select {
			case ready <- fetched{points, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	})
	for page := range ready {
		if page.err != nil {
			return page.err
		}
		for _, point := range page.points {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := n.visit(point, visit); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

func (n *scanning) visit(point *qdrant.RetrievedPoint, visit func(adapters.Item) error) error {
	n.texts.add(point.GetPayload(), n.store.set.Fields.Text)
	item := n.store.item(point, n.vectors)
	item.Collection = n.other
	n.report.Scanned++
	if err := visit(item); err != nil {
		n.refused = true
		return err
	}
	return nil
}

func (s *store) item(point *qdrant.RetrievedPoint, vectors bool) adapters.Item {
	item := s.set.Fields.item(idText(point.GetId()), point.GetPayload())
	if vectors {
		item.Vector = denseVector(point.GetVectors(), s.set.Vector)
	}
	return item
}
