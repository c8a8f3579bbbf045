package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"google.golang.org/grpc"

	"github.com/culprit-rag/culprit/adapters"
)

// reading are the calls of the data plane that may be made. The client can write with any of the others.
var reading = map[string]bool{
	"/VectorService/Query": true, "/VectorService/Fetch": true, "/VectorService/List": true, "/VectorService/DescribeIndexStats": true,
}

// guard lets only calls through that read.
func guard(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	if !reading[method] {
		return fail("guard", adapters.KindUnsupported, fmt.Errorf("%s is not a call that reads, and the plugin makes no other", method))
	}
	return invoke(ctx, method, req, reply, conn, options...)
}

// reads lets only the description of an index through to the control plane.
type reads struct{ next http.RoundTripper }

func (r reads) RoundTrip(req *http.Request) (*http.Response, error) {
	name, described := strings.CutPrefix(req.URL.Path, "/indexes/")
	if req.Method != http.MethodGet || !described || name == "" || strings.Contains(name, "/") {
		return nil, fail("guard", adapters.KindUnsupported, fmt.Errorf("%s %s is not a call that reads, and the plugin makes no other", req.Method, req.URL.Path))
	}
	return r.next.RoundTrip(req)
}
