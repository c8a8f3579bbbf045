package embedded

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/culprit-rag/culprit/adapters"
)

// TestCacheKeepsTheNewestStores fills a cache folder over its limit with stores of known age.
func TestCacheKeepsTheNewestStores(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	openIn := func(n int) adapters.VectorStore {
		t.Helper()
		s, err := openStore(t.Context(), adapters.Config{Documents: large(n), CacheDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	path := map[int]string{} // number of documents → its store
	build := func(n int) adapters.VectorStore {
		t.Helper()
		before := files(t, dir)
		s := openIn(n)
		for _, name := range files(t, dir) {
			if !slices.Contains(before, name) {
				path[n] = filepath.Join(dir, name)
			}
		}
		if path[n] == "" {
			t.Fatalf("the store of %d documents is not built", n)
		}
		return s
	}
	closeStore := func(s adapters.VectorStore) {
		t.Helper()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	check := func(when string, want ...int) {
		t.Helper()
		var got []int
		for n := range path {
			if _, err := os.Stat(path[n]); err == nil {
				got = append(got, n)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s the stores of %v documents are there, want %v", when, got, want)
		}
	}
	for n := 1; n <= keptStores; n++ {
		closeStore(build(n))
		used := time.Now().Add(time.Duration(n-100) * time.Hour) // the first was used the longest ago
		if err := os.Chtimes(path[n], used, used); err != nil {
			t.Fatal(err)
		}
	}
	for _, theirs := range []string{"store-notes.sqlite", "letter.txt"} {
		name := filepath.Join(dir, theirs)
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, time.Unix(1, 0), time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if _, err := os.Stat(name); err != nil {
				t.Errorf("what is no store of ours: %v", err)
			}
		})
	}
	check("within the limit", 1, 2, 3, 4, 5, 6, 7, 8)

	closeStore(openIn(1)) // and so it is the one that was used last
	closeStore(build(9))
	check("after one more", 1, 3, 4, 5, 6, 7, 8, 9)

	inUse := openIn(3)
	old := time.Unix(1, 0)
	if err := os.Chtimes(path[3], old, old); err != nil {
		t.Fatal(err)
	}
	closeStore(build(10))
	check("with the oldest in use", 1, 3, 4, 5, 6, 7, 8, 9, 10)
	if items, err := inUse.Fetch(t.Context(), adapters.FetchRequest{IDs: []string{"doc-0000002"}}); err != nil || len(items) != 1 {
		t.Errorf("the store in use: %d items, %v", len(items), err)
	}
	closeStore(inUse)
	closeStore(build(11))
	check("after it was closed", 1, 5, 6, 7, 8, 9, 10, 11)
}
