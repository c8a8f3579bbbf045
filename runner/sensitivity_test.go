package runner

import (
	"testing"

	"github.com/culprit-rag/culprit/matrix"
)

// TestErrorsConcealRestrictedTexts: an error of a restricted call repeats neither its prompt nor what is quoted at length.
func TestErrorsConcealRestrictedTexts(t *testing.T) {
	t.Parallel()
	const prompt = "The harbour fee of the northern pier is forty-one crowns for each mast. Übergröße kostet mehr als das Doppelte."
	tests := []struct {
		name, message, want string
		level               matrix.Level
	}{
		{"nothing of it", "openai: generate: permanent: 400: no model", "openai: generate: permanent: 400: no model", matrix.Restricted},
		{"a word", `400: "mast" is no parameter`, `400: "mast" is no parameter`, matrix.Restricted},
		{"a piece", "400: bad text: northern pier is forty-one crowns; end", "400: bad text:[withheld]; end", matrix.Restricted},
		{"twice", "a " + prompt + " b " + prompt, "a [withheld] b [withheld]", matrix.Restricted},
		{"within a character", "400: ergröße kostet mehr als das Dopp; end", "400: [withheld]; end", matrix.Restricted},
		{"an answer", `broke off beside the answer "Nobody has to pay \"more\" than two crowns."`, "broke off beside the answer [withheld]", matrix.Restricted},
		{"internal", "400: bad text: northern pier is forty-one crowns; end", "400: bad text: northern pier is forty-one crowns; end", matrix.Internal},
		{"not declared", prompt, prompt, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := &begun{}
			b.privately(tt.level, prompt)
			got := b.conceal(&matrix.CallError{Kind: "permanent", Message: tt.message})
			if got.Message != tt.want || got.Kind != "permanent" {
				t.Errorf("got %q, want %q", got.Message, tt.want)
			}
		})
	}
	if (&begun{private: []string{prompt}}).conceal(nil) != nil {
		t.Error("no error became one")
	}
}
