package modelapi

import (
	"net/http"
	"strconv"
	"strings"
)

// cacheHeaders are those by which a cache before a model says whether it served the answer: of Cloudflare's AI gateway, Helicone,
// Portkey and OpenRouter, of HTTP caches by RFC 9211, and of nginx, Kong and the usual networks of caches.
var cacheHeaders = []string{
	"Cf-Aig-Cache-Status", "Helicone-Cache", "X-Portkey-Cache-Status", "X-Openrouter-Cache-Status",
	"Cache-Status", "X-Cache-Status", "X-Cache", "Cf-Cache-Status",
}

// CacheHit returns the header by which a cache says that it served the answer and the model was not asked, "" where none says so.
// Nothing else of a header's value is in it.
func CacheHit(h http.Header) string {
	for _, name := range cacheHeaders {
		value := h.Get(name)
		if value == "" {
			continue
		}
		for _, word := range strings.FieldsFunc(strings.ToUpper(value), func(c rune) bool { return strings.ContainsRune(" ,;_", c) }) {
			if word == "HIT" || word == "STALE" {
				return strings.ToLower(name) + ": " + word
			}
		}
	}
	if h.Get("X-Litellm-Cache-Key") != "" { // LiteLLM sends it with answers of its cache, and with no other
		return "x-litellm-cache-key"
	}
	if age, err := strconv.Atoi(h.Get("Age")); err == nil && age > 0 { // RFC 9111, 5.1: it was not made for this request
		return "age"
	}
	return ""
}
