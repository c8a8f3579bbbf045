//go:build !linux

package bench

import "time"

func sleep(d time.Duration) { time.Sleep(d) }
