//go:build unix

package plugin

import (
	"os/exec"
	"syscall"
)

// killGroup ends the process and all that it started.
func killGroup(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what is gone already needs no signal
}
