package qdrant

import (
	"context"
	"fmt"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc"
)

// reading are the methods that a store may call. None of them changes anything.
var reading = map[string]bool{
	qdrant.Qdrant_HealthCheck_FullMethodName:      true,
	qdrant.Collections_Get_FullMethodName:         true,
	qdrant.Collections_List_FullMethodName:        true,
	qdrant.Collections_ListAliases_FullMethodName: true,
	qdrant.Points_Count_FullMethodName:            true,
	qdrant.Points_Facet_FullMethodName:            true,
	qdrant.Points_Get_FullMethodName:              true,
	qdrant.Points_Query_FullMethodName:            true,
	qdrant.Points_QueryBatch_FullMethodName:       true,
	qdrant.Points_Scroll_FullMethodName:           true,
}

// WriteError is the refusal of a call that is not among those that only read.
type WriteError struct {
	Method string // the full name of the gRPC method
}

func (e *WriteError) Error() string {
	return fmt.Sprintf("%s is not called: a store is only read", e.Method)
}

func guardUnary(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	if !reading[method] {
		return &WriteError{Method: method}
	}
	return invoke(ctx, method, req, reply, conn, options...)
}

// guardStream refuses everything: reading needs no stream.
func guardStream(_ context.Context, _ *grpc.StreamDesc, _ *grpc.ClientConn, method string, _ grpc.Streamer, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, &WriteError{Method: method}
}
