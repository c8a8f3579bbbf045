package plugin_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"strings"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/embedded"
	"github.com/culprit-rag/culprit/adapters/plugin"
	"github.com/culprit-rag/culprit/adapters/plugin/sdk"
)

// servePlugin is what main is to a plugin.
func servePlugin(name string, args []string) {
	switch name {
	case "embedded":
		sdk.Serve("1.0", embeddedPlugin())
	case "rig":
		sdk.Serve("1.0", rigPlugin())
	case "onlymodel":
		factory := rigPlugin()
		factory.OpenStore = nil
		sdk.Serve("1.0", factory)
	case "raw":
		serveRaw(args)
	case "host": // no plugin: it opens one, says so, and waits to be killed
		g, err := plugin.Factory().OpenGenerator(context.Background(), adapters.Config{Settings: json.RawMessage(args[0])})
		if err != nil {
			panic(err)
		}
		fmt.Println(say(context.Background(), g, "pid"))
		select {}
	case "silent":
		select {}
	case "dies":
		fmt.Fprintln(os.Stderr, "no licence for this machine")
		os.Exit(7)
	case "chatty":
		fmt.Println("\x1b[31mLoading model...")
		select {}
	case "unending":
		fmt.Print(strings.Repeat("x", 1<<20))
		select {}
	default:
		fmt.Fprintf(os.Stderr, "no plugin %q %q\n", name, args)
		os.Exit(2)
	}
}

// filled are the settings of the embedded store as a plugin: a plugin gets no documents from an experiment, so it reads the items of
// the suite from a file.
type filled struct {
	Items    string          `json:"items"`
	Store    json.RawMessage `json:"store"`
	Embedder json.RawMessage `json:"embedder"`
}

// embeddedPlugin is the embedded adapter as a plugin.
func embeddedPlugin() adapters.Factory {
	factory := embedded.Factory()
	open := factory.OpenStore
	factory.OpenStore = func(ctx context.Context, cfg adapters.Config) (adapters.VectorStore, error) {
		var set filled
		if err := json.Unmarshal(cfg.Settings, &set); err != nil {
			return nil, err
		}
		data, err := os.ReadFile(set.Items)
		if err != nil {
			return nil, err
		}
		var items corpus
		if err := json.Unmarshal(data, &items); err != nil {
			return nil, err
		}
		cfg.Settings, cfg.Documents = set.Store, items
		if set.Embedder != nil {
			if cfg.IndexEmbedder, err = factory.OpenEmbedder(ctx, adapters.Config{Settings: set.Embedder}); err != nil {
				return nil, err
			}
		}
		return open(ctx, cfg)
	}
	factory.Schema[adapters.RoleStore] = json.RawMessage(`{
		"type": "object", "additionalProperties": false, "required": ["items", "store"],
		"properties": {"items": {"type": "string"}, "store": {"type": "object"}, "embedder": {"type": "object"}}
	}`)
	return factory
}

type corpus []adapters.Item

func (c corpus) Digest(context.Context) (string, error) {
	text, err := json.Marshal(c)
	return fmt.Sprintf("%x", sha256.Sum256(text)), err
}

func (c corpus) Items(context.Context) iter.Seq2[adapters.Item, error] {
	return func(yield func(adapters.Item, error) bool) {
		for _, item := range c {
			if !yield(item, nil) {
				return
			}
		}
	}
}
