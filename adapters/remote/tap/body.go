package tap

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
)

// Message is one text of a prompt, exactly as the model received it.
type Message struct {
	Role string `json:"role"`
	Text string `json:"text"`

	from, to int // of the JSON string in the body, quotes included
}

// prompt is what is read of a request's body: the texts in their order, and what pins the generation.
type prompt struct {
	model    string
	id       string // metadata.request_id
	messages []Message
	params   map[string]json.RawMessage
}

// kept are the settings of a generation that are recorded.
var kept = map[string]bool{
	"temperature": true, "top_p": true, "seed": true, "max_tokens": true, "max_completion_tokens": true, "max_output_tokens": true, "stop": true,
	"n": true, "stream": true, "response_format": true, "reasoning_effort": true, "frequency_penalty": true, "presence_penalty": true,
}

// readPrompt reads the bodies of /chat/completions (messages), /completions (prompt) and /responses (instructions and input). A
// body without a text to a model is nil.
func readPrompt(body []byte) (*prompt, error) {
	var settings map[string]json.RawMessage
	if err := json.Unmarshal(body, &settings); err != nil {
		return nil, err
	}
	p := &prompt{params: map[string]json.RawMessage{}}
	for name, value := range settings {
		if kept[name] {
			p.params[name] = value
		}
	}
	roles := map[string]string{} // of "messages/0", which may be told behind the text
	var places []string          // of each message
	err := eachString(body, func(path []string, value string, from, to int) {
		list, depth := "", len(path)
		switch {
		case depth == 1 && path[0] == "model":
			p.model = value
			return
		case depth == 2 && path[0] == "metadata" && path[1] == "request_id":
			p.id = value
			return
		case depth == 3 && path[2] == "role":
			roles[path[0]+"/"+path[1]] = value
			return
		case depth == 1 && path[0] == "instructions":
			roles[path[0]] = "system"
			list = path[0]
		case depth <= 2 && path[0] == "prompt", depth == 1 && path[0] == "input":
			roles[path[0]] = "user"
			list = path[0]
		case (path[0] == "messages" || path[0] == "input") && (depth == 3 && path[2] == "content" || depth == 5 && path[2] == "content" && path[4] == "text"):
			list = path[0] + "/" + path[1]
		default:
			return
		}
		p.messages = append(p.messages, Message{Text: value, from: from, to: to})
		places = append(places, list)
	})
	if err != nil || len(p.messages) == 0 {
		return nil, err
	}
	for i, place := range places {
		p.messages[i].Role = roles[place]
	}
	return p, nil
}

// eachString calls visit for every string value of a JSON document, with its path and where its literal stands.
func eachString(document []byte, visit func(path []string, value string, from, to int)) error {
	w := walk{document: document, dec: json.NewDecoder(bytes.NewReader(document)), visit: visit}
	w.dec.UseNumber()
	if err := w.value(); err != nil {
		return err
	}
	if _, err := w.dec.Token(); err != io.EOF {
		return fmt.Errorf("something follows the JSON value at byte %d", w.dec.InputOffset())
	}
	return nil
}

type walk struct {
	document []byte
	dec      *json.Decoder
	path     []string
	visit    func(path []string, value string, from, to int)
}

func (w *walk) value() error {
	before := int(w.dec.InputOffset())
	token, err := w.dec.Token()
	if err != nil {
		return err
	}
	switch token := token.(type) {
	case string:
		to := int(w.dec.InputOffset())
		from := before + bytes.IndexByte(w.document[before:to], '"') // behind white space, a comma or a colon
		w.visit(w.path, token, from, to)
	case json.Delim:
		for i := 0; w.dec.More(); i++ {
			name := strconv.Itoa(i)
			if token == '{' {
				key, err := w.dec.Token()
				if err != nil {
					return err
				}
				name, _ = key.(string) // the decoder allows no other key
			}
			w.path = append(w.path, name)
			if err := w.value(); err != nil {
				return err
			}
			w.path = w.path[:len(w.path)-1]
		}
		_, err = w.dec.Token()
		return err
	}
	return nil
}

// replaceText returns the body with the text of one message replaced; every other byte stays.
func replaceText(body []byte, m Message, text string) ([]byte, error) {
	var literal bytes.Buffer
	enc := json.NewEncoder(&literal)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(body)+literal.Len())
	out = append(out, body[:m.from]...)
	out = append(out, bytes.TrimSuffix(literal.Bytes(), []byte("\n"))...)
	return append(out, body[m.to:]...), nil
}
