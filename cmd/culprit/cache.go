package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// cacheDir is where a store that can be made again is kept.
func (a *app) cacheDir() (string, error) {
	if dir := a.env("CULPRIT_CACHE"); dir != "" {
		return dir, nil
	}
	for _, base := range []struct{ variable, below string }{{"XDG_CACHE_HOME", "culprit"}, {"HOME", ".cache/culprit"}, {"LocalAppData", "culprit"}} {
		if dir := a.env(base.variable); dir != "" {
			return filepath.Join(dir, filepath.FromSlash(base.below)), nil
		}
	}
	base := a.env("TMPDIR")
	if base == "" {
		base = os.TempDir()
	}
	dir, err := ownFolder(filepath.Join(base, "culprit-cache-"+strconv.Itoa(os.Getuid())))
	if err != nil {
		return "", usage("no folder for the cache: HOME is not set, and %w: set CULPRIT_CACHE", err)
	}
	return dir, nil
}

// ownFolder makes a folder where everybody may write, or takes it where this user has made it: another's could hold stores
// that were made up.
func ownFolder(dir string) (string, error) {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("%q cannot be made: %w", dir, err)
	}
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return "", err
	case !info.IsDir():
		return "", fmt.Errorf("%q is not a folder", dir)
	case !onlyMine(info):
		return "", fmt.Errorf("%q is open to other users", dir)
	}
	return dir, nil
}
