package bench

import (
	"syscall"
	"time"
)

// sleep waits as the kernel's clock does. A timer of Go's is up to a millisecond late where nothing else runs, and of the 50 that a
// call takes that would be a fiftieth.
func sleep(d time.Duration) {
	for d > 0 {
		left := syscall.NsecToTimespec(int64(d))
		if syscall.Nanosleep(&left, &left) == nil {
			return
		}
		d = time.Duration(left.Nano())
	}
}
