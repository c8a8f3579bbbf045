package embedded

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/culprit-rag/culprit/adapters"
)

const (
	batchItems = 256
	batchBytes = 1 << 20
	// A building file that nobody has written to for so long belongs to a process that was killed.
	abandonedAfter = time.Hour
	buildingSuffix = ".building"
)

// build makes the file at path. Everything is written to a file of another name, which gets the right one when it is
// complete: whoever opens path finds a whole store or none, and of two builds at once the later one wins with equal content.
func build(ctx context.Context, path string, r *recipe, cfg adapters.Config) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("making the folder of the store: %w", err)
	}
	removeAbandoned(dir)
	temp, err := os.CreateTemp(dir, "store-*"+buildingSuffix)
	if err != nil {
		return fmt.Errorf("making the store's file: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temp.Name()))
		}
	}()
	if err := temp.Close(); err != nil {
		return err
	}
	if err := fillFile(ctx, temp.Name(), r, cfg); err != nil {
		return fmt.Errorf("building the store: %w", err)
	}
	if err := publish(ctx, temp.Name(), path); err != nil {
		return fmt.Errorf("finishing the store: %w", err)
	}
	return nil
}

func removeAbandoned(dir string) {
	files, _ := filepath.Glob(filepath.Join(dir, "store-*"+buildingSuffix)) // the pattern is a good one
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && time.Since(info.ModTime()) > abandonedAfter {
			_ = os.Remove(file) // it is only in the way of disk space
		}
	}
}

// builder fills one file.
type builder struct {
	recipe      *recipe
	embedder    adapters.Embedder
	conn        *sql.Conn
	insert      inserts
	collections map[string]*collection
	keyword     map[int]*sql.Stmt // by the collection's number
	last        int64             // the item number that was given last
	dimensions  int
	anyVector   bool
	sum         contentSum
}

func fillFile(ctx context.Context, path string, r *recipe, cfg adapters.Config) (err error) {
	// No journal and no sync: a file that is not finished is thrown away.
	db, err := openSQLite(path, "_pragma=page_size(8192)&_pragma=journal_mode(OFF)&_pragma=synchronous(OFF)&_pragma=locking_mode(EXCLUSIVE)&_pragma=cache_size(-8000)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	// The connection outlives a cancelled ctx, for its error would hide the one that matters.
	conn, err := db.Conn(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	b := &builder{recipe: r, embedder: cfg.IndexEmbedder, conn: conn, collections: map[string]*collection{}, keyword: map[int]*sql.Stmt{}}
	defer func() { err = errors.Join(err, b.close()) }()
	if err := b.begin(ctx); err != nil {
		return err
	}
	if err := b.fill(ctx, cfg); err != nil {
		return err
	}
	return b.finish(ctx)
}

// close ends the prepared statements. Closing the connection does not, and one that has some left keeps the file open and locked.
func (b *builder) close() error {
	statements := append(slices.Collect(maps.Values(b.keyword)), b.insert.item, b.insert.vector, b.insert.attr)
	var failed error
	for _, stmt := range statements {
		if stmt != nil {
			failed = errors.Join(failed, stmt.Close())
		}
	}
	return failed
}

// exec runs a statement that ctx can stop. Those that insert one row each run without it, which would cost each of them a
// watcher; it is asked between documents.
func (b *builder) exec(ctx context.Context, query string, args ...any) error {
	_, err := b.conn.ExecContext(ctx, query, args...)
	return err
}

func (b *builder) begin(ctx context.Context) error {
	if err := b.exec(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d; BEGIN; %s", applicationID, storeFormat, storeLayout)); err != nil {
		return err
	}
	var err error
	if b.insert, err = prepareInserts(ctx, b.conn); err != nil {
		return err
	}
	_, err = b.collection(ctx, b.recipe.Collection)
	return err
}

// fill streams the documents into the file, batch by batch.
func (b *builder) fill(ctx context.Context, cfg adapters.Config) error {
	var batch []entry
	size, done := 0, 0
	flush := func() error {
		if err := b.add(ctx, batch); err != nil {
			return err
		}
		done += len(batch)
		if cfg.Progress != nil {
			cfg.Progress(done, 0, "documents")
		}
		clear(batch)
		batch, size = batch[:0], 0
		return nil
	}
	for e, err := range b.recipe.Faults.ingest(ctx, cfg.Documents) {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := checkID(e.ID); err != nil {
			return err
		}
		batch = append(batch, e)
		size += len(e.indexed)
		if len(batch) >= batchItems || size >= batchBytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if len(batch) == 0 {
		return nil
	}
	return flush()
}

func checkID(id string) error {
	if id == "" {
		return invalid("open", "a document has no id")
	}
	if !utf8.ValidString(id) || strings.ContainsRune(id, 0) {
		return invalid("open", "document id %q is not valid UTF-8 or holds a NUL", id)
	}
	return nil
}

// add stores a batch and the copies that faults ask for.
func (b *builder) add(ctx context.Context, batch []entry) error {
	vectors, err := b.vectors(ctx, batch)
	if err != nil {
		return err
	}
	for i := range batch {
		e := &batch[i]
		if err := b.put(ctx, &e.Item, e.indexed, vectors[i]); err != nil {
			return fmt.Errorf("storing document %q: %w", e.ID, err)
		}
		for copied := range e.copies {
			if err := ctx.Err(); err != nil {
				return err
			}
			item := e.Item
			item.ID = fmt.Sprintf("%s~%d", e.ID, copied+1)
			if err := b.put(ctx, &item, e.indexed, vectors[i]); err != nil {
				return fmt.Errorf("storing copy %q: %w", item.ID, err)
			}
		}
	}
	return nil
}

// collection returns the collection of that name, "" for the one that is searched, and makes it where it is new.
func (b *builder) collection(ctx context.Context, name string) (*collection, error) {
	if name == "" {
		name = b.recipe.Collection
	}
	if c := b.collections[name]; c != nil {
		return c, nil
	}
	c := &collection{Name: name, Number: len(b.collections) + 1}
	// Only the index is kept, not its text, which stands in item. The larger hash makes fewer segments to merge.
	err := b.exec(ctx, fmt.Sprintf(`CREATE VIRTUAL TABLE %[1]s USING fts5(text, content='', tokenize=%[2]s);
		INSERT INTO %[1]s (%[1]s, rank) VALUES ('hashsize', 4000000)`, c.fts(), sqlQuote(b.recipe.Keyword.tokenizer())))
	if err != nil {
		return nil, fmt.Errorf("making the keyword index: %w", err)
	}
	b.keyword[c.Number], err = b.conn.PrepareContext(ctx, fmt.Sprintf(`INSERT INTO %s (rowid, text) VALUES (?, ?)`, c.fts()))
	if err != nil {
		return nil, err
	}
	b.collections[name] = c
	return c, nil
}

// finish does what needs all items: swapped vectors, the index of ids, and what the file says of itself.
func (b *builder) finish(ctx context.Context) error {
	for _, pair := range b.recipe.Faults.swaps() {
		if err := b.swap(ctx, pair[0], pair[1]); err != nil {
			return err
		}
	}
	if err := b.exec(ctx, `CREATE UNIQUE INDEX item_id ON item (collection, id)`); err != nil {
		return errors.Join(b.twice(ctx), err)
	}
	a := about{
		Digest: b.recipe.digest(), Fingerprint: b.sum.fingerprint(b.recipe), Keyword: b.recipe.Keyword,
		Vectors: b.anyVector || b.recipe.Embedder != nil, Dimensions: b.dimensions,
		Model: b.recipe.Index.Model, PassagePrefix: b.recipe.Index.PassagePrefix,
	}
	if a.Dimensions == 0 && b.recipe.Embedder != nil {
		a.Dimensions = max(b.recipe.Index.Dimensions, 0)
		if a.Dimensions == 0 {
			a.Dimensions = b.recipe.Embedder.Dimensions
		}
	}
	for c := range maps.Values(b.collections) {
		a.Collections = append(a.Collections, *c)
	}
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	if err := b.exec(ctx, `INSERT INTO about VALUES (?)`, string(text)); err != nil {
		return err
	}
	return b.exec(ctx, `COMMIT`)
}

// twice names an id that stands twice in one collection.
func (b *builder) twice(ctx context.Context) error {
	var id string
	err := b.conn.QueryRowContext(ctx,
		`SELECT id FROM item GROUP BY collection, id HAVING count(*) > 1 ORDER BY id LIMIT 1`).Scan(&id)
	if err != nil {
		return nil //nolint:nilerr // the caller has the error that matters
	}
	return invalid("open", "two documents of one collection have the id %q", id)
}
