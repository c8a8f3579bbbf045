package qdranttest

import (
	"context"
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

//go:embed engine/*.py engine/*.txt
var engine embed.FS

// installTime is what the packages, about 90 MB, may take to arrive.
const installTime = 10 * time.Minute

// install returns a Python that has what the engine server needs. It is made once for each list of requirements and version
// of Python, however many processes ask at a time.
func install(ctx context.Context) (python string, err error) {
	system, version, err := findPython(ctx)
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	key := sha256.New()
	fmt.Fprintln(key, version)
	for _, name := range []string{"requirements.txt", "requirements-no-deps.txt"} {
		text, err := engine.ReadFile("engine/" + name)
		if err != nil {
			return "", err
		}
		key.Write(text)
	}
	home := filepath.Join(cache, "culprit-testservers")
	done := filepath.Join(home, fmt.Sprintf("qdrant-%.6x", key.Sum(nil)))
	python = pythonOf(done)
	if exists(python) {
		return python, nil
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return "", err
	}
	unlock, err := lock(ctx, done+".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if exists(python) { // by who had the lock before
		return python, nil
	}
	building, err := os.MkdirTemp(home, "building-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(building) }() // it is there only if something failed
	if err := build(ctx, system, building); err != nil {
		return "", err
	}
	return python, os.Rename(building, done)
}

// build makes a virtual environment in dir. It is used by its python alone, which works under any name of the folder.
func build(ctx context.Context, system, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, installTime)
	defer cancel()
	if err := writeEngine(dir); err != nil {
		return err
	}
	pip := []string{"-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--only-binary", ":all:"}
	python := pythonOf(dir)
	for _, command := range [][]string{
		{system, "-m", "venv", dir},
		append(append([]string{python}, pip...), "-r", filepath.Join(dir, "requirements.txt")),
		append(append([]string{python}, pip...), "--no-deps", "-r", filepath.Join(dir, "requirements-no-deps.txt")),
	} {
		out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, out)
		}
	}
	return nil
}

// writeEngine writes the program and its requirements into dir.
func writeEngine(dir string) error {
	files, err := fs.Sub(engine, "engine")
	if err != nil {
		return err
	}
	return fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, name), text, 0o600)
	})
}

// findPython returns a Python of at least 3.10, with its version.
func findPython(ctx context.Context) (path, version string, err error) {
	var found []string
	for _, name := range []string{"python3", "python", "python3.13", "python3.12", "python3.11", "python3.10"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		out, err := exec.CommandContext(ctx, path, "-c", `import sys; print("%d.%d.%d" % sys.version_info[:3]); sys.exit(sys.version_info < (3, 10))`).Output()
		version := strings.TrimSpace(string(out))
		if err == nil {
			return path, version, nil
		}
		found = append(found, name+" "+version)
	}
	if len(found) == 0 {
		return "", "", errors.New("the engine server needs Python 3.10 or newer with venv, and none is in PATH")
	}
	return "", "", fmt.Errorf("the engine server needs Python 3.10 or newer with venv; PATH has only %s", strings.Join(found, ", "))
}

func pythonOf(venv string) string {
	if runtime.GOOS == "windows" {
		return filepath.Join(venv, "Scripts", "python.exe")
	}
	return filepath.Join(venv, "bin", "python")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
