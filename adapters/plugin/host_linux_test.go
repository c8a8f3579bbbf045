package plugin_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestAPluginDiesWithItsHost(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	host := exec.CommandContext(t.Context(), self, "plugin:host", string(as(t, "rig", nil).Settings))
	tmp, err := os.MkdirTemp("", "") //nolint:usetesting // a host that is killed leaves the plugin's folder behind; the path of a test's own is too long for it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(tmp) })
	host.Env = []string{"TMPDIR=" + tmp}
	out, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	_, err = fmt.Fscan(out, &pid)
	if killed := host.Process.Kill(); err != nil || killed != nil {
		t.Fatal(err, killed)
	}
	_ = host.Wait() // it was killed
	for {
		status, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(pid), "stat"))
		if err != nil || strings.Contains(string(status), ") Z ") {
			return
		}
		if t.Context().Err() != nil {
			t.Fatalf("the plugin outlives its host: %s", status)
		}
	}
}
