package embedded

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

// keptStores is how many stores the cache folder keeps. Each change of documents or of a setting that is stored makes another
// one, and a sweep over one setting seldom tries more than these.
const keptStores = 8

var cacheName = regexp.MustCompile(`^store-[0-9a-f]{32}\.sqlite$`)

func cachePath(dir string, r *recipe) string {
	return filepath.Join(dir, "store-"+r.digest()[:32]+".sqlite")
}

// hold marks a store of the cache as used now, and as in use until the returned file is closed.
func hold(path string) (*os.File, error) {
	now := time.Now()
	_ = os.Chtimes(path, now, now) // where only others may write, others take care
	for try := 1; ; try++ {
		file, err := openRegular(path)
		if err != nil {
			return nil, err
		}
		lockShared(file)
		if isFile(file, path) || try == 3 {
			return file, nil
		}
		// Before it was locked it was removed, which the next try finds, or replaced.
		if err := file.Close(); err != nil {
			return nil, err
		}
	}
}

// isFile reports whether file is what path names.
func isFile(file *os.File, path string) bool {
	opened, err := file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(opened, named)
}

// evict removes the stores of the cache folder that were not used for the longest time, but for keptStores. One that is in use
// stays, and so does one that cannot be removed: it is tried again after the next build.
func evict(dir string) {
	type stored struct {
		path string
		used time.Time
	}
	var stores []stored
	entries, _ := os.ReadDir(dir) // what was read before an error is true all the same
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() && cacheName.MatchString(entry.Name()) {
			stores = append(stores, stored{filepath.Join(dir, entry.Name()), info.ModTime()})
		}
	}
	slices.SortFunc(stores, func(a, b stored) int { return cmp.Or(b.used.Compare(a.used), cmp.Compare(a.path, b.path)) })
	for i := keptStores; i < len(stores); i++ {
		removeUnused(stores[i].path)
	}
}

// discard removes a held store that is damaged, so that the next opening builds it again. It reports whether the name is free
// of it.
func discard(held *os.File, path string) bool {
	if !isFile(held, path) {
		return true // another process has found the same, and may have built it again
	}
	err := os.Remove(path)
	return err == nil || errors.Is(err, fs.ErrNotExist)
}
