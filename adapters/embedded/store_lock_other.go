//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package embedded

import "os"

// lockShared has nothing to do: a system such as Windows removes no file that is open.
func lockShared(*os.File) {}

// removeUnused removes a file that nobody has open.
func removeUnused(path string) { _ = os.Remove(path) }
