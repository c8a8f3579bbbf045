package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/culprit-rag/culprit/adapters"
)

// process is a running plugin. It is the runner of go-plugin's client, which by itself would give it our standard input and could be
// held up by a long line of its output. Its owner is the goroutine that waits for its end, which ends with it.
type process struct {
	cmd    *exec.Cmd
	name   string
	out    io.ReadCloser // the handshake line
	line   *handshake
	stderr *tail

	done chan struct{} // closed when the process has ended and was waited for
	end  error         // why, once done is closed

	mu     sync.Mutex // keeps a signal from a process that is being started, or was waited for, whose number may be another's
	killed bool       // by us
}

// leftBehind is how long the output of a plugin may be held open by a process that it left behind.
const leftBehind = 500 * time.Millisecond

func newProcess(program string, args, env []string, dir string) *process {
	line, out := newHandshake()
	p := &process{name: program, out: out, line: line, stderr: &tail{}, done: make(chan struct{})}
	p.cmd = exec.Command(program, args...)
	p.cmd.Env, p.cmd.Dir = env, dir
	p.cmd.Stdout, p.cmd.Stderr = line, p.stderr
	p.cmd.WaitDelay = leftBehind
	ownGroup(p.cmd)
	return p
}

// Start runs the program.
func (p *process) Start(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.killed {
		p.line.close()
		return errors.New("it was given up before it was started")
	}
	if err := p.cmd.Start(); err != nil {
		p.line.close()
		return err
	}
	go func() {
		err := p.cmd.Wait()
		killGroup(p.cmd) // what it left behind
		p.mu.Lock()
		p.end = err
		close(p.done)
		p.mu.Unlock()
		p.line.close() // last: who reads to its end and then kills the process must see that it has ended by itself
	}()
	return nil
}

// Wait waits for the end.
func (p *process) Wait(context.Context) error {
	<-p.done
	return p.end
}

// Kill ends the process and what it started.
func (p *process) Kill(context.Context) error {
	p.kill()
	return nil
}

func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended() {
		return
	}
	if p.killed = true; p.cmd.Process != nil {
		killGroup(p.cmd)
	}
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// exit says how the process ended, where it did so by itself, with its last words.
func (p *process) exit(redact *adapters.Redactor) string {
	p.mu.Lock()
	killed := p.killed
	p.mu.Unlock()
	if p.ended() && !killed {
		return "it exited with " + p.cmd.ProcessState.String() + "; " + p.lastWords(redact)
	}
	return p.lastWords(redact)
}

func (p *process) lastWords(redact *adapters.Redactor) string {
	if said := p.stderr.said(redact); said != "" {
		return "its last lines on standard error: " + said
	}
	return "it wrote nothing to standard error"
}

// ID is the number of the process.
func (p *process) ID() string {
	if p.cmd.Process == nil {
		return ""
	}
	return fmt.Sprint(p.cmd.Process.Pid)
}

// Name is the path of the program.
func (p *process) Name() string { return p.name }

// Stdout is the handshake line alone.
func (p *process) Stdout() io.ReadCloser { return p.out }

// Stderr is empty: the lines are kept in the process.
func (p *process) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }

// Diagnose says nothing: the errors here say more.
func (p *process) Diagnose(context.Context) string { return "" }

// PluginToHost changes nothing: both ends see the same addresses.
func (p *process) PluginToHost(network, address string) (hostNetwork, hostAddress string, err error) {
	return network, address, nil
}

// HostToPlugin changes nothing.
func (p *process) HostToPlugin(network, address string) (pluginNetwork, pluginAddress string, err error) {
	return network, address, nil
}

// tempDir makes the folder for the sockets and temporary files of a plugin. The name of a socket may have some hundred bytes, and
// go-plugin makes it about fifty longer than the folder's.
func tempDir() (string, error) {
	const longestDir, socket = 100, 50
	dir, err := os.MkdirTemp("", "culprit-")
	if err != nil || len(dir)+socket <= longestDir {
		return dir, err
	}
	short, err := os.MkdirTemp("/tmp", "culprit-")
	if err != nil {
		return dir, nil //nolint:nilerr // a plugin that listens on TCP does not mind the length
	}
	_ = os.Remove(dir)
	return short, nil
}
