package adapters

import "context"

type callIDKey struct{}

// WithCallID gives the tries of a call an id, which is read when a request is made.
func WithCallID(ctx context.Context, id func() string) context.Context {
	return context.WithValue(ctx, callIDKey{}, id)
}

// CallID is the id of the try that is being made, "" where it has none. A provider that knows of Idempotency-Key may be told it; none
// can be relied on to heed it.
func CallID(ctx context.Context) string {
	if id, ok := ctx.Value(callIDKey{}).(func() string); ok {
		return id()
	}
	return ""
}
