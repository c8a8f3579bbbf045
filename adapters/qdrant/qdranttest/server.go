package qdranttest

import (
	"context"
	"embed"
	"fmt"
	"io/fs"

	"github.com/culprit-rag/culprit/adapters/pythontest"
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

	process *pythontest.Process // nil: not ours
}

//go:embed engine/*.py engine/*.txt
var engine embed.FS

// Launch starts an engine server on a free loopback port and returns when it listens. The caller closes it.
func Launch(ctx context.Context, o Options) (*Server, error) {
	program, err := fs.Sub(engine, "engine")
	if err != nil {
		return nil, err
	}
	python, err := pythontest.Install(ctx, "qdrant", program)
	if err != nil {
		return nil, fmt.Errorf("installing the engine server: %w", err)
	}
	s := &Server{APIKey: o.APIKey}
	s.process, err = pythontest.Start(ctx, python, program, "serve.py", nil, func(dir string) ([]string, error) {
		var arguments []string
		for flag, value := range map[string]string{"--api-key": o.APIKey, "--wire": o.Wire, "--version": o.Version} {
			if value != "" {
				arguments = append(arguments, flag, value)
			}
		}
		if !o.TLS {
			return arguments, nil
		}
		certificate, key, err := writeCertificate(dir)
		s.CAFile = certificate
		return append(arguments, "--tls-cert", certificate, "--tls-key", key), err
	})
	if err != nil {
		return nil, fmt.Errorf("starting the engine server: %w", err)
	}
	s.Address = "127.0.0.1:" + s.process.Ready
	return s, nil
}

// Close stops the server and removes its data. It may be called again, and does nothing to a server that is not ours.
func (s *Server) Close() error {
	if s.process == nil {
		return nil
	}
	return s.process.Close()
}
