package main

import (
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
)

// traffic is what went through a recording proxy: by method or path, how often and how many bytes came back.
type traffic struct {
	mu    sync.Mutex
	calls map[string]int
	bytes map[string]int
}

func (r *traffic) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls, r.bytes = map[string]int{}, map[string]int{}
}

func (r *traffic) add(name string, calls, bytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls[name] += calls
	r.bytes[name] += bytes
}

func (r *traffic) names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.calls))
}

func (r *traffic) total() (calls, bytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name := range r.calls {
		calls, bytes = calls+r.calls[name], bytes+r.bytes[name]
	}
	return calls, bytes
}

// recordGRPC passes calls on to a server as they are, without knowing their messages.
func recordGRPC(t *testing.T, address string) (*traffic, string) {
	t.Helper()
	r := &traffic{}
	r.reset()
	target, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(frames{}), grpc.MaxCallRecvMsgSize(64<<20)))
	if err != nil {
		t.Fatal(err)
	}
	pass := func(_ any, stream grpc.ServerStream) error {
		method, _ := grpc.MethodFromServerStream(stream)
		var request, response []byte
		if err := stream.RecvMsg(&request); err != nil {
			return err
		}
		ctx := stream.Context()
		for _, key := range metadata.ValueFromIncomingContext(ctx, "api-key") {
			ctx = metadata.AppendToOutgoingContext(ctx, "api-key", key)
		}
		if err := target.Invoke(ctx, method, &request, &response); err != nil {
			return err
		}
		r.add(path.Base(method), 1, len(response))
		return stream.SendMsg(&response)
	}
	server := grpc.NewServer(grpc.ForceServerCodecV2(frames{}), grpc.UnknownServiceHandler(pass), grpc.MaxRecvMsgSize(64<<20))
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listen) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Errorf("the recording proxy: %v", err)
		}
		_ = target.Close()
	})
	return r, listen.Addr().String()
}

// frames leaves messages as the bytes that they are.
type frames struct{}

var _ encoding.CodecV2 = frames{}

func (frames) Name() string { return "proto" }

func (frames) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil //nolint:forcetypeassert // nothing else is sent here
}

func (frames) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize() //nolint:forcetypeassert,misspell // nothing else is received here, and the method is called so
	return nil
}

// recordHTTP passes requests on to a server.
func recordHTTP(t *testing.T, address string) (*traffic, string) {
	t.Helper()
	r := &traffic{}
	r.reset()
	transport := &http.Transport{MaxIdleConnsPerHost: 32, DisableCompression: true}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: address})
	proxy.Transport = transport
	proxy.ErrorLog = log.New(io.Discard, "", 0) // a page that was read ahead is given up where nobody wants it
	proxy.ModifyResponse = func(response *http.Response) error {
		name := response.Request.Method + " " + shortPath(response.Request.URL.Path)
		r.add(name, 1, 0)
		response.Body = &countedBody{ReadCloser: response.Body, read: func(n int) { r.add(name, 0, n) }}
		return nil
	}
	front := httptest.NewServer(proxy)
	t.Cleanup(func() { front.Close(); transport.CloseIdleConnections() })
	return r, strings.TrimPrefix(front.URL, "http://")
}

// shortPath writes the name of a class as {class}.
func shortPath(p string) string {
	parts := strings.Split(p, "/")
	if len(parts) > 3 {
		parts[3] = "{class}"
	}
	return strings.Join(parts, "/")
}

// countedBody tells how many bytes are read of a body.
type countedBody struct {
	io.ReadCloser

	read func(int)
}

func (c *countedBody) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.read(n)
	return n, err
}
