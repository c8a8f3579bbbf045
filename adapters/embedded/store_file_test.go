package embedded

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/culprit-rag/culprit/adapters"
)

// counted counts how often documents are read.
type counted struct {
	corpus
	reads int
}

func (c *counted) Items(ctx context.Context) iter.Seq2[adapters.Item, error] {
	c.reads++
	return c.corpus.Items(ctx)
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func TestStoreIsBuiltOnce(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "made", "with space %20?#&x'y")
	docs := &counted{corpus: ports()}
	build := func(settings, embedder string) int {
		t.Helper()
		before := docs.reads
		s, err := openStore(t.Context(), adapters.Config{Settings: []byte(settings), Documents: docs, IndexEmbedder: hashing(t, embedder), CacheDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return docs.reads - before
	}
	if build(`{}`, `{}`) != 1 || build(`{}`, `{}`) != 0 {
		t.Fatal("the first opening must build, and the second must not")
	}
	for _, same := range [][2]string{
		{`{"fusion_k": 1, "distance": "dot"}`, `{}`},
		{`{"keyword": {"operator": "and", "stopwords": "none"}}`, `{}`},
		{`{"faults": {"filter": "open", "approximate": ["a"]}}`, `{}`},
		{`{"index": {"revision": "x", "query_prefix": "q: "}}`, `{}`},
		{`{}`, `{"query_prefix": "q: "}`},
		{`{"index": {"model": "hashing"}}`, `{}`},
	} {
		if build(same[0], same[1]) != 0 {
			t.Errorf("settings %s, embedder %s do not change the file, and it is built again", same[0], same[1])
		}
	}
	for _, other := range [][2]string{
		{`{"collection": "x"}`, `{}`},
		{`{"keyword": {"stem": false}}`, `{}`},
		{`{"keyword": {"token_chars": "-"}}`, `{}`},
		{`{"keyword": {"fold_accents": false}}`, `{}`},
		{`{"index": {"model": "x"}}`, `{}`},
		{`{"index": {"dimensions": 8}}`, `{}`},
		{`{"index": {"passage_prefix": "p: "}}`, `{}`},
		{`{"faults": {"omit": ["a"]}}`, `{}`},
		{`{"faults": {"vectors": {"a": {"zero": true}}}}`, `{}`},
		{`{}`, `{"model": "y"}`},
		{`{}`, `{"dimensions": 16}`},
		{`{}`, `{"passage_prefix": "r: "}`},
		{`{}`, `{"max_tokens": 3}`},
		{`{}`, `{"trained_prefixes": ["p: "]}`},
	} {
		if build(other[0], other[1]) != 1 {
			t.Errorf("settings %s, embedder %s change the file, and it is not built again", other[0], other[1])
		}
	}
	docs.corpus[0].Text += " more"
	if build(`{}`, `{}`) != 1 {
		t.Error("documents have changed, and the store is not built again")
	}
	for _, name := range files(t, dir) {
		if !strings.HasSuffix(name, ".sqlite") {
			t.Errorf("file %q is left over", name)
		}
	}
}

func TestStoreIsNeverWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := mustOpen(t, dir, `{}`, ports(), hashing(t, `{}`))
	for _, statement := range []string{`DELETE FROM item`, `INSERT INTO about VALUES ('x')`, `CREATE TABLE x (y)`, `INSERT INTO fts_1 (rowid, text) VALUES (99, 'x')`} {
		if _, err := s.db.ExecContext(t.Context(), statement); err == nil {
			t.Errorf("%s is carried out", statement)
		}
	}
	if got := files(t, dir); len(got) != 1 {
		t.Errorf("an open store has the files %q, want one", got)
	}
}

func TestStoreFileSetting(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "corpus.sqlite")
	settings := fmt.Sprintf(`{"file": %q, "keyword": {"token_chars": "-"}}`, path)
	first := mustOpen(t, "", settings, corpus{{ID: "a", Text: "zx-1"}}, nil)
	if got := keywordIDs(t, first, "zx-1"); !slices.Equal(got, []string{"a"}) {
		t.Errorf("finds %q", got)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	// Other documents replace the file, and a store without documents reads it as it is.
	mustOpen(t, "", settings, corpus{{ID: "b", Text: "zx-1"}}, nil)
	again, err := openStore(t.Context(), adapters.Config{Settings: []byte(fmt.Sprintf(`{"file": %q}`, path))})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if got := keywordIDs(t, again.(*store), "zx-1 zx"); !slices.Equal(got, []string{"b"}) {
		t.Errorf("finds %q", got)
	}
	_, err = openStore(t.Context(), adapters.Config{Settings: []byte(fmt.Sprintf(`{"file": %q, "collection": "x"}`, path))})
	if !errors.Is(err, adapters.ErrNotFound) {
		t.Errorf("a collection that is not in the file: %v", err)
	}
	for _, settings := range []string{fmt.Sprintf(`{"file": %q}`, path+".none"), `{}`} {
		if _, err := openStore(t.Context(), adapters.Config{Settings: []byte(settings)}); !errors.Is(err, adapters.ErrInvalid) {
			t.Errorf("settings %s without documents: %v", settings, err)
		}
	}
}

func TestForeignFileIsLeftAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	database := filepath.Join(dir, "theirs.sqlite")
	db, err := sql.Open("sqlite", database)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`CREATE TABLE precious (x)`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	letter := filepath.Join(dir, "letter.txt")
	if err := os.WriteFile(letter, []byte("Dear all,"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{database, letter, dir} {
		before, _ := os.ReadFile(path)
		_, err := open(t, "", fmt.Sprintf(`{"file": %q}`, path), ports(), nil)
		if err == nil {
			t.Errorf("%q is opened", path)
		}
		if after, _ := os.ReadFile(path); !slices.Equal(before, after) {
			t.Errorf("%q is changed", path)
		}
	}
}

func TestDamagedFileIsBuiltAgain(t *testing.T) {
	t.Parallel()
	for _, keep := range []int64{0, 50, 200, 9000} {
		dir := t.TempDir()
		s := mustOpen(t, dir, `{}`, ports(), nil)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(filepath.Join(dir, files(t, dir)[0]), keep); err != nil {
			t.Fatal(err)
		}
		s = mustOpen(t, dir, `{}`, ports(), nil)
		if got := keywordIDs(t, s, "fee"); len(got) != 3 {
			t.Errorf("cut to %d bytes and opened again, it finds %q", keep, got)
		}
	}
}

func TestBuildsAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			s, err := openStore(t.Context(), adapters.Config{Documents: ports(), CacheDir: dir})
			if err != nil {
				t.Error(err)
				return
			}
			if got, err := s.Fetch(t.Context(), adapters.FetchRequest{IDs: []string{"a", "d"}}); err != nil || len(got) != 2 {
				t.Errorf("%d items, %v", len(got), err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := files(t, dir); len(got) != 1 {
		t.Errorf("files %q, want one", got)
	}
}

func TestBuildFailsWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	broken := errors.New("line 7 is broken")
	if _, err := openStore(t.Context(), adapters.Config{Documents: failing{large(2000), broken}, CacheDir: dir}); !errors.Is(err, broken) {
		t.Errorf("error %v, want that of the documents", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var progress []string
	_, err := openStore(ctx, adapters.Config{Documents: large(1_000_000), CacheDir: dir, Progress: func(done, total int, unit string) {
		progress = append(progress, fmt.Sprintf("%d of %d %s", done, total, unit))
		if len(progress) == 2 {
			cancel()
		}
	}})
	if adapters.KindOf(err) != adapters.KindCanceled {
		t.Errorf("cancelled: %v", err)
	}
	if diff := cmp.Diff([]string{"256 of 0 documents", "512 of 0 documents"}, progress); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	if got := files(t, dir); len(got) != 0 {
		t.Errorf("files %q are left over", got)
	}
}

// A statement that takes long, such as the index over all ids, ends with its context.
func TestCancelStopsAStatement(t *testing.T) {
	t.Parallel()
	db, err := openSQLite(filepath.Join(t.TempDir(), "x.sqlite"), "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	b := &builder{conn: conn}
	err = b.exec(ctx, `CREATE TABLE endless AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n`)
	if kind := adapters.KindOf(storeError(ctx, "open", err)); kind != adapters.KindTimeout {
		t.Errorf("got %v, of kind %s", err, kind)
	}
}

// failing ends in an error.
type failing struct {
	large
	err error
}

func (f failing) Items(ctx context.Context) iter.Seq2[adapters.Item, error] {
	return func(yield func(adapters.Item, error) bool) {
		for item, err := range f.large.Items(ctx) {
			if !yield(item, err) {
				return
			}
		}
		yield(adapters.Item{}, f.err)
	}
}

// TestKilledBuild kills a process in the middle of a build: nothing is there but the file that was being built, and that goes
// away when it is old.
func TestKilledBuild(t *testing.T) {
	const key = "EMBEDDED_TEST_BUILD_IN"
	if dir := os.Getenv(key); dir != "" { // this is the process that is killed
		_, err := openStore(t.Context(), adapters.Config{Documents: large(10_000_000), CacheDir: dir, Progress: func(done, _ int, _ string) {
			fmt.Printf("\nstored %d\n", done)
		}})
		t.Fatal(err)
	}
	dir := t.TempDir()
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledBuild$")
	command.Env = append(os.Environ(), key+"="+dir)
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for n := 0; n < 5 && lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "stored ") {
			n++
		}
	}
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait() // it was killed
	left := files(t, dir)
	if len(left) != 1 || !strings.HasSuffix(left[0], buildingSuffix) {
		t.Fatalf("files %q, want the one that was being built", left)
	}
	old := time.Now().Add(-2 * abandonedAfter)
	if err := os.Chtimes(filepath.Join(dir, left[0]), old, old); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, dir, `{}`, ports(), nil)
	if left = files(t, dir); len(left) != 1 || !strings.HasSuffix(left[0], ".sqlite") {
		t.Errorf("files %q, want only the store", left)
	}
}
