//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package results

import "io/fs"

// isPrivate cannot tell here: what a folder inherits decides who may write to it.
func isPrivate(string, fs.FileInfo) error { return nil }
