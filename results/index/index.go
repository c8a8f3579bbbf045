// Package index answers which bundles a results folder holds of a case, from an SQLite file that can be made of them at any time.
package index

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/culprit-rag/culprit/crash"
	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/results"
)

// File is the name of the index in a results folder.
const File = "index.sqlite"

// format changes with every change of the layout; a file of another format is made again.
const format = 1

const layout = `
CREATE TABLE folder (seen INTEGER NOT NULL);
INSERT INTO folder VALUES (0);
CREATE TABLE execution (id TEXT PRIMARY KEY, seen INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE bundle (
	case_id TEXT NOT NULL, execution TEXT NOT NULL, file TEXT NOT NULL, created TEXT NOT NULL, status TEXT NOT NULL,
	manifest TEXT NOT NULL, case_digest TEXT NOT NULL, pins TEXT NOT NULL, observation TEXT NOT NULL, ruleset TEXT NOT NULL,
	outcome TEXT NOT NULL, qualifier TEXT NOT NULL, defects TEXT NOT NULL, grade TEXT NOT NULL,
	scored INTEGER NOT NULL, pass INTEGER NOT NULL, low TEXT NOT NULL, high TEXT NOT NULL,
	PRIMARY KEY (case_id, execution)) WITHOUT ROWID;
CREATE INDEX of_execution ON bundle (execution);
CREATE TABLE unread (execution TEXT NOT NULL, file TEXT NOT NULL, why TEXT NOT NULL, PRIMARY KEY (execution, file)) WITHOUT ROWID;
`

// Index is an open index. It is safe for concurrent use.
type Index struct {
	out  string
	db   *sql.DB
	kept bool // in a file
}

// Open opens the index of a results folder, and makes it where there is none, where it is damaged or of another format. What was
// sealed or removed since is read first; told, where it is not nil, is called as that goes on. In a folder that cannot be written the
// index is held in memory.
func Open(ctx context.Context, out string, told func(done, of int)) (*Index, error) {
	x, err := open(ctx, out)
	if err == nil {
		if err = x.refresh(ctx, told); err == nil {
			return x, nil
		}
		err = errors.Join(err, x.Close())
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if errors.Is(err, errFolder) {
		return nil, err
	}
	return Rebuild(ctx, out, told)
}

// Kept says whether the index is a file: it is held in memory where the folder cannot be written to.
func (x *Index) Kept() bool { return x.kept }

// Rebuild makes the index of a results folder anew, of its bundles alone.
func Rebuild(ctx context.Context, out string, told func(done, of int)) (_ *Index, err error) {
	if _, err := os.Stat(out); err != nil {
		return nil, fmt.Errorf("results folder: %w", err)
	}
	path := filepath.Join(out, File)
	temp := fmt.Sprintf("%s.%d.tmp", path, os.Getpid())
	err = remove(temp)
	if err == nil {
		err = touch(temp)
	}
	if isReadOnly(err) {
		temp, err = ":memory:", nil
	}
	if err != nil {
		return nil, fmt.Errorf("index of %q: %w", out, err)
	}
	x, err := create(ctx, out, temp)
	if err == nil {
		err = x.refresh(ctx, told)
	}
	if temp == ":memory:" && err == nil {
		return x, nil
	}
	if x != nil {
		err = errors.Join(err, x.Close())
	}
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		return nil, fmt.Errorf("index of %q: %w", out, errors.Join(err, remove(temp)))
	}
	return open(ctx, out)
}

func remove(path string) error {
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// touch makes an empty file that nobody else reads, whatever the umask.
func touch(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

func isReadOnly(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

var (
	errFolder = errors.New("the results folder cannot be read")
	errFormat = errors.New("another format")
)

// open opens an index that is there.
func open(ctx context.Context, out string) (*Index, error) {
	path := filepath.Join(out, File)
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	mode := "rw"
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return nil, err
	}
	x, err := connect(out, path, mode)
	if err != nil {
		return nil, err
	}
	var is int
	if err = x.db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&is); err == nil && is != format {
		err = errFormat
	}
	if err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return x, nil
}

func create(ctx context.Context, out, path string) (*Index, error) {
	x, err := connect(out, path, "rwc")
	if err != nil {
		return nil, err
	}
	if _, err := x.db.ExecContext(ctx, layout+fmt.Sprintf("PRAGMA user_version = %d;", format)); err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return x, nil
}

func connect(out, path, mode string) (*Index, error) {
	name := path
	if path != ":memory:" {
		absolute, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		address := url.URL{Scheme: "file", Path: filepath.ToSlash(absolute), RawQuery: "mode=" + mode + "&_pragma=busy_timeout(10000)&_pragma=synchronous(normal)"}
		name = address.String()
	}
	db, err := sql.Open("sqlite", name)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // one in memory is one connection; a file is written by one
	return &Index{out: out, db: db, kept: path != ":memory:"}, nil
}

// Close releases the index.
func (x *Index) Close() error { return x.db.Close() }

// refresh reads what was sealed, and forgets what was removed, since the last time. An execution whose folder has not changed since is
// left alone, and all of them where no folder can have changed.
func (x *Index) refresh(ctx context.Context, told func(done, of int)) error {
	known, err := x.known(ctx)
	if err != nil {
		return err
	}
	ids, err := results.Executions(x.out)
	if err != nil {
		return fmt.Errorf("%w: %w", errFolder, err)
	}
	changed := map[results.ExecutionID]int64{}
	for _, id := range ids {
		info, err := os.Stat(filepath.Join(x.out, string(id)))
		if err != nil {
			return fmt.Errorf("%w: %w", errFolder, err)
		}
		seen, there := known[id]
		if now := settled(info.ModTime()); !there || seen == 0 || seen != now {
			changed[id] = now
		}
		delete(known, id)
	}
	if len(changed) == 0 && len(known) == 0 {
		return nil
	}
	return x.update(ctx, changed, known, told)
}

// settled is a folder's time as it is remembered: 0, which is never taken for the same again, where it may still change within the
// grain of the file system's clock.
func settled(at time.Time) int64 {
	const grain = 2 * time.Second
	if time.Since(at) < grain {
		return 0
	}
	return at.UnixNano()
}

func (x *Index) known(ctx context.Context) (_ map[results.ExecutionID]int64, err error) {
	rows, err := x.db.QueryContext(ctx, "SELECT id, seen FROM execution")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	known := map[results.ExecutionID]int64{}
	for rows.Next() {
		var id string
		var seen int64
		if err := rows.Scan(&id, &seen); err != nil {
			return nil, err
		}
		known[results.ExecutionID(id)] = seen
	}
	return known, rows.Err()
}

// found is a bundle that was read.
type found struct {
	execution results.ExecutionID
	path      string
	brief     *results.Brief
	err       error
}

// update reads the bundles of the changed executions side by side, and writes all of it or nothing.
func (x *Index) update(ctx context.Context, changed, gone map[results.ExecutionID]int64, told func(done, of int)) (err error) {
	var todo []found
	for id := range changed {
		paths, err := results.Bundles(x.out, id)
		if err != nil {
			return fmt.Errorf("%w: %w", errFolder, err)
		}
		for _, path := range paths {
			todo = append(todo, found{execution: id, path: path})
		}
	}
	slices.SortFunc(todo, func(a, b found) int { return cmp.Compare(a.path, b.path) })
	tx, err := x.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.Rollback())
		}
	}()
	w, err := newWriter(ctx, tx)
	if err != nil {
		return err
	}
	for id := range gone {
		if err := w.forget(ctx, id, 0, true); err != nil {
			return err
		}
	}
	for id, seen := range changed {
		if err := w.forget(ctx, id, seen, false); err != nil {
			return err
		}
	}
	if err := readAll(ctx, todo, func(f *found, done int) error {
		if told != nil {
			told(done, len(todo))
		}
		return w.add(ctx, f)
	}); err != nil {
		return err
	}
	return tx.Commit()
}

// readAll reads bundles on all cores and hands them to add, one at a time.
func readAll(ctx context.Context, todo []found, add func(f *found, done int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	places, read := make(chan int), make(chan *found)
	group.Go(crash.Guard(func() error {
		defer close(places)
		for i := range todo {
			select {
			case places <- i:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	}))
	readers, readCtx := errgroup.WithContext(ctx)
	for range runtime.GOMAXPROCS(0) {
		readers.Go(crash.Guard(func() error {
			for i := range places {
				f := &todo[i]
				f.brief, f.err = results.ReadBrief(f.path)
				select {
				case read <- f:
				case <-readCtx.Done():
					return readCtx.Err()
				}
			}
			return nil
		}))
	}
	group.Go(func() error {
		defer close(read)
		return readers.Wait()
	})
	done := 0
	for f := range read {
		done++
		if err := add(f, done); err != nil {
			group.Go(func() error { return err }) // ends the others
			for range read {
			}
			break
		}
		f.brief = nil
	}
	return group.Wait()
}

// writer holds the statements of an update.
type writer struct{ see, drop, dropUnread, dropExecution, bundle, unread *sql.Stmt }

func newWriter(ctx context.Context, tx *sql.Tx) (w writer, err error) {
	for _, s := range []struct {
		into **sql.Stmt
		text string
	}{
		{&w.see, "INSERT OR REPLACE INTO execution VALUES (?, ?)"},
		{&w.drop, "DELETE FROM bundle WHERE execution = ?"},
		{&w.dropUnread, "DELETE FROM unread WHERE execution = ?"},
		{&w.dropExecution, "DELETE FROM execution WHERE id = ?"},
		{&w.bundle, "INSERT OR REPLACE INTO bundle VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"},
		{&w.unread, "INSERT OR REPLACE INTO unread VALUES (?, ?, ?)"},
	} {
		if *s.into, err = tx.PrepareContext(ctx, s.text); err != nil {
			return w, err
		}
	}
	return w, nil
}

// forget takes away what is known of an execution, and remembers when its folder was seen unless it is gone.
func (w *writer) forget(ctx context.Context, id results.ExecutionID, seen int64, gone bool) error {
	for _, s := range []*sql.Stmt{w.drop, w.dropUnread} {
		if _, err := s.ExecContext(ctx, string(id)); err != nil {
			return err
		}
	}
	if gone {
		_, err := w.dropExecution.ExecContext(ctx, string(id))
		return err
	}
	_, err := w.see.ExecContext(ctx, string(id), seen)
	return err
}

func (w *writer) add(ctx context.Context, f *found) error {
	file := filepath.Base(f.path)
	if f.err != nil {
		_, err := w.unread.ExecContext(ctx, string(f.execution), file, f.err.Error())
		return err
	}
	m, e := &f.brief.Manifest, &f.brief.Evaluation
	if m.ExecID != f.execution {
		_, err := w.unread.ExecContext(ctx, string(f.execution), file, fmt.Sprintf("it is of execution %q: it was copied or moved", m.ExecID))
		return err
	}
	var defects []string
	grade := verdict.Grade("")
	for i, d := range e.Defects {
		defects = append(defects, string(d.Stage)+"/"+d.Label)
		if i == 0 {
			grade = d.Grade
		}
	}
	a := production(e)
	low, high := "", ""
	if len(a.Interval) == 2 {
		low, high = a.Interval[0], a.Interval[1]
	}
	_, err := w.bundle.ExecContext(ctx, m.CaseID, string(m.ExecID), file, m.Created, m.Status, f.brief.ManifestSum, m.CaseDigest, m.Digests.Pins,
		m.Digests.Observation, m.Evaluator.Ruleset, string(e.Outcome), e.Qualifier, strings.Join(defects, " "), string(grade), a.Scored, a.Pass, low, high)
	return err
}

// production is what was counted of cell A.
func production(e *verdict.Evaluation) results.Counted {
	for i := range e.Cells {
		if a := &e.Cells[i]; a.Cell == matrix.CellA {
			summary := results.CellSummary{Judged95: a.Judged95, Sequence95: a.Sequence95, Wilson95: a.Wilson95}
			return results.Counted{Pass: a.Pass, Scored: a.Scored, Interval: summary.Interval()}
		}
	}
	return results.Counted{}
}
