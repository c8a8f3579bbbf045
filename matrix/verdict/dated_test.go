package verdict

import "testing"

func TestDated(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"gpt-4.1-2025-04-14":                         true,
		"openai/gpt-4.1-2025-04-14":                  true,
		"claude-sonnet-4-20250514":                   true,
		"us.anthropic.claude-3-5-sonnet-20241022-v2": true,
		"gpt-4-0613":                                 true,
		"gpt-3.5-turbo-0125":                         true,
		"gpt-4-1106-preview":                         true,
		"mistral-large-2411":                         true,
		"command-r-08-2024":                          true,
		"gemini-2.5-flash-preview-04-17":             true,
		"meta-llama/Llama-3.1-8B-Instruct@5c38ec7":   true,
		"gemini-2.0-flash-001":                       true,
		"text-bison@001":                             true,
		"llama3.1@sha256:46e0c10c039e019119339687c3c1757cc81b9da49709a3b3924863ba87ca666e": true,
		"llama3:8b-instruct-q4_K_M":          true,
		"smollm2-135m-instruct-q8_0.gguf":    true,
		"SmolLM2-135M-Instruct-Q4_K_M":       true,
		"/models/any.gguf":                   true,
		"gpt-4.1":                            false,
		"gpt-4o-mini":                        false,
		"gpt-4o-latest":                      false,
		"chatgpt-4o-2025-04-14-latest":       false,
		"llama3:latest":                      false,
		"llama3.1:8b":                        false,
		"meta-llama/Llama-3.1-405B-Instruct": false,
		"claude-3-5-sonnet":                  false,
		"Qwen/Qwen2.5-72B-Instruct":          false,
		"Qwen3-235B-A22B":                    false,
		"mixtral-8x22b":                      false,
		"gemini-2.0-flash":                   false,
		"o3":                                 false,
		"":                                   false,
		"model-2025":                         false,
		"model-9999":                         false,
		"model-1234567890":                   false,
	} {
		if got := Dated(name); got != want {
			t.Errorf("Dated(%q): want %t, got %t", name, want, got)
		}
	}
}
