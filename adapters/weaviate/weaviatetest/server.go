package weaviatetest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Options are the settings of a server that differ from the ordinary ones.
type Options struct {
	Keys bool     // only AdminKey and ReadOnlyKey are let in; otherwise everybody is
	Env  []string // more variables of the server, as NAME=value
}

// The keys of a server that wants one.
const (
	AdminKey    = "admin-key-of-the-tests"
	ReadOnlyKey = "readonly-key-of-the-tests" // it may read all, and write nothing
)

// Server is a running Weaviate.
type Server struct {
	Address     string // host:port of the HTTP interface
	GRPCAddress string // host:port of the gRPC interface; "" where it is not known
	Key         string // that may write; "" where none is asked for
}

// process is a server that was started here.
type process struct {
	Server
	cmd  *exec.Cmd
	life *os.File // the server ends when nobody holds its other end open
	exit chan struct{}
	dir  string
}

const (
	startTime  = 2 * time.Minute
	startTries = 5 // a port that was free may be taken by another before the server has it
)

// Start starts a server with these settings, which ends with the test.
func Start(t testing.TB, o Options) Server {
	t.Helper()
	SkipShort(t)
	p, err := start(t.Context(), t.Logf, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the end of the server's output:\n%s", p.tail())
		}
		if err := p.stop(); err != nil {
			t.Errorf("stopping the Weaviate server: %v", err)
		}
	})
	return p.Server
}

// SkipShort skips the test in short mode.
func SkipShort(t testing.TB) {
	t.Helper()
	if testing.Short() || os.Getenv("CULPRIT_TEST_SHORT") == "1" {
		t.Skip("short mode: this test needs a Weaviate server, which is built for it")
	}
}

func start(ctx context.Context, logf func(string, ...any), o Options) (*process, error) {
	program, err := Build(ctx, logf)
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		p, err := launch(program, o)
		if err != nil {
			return nil, fmt.Errorf("starting the Weaviate server: %w", err)
		}
		err = p.ready(ctx)
		if err == nil {
			return p, nil
		}
		out := p.tail()
		err = errors.Join(fmt.Errorf("starting the Weaviate server: %w; the end of its output:\n%s", err, out), p.stop())
		if try == startTries || ctx.Err() != nil || !strings.Contains(out, "address already in use") {
			return nil, err
		}
	}
}

// guard runs a server that is killed, and its folder $0 removed, when the other end of file 3 is closed, as it is when the tests' process ends in any
// way. A line read from it means that the server was stopped in the ordinary way.
const guard = `(read -r _ <&3 || { kill -9 $$; rm -rf "$0"; }) </dev/null >/dev/null 2>&1 & exec 3<&-; exec "$@"`

func launch(program string, o Options) (_ *process, err error) {
	dir, err := os.MkdirTemp("", "culprit-weaviate-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	port, err := freePorts(6)
	if err != nil {
		return nil, err
	}
	out, err := os.Create(filepath.Join(dir, "output"))
	if err != nil {
		return nil, err
	}
	defer out.Close()
	held, life, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer held.Close()
	cmd := exec.Command("sh", "-c", guard, dir, program, "--host", "127.0.0.1", "--port", port[0], "--scheme", "http")
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
	cmd.ExtraFiles = []*os.File{held}
	cmd.Env = environment(dir, port, o)
	p := &process{
		Server: Server{Address: net.JoinHostPort("127.0.0.1", port[0]), GRPCAddress: net.JoinHostPort("127.0.0.1", port[1])},
		cmd:    cmd, life: life, dir: dir, exit: make(chan struct{}),
	}
	if o.Keys {
		p.Key = AdminKey
	}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, life.Close())
	}
	go func() {
		_ = cmd.Wait() // it was killed, or its output says why it ended
		close(p.exit)
	}()
	return p, nil
}

func environment(dir string, port []string, o Options) []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir,
		"PERSISTENCE_DATA_PATH=" + filepath.Join(dir, "data"), "DEFAULT_VECTORIZER_MODULE=none", "DISABLE_TELEMETRY=true", "GO_PROFILING_DISABLE=true",
		"CLUSTER_HOSTNAME=node1", "CLUSTER_ADVERTISE_ADDR=127.0.0.1", "CLUSTER_BIND_ADDR=127.0.0.1", "RAFT_BOOTSTRAP_EXPECT=1",
		"GRPC_PORT=" + port[1], "CLUSTER_GOSSIP_BIND_PORT=" + port[2], "CLUSTER_DATA_BIND_PORT=" + port[3], "RAFT_PORT=" + port[4], "RAFT_INTERNAL_RPC_PORT=" + port[5],
		"PERSISTENCE_MEMTABLES_FLUSH_DIRTY_AFTER_SECONDS=1", // see Settle
		"DISK_USE_READONLY_PERCENTAGE=100", "LOG_LEVEL=warning",
	}
	if o.Keys {
		env = append(env, "AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED=false", "AUTHENTICATION_APIKEY_ENABLED=true",
			"AUTHENTICATION_APIKEY_ALLOWED_KEYS="+AdminKey+","+ReadOnlyKey, "AUTHENTICATION_APIKEY_USERS=admin,reader",
			"AUTHORIZATION_ADMINLIST_ENABLED=true", "AUTHORIZATION_ADMINLIST_USERS=admin", "AUTHORIZATION_ADMINLIST_READONLY_USERS=reader")
	} else {
		env = append(env, "AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED=true")
	}
	return append(env, o.Env...)
}

// freePorts returns ports that nobody listens on, all of them at once.
func freePorts(n int) ([]string, error) {
	if n == 0 {
		return nil, nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer l.Close() // when the others are found
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return nil, err
	}
	more, err := freePorts(n - 1)
	return append(more, port), err
}

// ready waits until the server says that it is.
func (p *process) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.Address+"/v1/.well-known/ready", http.NoBody)
		if err != nil {
			return err
		}
		if resp, err := client.Do(req); err == nil {
			if err := resp.Body.Close(); err == nil && resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-p.exit:
			return errors.New("it ended")
		case <-time.After(50 * time.Millisecond): // a server has no other way to say that it is up
		case <-ctx.Done():
			return fmt.Errorf("it is not ready: %w", ctx.Err())
		}
	}
}

// stop ends the server and removes its data.
func (p *process) stop() error {
	killed := p.cmd.Process.Kill()
	if errors.Is(killed, os.ErrProcessDone) {
		killed = nil
	}
	<-p.exit
	_, err := p.life.WriteString("stopped\n")
	return errors.Join(killed, err, p.life.Close(), os.RemoveAll(p.dir))
}

const tailBytes = 4 << 10

// tail returns the end of what the server has written.
func (p *process) tail() string {
	data, err := os.ReadFile(filepath.Join(p.dir, "output"))
	if err != nil {
		return err.Error()
	}
	return string(data[max(0, len(data)-tailBytes):])
}

var shared struct {
	sync.Mutex
	process *process
	err     error
}

// Shared returns the one server that the tests of this process share; it is started when the first asks for it, and a test
// makes collections of its own in it. TestMain must run the tests by [Main].
func Shared(t testing.TB) Server {
	t.Helper()
	SkipShort(t)
	if address := os.Getenv("CULPRIT_WEAVIATE_ADDR"); address != "" {
		return Server{Address: address, Key: os.Getenv("CULPRIT_WEAVIATE_API_KEY")}
	}
	shared.Lock()
	defer shared.Unlock()
	if shared.process == nil && shared.err == nil {
		// It outlives the test that asks for it first.
		shared.process, shared.err = start(context.WithoutCancel(t.Context()), t.Logf, Options{})
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.process.Server
}

// Main runs the tests of a package, and ends the shared server after them. It is what goleak.VerifyTestMain takes.
type Main struct{ M interface{ Run() int } }

// Run returns the exit code.
func (m Main) Run() int {
	code := m.M.Run()
	shared.Lock()
	defer shared.Unlock()
	if p := shared.process; p != nil {
		if code != 0 {
			fmt.Fprintf(os.Stderr, "the end of the Weaviate server's output:\n%s\n", p.tail())
		}
		if err := p.stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stopping the Weaviate server:", err)
			code = max(code, 1)
		}
		shared.process = nil
	}
	return code
}
