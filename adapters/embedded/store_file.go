package embedded

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/culprit-rag/culprit/adapters"
	_ "modernc.org/sqlite"     // the driver "sqlite"
	_ "modernc.org/sqlite/vec" // vec_distance_cosine
)

const (
	// storeFormat changes with every change of what a file holds; files of another format are built again.
	storeFormat = 2
	// applicationID marks our files in the SQLite header: "CLPR".
	applicationID = 0x434c5052
	// maxReaders bounds the connections, each of which has a page cache of its own. There are no more than cores: a search computes.
	maxReaders = 4
)

// The layout. Keyword indexes are one for each collection, so that one collection's words do not weigh in another's scores.
// Vectors stand apart from texts, so that a scan of one does not read the other. Fields of filters stand once more in attr.
const storeLayout = `
CREATE TABLE about (json TEXT NOT NULL);
CREATE TABLE item (
	n INTEGER PRIMARY KEY, collection INTEGER NOT NULL, id TEXT NOT NULL, source TEXT NOT NULL, revision TEXT NOT NULL,
	details TEXT, text TEXT NOT NULL);
CREATE TABLE vector (n INTEGER PRIMARY KEY, norm REAL NOT NULL, v BLOB NOT NULL);
CREATE TABLE attr (field TEXT, value TEXT, n INTEGER, PRIMARY KEY (field, value, n)) WITHOUT ROWID;
`

// about is what a file says of itself.
type about struct {
	Digest        string          `json:"digest"` // of the recipe
	Fingerprint   string          `json:"fingerprint"`
	Collections   []collection    `json:"collections"`
	Keyword       keywordSettings `json:"keyword"`
	Vectors       bool            `json:"vectors"` // the index has vectors, if only of no item
	Dimensions    int             `json:"dimensions,omitempty"`
	Model         string          `json:"model,omitempty"`
	PassagePrefix *string         `json:"passage_prefix,omitempty"`
}

// collection is one collection of a file.
type collection struct {
	Name     string         `json:"name"`
	Number   int            `json:"number"`
	Declared map[string]int `json:"declared,omitempty"` // embedding model that items declare → items
}

// fts is the name of the collection's keyword index.
func (c collection) fts() string { return fmt.Sprintf("fts_%d", c.Number) }

// declaredOf returns how many of the count items declare which model, and under "" how many declare none; nil where none does.
func (c collection) declaredOf(count int) map[string]int {
	if c.Declared == nil {
		return nil
	}
	all := maps.Clone(c.Declared)
	for _, n := range c.Declared {
		count -= n
	}
	if count > 0 {
		all[""] = count
	}
	return all
}

// openReader opens a file that nobody changes any more: no locks, no journal, no writes.
func openReader(path string) (*sql.DB, error) {
	db, err := openSQLite(path, "mode=ro&immutable=1&_query_only=1&_pragma=cache_size(-4000)")
	if err != nil {
		return nil, err
	}
	readers := min(maxReaders, runtime.GOMAXPROCS(0))
	db.SetMaxOpenConns(readers)
	db.SetMaxIdleConns(readers)
	return db, nil
}

func openSQLite(path, parameters string) (*sql.DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") { // a drive of Windows
		path = "/" + path
	}
	return sql.Open("sqlite", (&url.URL{Scheme: "file", Path: path, RawQuery: parameters}).String())
}

func readAbout(ctx context.Context, db *sql.DB) (about, error) {
	var a about
	var text []byte
	switch err := db.QueryRowContext(ctx, `SELECT json FROM about`).Scan(&text); {
	case errors.Is(err, sql.ErrNoRows):
		return a, damage{errors.New("it says nothing of itself")}
	case err != nil:
		return a, err
	}
	if err := json.Unmarshal(text, &a); err != nil {
		return a, damage{err}
	}
	if len(a.Fingerprint) < 12 {
		return a, damage{errors.New("it has no fingerprint")}
	}
	return a, nil
}

// publish seals the finished file, makes it durable and gives it its name, in one step.
func publish(ctx context.Context, temp, path string) error {
	file, err := os.OpenFile(temp, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(seal(ctx, file), file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	// Where a folder cannot be synced, a crash may lose the new name, and the file is built again.
	if dir, err := os.Open(filepath.Dir(path)); err == nil {
		_ = dir.Sync()
		_ = dir.Close()
	}
	return nil
}

// details are the parts of an item that are seldom there, stored as one JSON text.
type details struct {
	Access     []string            `json:"access,omitempty"`
	Metadata   map[string][]string `json:"metadata,omitempty"`
	EmbedModel string              `json:"embed_model,omitempty"`
	IndexedAt  timeText            `json:"indexed_at,omitempty"`
	UpdatedAt  timeText            `json:"updated_at,omitempty"`
}

// detailsOf returns the JSON text, or nil where there is nothing to tell.
func detailsOf(item *adapters.Item) (any, error) {
	d := details{
		Access: item.Access, Metadata: item.Metadata, EmbedModel: item.EmbedModel,
		IndexedAt: newTimeText(item.IndexedAt), UpdatedAt: newTimeText(item.UpdatedAt),
	}
	if len(d.Access) == 0 && len(d.Metadata) == 0 && d.EmbedModel == "" && d.IndexedAt == "" && d.UpdatedAt == "" {
		return nil, nil
	}
	text, err := json.Marshal(d)
	return string(text), err
}

func (d *details) fill(item *adapters.Item) (err error) {
	item.Access, item.Metadata, item.EmbedModel = d.Access, d.Metadata, d.EmbedModel
	if item.IndexedAt, err = d.IndexedAt.time(); err != nil {
		return err
	}
	item.UpdatedAt, err = d.UpdatedAt.time()
	return err
}
