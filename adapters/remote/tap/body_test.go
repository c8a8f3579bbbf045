package tap

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"unicode/utf8"
)

// FuzzReplaceText holds a replacement to what it may change: the one text, and no other byte.
func FuzzReplaceText(f *testing.F) {
	for _, seed := range []string{
		`{"messages":[{"role":"user","content":"a"}]}`, `{"messages":[{"content":[{"type":"text","text":"a\u00e9\ud83d\ude00"}]}]}`, `{"prompt":["a","b"]}`,
		`{"input":"x","instructions":"y","metadata":{"request_id":"1"}}`, `{"messages":[{"content":"\ud800"}]}`, ` { "prompt" : "x" } `, `{"messages":{"a":{"content":"x"}}}`,
		`{"prompt":"a"}{"prompt":"b"}`, `{"a":{"b":[1,null,true,"x",{}]},"prompt":"\\\""}`,
	} {
		f.Add([]byte(seed), "new \"text\" \n<>&")
	}
	f.Fuzz(func(t *testing.T, body []byte, text string) {
		p, err := readPrompt(body)
		if err != nil || p == nil || !utf8.ValidString(text) {
			return
		}
		for _, m := range p.messages {
			var literal string
			if err := json.Unmarshal(body[m.from:m.to], &literal); err != nil || literal != m.Text {
				t.Fatalf("the literal of %q is said to be %q (%v)", m.Text, body[m.from:m.to], err)
			}
			changed, err := replaceText(body, m, text)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.HasPrefix(changed, body[:m.from]) || !bytes.HasSuffix(changed, body[m.to:]) {
				t.Fatal("another byte was changed")
			}
			again, err := readPrompt(changed)
			if err != nil || again == nil {
				t.Fatalf("the changed body cannot be read: %v", err)
			}
			var same []string
			for i := range again.messages {
				if again.messages[i].from == m.from {
					same = append(same, again.messages[i].Text)
				}
			}
			if !reflect.DeepEqual(same, []string{text}) {
				t.Fatalf("the text is %q, want %q", same, text)
			}
		}
	})
}
