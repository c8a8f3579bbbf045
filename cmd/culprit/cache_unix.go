//go:build unix

package main

import (
	"io/fs"
	"os"
	"syscall"
)

// onlyMine reports whether a folder is this user's and nobody else may look into it.
func onlyMine(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int64(stat.Uid) == int64(os.Getuid()) && info.Mode().Perm()&0o077 == 0
}
