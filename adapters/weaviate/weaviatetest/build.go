package weaviatetest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

const (
	here    = "github.com/culprit-rag/culprit/adapters/weaviate/weaviatetest"
	program = "github.com/weaviate/weaviate/cmd/weaviate-server"
	tick    = 20 * time.Second // between two words about a build
)

// Build returns the path of the server's program, and builds it first where this version was not built before, which takes
// some minutes. Processes that build at once wait for the first. The working directory must be in this module.
func Build(ctx context.Context, logf func(format string, args ...any)) (string, error) {
	module, err := serverModule(ctx)
	if err != nil {
		return "", err
	}
	version, err := versionOf(module)
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("looking for the cache folder: %w", err)
	}
	dir := filepath.Join(cache, "culprit-testservers")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "weaviate-"+version)
	if built(path) {
		return path, nil
	}
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	for waited := time.Duration(0); !tryLock(lock); waited += time.Second {
		if waited%tick == 0 {
			logf("waiting for another process that builds the Weaviate server")
		}
		if err := wait(ctx, time.Second); err != nil {
			return "", fmt.Errorf("waiting for another process that builds the server: %w", err)
		}
	}
	if built(path) {
		return path, nil
	}
	return path, compile(ctx, module, path, logf)
}

func built(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// serverModule returns the folder of the server's module, which lies beside this package's source.
func serverModule(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", here).Output()
	if err != nil {
		return "", fmt.Errorf("looking for the source of %s: %w", here, explain(err))
	}
	return filepath.Join(strings.TrimSpace(string(out)), "server"), nil
}

func explain(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	return err
}

// versionOf names what the module selects: another name, another program.
func versionOf(module string) (string, error) {
	h := sha256.New()
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(module, name))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n%s", name, len(data), data)
	}
	fmt.Fprint(h, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return fmt.Sprintf("%x", h.Sum(nil)[:8]), nil
}

// compile builds the program under another name, so that path is never half of one.
func compile(ctx context.Context, module, path string, logf func(string, ...any)) error {
	building := fmt.Sprintf("%s.%d", path, os.Getpid())
	defer func() { _ = os.Remove(building) }() // it is there only where the build failed
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", building, program)
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-mod=readonly -buildvcs=false")
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	start := time.Now()
	logf("building the Weaviate server in %s: the first time this takes some minutes", module)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("building the Weaviate server: %w", err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case err := <-done:
			if err != nil {
				return fmt.Errorf("building the Weaviate server: %w\n%s", err, out.String())
			}
			logf("the Weaviate server was built in %s", time.Since(start).Round(time.Second))
			return os.Rename(building, path)
		case <-time.After(tick):
			logf("building the Weaviate server: %s", time.Since(start).Round(time.Second))
		}
	}
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
