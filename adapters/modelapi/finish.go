package modelapi

import (
	"strings"

	"github.com/culprit-rag/culprit/adapters"
)

// Finish maps a provider's word for why an answer ends to that of the contract. A word that is not known is passed on as it is. With
// failed it says that the provider broke off, and what came is no answer.
func Finish(reason string) (finish string, failed bool) {
	switch strings.ToLower(reason) {
	case "stop", "eos", "eos_token", "stop_sequence", "end_turn", "complete":
		return adapters.FinishStop, false
	case "length", "max_tokens", "max_output_tokens", "model_length":
		return adapters.FinishLength, false
	case "content_filter", "content_filtered", "safety", "recitation", "blocklist", "prohibited_content", "spii", "sensitive":
		return adapters.FinishContentFilter, false
	case "null":
		return "", false
	case "error", "abort", "aborted", "cancelled", "canceled", "timeout", "network_error", "insufficient_system_resource", "malformed_function_call":
		return reason, true
	}
	return reason, false
}
