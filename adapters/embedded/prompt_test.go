package embedded

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culprit-rag/culprit/adapters"
)

func TestReadPrompt(t *testing.T) {
	t.Parallel()
	user := func(texts ...string) []adapters.Message {
		var list []adapters.Message
		for _, text := range texts {
			list = append(list, adapters.Message{Role: "user", Text: text})
		}
		return list
	}
	for _, tt := range []struct {
		name       string
		messages   []adapters.Message
		paragraphs bool
		blocks     string // id=text, joined by "|"
		question   string
	}{
		{"the built-in prompt", user("Context:\n[a] One.\n[b] Two.\nmore\n\nQuestion: Who?\nAnd why?"), false, "a=One.|b=Two.\nmore", "Who?\nAnd why?"},
		{"an empty line ends a block", user("[a] One.\n \nTwo.\nQuestion: Who?"), false, "a=One.", "Who?"},
		{"an empty line in paragraphs", user("[a] One.\n\nTwo.\n\nQuestion: Who?"), true, "a=One.\n\nTwo.", "Who?"},
		{"the question ends a block", user("[a] One.\nQuestion: Who?\nQuestion: Whom?"), false, "a=One.", "Whom?"},
		{"carriage returns", user("[a] One.\r\n\r\nQuestion: Who?\r\n"), false, "a=One.", "Who?"},
		{"no marker", user("[a]One.\n[] Two.\n[ ] Three.\n - [x] Four.\n[Guide](url)\n[open"), false, "", "[open"},
		{"an empty body", user("[a] \n[b] Two."), false, "a=|b=Two.", "[b] Two."},
		{"ids with odd signs", user("[hr/2026 §2] One.\n[c#1] Two."), false, "hr/2026 §2=One.|c#1=Two.", "[c#1] Two."},
		{"context after the question", user("Question: Who?\nContext:\n[a] One."), false, "a=One.", "Who?\nContext:"},
		{"context in one message, question in another", user("[a] One.", "Question: Who?", "Answer briefly."), false, "a=One.", "Who?"},
		{"no Question: the last line of the last user message", append(user("[a] One.\nWho is it?\n\n"), adapters.Message{Role: "assistant", Text: "It is"}), false, "a=One.\nWho is it?", "Who is it?"},
		{"Question: inside a line, where no line begins with it", user("Please. Question: Who?"), false, "", "Who?"},
		{"a document that asks", user("[a] One. Question: is a word.\nQuestion: Who?"), false, "a=One. Question: is a word.", "Who?"},
		{"nothing", nil, false, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := readPrompt(tt.messages, tt.paragraphs)
			var blocks []string
			for _, b := range p.blocks {
				blocks = append(blocks, b.id+"="+b.text)
			}
			if diff := cmp.Diff(tt.blocks, strings.Join(blocks, "|")); diff != "" {
				t.Errorf("blocks (-want +got):\n%s", diff)
			}
			if p.question != tt.question {
				t.Errorf("question %q, want %q", p.question, tt.question)
			}
		})
	}
}

// everySwitch is settings that look at a prompt in each way there is.
var everySwitch = []string{
	`{"cites": false}`, `{"anchored": false, "prefers": "last", "cites": false}`, `{"prefers": "old", "cites": false}`,
	`{"prefers": "best", "paragraphs": true, "cites": false}`, `{"obeys": true, "cites": false}`, `{"spots": ["a", "1"], "cites": false}`,
	`{"context_tokens": 5, "cites": false}`, `{"reads": "last", "min_overlap": 0, "cites": false}`,
}

// FuzzGenerator: whatever the prompt, the answer is a refusal or stands in the prompt, and it is the same twice.
func FuzzGenerator(f *testing.F) {
	for _, seed := range []string{
		"", "Question:", "[a] \n[b] ", "[a] One. Two.\n\nQuestion: one two?", "[[a]] x\n[a] [b] c\nQuestion: c [b]", "Question: a\n[a] a b\nQuestion: a b",
		"[a] say \"X\" answer “Y”\nQuestion: x", "[a] 2024-07-01 1 July 2024 in 1999.\n[b] July 3, 1998\nQuestion: july 1", "[\xff] \xfe\nQuestion: \xff",
		"[a] Exception b c.\r\nQuestion: b c\r\n", "[退] 退款期限。\nQuestion: 退款期限",
	} {
		f.Add("Answer from the context.", seed)
		f.Add(seed, "")
	}
	f.Fuzz(func(t *testing.T, system, user string) {
		req := adapters.GenerateRequest{Messages: []adapters.Message{{Role: "system", Text: system}, {Role: "user", Text: user}}}
		for _, settings := range everySwitch {
			g := newGenerator(t, settings)
			resp := generate(t, g, req)
			if resp.Text != "I don't know." && !strings.Contains(system, resp.Text) && !strings.Contains(user, resp.Text) {
				t.Errorf("%s: the answer %q is not in the prompt", settings, resp.Text)
			}
			if again := generate(t, g, req); again.Text != resp.Text || *again.InputTokens != *resp.InputTokens {
				t.Errorf("%s: asked twice, it answers %q and %q", settings, resp.Text, again.Text)
			}
			if *resp.InputTokens < 0 || *resp.OutputTokens != len(strings.Fields(resp.Text)) {
				t.Errorf("%s: tokens in %d, out %d", settings, *resp.InputTokens, *resp.OutputTokens)
			}
		}
	})
}

// BenchmarkGenerate shows that time is linear in the prompt: MB/s must not fall with its size.
func BenchmarkGenerate(b *testing.B) {
	for name, piece := range map[string]string{
		"sentences": "Trains are free on all days of the week. ", "one word": "aaaaaaaa", "stops": "a.b.", "lines": "x\n", "blocks": "[a] x\n", "dates": "2024-01-01 ", "questions": "\nQuestion:",
	} {
		for _, size := range []int{1 << 20, 20 << 20} {
			b.Run(fmt.Sprintf("%s/%dMB", name, size>>20), func(b *testing.B) {
				req := asks("[g] The gym fee is 40. "+strings.Repeat(piece, size/len(piece)), "What is the gym fee?")
				gens := make([]adapters.Generator, 0, 3)
				for _, settings := range []string{`{}`, `{"prefers": "old", "obeys": true}`, `{"context_tokens": 2048, "flip": {"rate": 0.5}}`} {
					g, err := openGenerator(b.Context(), adapters.Config{Settings: []byte(settings)})
					if err != nil {
						b.Fatal(err)
					}
					gens = append(gens, g)
				}
				b.SetBytes(int64(size * len(gens)))
				for b.Loop() {
					for _, g := range gens {
						if _, err := g.Generate(b.Context(), req); err != nil {
							b.Fatal(err)
						}
					}
				}
			})
		}
	}
}
