package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/culprit-rag/culprit/adapters/remote/tap"
	"github.com/culprit-rag/culprit/crash"
)

type tapOptions struct {
	upstream, listen, header, keyEnv, record string
}

func (a *app) tapCommand() *cobra.Command {
	o := tapOptions{}
	c := &cobra.Command{
		Use:     "tap --upstream URL",
		GroupID: groupRun,
		Short:   "Stand between a service and its model, and record what the model is asked",
		Long: `Stand between a service and its OpenAI-compatible model. The service gets this proxy's address as
the base URL of its model; every call is passed on as it is, byte for byte, and so is the answer.
Each prompt is shown, and kept in memory under the id of the request that it was made for.

A run that names the tap (backends.service.tap) reads there what the model was asked, and can have
another context put into the prompt, for a service that takes none: the gold context of B, the
changed ones of D. The id of a request is read from the header --header or from
metadata.request_id in the body. A service that hands on neither is asked one request at a time.

No header is kept, and a key that a call carries is taken out of all that is shown or recorded.
Prompts can hold what your documents hold: --record writes them to a file that only you can read.`,
		Example: `  culprit tap --upstream https://api.openai.com/v1
  culprit tap --upstream http://localhost:11434/v1 --listen localhost:8090 --record prompts.jsonl`,
		Args: between(0, 0, "no argument"),
		RunE: func(c *cobra.Command, _ []string) error { return a.tap(c.Context(), o) },
	}
	c.Flags().StringVar(&o.upstream, "upstream", "", "the base `URL` of the model, as the service has it now")
	c.Flags().StringVar(&o.listen, "listen", "localhost:8089", "the `address` to listen at; port 0 takes a free one")
	c.Flags().StringVar(&o.header, "header", tap.DefaultHeader, "the `name` of the header that holds the request id")
	c.Flags().StringVar(&o.keyEnv, "key-env", "", "the environment `variable` with the key that a run must show to read prompts")
	c.Flags().StringVar(&o.record, "record", "", "append every call to this `file`, as one JSON object a line (culprit.tap/v1)")
	c.Flags().BoolVar(&a.json, "json", false, "print one JSON object (culprit.tap/v1) a line, for every call")
	return c
}

// tapRecord is a call as it is written down.
type tapRecord struct {
	Schema  string `json:"schema"`
	Request string `json:"request_id"`
	*tap.Call
}

// tap serves until it is interrupted.
func (a *app) tap(ctx context.Context, o tapOptions) (err error) {
	key, upstream, err := a.tapSettings(o)
	if err != nil {
		return err
	}
	file := io.Discard
	if o.record != "" {
		f, err := os.OpenFile(o.record, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return usage("--record: %w", err)
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		file = f
	}
	ctx, stop := signal.NotifyContext(ctx, interruptSignals()...)
	defer stop()
	shown := &tapLog{app: a, file: file}
	proxy, err := tap.New(tap.Options{Upstream: upstream, Header: o.header, Key: key, Secrets: append(a.secrets().Proxies(), key), Told: shown.call})
	if err != nil {
		return usage("--upstream: %w", err)
	}
	defer func() { err = errors.Join(err, proxy.Close()) }()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return usage("--listen %s: %w: give a host and a free port, such as localhost:8089", o.listen, err)
	}
	if key == "" && !isLoopback(listener.Addr()) {
		return errors.Join(usage("--listen %s can be reached from other machines, and so can the prompts: name a key with --key-env, or listen at localhost", o.listen), listener.Close())
	}
	at := "http://" + listener.Addr().String()
	linef(a.err, "tap at %s: give the service %s as the base URL of its model; calls go on to %s. Ctrl-C ends it.", at, at+upstream.Path, upstream.Scheme+"://"+upstream.Host)
	return serve(ctx, listener, proxy)
}

// serve serves until ctx ends, and then gives calls under way some time to end.
func serve(ctx context.Context, listener net.Listener, h http.Handler) error {
	const grace = 10 * time.Second
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute, BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) }}
	ended := make(chan error, 1)
	go func() { ended <- crash.Guard(func() error { return server.Serve(listener) })() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err := server.Shutdown(end)
	if err != nil {
		err = server.Close() // who still waits for an answer is cut off
	}
	if stopped := <-ended; !errors.Is(stopped, http.ErrServerClosed) {
		err = errors.Join(err, stopped)
	}
	return err
}

// tapSettings reads what must be right before anything is opened.
func (a *app) tapSettings(o tapOptions) (key string, upstream *url.URL, err error) {
	if o.upstream == "" {
		return "", nil, usage("--upstream is missing: give the base URL of the model, as the service has it now, such as https://api.openai.com/v1")
	}
	if upstream, err = url.Parse(o.upstream); err != nil {
		return "", nil, usage("--upstream is no URL: %w", errors.Unwrap(err)) // the error itself repeats it, and it may hold a password
	}
	if upstream.User != nil {
		return "", nil, usage("--upstream holds a user name or password: the service sends its key itself")
	}
	if o.keyEnv != "" {
		if key, err = a.secrets().Read("--key", o.keyEnv, "", ""); err != nil {
			return "", nil, usage("--key-env: %w", err)
		}
	}
	return key, upstream, nil
}

func isLoopback(addr net.Addr) bool {
	p, err := netip.ParseAddrPort(addr.String())
	return err == nil && p.Addr().Unmap().IsLoopback()
}

// tapLog shows calls, one line each.
type tapLog struct {
	mu   sync.Mutex // lines are whole
	app  *app
	file io.Writer
}

func (l *tapLog) call(id string, c *tap.Call) {
	record, err := json.Marshal(tapRecord{"culprit.tap/v1", id, c})
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		_, err = l.file.Write(append(record, '\n'))
	}
	if err != nil {
		l.app.warnf("a call could not be recorded: %v", err)
	}
	if l.app.json {
		_, _ = l.app.out.Write(append(record, '\n')) // its writer keeps the first error
		return
	}
	line(l.app.out, sayCall(id, c))
}

// sayCall tells of a call in one line: whose it was, what was asked, what came.
func sayCall(id string, c *tap.Call) string {
	if id == "" {
		id = "(no request)"
	}
	words := 0
	for _, m := range c.Messages {
		words += len(strings.Fields(m.Text))
	}
	parts := []string{id, c.Model, counted(len(c.Messages), "message", "messages") + " of " + counted(words, "word", "words")}
	if c.Substituted {
		parts = append(parts, "context substituted")
	}
	switch {
	case c.Refused != "":
		parts = append(parts, "not sent: "+c.Refused)
	case c.Error != "" && c.Status == 0:
		parts = append(parts, c.Error)
	default:
		came := fmt.Sprintf("%d %s", c.Status, c.FinishReason)
		if c.CompletionTokens != nil {
			came += ", " + counted(*c.CompletionTokens, "token", "tokens")
		}
		parts = append(parts, strings.TrimSpace(came), fmt.Sprintf("%.1f s", float64(c.TookMS)/1000))
		if c.Error != "" {
			parts = append(parts, c.Error)
		}
	}
	return strings.Join(parts, " · ")
}
