package verdict

import (
	"testing"

	"github.com/culprit-rag/culprit/matrix"
)

// TestAnswerKey: what a reader would not call another answer is none, and another fact is.
func TestAnswerKey(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b string
		same bool
	}{
		{"It is 1,250.50 crowns.", "it is 1250.50   crowns", true},
		{"It is \uff15\uff10 crowns", "It is 50 crowns!", true},
		{"“Yes”", "yes.", true},
		{"Fee:\n\n 40", "fee: 40", true},
		{"It is 50 crowns.", "It is 60 crowns.", false},
		{"It may open.", "It may not open.", false},
		{"It is 50 [a].", "It is 50 [b].", false},
		{"1.250 crowns", "1250 crowns", false}, // it may be 1.25
	} {
		if got := answerKey(test.a) == answerKey(test.b); got != test.same {
			t.Errorf("%q and %q: one answer %t, want %t", test.a, test.b, got, test.same)
		}
	}
	if got := answerKey(" … "); got != "" {
		t.Errorf("an answer of no words has the key %q", got)
	}
}

// TestAgreement holds the share of pairs of answers that are one to STATISTICS 9, and what ignores the evidence to what is said.
func TestAgreement(t *testing.T) {
	t.Parallel()
	ev := asked(t, 5, func(trial *matrix.Trial) {
		texts := []string{"It is 50 crowns.", "it is 50 crowns", "It is  50 crowns!", "It is 50.0 crowns.", "It is 60 crowns."}
		if trial.Cell == matrix.CellB {
			texts = []string{"a", "a", "b", "b", "c"}
		}
		trial.Answer = matrix.NewText(texts[trial.Rep-1])
	})
	for i, want := range []struct {
		distinct  int
		agreement string
	}{{2, "0.600000"}, {3, "0.200000"}} {
		if c := ev.Cells[i]; c.Distinct != want.distinct || c.Agreement != want.agreement {
			t.Errorf("%s: %d answers, agreement %q, want %d, %q", c.Cell, c.Distinct, c.Agreement, want.distinct, want.agreement)
		}
	}
}
