package verdict

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culprit-rag/culprit/matrix"
)

var (
	structured = &matrix.AnswerForm{Format: matrix.AnswerStructured}
	seeStyle   = &matrix.AnswerForm{Format: matrix.AnswerPlain, Citations: `\(see ([\w.-]+)\)`}
)

func TestReadAnswer(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name            string
		form            *matrix.AnswerForm
		answer, refusal string
		want            Said
	}{
		{name: "plain", answer: "Forty [c1].", want: Said{Text: "Forty [c1]."}},
		{name: "cites its own way", form: seeStyle, answer: "Forty (see c1), not [c2] (see c-9).", want: Said{Text: "Forty , not [c2] .", Cited: []string{"c1", "c-9"}, Declared: true}},
		{name: "its own way, and cites nothing", form: seeStyle, answer: "Forty [c1].", want: Said{Text: "Forty [c1].", Declared: true}},
		{
			name: "structured", form: structured, answer: ` {"answer":"Forty.","citations":["c1"],"refused":false}` + "\n",
			want: Said{Text: "Forty.", Cited: []string{"c1"}, Declared: true},
		},
		{name: "refused", form: structured, answer: `{"answer":"","citations":[],"refused":true}`, want: Said{Cited: []string{}, Declared: true, Refused: true}},
		{name: "a fence around it", form: structured, answer: "```json\n{}\n```", want: Said{Text: "```json\n{}\n```", Malformed: true}},
		{name: "cut", form: structured, answer: `{"answer":"Fo`, want: Said{Text: `{"answer":"Fo`, Malformed: true}},
		{name: "a field missing", form: structured, answer: `{"answer":"Forty."}`, want: Said{Text: `{"answer":"Forty."}`, Malformed: true}},
		{name: "another field", form: structured, answer: `{"answer":"","citations":[],"refused":false,"why":1}`, want: Said{Text: `{"answer":"","citations":[],"refused":false,"why":1}`, Malformed: true}},
		{name: "null", form: structured, answer: "null", want: Said{Text: "null", Malformed: true}},
		{name: "two objects", form: structured, answer: "{}{}", want: Said{Text: "{}{}", Malformed: true}},
		{name: "the provider refuses", form: structured, answer: "I can't.", refusal: "I can't.", want: Said{Text: "I can't.", Refused: true}},
		{name: "the provider refuses in plain words", answer: "I can't.", refusal: "I can't.", want: Said{Text: "I can't.", Refused: true}},
	} {
		trial := &matrix.Trial{Answer: matrix.NewText(test.answer)}
		if test.refusal != "" {
			trial.Refusal = matrix.NewText(test.refusal)
		}
		if diff := cmp.Diff(test.want, ReadAnswer(test.form, trial)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// TestFormsAreJudged holds claims, citations and refusals of each form against the same case.
func TestFormsAreJudged(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, answer, refusal string
		form                  *matrix.AnswerForm
		want                  TrialFeatures
		finding               string
	}{
		{name: "right", form: structured, answer: `{"answer":"It is forty crowns.","citations":["tariff"],"refused":false}`, want: TrialFeatures{Meets: true, Citations: []string{"tariff"}}},
		{name: "cites what is not there", form: structured, answer: `{"answer":"It is forty crowns.","citations":["nowhere, tariff"],"refused":false}`, want: TrialFeatures{Meets: true, Citations: []string{"tariff"}, Fabricated: []string{"nowhere"}}},
		{name: "refused", form: structured, answer: `{"answer":"","citations":[],"refused":true}`, want: TrialFeatures{Refused: true}},
		{name: "a refusal that states the claim", form: structured, answer: `{"answer":"It is forty crowns.","citations":[],"refused":true}`, want: TrialFeatures{Meets: true}},
		{name: "says nothing", form: structured, answer: `{"answer":"","citations":[],"refused":false}`, want: TrialFeatures{Empty: true}},
		{
			name: "no JSON", form: structured, answer: "It is forty crowns [tariff].", want: TrialFeatures{Meets: true, Citations: []string{"tariff"}, Malformed: true},
			finding: "answer: 2 of 4 answers were not the JSON that was asked for, and judged as plain text",
		},
		{name: "a claim within a key is none", form: structured, answer: `{"answer":"It is fifty.","citations":["forty crowns"],"refused":false}`, want: TrialFeatures{Fabricated: []string{"forty crowns"}}},
		{name: "its own way", form: seeStyle, answer: "It is forty crowns (see tariff) (see x).", want: TrialFeatures{Meets: true, Citations: []string{"tariff"}, Fabricated: []string{"x"}}},
		{name: "the provider refuses", answer: "That is private.", refusal: "That is private.", want: TrialFeatures{Refused: true}},
	} {
		e, c, p, o := askedCase(2, func(t *matrix.Trial) {
			if t.Cell == "B" {
				t.Answer = matrix.NewText(`{"answer":"It is forty crowns.","citations":[],"refused":false}`)
				return
			}
			t.Answer = matrix.NewText(test.answer)
			if test.refusal != "" {
				t.Refusal = matrix.NewText(test.refusal)
			}
		})
		e.Pipeline.Answer = test.form
		f, err := Extract(e, c, o)
		if err != nil {
			t.Fatal(err)
		}
		got := f.Trials[0]
		got = TrialFeatures{Refused: got.Refused, Empty: got.Empty, Meets: got.Meets, Citations: got.Citations, Fabricated: got.Fabricated, Malformed: got.Malformed}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
		ev := evaluated(t, e, c, p, o)
		i := slices.IndexFunc(ev.Findings, func(s string) bool { return strings.HasPrefix(s, "answer: ") })
		if (i >= 0) != (test.finding != "") || i >= 0 && ev.Findings[i] != test.finding {
			t.Errorf("%s: want the finding %q in %q", test.name, test.finding, ev.Findings)
		}
	}
}

func TestCitationPatterns(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]bool{`\[(\d+)\]`: true, `\[\d+\]`: false, `(`: false, "": true} {
		if _, err := (&matrix.AnswerForm{Citations: pattern}).CitationPattern(); (err == nil) != want {
			t.Errorf("%q: %v", pattern, err)
		}
	}
	var schema map[string]any
	if err := json.Unmarshal(matrix.AnswerSchema(), &schema); err != nil {
		t.Error(err)
	}
}

// FuzzReadAnswer: whatever a model sends, reading it never fails, and what is no structured answer is judged as it stands.
func FuzzReadAnswer(f *testing.F) {
	for _, seed := range []string{"", "{}", `{"answer":"a","citations":["b"],"refused":true}`, `{"answer":"\ud800","citations":[],"refused":false}`, strings.Repeat("[", 100), "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		said := ReadAnswer(structured, &matrix.Trial{Answer: matrix.NewText(answer)})
		if said.Malformed == said.Declared || said.Malformed && said.Text != answer {
			t.Errorf("%q: %+v", answer, said)
		}
		packed := []matrix.Packed{{Position: 1, ID: "b"}}
		for _, id := range (&Checker{}).CheckSaid(said, packed).Citations {
			if id != "b" {
				t.Errorf("%q cites %q", answer, id)
			}
		}
	})
}
