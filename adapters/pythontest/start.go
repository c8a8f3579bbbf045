package pythontest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	startTime = 2 * time.Minute // importing an engine, or loading a model, on a busy machine
	stopTime  = 10 * time.Second
)

// Process is a running program.
type Process struct {
	Ready string // what it said behind the word READY, such as its port
	Dir   string // its own folder, which goes with it

	stdin  io.Closer
	exited chan struct{}
	kill   func() error
}

// Need skips the test where only what needs nothing but Go is to be run; what names what is left out.
func Need(tb testing.TB, what string) {
	tb.Helper()
	if testing.Short() || os.Getenv("CULPRIT_TEST_SHORT") == "1" {
		tb.Skip("needs " + what + ": left out by -short or CULPRIT_TEST_SHORT=1")
	}
}

// Start writes the program's files into a folder of its own, runs the file main there, and returns when it has printed a line that
// begins with READY. Such a program stops when its standard input ends. The caller closes it.
func Start(ctx context.Context, python string, program fs.FS, main string, env []string, arguments func(dir string) ([]string, error)) (*Process, error) {
	dir, err := os.MkdirTemp("", "pythontest-")
	if err != nil {
		return nil, err
	}
	p := &Process{Dir: dir}
	if err := p.start(ctx, python, program, main, env, arguments); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return p, nil
}

func (p *Process) start(ctx context.Context, python string, program fs.FS, main string, env []string, arguments func(dir string) ([]string, error)) error {
	if err := Write(program, p.Dir); err != nil {
		return err
	}
	args, err := arguments(p.Dir)
	if err != nil {
		return err
	}
	command := exec.Command(python, append([]string{"-B", filepath.Join(p.Dir, main)}, args...)...)
	command.Env = append(append(os.Environ(), env...), "TMPDIR="+p.Dir) // its data goes with the folder, even if it is killed
	var stderr bytes.Buffer
	command.Stderr = &stderr
	stdin, err := command.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	p.stdin, p.kill, p.exited = stdin, command.Process.Kill, make(chan struct{})
	ready := make(chan string, 1)
	go func() { // ends when the process does; Close waits for it
		lines := bufio.NewReader(stdout)
		line, _ := lines.ReadString('\n')
		ready <- strings.TrimSpace(line)
		_, _ = io.Copy(io.Discard, lines)
		_ = command.Wait() // how it ended is nobody's concern
		close(p.exited)
	}()
	select {
	case line := <-ready:
		said, ok := strings.CutPrefix(line, "READY ")
		if ok {
			p.Ready = said
			return nil
		}
		err = fmt.Errorf("it said %q", line)
	case <-time.After(startTime):
		err = fmt.Errorf("it was not ready after %s", startTime)
	case <-ctx.Done():
		err = ctx.Err()
	}
	p.end()
	return fmt.Errorf("%s: %w\n%s", main, err, stderr.String())
}

// Close stops the program and removes its folder. It may be called again.
func (p *Process) Close() error {
	if p.stdin == nil {
		return nil
	}
	p.end()
	p.stdin = nil
	return os.RemoveAll(p.Dir)
}

// end closes the program's standard input, which asks it to stop, and kills it if it does not.
func (p *Process) end() {
	_ = p.stdin.Close()
	select {
	case <-p.exited:
	case <-time.After(stopTime):
		_ = p.kill()
		<-p.exited
	}
}
