package weaviate

import (
	"context"
	"errors"
	"strconv"

	"github.com/culprit-rag/culprit/adapters"
)

// fetchBatch is how many objects are asked for at once.
const fetchBatch = 100

// Fetch returns the items with these ids. Where tenants share an id, it is that of the first by name.
func (s *store) Fetch(ctx context.Context, req adapters.FetchRequest) ([]adapters.Item, error) {
	ctx, leave, err := s.enter(ctx, "fetch")
	if err != nil {
		return nil, err
	}
	defer leave()
	items, err := s.fetch(ctx, req)
	if err != nil {
		return nil, s.failure(ctx, "fetch", err)
	}
	return items, nil
}

func (s *store) fetch(ctx context.Context, req adapters.FetchRequest) ([]adapters.Item, error) {
	c := s.current()
	wanted := validIDs(req.IDs)
	if len(wanted) == 0 {
		return nil, nil
	}
	list, err := s.tenants(ctx, c)
	if err != nil {
		return nil, err
	}
	perTenant, err := overTenants(ctx, list.active, func(ctx context.Context, tenant string) ([]object, error) {
		var found []object
		for from := 0; from < len(wanted); from += fetchBatch {
			part, err := s.byID(ctx, c, tenant, wanted[from:min(from+fetchBatch, len(wanted))], req.Vectors)
			if err != nil {
				return nil, err
			}
			found = append(found, part...)
		}
		return found, nil
	})
	if err != nil {
		return nil, s.explainQuery(c, err)
	}
	found := map[string]object{}
	for _, objects := range perTenant {
		for _, o := range objects {
			if _, known := found[o.id]; !known {
				found[o.id] = o
			}
		}
	}
	var items []adapters.Item
	for _, id := range req.IDs {
		if o, ok := found[id]; ok {
			items = append(items, s.item(c, o))
		}
	}
	return items, nil
}

// byID asks for objects, for half of them where all are too large for one answer.
func (s *store) byID(ctx context.Context, c *class, tenant string, ids []string, vectors bool) ([]object, error) {
	var args arguments
	args.add("tenant", tenantArgument(tenant))
	args.add("consistencyLevel", s.consistency(c))
	args.add("where", byIDs(ids))
	args.add("limit", strconv.Itoa(len(ids)))
	fields := []string{"id", "lastUpdateTimeUnix"}
	if vectors {
		fields = append(fields, vectorField(s.set.Vector))
	}
	rows, err := s.query(ctx, "Get", c.name, document("Get", c.name, args, selection(c.names(), fields...)))
	if errors.Is(err, errTooLarge) && len(ids) > 1 {
		half := len(ids) / 2
		low, err := s.byID(ctx, c, tenant, ids[:half], vectors)
		if err != nil {
			return nil, err
		}
		high, err := s.byID(ctx, c, tenant, ids[half:], vectors)
		return append(low, high...), err
	}
	if err != nil {
		return nil, err
	}
	objects := make([]object, 0, len(rows))
	for _, row := range rows {
		o, _, ok := objectOf(row, tenant, s.set.Vector)
		if !ok {
			return nil, problemf(adapters.KindPermanent, "the answer to a query holds an object without an id")
		}
		objects = append(objects, o)
	}
	return objects, nil
}
