package verdict

import (
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/matrix"
)

func TestSelfTest(t *testing.T) {
	t.Parallel()
	claim := func(alternates ...string) matrix.Claim { return matrix.Claim{ID: "c", Any: alternates} }
	never := func(alternates ...string) matrix.Claim { return matrix.Claim{ID: "n", Never: alternates} }
	const gold = "The policy applies from 1 September 2026. Staff get 30 days.\nAnnual leave is paid."
	idk := []string{"I don't know"}
	tests := []struct {
		name    string
		expect  matrix.Expect
		claims  []matrix.Claim
		gold    string
		refusal []string
		want    []string // a part of each message, in order
	}{
		{"a sound case", "answer", []matrix.Claim{claim("2026-09-01", "no such"), never("1 July 2024")}, gold, idk, nil},
		{"without gold", "answer", []matrix.Claim{claim("anything")}, "", idk, nil},
		{"gold says something else", "answer", []matrix.Claim{claim("45 days")}, gold, idk, []string{`gold does not support claim "c": the nearest it says is a near miss (other number)`}},
		{"gold lacks it", "answer", []matrix.Claim{claim("written approval")}, gold, idk, []string{`gold does not support claim "c": none`}},
		{"gold is forbidden", "answer", []matrix.Claim{claim("30 days"), never("30 days")}, gold, idk, []string{`gold states what claim "n" says must never be stated: "30 days"`}},
		{"an expression for nothing", "answer", []matrix.Claim{claim("/.*/")}, "", idk, []string{`claim "c" is broken: expression "/.*/" matches the empty text`, `wrong answer "zzz" meets`}},
		{"an expression for anything", "answer", []matrix.Claim{claim("/[a-z]{3}/")}, "", []string{"Unknown"}, []string{`claim "c" is broken: "/[a-z]{3}/" matches the wrong answer "zzz"`, `refusal phrase "Unknown" as an answer does not count`, `wrong answer "zzz" meets`}},
		{"any number will do", "answer", []matrix.Claim{claim(`/\d+ days/`)}, gold, idk, []string{`claim "c" accepts the gold with its numbers changed: "/\\d+ days/" matches "88 days"`}},
		{"a claim about 88 days", "answer", []matrix.Claim{claim(`88 days`)}, "It is 88 days.", idk, nil},
		{"an expression with a quantifier", "answer", []matrix.Claim{claim(`/leave is [a-z]{4}/`)}, gold, idk, nil},
		{"a word beside the number", "answer", []matrix.Claim{claim("annual leave", "30 days")}, gold, idk, nil},
		{"an expression that cannot be compiled", "answer", []matrix.Claim{claim("/(/")}, gold, idk, []string{`claim "c", any: expression "/(/"`}},
		{"a never for nothing", "answer", []matrix.Claim{claim("30 days"), never("/x*/")}, gold, idk, []string{`claim "n" is broken: expression "/x*/"`}},
		{"the claim is a refusal", "answer", []matrix.Claim{claim("HR")}, "", []string{"Please ask HR"}, []string{`refusal phrase "Please ask HR" as an answer does not count as a refusal`}},
		{"a right refusal", "abstain", nil, "", idk, nil},
		{"no phrase to refuse with", "abstain", nil, "", nil, []string{"no refusal phrase is declared"}},
		{"everything is a refusal", "abstain", nil, "", []string{"/./"}, []string{`take the answer "zzz"`, `wrong answer "zzz" meets`, `take the answer "The Nile."`, `wrong answer "The Nile." meets`}},
		{"a phrase for nothing", "abstain", nil, "", []string{"/x*/"}, []string{`refusal phrase "/x*/" matches the empty text`}},
		{"refusing is forbidden", "abstain", []matrix.Claim{never("know")}, "", []string{"I do know not"}, []string{`refusal phrase "I do know not" states what claim "n"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := SelfTest(&matrix.Case{ID: "x", Expect: tt.expect, Claims: tt.claims}, []string{tt.gold}, tt.refusal)
			if len(got) != len(tt.want) {
				t.Fatalf("want %d messages, got %q", len(tt.want), got)
			}
			for i, want := range tt.want {
				if !strings.Contains(got[i], want) {
					t.Errorf("message %d: want %q in %q", i, want, got[i])
				}
			}
		})
	}
}
