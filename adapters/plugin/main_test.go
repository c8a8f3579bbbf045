package plugin_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/plugin"
)

// The test binary is also the plugins of these tests: started with an argument "plugin:NAME" it is that plugin.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if name, is := strings.CutPrefix(os.Args[1], "plugin:"); is {
			servePlugin(name, os.Args[2:])
			return
		}
	}
	goleak.VerifyTestMain(m)
}

// as returns the settings that start the test binary as a plugin.
func as(t testing.TB, name string, settings any, more ...func(map[string]any)) adapters.Config {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]any{"path": self, "args": []string{"plugin:" + name}}
	if settings != nil {
		all["settings"] = settings
	}
	for _, change := range more {
		change(all)
	}
	data, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return adapters.Config{Settings: data, CacheDir: t.TempDir(), Secrets: &adapters.Secrets{Env: os.LookupEnv}}
}

func openPluginStore(t testing.TB, cfg adapters.Config) (adapters.VectorStore, error) {
	t.Helper()
	return plugin.Factory().OpenStore(t.Context(), cfg)
}
