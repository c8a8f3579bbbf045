package plugin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/plugin/sdk"
)

// rigPlugin does what its prompts and settings say: the faults that no well-behaved plugin shows on demand.
func rigPlugin() adapters.Factory {
	schema := json.RawMessage(`{
		"type": "object", "additionalProperties": false,
		"properties": {"open": {"enum": ["hang", "crash", "refuse"]}, "lie": {"type": "string"}, "count": {"type": "integer"}}
	}`)
	return adapters.Factory{
		Name: "rig", Schema: map[adapters.Role]json.RawMessage{adapters.RoleGenerator: schema, adapters.RoleStore: schema, adapters.RoleEmbedder: schema, adapters.RoleReranker: schema},
		OpenGenerator: func(_ context.Context, cfg adapters.Config) (adapters.Generator, error) {
			var set struct {
				Open string `json:"open"`
			}
			if err := json.Unmarshal(cfg.Settings, &set); err != nil {
				return nil, err
			}
			switch set.Open {
			case "hang":
				fmt.Fprintln(os.Stderr, "waiting for a lock")
				select {}
			case "crash":
				panic("no index")
			case "refuse":
				return nil, &adapters.Error{Adapter: "rig", Op: "open", Kind: adapters.KindUnauthorised, Err: errors.New("the key is not accepted")}
			}
			return rigGenerator{}, nil
		},
		OpenStore: func(_ context.Context, cfg adapters.Config) (adapters.VectorStore, error) {
			s := &liar{}
			return s, json.Unmarshal(cfg.Settings, s)
		},
		OpenEmbedder: func(_ context.Context, cfg adapters.Config) (adapters.Embedder, error) {
			s := &liarModel{}
			return s, json.Unmarshal(cfg.Settings, s)
		},
		OpenReranker: func(_ context.Context, cfg adapters.Config) (adapters.Reranker, error) {
			s := &liarModel{}
			return liarReranker{s}, json.Unmarshal(cfg.Settings, s)
		},
	}
}

type rigGenerator struct{}

func (rigGenerator) Close() error { return nil }

func (rigGenerator) Describe(context.Context) (adapters.GeneratorInfo, error) {
	return adapters.GeneratorInfo{Adapter: "rig", Model: "rig"}, nil
}

func (rigGenerator) Generate(ctx context.Context, req adapters.GenerateRequest) (adapters.GenerateResponse, error) {
	word, rest, _ := strings.Cut(req.Messages[0].Text, " ")
	text := ""
	switch word {
	case "crash":
		panic("index out of range, as it were")
	case "exit":
		os.Exit(3)
	case "hang":
		select {}
	case "wait":
		<-ctx.Done()
		return adapters.GenerateResponse{}, ctx.Err()
	case "environment":
		text = strings.Join(os.Environ(), "\n")
	case "stdin":
		read, err := io.ReadAll(os.Stdin)
		text = fmt.Sprintf("%q %v", read, err)
	case "folder":
		text = os.TempDir()
		if err := os.WriteFile(text+"/scratch", nil, 0o600); err != nil {
			return adapters.GenerateResponse{}, err
		}
	case "child":
		child := exec.Command("sleep", "1000")
		if err := child.Start(); err != nil {
			return adapters.GenerateResponse{}, err
		}
		text = fmt.Sprint(child.Process.Pid)
	case "pid":
		text = fmt.Sprint(os.Getpid())
	case "flood":
		line := strings.Repeat("A line of a progress bar. ", 10_000)
		for range 64 { // 16 MB, of which no line ends
			fmt.Print(line)
		}
		text = "flooded"
	case "leak":
		fmt.Fprintln(os.Stderr, "key", rest)
		return adapters.GenerateResponse{}, fmt.Errorf("the key %s is wrong", rest)
	case "leave":
		fmt.Fprintln(os.Stderr, "key", rest)
		os.Exit(4)
	case "invalid":
		return adapters.GenerateResponse{Text: "x", FinishReason: "\xff"}, nil
	case "unfinished":
		return adapters.GenerateResponse{Text: "x"}, nil
	default:
		text = "echo " + req.Messages[0].Text
	}
	return adapters.GenerateResponse{Text: text, FinishReason: adapters.FinishStop, WireTime: time.Millisecond}, nil
}

// serveRaw is a plugin without the kit, as one in another language is: it has no certificates, and its standard output stays its own.
// Its argument takes the place of the version in the handshake line.
func serveRaw(args []string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	server := grpc.NewServer()
	sdk.Register(server, "1.0", rigPlugin())
	checks := health.NewServer()
	checks.SetServingStatus("plugin", grpc_health_v1.HealthCheckResponse_SERVING)
	grpc_health_v1.RegisterHealthServer(server, checks)
	version := "1"
	if len(args) > 0 {
		version = args[0]
	}
	fmt.Printf("1|%s|tcp|%s|grpc\n", version, listener.Addr())
	if err := server.Serve(listener); err != nil {
		panic(err)
	}
}

// liar is a store of three items whose answers are false in one way.
type liar struct {
	Lie string `json:"lie"`
}

func (l *liar) Close() error { return nil }

func (l *liar) Capabilities() adapters.StoreCapabilities {
	c := adapters.StoreCapabilities{Modes: []string{"keyword"}, Exact: true, Only: true}
	if l.Lie == "mode" {
		c.Modes = []string{"keyword", "fuzzy"}
	}
	return c
}

func (l *liar) Describe(context.Context) (adapters.StoreInfo, error) {
	info := adapters.StoreInfo{Engine: "liar", Collection: "c", Count: 3}
	if l.Lie == "count" {
		info.Count = -1
	}
	return info, nil
}

func (l *liar) items() []adapters.Item {
	return []adapters.Item{{ID: "a", Text: "one"}, {ID: "b", Text: "two"}, {ID: "c", Text: "three"}}
}

func (l *liar) Search(_ context.Context, req adapters.SearchRequest) (adapters.SearchResponse, error) {
	response := adapters.SearchResponse{Exact: req.Exact}
	for i, item := range l.items() {
		score := 1 - float64(i)/10
		response.Hits = append(response.Hits, adapters.Hit{Item: item, Rank: i + 1, Score: &score})
	}
	hits := response.Hits
	switch l.Lie {
	case "limit":
		return response, nil
	case "twice":
		hits[1].ID = "a"
	case "order":
		*hits[1].Score = 2
	case "tie":
		*hits[1].Score, hits[0].ID, hits[1].ID = *hits[0].Score, "b", "a"
	case "rank":
		hits[1].Rank = 7
	case "score":
		zero := 0.0
		*hits[0].Score /= zero
	case "id":
		hits[0].ID = ""
	case "exact":
		response.Exact = false
	case "cap":
		response.Cap = 1000
	case "utf8":
		hits[0].Text = "caf\xe9"
	case "refuses":
		return response, &adapters.Error{Adapter: "liar", Op: "search", Kind: adapters.KindUnsupported, Err: errors.New("no exact searches")}
	}
	if len(hits) > req.Limit {
		response.Hits = hits[:req.Limit]
	}
	return response, nil
}

func (l *liar) Scan(_ context.Context, _ adapters.ScanRequest, visit func(adapters.Item) error) (adapters.ScanReport, error) {
	items := l.items()
	switch l.Lie {
	case "scanned twice":
		items[1].ID = "a"
	case "nameless":
		items[1].ID = ""
	}
	for _, item := range items {
		if err := visit(item); err != nil {
			return adapters.ScanReport{}, err
		}
	}
	report := adapters.ScanReport{Scanned: 3, Counted: 3}
	if l.Lie == "report" {
		report.Scanned = 2
	}
	return report, nil
}

func (l *liar) Fetch(_ context.Context, req adapters.FetchRequest) ([]adapters.Item, error) {
	if l.Lie == "fetch" {
		return l.items(), nil
	}
	return l.items()[:1], nil
}

// liarModel is an embedder whose answers are false in one way.
type liarModel struct {
	Lie string `json:"lie"`
}

func (l *liarModel) Close() error { return nil }

func (l *liarModel) Describe(context.Context) (adapters.EmbedderInfo, error) {
	return adapters.EmbedderInfo{Adapter: "liar", Model: "m"}, nil
}

func (l *liarModel) Embed(_ context.Context, req adapters.EmbedRequest) (adapters.EmbedResponse, error) {
	zero := float32(0)
	response := adapters.EmbedResponse{ModelReported: "m"}
	for range req.Texts {
		response.Vectors = append(response.Vectors, []float32{1, 0})
	}
	switch l.Lie {
	case "few":
		response.Vectors = response.Vectors[1:]
	case "uneven":
		response.Vectors[0] = []float32{1}
	case "empty":
		response.Vectors[0] = nil
	case "nan":
		response.Vectors[0][0] = zero / zero
	case "truncated":
		response.Truncated = map[int]int{9: 1}
	case "tokens":
		n := -1
		response.InputTokens = &n
	}
	return response, nil
}

type liarReranker struct{ *liarModel }

func (l liarReranker) Describe(context.Context) (adapters.RerankerInfo, error) {
	return adapters.RerankerInfo{Adapter: "liar", Model: "m"}, nil
}

func (l liarReranker) Rerank(_ context.Context, req adapters.RerankRequest) (adapters.RerankResponse, error) {
	results := []adapters.RerankResult{{Index: 0, Score: 1}, {Index: 1, Score: 0.5}}
	switch l.Lie {
	case "index":
		results[0].Index = len(req.Documents)
	case "twice":
		results[1].Index = 0
	}
	return adapters.RerankResponse{Results: results}, nil
}
