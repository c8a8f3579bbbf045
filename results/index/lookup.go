package index

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/culprit-rag/culprit/results"
)

const columns = `SELECT case_id, execution, file, created, status, manifest, case_digest, pins, observation, ruleset, outcome, qualifier, defects, grade,
	scored, pass, low, high FROM bundle `

// Case returns the newest bundles of a case, at most most of them (all for 0), newest first.
func (x *Index) Case(ctx context.Context, id string, most int) ([]results.Entry, error) {
	return x.entries(ctx, columns+"WHERE case_id = ? ORDER BY execution DESC LIMIT ?", id, limit(most))
}

// Execution returns the bundles of an execution in the order of the ids of their cases.
func (x *Index) Execution(ctx context.Context, id results.ExecutionID) ([]results.Entry, error) {
	return x.entries(ctx, columns+"WHERE execution = ? ORDER BY case_id", string(id))
}

// Cases returns the ids of all cases, sorted.
func (x *Index) Cases(ctx context.Context) (ids []string, err error) {
	rows, err := x.db.QueryContext(ctx, "SELECT DISTINCT case_id FROM bundle ORDER BY case_id")
	if err != nil {
		return nil, fmt.Errorf("index of %q: %w", x.out, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// Unread returns what could not be read, in the order of executions and names.
func (x *Index) Unread(ctx context.Context) (all []results.Unread, err error) {
	rows, err := x.db.QueryContext(ctx, "SELECT execution, file, why FROM unread ORDER BY execution, file")
	if err != nil {
		return nil, fmt.Errorf("index of %q: %w", x.out, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var u results.Unread
		if err := rows.Scan((*string)(&u.Execution), &u.File, &u.Why); err != nil {
			return nil, err
		}
		all = append(all, u)
	}
	return all, rows.Err()
}

// Size returns how many bundles of how many executions the index holds.
func (x *Index) Size(ctx context.Context) (bundles, executions int, err error) {
	err = x.db.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM bundle), (SELECT count(*) FROM execution)").Scan(&bundles, &executions)
	return bundles, executions, err
}

func limit(most int) int {
	if most <= 0 {
		return -1
	}
	return most
}

func (x *Index) entries(ctx context.Context, query string, args ...any) (all []results.Entry, err error) {
	rows, err := x.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("index of %q: %w", x.out, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var e results.Entry
		var file, defects, low, high string
		if err := rows.Scan(&e.Case, (*string)(&e.Execution), &file, &e.Created, &e.Status, &e.Manifest, &e.CaseDigest, &e.Pins, &e.Observation, &e.Ruleset,
			(*string)(&e.Outcome), &e.Qualifier, &defects, (*string)(&e.Grade), &e.Production.Scored, &e.Production.Pass, &low, &high); err != nil {
			return nil, err
		}
		e.Bundle = filepath.Join(x.out, string(e.Execution), file)
		e.Defects = strings.Fields(defects)
		if low != "" {
			e.Production.Interval = []string{low, high}
		}
		all = append(all, e)
	}
	return all, rows.Err()
}
