package weaviate

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/crash"
)

// Scan visits the tenants by name, and the objects of each by id. The next page is read while visit runs.
func (s *store) Scan(ctx context.Context, req adapters.ScanRequest, visit func(adapters.Item) error) (adapters.ScanReport, error) {
	var report adapters.ScanReport
	ctx, leave, err := s.enter(ctx, "scan")
	if err != nil {
		return report, err
	}
	defer leave()
	var refused *visitError
	if err := s.scan(ctx, req, &report, visit); errors.As(err, &refused) {
		return report, refused.err
	} else if err != nil {
		return report, s.failure(ctx, "scan", err)
	}
	return report, nil
}

// visitError is the error of visit, which is returned as it is.
type visitError struct{ err error }

func (e *visitError) Error() string { return e.err.Error() }

func (s *store) scan(ctx context.Context, req adapters.ScanRequest, report *adapters.ScanReport, visit func(adapters.Item) error) error {
	c, other := s.current(), ""
	if req.Collection != "" && req.Collection != c.name && req.Collection != s.set.Collection {
		var err error
		if c, err = s.lookUp(ctx, req.Collection); err != nil {
			return err
		}
		if err := c.hasText(s.set.Fields.Text); err != nil {
			return err
		}
		other = c.name
	}
	list, err := s.tenants(ctx, c)
	if err != nil {
		return err
	}
	report.Unread, report.LeftOut = list.unread(c), list.leftOut()
	for _, tenant := range list.active {
		err := s.walk(ctx, c, tenant, req.Vectors, func(o object) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			item := s.item(c, o)
			item.Collection = other
			report.Scanned++
			if err := visit(item); err != nil {
				return &visitError{err}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	counts, err := overTenants(ctx, list.active, func(ctx context.Context, tenant string) (int, error) { return s.count(ctx, c, tenant) })
	if err != nil {
		return err
	}
	for _, n := range counts {
		report.Counted += n
	}
	return nil
}

var errEnough = errors.New("enough was read")

func isEnough(err error) bool { return errors.Is(err, errEnough) }

// walk calls f for each object of a tenant, by id, on the caller's goroutine. One other goroutine reads one page ahead; it has
// ended when walk returns.
func (s *store) walk(ctx context.Context, c *class, tenant string, vectors bool, f func(object) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pages := make(chan []object)
	group, reading := errgroup.WithContext(ctx)
	group.Go(crash.Guard(func() error {
		defer close(pages)
		p := pager{store: s, class: c, tenant: tenant, vectors: vectors, limit: min(firstPage, s.set.PageSize)}
		for {
			page, err := p.next(reading)
			if err != nil || len(page) == 0 {
				return err
			}
			select {
			case pages <- page:
			case <-reading.Done():
				return reading.Err()
			}
		}
	}))
	var stopped error
	for page := range pages {
		for i := 0; stopped == nil && i < len(page); i++ {
			stopped = f(page[i])
		}
		if stopped != nil {
			cancel()
		}
	}
	if err := group.Wait(); stopped == nil {
		return err
	}
	return stopped
}
