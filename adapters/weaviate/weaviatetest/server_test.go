package weaviatetest

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(Main{m}) }

func TestOneProcessBuilds(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	var files [2]*os.File
	for i := range files {
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { file.Close() })
		files[i] = file
	}
	if !tryLock(files[0]) || tryLock(files[1]) {
		t.Error("the lock is not held by one alone")
	}
	files[0].Close()
	if !tryLock(files[1]) {
		t.Error("the lock outlives its file")
	}
}

func TestEachServerIsItsOwn(t *testing.T) {
	t.Parallel()
	open, keyed := Start(t, Options{}), Start(t, Options{Keys: true})
	class := ClassName(t)
	open.Create(t, Unnamed(class, "cosine", Text("text", "word")))
	open.Insert(t, Object(class, ID(1), map[string]any{"text": "x"}, []float32{1, 0}))
	if known, err := keyed.Client(t).Schema().ClassExistenceChecker().WithClassName(class).Do(t.Context()); err != nil || known {
		t.Errorf("the class exists on the other server: %t, %v", known, err)
	}
	reader := keyed
	reader.Key = ReadOnlyKey
	if err := reader.Client(t).Schema().ClassCreator().WithClass(Unnamed(class, "cosine")).Do(t.Context()); err == nil {
		t.Error("the key that only reads may write")
	}
}

func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	SkipShort(t)
	p, err := start(t.Context(), t.Logf, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(p.dir); !os.IsNotExist(err) {
		t.Errorf("its folder is still there: %v", err)
	}
}

// TestServerEndsWithItsProcess: a tests' process that is killed closes its end of the pipe, and no more.
func TestServerEndsWithItsProcess(t *testing.T) {
	t.Parallel()
	SkipShort(t)
	p, err := start(t.Context(), t.Logf, Options{})
	if err != nil {
		t.Fatal(err)
	}
	p.life.Close()
	select {
	case <-p.exit:
	case <-time.After(20 * time.Second):
		t.Error("the server goes on")
		_ = p.cmd.Process.Kill()
	}
	for range 200 {
		if _, err := os.Stat(p.dir); os.IsNotExist(err) {
			return
		}
		time.Sleep(50 * time.Millisecond) // nobody tells when it is gone
	}
	t.Errorf("the folder %s is left", p.dir)
}
