//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package embedded

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/culprit-rag/culprit/adapters"
)

// openSoon opens a store, or fails where that does not end.
func openSoon(t *testing.T, cfg adapters.Config) (s adapters.VectorStore, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	done := make(chan struct{})
	go func() { s, err = openStore(t.Context(), cfg); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
		t.Fatal("opening the store hangs")
	}
	return s, err
}

// A named pipe in the place of a file would wait for a writer for ever.
func TestStoreFileIsAPipe(t *testing.T) {
	t.Parallel()
	pipe := func(t *testing.T, path string) {
		t.Helper()
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Skip(err)
		}
	}
	t.Run("in the cache it is replaced", func(t *testing.T) {
		t.Parallel()
		cfg := adapters.Config{Documents: large(10), CacheDir: t.TempDir()}
		path := builtStore(t, cfg)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		pipe(t, path)
		s, err := openSoon(t, cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
			t.Errorf("the store is %v, %v", info, err)
		}
	})
	for _, documents := range []adapters.Documents{nil, large(10)} {
		t.Run(fmt.Sprintf("a file that is named is refused, documents %v", documents), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "corpus.sqlite")
			pipe(t, path)
			s, err := openSoon(t, adapters.Config{Documents: documents, CacheDir: dir, Settings: fmt.Appendf(nil, `{"file": %q}`, path)})
			if err == nil {
				_ = s.Close()
				t.Fatal("it is opened")
			}
			if !strings.Contains(err.Error(), "corpus.sqlite") {
				t.Errorf("the error does not name the file: %v", err)
			}
			if info, err := os.Lstat(path); err != nil || info.Mode().Type() != os.ModeNamedPipe {
				t.Errorf("the pipe is %v, %v", info, err)
			}
		})
	}
}
