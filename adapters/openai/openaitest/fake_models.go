package openaitest

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"net/http"
	"strings"
)

// chat answers with the last message of the user, under the limits that a real server keeps.
func (f *Fake) chat(request FakeRequest, number int) FakeReply {
	var ask struct {
		Model    string `json:"model"`
		Messages []struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		} `json:"messages"`
		Stop          []string `json:"stop"`
		MaxTokens     int      `json:"max_tokens"`
		MaxCompletion int      `json:"max_completion_tokens"`
	}
	if json.Unmarshal(request.Raw, &ask) != nil || len(ask.Messages) == 0 {
		return FakeError(http.StatusBadRequest, "We could not parse the JSON body of your request.", "", "")
	}
	if ask.Model != f.options.Model && !strings.Contains(request.Path, "/deployments/") {
		return FakeError(http.StatusNotFound, fmt.Sprintf("The model %q does not exist or you do not have access to it.", ask.Model), "model_not_found", "")
	}
	words, text := 0, ""
	for _, m := range ask.Messages {
		words += len(strings.Fields(m.Content)) + 4
		if m.Role == "user" {
			text = m.Content
		}
	}
	if most := f.options.Context; most > 0 && words > most {
		return FakeError(http.StatusBadRequest, fmt.Sprintf("This model's maximum context length is %d tokens. However, your messages resulted in %d tokens.", most, words), "context_length_exceeded", "messages")
	}
	finish := "stop"
	for _, stop := range ask.Stop {
		text, _, _ = strings.Cut(text, stop)
	}
	if limit := max(ask.MaxTokens, ask.MaxCompletion); limit > 0 && len(strings.Fields(text)) > limit {
		text, finish = strings.Join(strings.Fields(text)[:limit], " "), "length"
	}
	reply, err := json.Marshal(map[string]any{
		"id": fmt.Sprintf("chatcmpl-%d", number), "object": "chat.completion", "created": 1767225600 + number, "model": f.options.Model, "system_fingerprint": "fp_fake",
		"choices": []any{map[string]any{"index": 0, "message": map[string]any{"role": "assistant", "content": text}, "finish_reason": finish}},
		"usage":   map[string]any{"prompt_tokens": words, "completion_tokens": len(strings.Fields(text)), "total_tokens": words + len(strings.Fields(text))},
	})
	if err != nil {
		return FakeError(http.StatusInternalServerError, err.Error(), "", "")
	}
	return FakeReply{Body: string(reply)}
}

const fakeDimensions = 96

// embed counts words and pairs of letters, so that texts with words in common are near.
func (f *Fake) embed(request FakeRequest) FakeReply {
	var ask struct {
		Model      string   `json:"model"`
		Input      []string `json:"input"`
		Encoding   string   `json:"encoding_format"`
		Dimensions int      `json:"dimensions"`
	}
	if json.Unmarshal(request.Raw, &ask) != nil || len(ask.Input) == 0 {
		return FakeError(http.StatusBadRequest, "'$.input' is invalid.", "", "input")
	}
	if ask.Model != f.options.Model && !strings.Contains(request.Path, "/deployments/") {
		return FakeError(http.StatusNotFound, fmt.Sprintf("The model %q does not exist or you do not have access to it.", ask.Model), "model_not_found", "")
	}
	if ask.Dimensions == 0 {
		ask.Dimensions = fakeDimensions
	}
	data := make([]any, len(ask.Input))
	words := 0
	for i, text := range ask.Input {
		n := len(strings.Fields(text)) + 2
		if most := f.options.Context; most > 0 && n > most {
			return FakeError(http.StatusBadRequest, fmt.Sprintf("This model's maximum context length is %d tokens, however you requested %d tokens.", most, n), "", "input")
		}
		words += n
		vector := fakeVector(text, ask.Dimensions)
		var sent any = vector
		if ask.Encoding == "base64" {
			packed := make([]byte, 0, 4*len(vector))
			for _, v := range vector {
				packed = binary.LittleEndian.AppendUint32(packed, math.Float32bits(v))
			}
			sent = base64.StdEncoding.EncodeToString(packed)
		}
		data[len(data)-1-i] = map[string]any{"object": "embedding", "index": i, "embedding": sent} // order is not promised
	}
	reply, err := json.Marshal(map[string]any{"object": "list", "data": data, "model": f.options.Model, "usage": map[string]any{"prompt_tokens": words, "total_tokens": words}})
	if err != nil {
		return FakeError(http.StatusInternalServerError, err.Error(), "", "")
	}
	return FakeReply{Body: string(reply)}
}

func fakeVector(text string, dimensions int) []float32 {
	vector := make([]float32, dimensions)
	add := func(feature string, weight float32) {
		h := fnv.New32a()
		_, _ = h.Write([]byte(feature)) // never fails
		vector[h.Sum32()%uint32(dimensions)] += weight
	}
	add("", 0.1) // no vector is zero
	for word := range strings.FieldsSeq(strings.ToLower(text)) {
		add(word, 1)
	}
	for i := range max(0, len(text)-1) {
		add(text[i:i+2], 0.1)
	}
	var sum float64
	for _, v := range vector {
		sum += float64(v) * float64(v)
	}
	for i := range vector {
		vector[i] = float32(float64(vector[i]) / math.Sqrt(sum))
	}
	return vector
}
