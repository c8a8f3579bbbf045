package embedded

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/adapters"
)

// damagePages overwrites every page but the first and the one that says what the file is, so that it opens as if it were whole.
func damagePages(t *testing.T, path string) {
	t.Helper()
	db, err := openReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var size, about int
	if err := errors.Join(
		db.QueryRowContext(t.Context(), `PRAGMA page_size`).Scan(&size),
		db.QueryRowContext(t.Context(), `SELECT rootpage FROM sqlite_master WHERE name = 'about'`).Scan(&about),
	); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for page := 2; page*size <= len(data); page++ {
		if page != about {
			copy(data[(page-1)*size:], bytes.Repeat([]byte{0xa5}, size))
		}
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func storeCalls(t *testing.T, s *store) map[string]error {
	t.Helper()
	_, describe := s.Describe(t.Context())
	_, search := s.Search(t.Context(), adapters.SearchRequest{Mode: modeKeyword, Query: "serial3", Limit: 3})
	_, fetch := s.Fetch(t.Context(), adapters.FetchRequest{IDs: []string{"doc-0000003"}})
	_, scan := s.Scan(t.Context(), adapters.ScanRequest{}, func(adapters.Item) error { return nil })
	return map[string]error{"describe": describe, "search": search, "fetch": fetch, "scan": scan}
}

// TestDamagedPages damages a file while it is open, which no opening can see.
func TestDamagedPages(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, file string // "": in the cache
		documents  bool
		remedy     string
		removed    bool
	}{
		{"in the cache", "", true, "it was removed, and is built again from the documents", true},
		{"a file of documents", "corpus.sqlite", true, "delete it, and it is built again from the documents", false},
		{"a file without documents", "corpus.sqlite", false, "put a good copy in its place, or name the documents", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cfg := adapters.Config{Documents: large(300), CacheDir: dir}
			if tc.file != "" {
				cfg.Settings = fmt.Appendf(nil, `{"file": %q}`, filepath.Join(dir, tc.file))
			}
			reopen := func() *store {
				t.Helper()
				s, err := openStore(t.Context(), cfg)
				if err != nil {
					t.Fatal(err)
				}
				return s.(*store)
			}
			if err := reopen().Close(); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, files(t, dir)[0])
			if !tc.documents {
				cfg.Documents = nil
			}
			s := reopen()
			damagePages(t, path)
			for call, err := range storeCalls(t, s) {
				if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", path)) || !strings.Contains(err.Error(), tc.remedy) {
					t.Errorf("%s: %v", call, err)
				}
				if strings.Count(fmt.Sprint(err), "damaged") > 1 {
					t.Errorf("%s is told twice: %v", call, err)
				}
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) != tc.removed {
				t.Errorf("the file is removed: %t, want %t", !tc.removed, tc.removed)
			}
			if !tc.removed {
				return
			}
			s = reopen()
			for call, err := range storeCalls(t, s) {
				if err != nil {
					t.Errorf("built again, %s: %v", call, err)
				}
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A store that was removed for its damage is not removed once more when another process has built it again.
func TestDamagedStoreIsRemovedOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := adapters.Config{Documents: large(300), CacheDir: dir}
	first, err := openStore(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, files(t, dir)[0])
	var stores [2]adapters.VectorStore
	for i := range stores {
		if stores[i], err = openStore(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = stores[i].Close() })
	}
	damagePages(t, path)
	if _, err := stores[0].Describe(t.Context()); err == nil {
		t.Fatal("the damage is not seen")
	}
	again, err := openStore(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	for _, s := range stores {
		if _, err := s.Describe(t.Context()); err == nil || !strings.Contains(err.Error(), "removed") {
			t.Errorf("got %v", err)
		}
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the store that was built again: %v", err)
	}
}
