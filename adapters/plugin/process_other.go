//go:build !unix

package plugin

import "os/exec"

func ownGroup(*exec.Cmd) {}

// killGroup ends the process.
func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
