package modelapi

import (
	"net/http"
	"testing"
)

// TestCacheHit reads the headers that caches are documented to send.
func TestCacheHit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, value, want string }{
		{"X-Request-Id", "HIT", ""},
		{"CF-AIG-Cache-Status", "HIT", "cf-aig-cache-status: HIT"},
		{"CF-AIG-Cache-Status", "MISS", ""},
		{"Helicone-Cache", "HIT", "helicone-cache: HIT"},
		{"X-Portkey-Cache-Status", "SEMANTIC HIT", "x-portkey-cache-status: HIT"},
		{"X-Portkey-Cache-Status", "SEMANTIC MISS", ""},
		{"X-Portkey-Cache-Status", "DISABLED", ""},
		{"X-OpenRouter-Cache-Status", "HIT", "x-openrouter-cache-status: HIT"},
		{"Cache-Status", `ExampleCache; hit; ttl=30; key="secret"`, "cache-status: HIT"},
		{"Cache-Status", `ExampleCache; fwd=uri-miss; stored; key="/hit"`, ""},
		{"X-Cache-Status", "Hit", "x-cache-status: HIT"},
		{"X-Cache-Status", "STALE", "x-cache-status: STALE"},
		{"X-Cache", "Hit from cloudfront", "x-cache: HIT"},
		{"X-Cache", "TCP_HIT from a.example", "x-cache: HIT"},
		{"X-Cache", "MISS, HIT", "x-cache: HIT"},
		{"X-Cache", "Miss from hit.example", ""},
		{"CF-Cache-Status", "DYNAMIC", ""},
		{"X-LiteLLM-Cache-Key", "0f3a", "x-litellm-cache-key"},
		{"Age", "12", "age"},
		{"Age", "0", ""},
		{"Age", "old", ""},
	} {
		h := http.Header{}
		h.Set(tt.name, tt.value)
		if got := CacheHit(h); got != tt.want {
			t.Errorf("%s: %s: %q, want %q", tt.name, tt.value, got, tt.want)
		}
	}
}
