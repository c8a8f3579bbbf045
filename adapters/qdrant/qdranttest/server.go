package qdranttest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Options say what kind of server is wanted. The zero value is one without a key, of a recent version.
type Options struct {
	APIKey  string // every call but the health check must bring it
	Wire    string // the form of vectors in answers: "dense" (default), or "data", that of servers up to 1.16
	Version string // what the server says it is; default: a recent version
	TLS     bool   // speak TLS, with a certificate for localhost and 127.0.0.1 that Server.CAFile verifies
}

// Server is a running server.
type Server struct {
	Address string // host:port
	APIKey  string
	CAFile  string // a PEM file, where the server speaks TLS

	dir    string
	stdin  io.Closer
	exited chan struct{}
	kill   func() error
}

const (
	startTime = 60 * time.Second // importing the engine on a busy machine
	stopTime  = 10 * time.Second
)

// Launch starts an engine server on a free loopback port and returns when it listens. The caller closes it.
func Launch(ctx context.Context, o Options) (*Server, error) {
	python, err := install(ctx)
	if err != nil {
		return nil, fmt.Errorf("installing the engine server: %w", err)
	}
	dir, err := os.MkdirTemp("", "qdranttest-")
	if err != nil {
		return nil, err
	}
	s := &Server{APIKey: o.APIKey, dir: dir}
	if err := s.start(ctx, python, o); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the engine server: %w", err), os.RemoveAll(dir))
	}
	return s, nil
}

func (s *Server) start(ctx context.Context, python string, o Options) error {
	if err := writeEngine(s.dir); err != nil {
		return err
	}
	arguments := []string{"-B", filepath.Join(s.dir, "serve.py")}
	for flag, value := range map[string]string{"--api-key": o.APIKey, "--wire": o.Wire, "--version": o.Version} {
		if value != "" {
			arguments = append(arguments, flag, value)
		}
	}
	if o.TLS {
		certificate, key, err := writeCertificate(s.dir)
		if err != nil {
			return err
		}
		s.CAFile = certificate
		arguments = append(arguments, "--tls-cert", certificate, "--tls-key", key)
	}
	command := exec.Command(python, arguments...)
	command.Env = append(os.Environ(), "TMPDIR="+s.dir) // its data goes with the folder, even if it is killed
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
	s.stdin, s.kill, s.exited = stdin, command.Process.Kill, make(chan struct{})
	ready := make(chan string, 1)
	go func() { // ends when the process does; Close waits for it
		line, _ := bufio.NewReader(stdout).ReadString('\n')
		ready <- strings.TrimSpace(line)
		_, _ = io.Copy(io.Discard, stdout)
		_ = command.Wait() // how it ended is nobody's concern
		close(s.exited)
	}()
	select {
	case line := <-ready:
		port, ok := strings.CutPrefix(line, "READY ")
		if ok {
			s.Address = "127.0.0.1:" + port
			return nil
		}
		err = fmt.Errorf("it said %q", line)
	case <-time.After(startTime):
		err = fmt.Errorf("it was not ready after %s", startTime)
	case <-ctx.Done():
		err = ctx.Err()
	}
	s.end()
	return fmt.Errorf("%w\n%s", err, stderr.String())
}

// Close stops the server and removes its data. It may be called again, and does nothing to a server that is not ours.
func (s *Server) Close() error {
	if s.stdin == nil {
		return nil
	}
	s.end()
	s.stdin = nil
	return os.RemoveAll(s.dir)
}

// end closes the server's standard input, which asks it to stop, and kills it if it does not.
func (s *Server) end() {
	_ = s.stdin.Close()
	select {
	case <-s.exited:
	case <-time.After(stopTime):
		_ = s.kill()
		<-s.exited
	}
}
