package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/plugin/internal/wire"
	pluginv1 "github.com/culprit-rag/culprit/adapters/plugin/proto/v1"
)

// hardKill is how long a plugin may take to end by itself.
const hardKill = 5 * time.Second

// session is one process of a plugin with a connection to it.
type session struct {
	client *goplugin.Client
	proc   *process
	conn   *grpc.ClientConn
	dir    string // for its sockets and temporary files
	info   *pluginv1.InfoResponse
}

// start runs the program and connects. It ends by the context's deadline at the latest; the context's end kills the program.
func start(ctx context.Context, set *settings, cfg adapters.Config) (*session, error) {
	const op = "open"
	program, err := set.program(cfg.Dir)
	if err != nil {
		return nil, fail(op, adapters.KindInvalid, err)
	}
	if info, err := os.Stat(program); err != nil {
		return nil, invalid(op, "%s: there is no plugin at %q: build it, or correct the path, which is relative to the experiment's folder", set.setting("path"), program)
	} else if info.IsDir() {
		return nil, invalid(op, "%s: %q is a folder: name the program", set.setting("path"), program)
	}
	if err := set.verify(program, cfg.Dir); err != nil {
		return nil, fail(op, adapters.KindInvalid, err)
	}
	env, err := set.environment(cfg.Secrets)
	if err != nil {
		return nil, fail(op, adapters.KindInvalid, err)
	}
	s := &session{}
	if s.dir, err = tempDir(); err != nil {
		return nil, fail(op, adapters.KindPermanent, fmt.Errorf("making a folder for the plugin's sockets: %w", err))
	}
	config := s.config(set, program, append(env, "TMPDIR="+s.dir), cfg)
	if deadline, ok := ctx.Deadline(); ok {
		config.StartTimeout = max(time.Until(deadline), time.Millisecond)
	}
	s.client = goplugin.NewClient(config)
	if err := s.connect(ctx, set, config); err != nil {
		s.end()
		return nil, s.refused(ctx, set, program, err, cfg.Secrets.Redactor())
	}
	return s, nil
}

// config is that of a client whose process we run ourselves.
func (s *session) config(set *settings, program string, env []string, cfg adapters.Config) *goplugin.ClientConfig {
	versions := map[int]goplugin.PluginSet{}
	for version := 1; version <= wire.Version; version++ {
		if set.Protocol == 0 || int(set.Protocol) == version {
			versions[version] = goplugin.PluginSet{Name: connection{}}
		}
	}
	config := &goplugin.ClientConfig{
		HandshakeConfig:  goplugin.HandshakeConfig{MagicCookieKey: wire.CookieKey, MagicCookieValue: wire.CookieValue},
		VersionedPlugins: versions,
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		SkipHostEnv:      true,
		AutoMTLS:         set.MTLS != mtlsOff,
		Logger:           hclog.NewNullLogger(),
		UnixSocketConfig: &goplugin.UnixSocketConfig{TempDir: s.dir},
		GRPCDialOptions: []grpc.DialOption{
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(wire.MaxMessage), grpc.MaxCallSendMsgSize(wire.MaxMessage)),
		},
	}
	if len(set.Env) > 0 {
		config.GRPCDialOptions = append(config.GRPCDialOptions, withoutKeys(cfg.Secrets.Redactor())...)
	}
	s.proc = newProcess(program, set.Args, nil, cmp.Or(cfg.Dir, "."))
	config.SyncStderr = s.proc.stderr
	config.RunnerFunc = func(_ hclog.Logger, cmd *exec.Cmd, _ string) (runner.Runner, error) {
		s.proc.cmd.Env = slices.Concat(env, cmd.Env)
		return s.proc, nil
	}
	return config
}

// connection hands out the connection itself.
type connection struct {
	goplugin.NetRPCUnsupportedPlugin
}

func (connection) GRPCServer(*goplugin.GRPCBroker, *grpc.Server) error {
	return errors.New("this is the host's end")
}

func (connection) GRPCClient(_ context.Context, _ *goplugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return conn, nil
}

func (s *session) connect(ctx context.Context, set *settings, config *goplugin.ClientConfig) error {
	stop := context.AfterFunc(ctx, s.proc.kill)
	defer stop()
	if _, err := s.client.Start(); err != nil {
		return err
	}
	if _, certificate := s.proc.line.wrong(); !certificate {
		if set.MTLS == mtlsOn {
			return errors.New("it hands out no certificate, which mtls: on asks for: set mtls to auto, or let the plugin make one")
		}
		config.TLSConfig = nil // it was made for a plugin that can
	}
	protocol, err := s.client.Client()
	if err != nil {
		return err
	}
	raw, err := protocol.Dispense(Name)
	if err != nil {
		return err
	}
	conn, ok := raw.(*grpc.ClientConn)
	if !ok {
		return fmt.Errorf("the connection is a %T", raw)
	}
	s.conn = conn
	if s.info, err = pluginv1.NewPluginClient(conn).Info(ctx, &pluginv1.InfoRequest{}); err != nil {
		return fmt.Errorf("asking it what it is: %w", wire.Error(Name, "info", err))
	}
	switch {
	case int(s.info.GetProtocolVersion()) != s.client.NegotiatedVersion():
		return fmt.Errorf("it says that it speaks version %d of the protocol, and its handshake line says %d", s.info.GetProtocolVersion(), s.client.NegotiatedVersion())
	case s.info.GetName() == "":
		return errors.New("it tells no name")
	}
	return nil
}

// role returns the schema of the settings of a role.
func (s *session) role(role adapters.Role) ([]byte, error) {
	var plays []string
	for _, r := range s.info.GetRoles() {
		if r.GetName() == string(role) {
			return r.GetSettingsSchema(), nil
		}
		plays = append(plays, printable(r.GetName()))
	}
	slices.Sort(plays)
	return nil, fmt.Errorf("the plugin %q serves no %s; it serves as %s", printable(s.info.GetName()), role, strings.Join(plays, ", "))
}

// refused says why a start failed, in words about the plugin. The process has ended.
func (s *session) refused(ctx context.Context, set *settings, program string, err error, redact *adapters.Redactor) *adapters.Error {
	const op = "open"
	fault, _ := s.proc.line.wrong()
	text, which := err.Error(), fmt.Sprintf("the plugin %q", program)
	if set.role != "" {
		which += " of " + set.at("path")
	}
	switch started := s.proc.cmd.Process != nil; {
	case !started && ctx.Err() == nil && errors.Is(err, os.ErrPermission):
		return invalid(op, "%s: the file %q is not executable: run chmod +x on it, or name its interpreter as path and the file in args", set.setting("path"), program)
	case !started && ctx.Err() == nil:
		return invalid(op, "%s: %q cannot be run: it is no program for this system, or its interpreter is missing: %w", set.setting("path"), program, err)
	case errors.Is(ctx.Err(), context.Canceled):
		return fail(op, adapters.KindCanceled, fmt.Errorf("starting %s: %w", which, ctx.Err()))
	case ctx.Err() != nil || strings.Contains(text, "timeout while waiting"):
		if fault == "" {
			fault = "does not answer"
		}
		return fail(op, adapters.KindTimeout, fmt.Errorf("%s %s within %s: %w; %s", which, fault, set.at("start_timeout"), context.DeadlineExceeded, s.proc.lastWords(redact)))
	case strings.Contains(text, "incompatible API version"):
		return fail(op, adapters.KindUnsupported, fmt.Errorf("%s speaks another version of the plugin protocol than %d (%s): build it anew, or take another release of Culprit", which, wire.Version, printable(text)))
	case fault != "":
		return fail(op, adapters.KindPermanent, fmt.Errorf("%s %s; %s%s", which, fault, s.proc.exit(redact), s.advice()))
	}
	// Not by fail: where a call has failed, that would leave its error alone, in which no plugin is named.
	return &adapters.Error{Adapter: Name, Op: op, Kind: adapters.KindOf(err), Err: fmt.Errorf("%s cannot be used: %w; %s", which, err, s.proc.exit(redact))}
}

// kitModules are imported by culprit_plugin.py and its plugin_pb2 modules, from the packages of kitPackages.
var kitModules = []string{"google", "google.protobuf", "google.rpc", "grpc", "grpc_status"}

const kitPackages = "grpcio, grpcio-status and protobuf"

// advice says what to do about a program that wrote no handshake line.
func (s *session) advice() string {
	if module := s.proc.stderr.missingModule(); module != "" {
		needs := fmt.Sprintf("the module %q", module)
		if slices.Contains(kitModules, module) {
			needs = kitPackages
		}
		return fmt.Sprintf(". This Python lacks %s: install what is missing, or name the Python that has it, such as .venv/bin/python", needs)
	}
	if s.proc.line.printed() {
		return ". Standard output is for that line alone: log to standard error"
	}
	return ""
}

// end stops the process, by force where it does not stop by itself, and removes what it left. It may be called once.
func (s *session) end() {
	timer := time.AfterFunc(hardKill, s.proc.kill)
	defer timer.Stop()
	s.client.Kill()
	if s.proc.cmd.Process != nil {
		s.proc.kill()
		<-s.proc.done
	}
	_ = os.RemoveAll(s.dir)
}
