package embedded

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/adapters"
)

// tamperings are ways in which a finished file is changed by something else than a build. Most leave a file that SQLite reads
// without a complaint.
var tamperings = []struct {
	name   string
	tamper func(t *testing.T, path string)
}{
	{"one bit in the middle", edit(func(b []byte) []byte { b[len(b)/2] ^= 1; return b })},
	{"one bit of the header's counters", edit(func(b []byte) []byte { b[27] ^= 1; return b })},
	{"one bit of the seal", edit(func(b []byte) []byte { b[len(b)-1] ^= 1; return b })},
	{"a page of zeros", edit(func(b []byte) []byte { clear(b[2*8192 : 3*8192]); return b })},
	{"two pages exchanged", edit(func(b []byte) []byte {
		one, other := b[2*8192:3*8192], b[3*8192:4*8192]
		kept := bytes.Clone(one)
		copy(one, other)
		copy(other, kept)
		return b
	})},
	{"no seal", edit(func(b []byte) []byte { return b[:len(b)-sealSize] })},
	{"the last page is gone", edit(func(b []byte) []byte { return b[:len(b)-8192] })},
	{"cut to its header", edit(func(b []byte) []byte { return b[:headerSize] })},
	{"empty", edit(func([]byte) []byte { return nil })},
	{"another format", edit(func(b []byte) []byte { binary.BigEndian.PutUint32(b[60:], 1); return b })},
	{"something behind the seal", edit(func(b []byte) []byte { return append(b, 0) })},
	{"another file of the same kind", func(t *testing.T, path string) {
		t.Helper()
		other := builtStore(t, adapters.Config{Documents: large(200), CacheDir: t.TempDir()})
		data, err := os.ReadFile(other)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data[:len(data)-sealSize], 0o600); err != nil {
			t.Fatal(err)
		}
	}},
	{"an item is deleted", statement(`DELETE FROM item WHERE id = 'doc-0000003'`)},
	{"a text is changed", statement(`UPDATE item SET text = 'bananas' WHERE id = 'doc-0000003'`)},
	{"an id is changed", statement(`UPDATE item SET id = 'doc-x' WHERE id = 'doc-0000003'`)},
	{"an item is added", statement(`INSERT INTO item SELECT 9999, collection, 'doc-x', source, revision, details, text FROM item LIMIT 1`)},
	{"a field of a filter is changed", statement(`UPDATE OR IGNORE attr SET value = 't1' WHERE field = 'tenant'`)},
	{"the keyword index is emptied", statement(`INSERT INTO fts_1 (fts_1) VALUES ('delete-all')`)},
	{"what it says of itself is changed", statement(`UPDATE about SET json = replace(json, '"keyword"', '"keywords"')`)},
}

// edit changes the bytes of a file.
func edit(change func([]byte) []byte) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		t.Helper()
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, change(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// statement changes rows of a file, as any program with SQLite can.
func statement(query string) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		t.Helper()
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		result, err := db.ExecContext(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 {
			t.Fatalf("%s changed %d rows, %v", query, n, err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// builtStore builds a store in an empty cache folder and returns its file.
func builtStore(t *testing.T, cfg adapters.Config) string {
	t.Helper()
	s, err := openStore(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(cfg.CacheDir, files(t, cfg.CacheDir)[0])
}

// scanned returns every item of a store with what else the store says of them.
func scanned(t *testing.T, s adapters.VectorStore) string {
	t.Helper()
	var all strings.Builder
	_, err := s.Scan(t.Context(), adapters.ScanRequest{}, func(item adapters.Item) error {
		all.WriteString(item.ID + " " + item.Text + "\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.Search(t.Context(), adapters.SearchRequest{
		Mode: modeKeyword, Query: "serial3", Limit: 3, Filter: []adapters.Condition{{Field: "tenant", AnyOf: []string{"t3"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, hit := range found.Hits {
		all.WriteString("found " + hit.ID + "\n")
	}
	return all.String()
}

// A store of the cache that is not what was built is built again, whatever was done to it.
func TestChangedStoreIsBuiltAgain(t *testing.T) {
	t.Parallel()
	for _, tc := range tamperings {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			cfg := adapters.Config{Documents: large(300), CacheDir: t.TempDir()}
			path := builtStore(t, cfg)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			s, err := openStore(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			want := scanned(t, s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			tc.tamper(t, path)
			if s, err = openStore(t.Context(), cfg); err != nil {
				t.Fatal(err)
			}
			if got := scanned(t, s); got != want {
				t.Error("the store holds something else than what was built")
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			after, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if len(after) != len(before) {
				t.Errorf("built again it has %d bytes, and had %d", len(after), len(before))
			}
		})
	}
}

// A file that cannot be built again is refused with its name.
func TestChangedFileIsRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range tamperings {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			cfg := adapters.Config{Documents: large(300), CacheDir: t.TempDir()}
			path := builtStore(t, cfg)
			cfg = adapters.Config{Settings: []byte(`{"file": "` + filepath.ToSlash(path) + `"}`)}
			s, err := openStore(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			tc.tamper(t, path)
			s, err = openStore(t.Context(), cfg)
			if err == nil {
				_ = s.Close()
				t.Fatal("it is opened")
			}
			if !strings.Contains(err.Error(), filepath.Base(path)) {
				t.Errorf("the error does not name the file: %v", err)
			}
			if _, err := os.Stat(path); err != nil {
				t.Errorf("a file that a user has named: %v", err)
			}
		})
	}
}

// SQLite finds nothing wrong with a file that ends in a seal.
func TestSealedFileIsWhole(t *testing.T) {
	t.Parallel()
	path := builtStore(t, adapters.Config{Documents: large(300), CacheDir: t.TempDir()})
	for _, parameters := range []string{"", "mode=ro", "mode=ro&immutable=1"} {
		db, err := openSQLite(path, parameters)
		if err != nil {
			t.Fatal(err)
		}
		var verdict string
		if err := db.QueryRowContext(t.Context(), `PRAGMA integrity_check`).Scan(&verdict); err != nil || verdict != "ok" {
			t.Errorf("opened with %q: %s, %v", parameters, verdict, err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestCheckSealStopsAtACancel(t *testing.T) {
	t.Parallel()
	file, err := os.Open(builtStore(t, adapters.Config{Documents: large(300), CacheDir: t.TempDir()}))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := checkSeal(ctx, file); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
