package embedded

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/adapters"
)

// Search modes.
const (
	modeKeyword = "keyword"
	modeDense   = "dense"
	modeHybrid  = "hybrid"
)

// scored is an item of a ranking before it is read.
type scored struct {
	n     int64
	id    string
	score float64
}

// everything, as an SQL limit, is no limit.
const everything = -1

// Search ranks by BM25, by the similarity of vectors, or by the reciprocal rank fusion of both rankings in full. Higher
// scores are better. An item that holds no word of the query has no keyword score and is left out of that ranking; one
// without a vector is left out of the dense ranking; one with a zero vector scores 0 there. A zero query vector ranks
// nothing.
func (s *store) Search(ctx context.Context, req adapters.SearchRequest) (adapters.SearchResponse, error) {
	if err := s.enter(ctx, "search"); err != nil {
		return adapters.SearchResponse{}, err
	}
	if err := s.checkSearch(req); err != nil {
		return adapters.SearchResponse{}, err
	}
	ranking, err := s.rank(ctx, req)
	if err != nil {
		return adapters.SearchResponse{}, s.wrap(ctx, "search", err)
	}
	s.searches.Add(1)
	hits, err := s.hits(ctx, ranking, req.IDsOnly)
	if err != nil {
		return adapters.SearchResponse{}, s.wrap(ctx, "search", err)
	}
	return adapters.SearchResponse{Hits: hits, Exact: s.exact(req), Received: req.Query}, nil
}

func (s *store) checkSearch(req adapters.SearchRequest) error {
	if !slices.Contains(s.Capabilities().Modes, req.Mode) {
		err := fmt.Errorf("search mode %q is not one of %s", req.Mode, strings.Join(s.Capabilities().Modes, ", "))
		if req.Mode == modeDense || req.Mode == modeHybrid {
			err = fmt.Errorf("search mode %q needs vectors, and the index has none; configure backends.embedder", req.Mode)
		}
		return fail("search", adapters.KindUnsupported, err)
	}
	if req.Limit < 1 {
		return invalid("search", "the limit is %d and must be at least 1", req.Limit)
	}
	if req.Threshold != nil && (math.IsNaN(*req.Threshold) || math.IsInf(*req.Threshold, 0)) {
		return invalid("search", "the threshold is not a finite number")
	}
	if req.Mode == modeKeyword {
		return nil
	}
	if _, err := checkVector(req.Vector); err != nil {
		return invalid("search", "the query's vector: %w", err)
	}
	if len(req.Vector) != s.about.Dimensions && s.about.Dimensions != 0 {
		return invalid("search", "the query's vector has %d dimensions, and the index has %d", len(req.Vector), s.about.Dimensions)
	}
	return nil
}

// exact tells whether nothing is missed. Every search here is exhaustive, so only the fault makes one approximate.
func (s *store) exact(req adapters.SearchRequest) bool {
	return req.Exact || len(req.Only) > 0 || req.Mode == modeKeyword || len(s.settings.Faults.Approximate) == 0
}

func (s *store) rank(ctx context.Context, req adapters.SearchRequest) ([]scored, error) {
	where, err := s.filter(ctx, req.Filter)
	if err != nil {
		return nil, fmt.Errorf("looking for what the filter admits: %w", err)
	}
	s.hide(&where)
	if req.Mode == modeHybrid {
		return s.fuse(ctx, req, where)
	}
	if len(req.Only) > 0 {
		where.and("i.id "+inList, list(req.Only))
	}
	if req.Mode == modeKeyword {
		return s.byKeyword(ctx, req, where, req.Limit)
	}
	return s.byVector(ctx, req, where, req.Limit)
}

// byKeyword ranks the items that match the query's words.
func (s *store) byKeyword(ctx context.Context, req adapters.SearchRequest, where clause, limit int) ([]scored, error) {
	phrases, err := s.settings.Keyword.phrases(req.Query)
	if err != nil {
		return nil, fail("search", adapters.KindInvalid, err)
	}
	if len(phrases) == 0 {
		return nil, nil
	}
	match := s.settings.Keyword.expression(phrases)
	if req.FilterStatistics {
		return s.byKeywordWithin(ctx, req, match, where, limit)
	}
	if len(where.sql) == 0 && (len(phrases) == 1 || s.settings.Keyword.Operator != operatorAnd && len(phrases) <= mostWords) {
		if ranking, ok, err := s.byWords(ctx, phrases, req.Threshold, limit); ok || err != nil {
			return ranking, err
		}
	}
	return ranked(ctx, s.db, s.keywordQuery()+where.String(), slices.Concat([]any{match}, where.args), req.Threshold, limit)
}

// byKeywordWithin ranks as byKeyword does, by an index of what is admitted alone, made for this one search. How often a word
// stands in the rest of the collection does not weigh in it.
func (s *store) byKeywordWithin(ctx context.Context, req adapters.SearchRequest, match string, where clause, limit int) (_ []scored, err error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1) // each connection has a memory of its own
	if _, err := db.ExecContext(ctx, `CREATE TABLE item (n INTEGER PRIMARY KEY, id TEXT NOT NULL);
		CREATE VIRTUAL TABLE own USING fts5(text, content='', tokenize=`+sqlQuote(s.settings.Keyword.tokenizer())+`)`); err != nil {
		return nil, err
	}
	err = s.each(ctx, s.reader(s.here, false), `i.collection = ?`+where.String(), slices.Concat([]any{s.here.Number}, where.args), func(n int64, item adapters.Item) error {
		_, err := db.ExecContext(ctx, `INSERT INTO item VALUES (?1, ?2); INSERT INTO own (rowid, text) VALUES (?1, ?3)`, n, item.ID, item.Text)
		return err
	})
	if err != nil {
		return nil, err
	}
	return ranked(ctx, db, `SELECT i.n, i.id, -bm25(own) AS score FROM own CROSS JOIN item i ON i.n = own.rowid WHERE own MATCH ?`, []any{match}, req.Threshold, limit)
}

// byVector ranks the items that have a vector. sqlite-vec knows no dot product, which is its cosine times the lengths.
// Its cosine with a zero vector is NULL.
func (s *store) byVector(ctx context.Context, req adapters.SearchRequest, where clause, limit int) ([]scored, error) {
	length := norm(req.Vector)
	if length == 0 {
		return nil, nil
	}
	factor := ""
	args := []any{blob(req.Vector)}
	if s.settings.Distance == distanceDot {
		factor = " * v.norm * ?"
		args = append(args, length)
	}
	if !s.exact(req) {
		where.and("i.id NOT "+inList, list(s.settings.Faults.Approximate))
	}
	from := `vector v CROSS JOIN item i ON i.n = v.n` // every vector, in the order of the file
	if len(req.Only) > 0 && req.Mode == modeDense {
		from = `item i CROSS JOIN vector v ON v.n = i.n` // few items, by the index of ids
	}
	query := fmt.Sprintf(`SELECT i.n, i.id, coalesce((1 - vec_distance_cosine(v.v, ?))%s, 0.0) AS score
		FROM %s WHERE i.collection = ?%s`, factor, from, where.String())
	return ranked(ctx, s.db, query, slices.Concat(args, []any{s.here.Number}, where.args), req.Threshold, limit)
}

// ranked runs a query for n, id and score, and orders it.
func ranked(ctx context.Context, db *sql.DB, query string, args []any, threshold *float64, limit int) ([]scored, error) {
	if threshold != nil {
		query = `SELECT * FROM (` + query + `) WHERE score >= ?`
		args = append(args, *threshold)
	}
	return readScored(ctx, db, query+` ORDER BY score DESC, id LIMIT ?`, append(args, limit)...)
}

// readScored runs a query for n, id and score.
func readScored(ctx context.Context, db *sql.DB, query string, args ...any) ([]scored, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var ranking []scored
	for rows.Next() {
		var item scored
		if err := rows.Scan(&item.n, &item.id, &item.score); err != nil {
			return nil, err
		}
		ranking = append(ranking, item)
	}
	return ranking, rows.Err()
}

// fuse ranks by the sum of 1/(k + rank) over both rankings. Only restricts the outcome and not the rankings, so that an
// item's score does not depend on who asks for it.
func (s *store) fuse(ctx context.Context, req adapters.SearchRequest, where clause) ([]scored, error) {
	arm := req
	arm.Threshold = nil
	keyword, err := s.byKeyword(ctx, arm, where, everything)
	if err != nil {
		return nil, err
	}
	dense, err := s.byVector(ctx, arm, where, everything)
	if err != nil {
		return nil, err
	}
	sums := make(map[int64]scored, max(len(keyword), len(dense)))
	for _, ranking := range [][]scored{keyword, dense} {
		for i, item := range ranking {
			item.score = sums[item.n].score + 1/float64(s.settings.FusionK+i+1)
			sums[item.n] = item
		}
	}
	ranking := make([]scored, 0, len(sums))
	for _, item := range sums {
		if req.Threshold != nil && item.score < *req.Threshold || len(req.Only) > 0 && !slices.Contains(req.Only, item.id) {
			continue
		}
		ranking = append(ranking, item)
	}
	slices.SortFunc(ranking, byScore)
	return ranking[:min(len(ranking), req.Limit)], nil
}
