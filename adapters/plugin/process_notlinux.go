//go:build unix && !linux

package plugin

import (
	"os/exec"
	"syscall"
)

// ownGroup keeps the terminal's Ctrl-C from the plugin, whose calls are to end in order.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
