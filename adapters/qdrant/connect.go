package qdrant

import (
	"context"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/culprit-rag/culprit/adapters"
)

// maxMessage is the largest answer that is accepted; a scan asks again for less where a page is larger.
const maxMessage = 64 << 20

// connect makes the connection without using it. The options come last, for tests.
func connect(s *settings, cfg adapters.Config, options ...grpc.DialOption) (*qdrant.GrpcClient, error) {
	key, err := cfg.Secrets.Read("backends.store.api_key", s.APIKeyEnv, s.APIKeyFile, cfg.Dir)
	if err != nil {
		return nil, err
	}
	token, err := cfg.Secrets.Read("backends.store.token", s.TokenEnv, s.TokenFile, cfg.Dir)
	if err != nil {
		return nil, err
	}
	host, port, err := s.hostPort()
	if err != nil {
		return nil, err
	}
	config := &qdrant.Config{
		Host: host, Port: port, SkipCompatibilityCheck: true, // the check has no context and logs
		KeepAliveTime: -1, // pings on an idle connection are what proxies forbid
	}
	if config.TLSConfig, err = s.TLS.Config(cfg.Dir); err != nil {
		return nil, err
	}
	config.UseTLS = config.TLSConfig != nil
	// Chained: the client's own interceptors stay in place, and none of these takes the place of another.
	config.GrpcOptions = append([]grpc.DialOption{
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)),
		grpc.WithChainUnaryInterceptor(guardUnary, credentials(key, token)),
		grpc.WithChainStreamInterceptor(guardStream),
	}, options...)
	return qdrant.NewGrpcClient(config)
}

// credentials sends the key and the token with each call. The client's own way of doing so logs a warning where there is no
// TLS; Describe says it in its notes.
func credentials(key, token string) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
		if key != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "api-key", key)
		}
		if token != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
		}
		return invoke(ctx, method, req, reply, conn, options...)
	}
}
