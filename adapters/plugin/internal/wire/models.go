package wire

import (
	"encoding/json"

	"github.com/culprit-rag/culprit/adapters"
	pluginv1 "github.com/culprit-rag/culprit/adapters/plugin/proto/v1"
)

// EmbedderInfo puts what an embedder declares on the wire.
func EmbedderInfo(i adapters.EmbedderInfo) *pluginv1.EmbedderInfo {
	return &pluginv1.EmbedderInfo{
		Adapter: i.Adapter, Model: i.Model, Dimensions: int32Of(i.Dimensions), QueryPrefix: i.QueryPrefix, PassagePrefix: i.PassagePrefix, Revision: i.Revision,
	}
}

// EmbedderInfoOf is the way back of [EmbedderInfo].
func EmbedderInfoOf(i *pluginv1.EmbedderInfo) adapters.EmbedderInfo {
	return adapters.EmbedderInfo{
		Adapter: i.GetAdapter(), Model: i.GetModel(), Dimensions: int(i.GetDimensions()), QueryPrefix: i.GetQueryPrefix(),
		PassagePrefix: i.GetPassagePrefix(), Revision: i.GetRevision(),
	}
}

// EmbedRequest puts texts on the wire.
func EmbedRequest(r adapters.EmbedRequest) *pluginv1.EmbedRequest {
	req := &pluginv1.EmbedRequest{Texts: texts(r.Texts), Purpose: string(r.Purpose), Model: Text(r.Model)}
	if r.Prefix != nil {
		prefix := Text(*r.Prefix)
		req.Prefix = &prefix
	}
	return req
}

// EmbedRequestOf is the way back of [EmbedRequest].
func EmbedRequestOf(r *pluginv1.EmbedRequest) adapters.EmbedRequest {
	return adapters.EmbedRequest{Texts: r.GetTexts(), Purpose: adapters.Purpose(r.GetPurpose()), Prefix: r.Prefix, Model: r.GetModel()}
}

// EmbedResponse puts vectors on the wire.
func EmbedResponse(r adapters.EmbedResponse) *pluginv1.EmbedResponse {
	response := &pluginv1.EmbedResponse{
		ModelReported: Text(r.ModelReported), InputTokens: int64Of(r.InputTokens), Notes: texts(r.Notes), Quota: quota(r.Quota),
		Vectors: make([]*pluginv1.Vector, len(r.Vectors)),
	}
	for i, v := range r.Vectors {
		response.Vectors[i] = &pluginv1.Vector{Values: v}
	}
	if len(r.Truncated) > 0 {
		response.Truncated = map[int32]int32{}
		for i, tokens := range r.Truncated {
			response.Truncated[int32Of(i)] = int32Of(tokens)
		}
	}
	return response
}

// EmbedResponseOf is the way back of [EmbedResponse].
func EmbedResponseOf(r *pluginv1.EmbedResponse) adapters.EmbedResponse {
	response := adapters.EmbedResponse{
		ModelReported: r.GetModelReported(), InputTokens: intOf(r.InputTokens), Notes: r.GetNotes(), Quota: QuotaOf(r.GetQuota()),
		Vectors: make([][]float32, len(r.GetVectors())),
	}
	for i, v := range r.GetVectors() {
		response.Vectors[i] = v.GetValues()
	}
	if len(r.GetTruncated()) > 0 {
		response.Truncated = map[int]int{}
		for i, tokens := range r.GetTruncated() {
			response.Truncated[int(i)] = int(tokens)
		}
	}
	return response
}

// GeneratorInfo puts what a generator declares on the wire.
func GeneratorInfo(i adapters.GeneratorInfo) *pluginv1.GeneratorInfo {
	return &pluginv1.GeneratorInfo{Adapter: i.Adapter, Model: i.Model, Deterministic: i.Deterministic, Formats: i.Formats}
}

// GeneratorInfoOf is the way back of [GeneratorInfo].
func GeneratorInfoOf(i *pluginv1.GeneratorInfo) adapters.GeneratorInfo {
	return adapters.GeneratorInfo{Adapter: i.GetAdapter(), Model: i.GetModel(), Deterministic: i.GetDeterministic(), Formats: i.GetFormats()}
}

// GenerateRequest puts a prompt on the wire.
func GenerateRequest(r adapters.GenerateRequest) *pluginv1.GenerateRequest {
	req := &pluginv1.GenerateRequest{Temperature: r.Temperature, TopP: r.TopP, Seed: r.Seed, MaxTokens: int32Of(r.MaxTokens), Stop: texts(r.Stop)}
	for _, m := range r.Messages {
		req.Messages = append(req.Messages, &pluginv1.Message{Role: Text(m.Role), Text: Text(m.Text)})
	}
	if r.Format != nil {
		req.Format = &pluginv1.Format{Name: Text(r.Format.Name), Schema: r.Format.Schema}
	}
	return req
}

// GenerateRequestOf is the way back of [GenerateRequest].
func GenerateRequestOf(r *pluginv1.GenerateRequest) adapters.GenerateRequest {
	req := adapters.GenerateRequest{Temperature: r.Temperature, TopP: r.TopP, Seed: r.Seed, MaxTokens: int(r.GetMaxTokens()), Stop: r.GetStop()}
	for _, m := range r.GetMessages() {
		req.Messages = append(req.Messages, adapters.Message{Role: m.GetRole(), Text: m.GetText()})
	}
	if r.GetFormat() != nil {
		req.Format = &adapters.Format{Name: r.GetFormat().GetName(), Schema: json.RawMessage(r.GetFormat().GetSchema())}
	}
	return req
}

// GenerateResponse puts a generation on the wire.
func GenerateResponse(r adapters.GenerateResponse) *pluginv1.GenerateResponse {
	response := &pluginv1.GenerateResponse{
		Text: Text(r.Text), FinishReason: Text(r.FinishReason), ModelReported: Text(r.ModelReported), SystemFingerprint: Text(r.SystemFingerprint),
		RequestId: Text(r.RequestID), InputTokens: int64Of(r.InputTokens), OutputTokens: int64Of(r.OutputTokens),
		CachedInputTokens: int64Of(r.CachedInputTokens), ReasoningTokens: int64Of(r.ReasoningTokens), WireTime: duration(r.WireTime),
		Refusal: Text(r.Refusal), Notes: texts(r.Notes), Quota: quota(r.Quota),
	}
	if len(r.Metadata) > 0 {
		response.Metadata = make(map[string]string, len(r.Metadata))
		for name, value := range r.Metadata {
			response.Metadata[Text(name)] = Text(value)
		}
	}
	return response
}

// GenerateResponseOf is the way back of [GenerateResponse].
func GenerateResponseOf(r *pluginv1.GenerateResponse) adapters.GenerateResponse {
	response := adapters.GenerateResponse{
		Text: r.GetText(), FinishReason: r.GetFinishReason(), ModelReported: r.GetModelReported(), SystemFingerprint: r.GetSystemFingerprint(),
		RequestID: r.GetRequestId(), InputTokens: intOf(r.InputTokens), OutputTokens: intOf(r.OutputTokens),
		CachedInputTokens: intOf(r.CachedInputTokens), ReasoningTokens: intOf(r.ReasoningTokens), WireTime: r.GetWireTime().AsDuration(),
		Refusal: r.GetRefusal(), Notes: r.GetNotes(), Quota: QuotaOf(r.GetQuota()),
	}
	if len(r.GetMetadata()) > 0 {
		response.Metadata = r.GetMetadata()
	}
	return response
}

// RerankerInfo puts what a reranker declares on the wire.
func RerankerInfo(i adapters.RerankerInfo) *pluginv1.RerankerInfo {
	return &pluginv1.RerankerInfo{Adapter: i.Adapter, Model: i.Model}
}

// RerankerInfoOf is the way back of [RerankerInfo].
func RerankerInfoOf(i *pluginv1.RerankerInfo) adapters.RerankerInfo {
	return adapters.RerankerInfo{Adapter: i.GetAdapter(), Model: i.GetModel()}
}

// RerankRequest puts documents on the wire.
func RerankRequest(r adapters.RerankRequest) *pluginv1.RerankRequest {
	return &pluginv1.RerankRequest{Query: Text(r.Query), Documents: texts(r.Documents)}
}

// RerankRequestOf is the way back of [RerankRequest].
func RerankRequestOf(r *pluginv1.RerankRequest) adapters.RerankRequest {
	return adapters.RerankRequest{Query: r.GetQuery(), Documents: r.GetDocuments()}
}

// RerankResponse puts scores on the wire.
func RerankResponse(r adapters.RerankResponse) *pluginv1.RerankResponse {
	response := &pluginv1.RerankResponse{ModelReported: Text(r.ModelReported), InputTokens: int64Of(r.InputTokens), Notes: texts(r.Notes), Quota: quota(r.Quota)}
	for _, result := range r.Results {
		response.Results = append(response.Results, &pluginv1.RerankResult{Index: int32Of(result.Index), Score: result.Score, Truncated: result.Truncated})
	}
	return response
}

// RerankResponseOf is the way back of [RerankResponse].
func RerankResponseOf(r *pluginv1.RerankResponse) adapters.RerankResponse {
	response := adapters.RerankResponse{
		ModelReported: r.GetModelReported(), InputTokens: intOf(r.InputTokens), Notes: r.GetNotes(), Quota: QuotaOf(r.GetQuota()),
	}
	for _, result := range r.GetResults() {
		response.Results = append(response.Results, adapters.RerankResult{Index: int(result.GetIndex()), Score: result.GetScore(), Truncated: result.GetTruncated()})
	}
	return response
}

// texts returns a list as the wire can carry it; it is copied only where it must change.
func texts(list []string) []string {
	for i, text := range list {
		if valid := Text(text); valid != text {
			fixed := append([]string{}, list...)
			for j := i; j < len(fixed); j++ {
				fixed[j] = Text(fixed[j])
			}
			return fixed
		}
	}
	return list
}
