package adapters_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/adapters"
)

func TestTLSSetting(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "empty.pem"), []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		json, name string
		on         bool
		wrong      string // of reading it, or of making use of it
	}{
		{`true`, "", true, ""},
		{`false`, "", false, ""},
		{`{}`, "", true, ""},
		{`{"server_name": "store.example"}`, "store.example", true, ""},
		{`{"insecure": true}`, "", false, "insecure"},
		{`"yes"`, "", false, "tls:"},
		{`{"ca_file": "nowhere.pem"}`, "", true, "tls.ca_file"},
		{`{"ca_file": "empty.pem"}`, "", true, "no certificate in PEM"},
	} {
		setting := adapters.TLS{On: true, ServerName: "from before"}
		err := json.Unmarshal([]byte(tt.json), &setting)
		if err == nil {
			config, configErr := setting.Config(dir)
			if err = configErr; err == nil && (config != nil) != tt.on {
				t.Errorf("%s: a client gets %v", tt.json, config)
			}
			if config != nil && (config.ServerName != tt.name || config.InsecureSkipVerify) {
				t.Errorf("%s: a client gets %+v", tt.json, config)
			}
		}
		if (err == nil) != (tt.wrong == "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%s: %v, want %q", tt.json, err, tt.wrong)
		}
	}
}
