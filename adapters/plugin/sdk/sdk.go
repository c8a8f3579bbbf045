// Package sdk is for authors of plugins in Go. A plugin is a program whose main is one line:
//
//	func main() { sdk.Serve(version, filestore.Factory()) }
//
// The author writes an [adapters.Factory] and the interfaces of package adapters that it opens, in plain Go, as a built-in adapter
// is written; nothing here shows the wire. What a factory gets in its [adapters.Config] is Settings, which the host has held
// against the factory's Schema, Dir, CacheDir, and Secrets, which read the environment variables that the experiment lets
// through. One process serves one opened backend. Errors are *[adapters.Error]: their kind, wait and quota reach the host.
//
// Standard output belongs to the handshake: log to standard error. Its last lines are shown when the plugin dies.
package sdk

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/plugin/internal/wire"
	pluginv1 "github.com/culprit-rag/culprit/adapters/plugin/proto/v1"
)

// Serve plays the roles of the factory until the host ends the process; it does not return. The version is the plugin's own.
func Serve(version string, factory adapters.Factory) {
	if os.Getenv(wire.CookieKey) != wire.CookieValue {
		fmt.Fprintf(os.Stderr, "%s %s is a plugin of Culprit and is started by it.\nTry it:  culprit plugin test %s\n", factory.Name, version, os.Args[0])
		os.Exit(2)
	}
	own := keepStderr()
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: goplugin.HandshakeConfig{MagicCookieKey: wire.CookieKey, MagicCookieValue: wire.CookieValue},
		VersionedPlugins: map[int]goplugin.PluginSet{
			wire.Version: {factory.Name: &served{version: version, factory: factory}},
		},
		GRPCServer: func(options []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(options, own, grpc.MaxRecvMsgSize(wire.MaxMessage), grpc.MaxSendMsgSize(wire.MaxMessage))...)
		},
		Logger: hclog.NewNullLogger(), // its lines would push those of the author out of what the host keeps
	})
	os.Exit(0)
}

// keepStderr gives a plugin its standard error back, which go-plugin takes to carry it over the wire: there the last words of a
// process are lost with it.
func keepStderr() grpc.ServerOption {
	own := os.Stderr
	var once sync.Once
	return grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		once.Do(func() { os.Stderr = own })
		return handler(ctx, req)
	})
}

// served registers the services of a factory.
type served struct {
	goplugin.NetRPCUnsupportedPlugin

	version string
	factory adapters.Factory
}

func (s *served) GRPCServer(_ *goplugin.GRPCBroker, server *grpc.Server) error {
	Register(server, s.version, s.factory)
	return nil
}

func (s *served) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, fmt.Errorf("%s is the plugin's end", s.factory.Name)
}

// Register puts the services of the factory on a server of the author's own, for tests of the wire without a process.
func Register(server *grpc.Server, version string, factory adapters.Factory) {
	pluginv1.RegisterPluginServer(server, infoServer{version: version, factory: factory})
	if factory.OpenStore != nil {
		pluginv1.RegisterStoreServer(server, &storeServer{opened: opened[adapters.VectorStore]{name: factory.Name, open: factory.OpenStore}})
	}
	if factory.OpenEmbedder != nil {
		pluginv1.RegisterEmbedderServer(server, &embedderServer{opened: opened[adapters.Embedder]{name: factory.Name, open: factory.OpenEmbedder}})
	}
	if factory.OpenGenerator != nil {
		pluginv1.RegisterGeneratorServer(server, &generatorServer{opened: opened[adapters.Generator]{name: factory.Name, open: factory.OpenGenerator}})
	}
	if factory.OpenReranker != nil {
		pluginv1.RegisterRerankerServer(server, &rerankerServer{opened: opened[adapters.Reranker]{name: factory.Name, open: factory.OpenReranker}})
	}
}

type infoServer struct {
	pluginv1.UnimplementedPluginServer

	version string
	factory adapters.Factory
}

func (s infoServer) Info(context.Context, *pluginv1.InfoRequest) (*pluginv1.InfoResponse, error) {
	info := &pluginv1.InfoResponse{Name: s.factory.Name, Version: s.version, ProtocolVersion: wire.Version}
	for role, plays := range map[adapters.Role]bool{
		adapters.RoleStore: s.factory.OpenStore != nil, adapters.RoleEmbedder: s.factory.OpenEmbedder != nil,
		adapters.RoleGenerator: s.factory.OpenGenerator != nil, adapters.RoleReranker: s.factory.OpenReranker != nil,
	} {
		if plays {
			info.Roles = append(info.Roles, &pluginv1.Role{Name: string(role), SettingsSchema: s.factory.Schema[role]})
		}
	}
	slices.SortFunc(info.Roles, func(a, b *pluginv1.Role) int { return strings.Compare(a.GetName(), b.GetName()) })
	return info, nil
}

// opened is the backend of one role, once it is open.
type opened[B interface{ Close() error }] struct {
	name string
	open func(context.Context, adapters.Config) (B, error)

	mu      sync.Mutex
	backend *B // nil: not yet open
}

func (o *opened[B]) start(ctx context.Context, req *pluginv1.OpenRequest) (*pluginv1.OpenResponse, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.backend != nil {
		return nil, wire.Status(o.name, "open", &adapters.Error{
			Adapter: o.name, Op: "open", Kind: adapters.KindInvalid, Err: fmt.Errorf("%s is open: one process serves one backend", o.name),
		})
	}
	backend, err := o.open(ctx, adapters.Config{
		Settings: json.RawMessage(req.GetSettings()), Dir: req.GetDir(), CacheDir: req.GetCacheDir(), Secrets: &adapters.Secrets{Env: os.LookupEnv},
	})
	if err != nil {
		return nil, wire.Status(o.name, "open", err)
	}
	o.backend = &backend
	return &pluginv1.OpenResponse{}, nil
}

// use lets f have the backend.
func use[B interface{ Close() error }, T any](o *opened[B], op string, f func(B) (T, error)) (T, error) {
	var none T
	o.mu.Lock()
	backend := o.backend
	o.mu.Unlock()
	if backend == nil {
		return none, wire.Status(o.name, op, &adapters.Error{
			Adapter: o.name, Op: op, Kind: adapters.KindInvalid, Err: fmt.Errorf("%s was called before Open", op),
		})
	}
	answer, err := f(*backend)
	if err != nil {
		return none, wire.Status(o.name, op, err)
	}
	return answer, nil
}

func (o *opened[B]) end() (*pluginv1.CloseResponse, error) {
	o.mu.Lock()
	backend := o.backend
	o.mu.Unlock()
	if backend != nil {
		if err := (*backend).Close(); err != nil {
			return nil, wire.Status(o.name, "close", err)
		}
	}
	return &pluginv1.CloseResponse{}, nil
}
