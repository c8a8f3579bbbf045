package openaitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// FakeReply is one answer of a [Fake], right or wrong.
type FakeReply struct {
	Status  int // 0: 200
	Header  map[string]string
	Body    string
	Echo    func(r *http.Request) string // makes the body of the call, in place of Body
	Repeat  int                          // how often Body is sent, without a length; 0: once
	CutAt   int                          // the connection ends after so many bytes of what was announced; 0: it does not
	Delay   time.Duration                // before anything is sent
	Hang    bool                         // nothing is ever sent
	HangIn  bool                         // nothing comes after the body's first half
	Reset   bool                         // the connection is reset before an answer
	Healthy bool                         // this call is answered as if there were no script
}

// FakeError is an error in OpenAI's form. Code and param are null where they are empty.
func FakeError(status int, message, code, param string) FakeReply {
	quoted := func(s string) string {
		if s == "" {
			return "null"
		}
		return strconv.Quote(s)
	}
	text, _ := json.Marshal(message) // a string always can
	return FakeReply{Status: status, Body: fmt.Sprintf(`{"error": {"message": %s, "type": "invalid_request_error", "param": %s, "code": %s}}`, text, quoted(param), quoted(code))}
}

// FakeAnswer is a chat completion that holds the text.
func FakeAnswer(text, finish string) FakeReply {
	content, _ := json.Marshal(text) // a string always can
	return FakeReply{Body: fmt.Sprintf(`{"id": "chatcmpl-1", "object": "chat.completion", "created": 1767225600, "model": %q, "choices": [
		{"index": 0, "message": {"role": "assistant", "content": %s}, "finish_reason": %q}],
		"usage": {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25}}`, FakeModel, content, finish)}
}

func (f *Fake) send(w http.ResponseWriter, r *http.Request, reply FakeReply) {
	if reply.Delay > 0 {
		select {
		case <-time.After(reply.Delay):
		case <-r.Context().Done():
			return
		case <-f.ended:
			return
		}
	}
	if reply.Hang {
		f.wait(r)
		return
	}
	if reply.Reset {
		panic(http.ErrAbortHandler)
	}
	body := reply.Body
	if reply.Echo != nil {
		body = reply.Echo(r)
	}
	header := w.Header()
	if body != "" && (body[0] == '{' || body[0] == '[') {
		header.Set("Content-Type", "application/json")
	}
	for name, value := range reply.Header {
		header.Set(name, value)
	}
	status := reply.Status
	if status == 0 {
		status = http.StatusOK
	}
	switch {
	case reply.CutAt > 0:
		header.Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body[:min(reply.CutAt, len(body))])) // the client may be gone
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	case reply.HangIn:
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body[:len(body)/2]))
		w.(http.Flusher).Flush()
		f.wait(r)
	case reply.Repeat > 0:
		w.WriteHeader(status)
		chunk := []byte(body)
		for range reply.Repeat {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	default:
		header.Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(status)
		_, _ = strings.NewReader(body).WriteTo(w)
	}
}

func (f *Fake) wait(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-f.ended:
	}
}
