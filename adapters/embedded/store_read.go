package embedded

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/culprit-rag/culprit/adapters"
)

const (
	// A page of a scan ends with either.
	pageItems = 512
	pageBytes = 1 << 20
	// chunkItems is how many items one statement looks up.
	chunkItems = 1000
)

// columns are those that reader.item reads.
const columns = `i.n, i.id, i.source, i.revision, i.text, i.details`

// reader turns rows into items.
type reader struct {
	collection string // what Item.Collection is to be
	vectors    bool
}

// from is the tables that the columns are of.
func (r reader) from() string {
	if r.vectors {
		return `item i LEFT JOIN vector v ON v.n = i.n`
	}
	return `item i`
}

func (r reader) columns() string {
	if r.vectors {
		return columns + `, v.v`
	}
	return columns
}

func (r reader) item(rows *sql.Rows) (n int64, item adapters.Item, err error) {
	var more sql.NullString
	var vector sql.RawBytes
	into := []any{&n, &item.ID, &item.Source, &item.Revision, &item.Text, &more}
	if r.vectors {
		into = append(into, &vector)
	}
	if err := rows.Scan(into...); err != nil {
		return 0, item, err
	}
	item.Collection = r.collection
	if vector != nil {
		item.Vector = fromBlob(vector)
	}
	if more.Valid {
		var d details
		if err := json.Unmarshal([]byte(more.String), &d); err != nil {
			return 0, item, damage{fmt.Errorf("item %q: %w", item.ID, err)}
		}
		if err := d.fill(&item); err != nil {
			return 0, item, damage{fmt.Errorf("item %q: %w", item.ID, err)}
		}
	}
	return n, item, nil
}

// reader returns how items of c are read. An item says its collection where that is not the one that is searched.
func (s *store) reader(c collection, vectors bool) reader {
	r := reader{vectors: vectors}
	if c.Number != s.here.Number {
		r.collection = c.Name
	}
	return r
}

func (s *store) checkVectors(op string, asked bool) error {
	if asked && !s.about.Vectors {
		return fail(op, adapters.KindUnsupported, errors.New("the index has no vectors; configure backends.embedder"))
	}
	return nil
}

// Scan reads page by page. No connection is held while visit runs, so visit may use the store.
func (s *store) Scan(ctx context.Context, req adapters.ScanRequest, visit func(adapters.Item) error) (adapters.ScanReport, error) {
	var report adapters.ScanReport
	if err := s.enter(ctx, "scan"); err != nil {
		return report, err
	}
	if err := s.checkVectors("scan", req.Vectors); err != nil {
		return report, err
	}
	c := s.here
	if req.Collection != "" {
		var ok bool
		if c, ok = s.collection(req.Collection); !ok {
			return report, fail("scan", adapters.KindNotFound, fmt.Errorf("collection %q is not in the store, which has %q", req.Collection, s.names()))
		}
	}
	r := s.reader(c, req.Vectors)
	for after, more := "", true; more; {
		var page []adapters.Item
		var err error
		if page, more, err = s.page(ctx, r, c, after); err != nil {
			return report, s.wrap(ctx, "scan", err)
		}
		for _, item := range page {
			if err := ctx.Err(); err != nil {
				return report, s.wrap(ctx, "scan", err)
			}
			report.Scanned++
			if err := visit(item); err != nil {
				return report, err
			}
			after = item.ID
		}
	}
	var err error
	if report.Counted, err = s.count(ctx, c); err != nil {
		return report, s.wrap(ctx, "scan", fmt.Errorf("counting: %w", err))
	}
	return report, nil
}

// page reads the items with ids after the given one, and whether there may be more of them.
func (s *store) page(ctx context.Context, r reader, c collection, after string) (page []adapters.Item, more bool, err error) {
	var seen clause
	s.hide(&seen)
	rows, err := s.db.QueryContext(ctx, `SELECT `+r.columns()+` FROM `+r.from()+` WHERE i.collection = ? AND i.id > ?`+seen.String()+` ORDER BY i.id LIMIT ?`,
		slices.Concat([]any{c.Number, after}, seen.args, []any{pageItems})...)
	if err != nil {
		return nil, false, err
	}
	defer rows.Close()
	size := 0
	for rows.Next() {
		_, item, err := r.item(rows)
		if err != nil {
			return nil, false, err
		}
		page = append(page, item)
		if size += len(item.Text); size >= pageBytes {
			return page, true, nil
		}
	}
	return page, len(page) == pageItems, rows.Err()
}

// Fetch looks the ids up in the collection that is searched. An id that is asked for twice is returned twice.
func (s *store) Fetch(ctx context.Context, req adapters.FetchRequest) ([]adapters.Item, error) {
	if err := s.enter(ctx, "fetch"); err != nil {
		return nil, err
	}
	if err := s.checkVectors("fetch", req.Vectors); err != nil {
		return nil, err
	}
	r := s.reader(s.here, req.Vectors)
	items := make([]adapters.Item, 0, len(req.IDs))
	var seen clause
	s.hide(&seen)
	for start := 0; start < len(req.IDs); start += chunkItems {
		ids := req.IDs[start:min(start+chunkItems, len(req.IDs))]
		found := make(map[string]adapters.Item, len(ids))
		err := s.each(ctx, r, `i.collection = ? AND i.id `+inList+seen.String(), slices.Concat([]any{s.here.Number, list(ids)}, seen.args), func(_ int64, item adapters.Item) error {
			found[item.ID] = item
			return nil
		})
		if err != nil {
			return nil, s.wrap(ctx, "fetch", err)
		}
		for _, id := range ids {
			if item, ok := found[id]; ok {
				items = append(items, item)
			}
		}
	}
	return items, nil
}

// hits reads the items of a ranking, or only says which they are.
func (s *store) hits(ctx context.Context, ranking []scored, idsOnly bool) ([]adapters.Hit, error) {
	hits := make([]adapters.Hit, 0, len(ranking))
	if idsOnly {
		for i, item := range ranking {
			hits = append(hits, adapters.Hit{Item: adapters.Item{ID: item.id}, Rank: i + 1, Score: &ranking[i].score})
		}
		return hits, nil
	}
	r := s.reader(s.here, false)
	for start := 0; start < len(ranking); start += chunkItems {
		part := ranking[start:min(start+chunkItems, len(ranking))]
		numbers := make([]int64, len(part))
		for i, item := range part {
			numbers[i] = item.n
		}
		text, err := json.Marshal(numbers)
		if err != nil {
			return nil, err
		}
		found := make(map[int64]adapters.Item, len(part))
		err = s.each(ctx, r, `i.n `+inList, []any{string(text)}, func(n int64, item adapters.Item) error {
			found[n] = item
			return nil
		})
		if err != nil {
			return nil, err
		}
		for i := range part {
			hits = append(hits, adapters.Hit{Item: found[part[i].n], Rank: len(hits) + 1, Score: &part[i].score})
		}
	}
	return hits, nil
}

// each calls visit for the items for which the condition holds. An error of visit ends it.
func (s *store) each(ctx context.Context, r reader, where string, args []any, visit func(int64, adapters.Item) error) error {
	rows, err := s.db.QueryContext(ctx, `SELECT `+r.columns()+` FROM `+r.from()+` WHERE `+where, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		n, item, err := r.item(rows)
		if err != nil {
			return err
		}
		if err := visit(n, item); err != nil {
			return err
		}
	}
	return rows.Err()
}
