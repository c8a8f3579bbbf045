package pythontest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// installTime is what the packages, some hundred MB, may take to arrive.
const installTime = 15 * time.Minute

// The files that list what is installed, one package a line; those of the second without what they depend on.
const (
	requirements       = "requirements.txt"
	requirementsNoDeps = "requirements-no-deps.txt"
)

// Install returns a Python that has the packages that the requirement files of program list, with wheels alone. It is made once for
// each list and version of Python, however many processes ask at a time. Name is for the folder.
func Install(ctx context.Context, name string, program fs.FS) (python string, err error) {
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
	for _, list := range []string{requirements, requirementsNoDeps} {
		text, err := fs.ReadFile(program, list)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		key.Write(text)
	}
	home := filepath.Join(cache, "culprit-testservers")
	done := filepath.Join(home, fmt.Sprintf("%s-%.6x", name, key.Sum(nil)))
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
	if err := build(ctx, system, building, program); err != nil {
		return "", err
	}
	return python, os.Rename(building, done)
}

// build makes a virtual environment in dir. It is used by its python alone, which works under any name of the folder.
func build(ctx context.Context, system, dir string, program fs.FS) error {
	ctx, cancel := context.WithTimeout(ctx, installTime)
	defer cancel()
	if err := Write(program, dir); err != nil {
		return err
	}
	pip := []string{"-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--only-binary", ":all:"}
	python := pythonOf(dir)
	commands := [][]string{{system, "-m", "venv", dir}}
	if list := filepath.Join(dir, requirements); exists(list) {
		commands = append(commands, append(slices.Concat([]string{python}, pip), "-r", list))
	}
	if list := filepath.Join(dir, requirementsNoDeps); exists(list) {
		commands = append(commands, append(slices.Concat([]string{python}, pip), "--no-deps", "-r", list))
	}
	for _, command := range commands {
		out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, out)
		}
	}
	return nil
}

// Write writes the files of a program into dir.
func Write(program fs.FS, dir string) error {
	return fs.WalkDir(program, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(program, name)
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
		return "", "", errors.New("the tests need Python 3.10 or newer with venv, and none is in PATH")
	}
	return "", "", fmt.Errorf("the tests need Python 3.10 or newer with venv; PATH has only %s", strings.Join(found, ", "))
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
