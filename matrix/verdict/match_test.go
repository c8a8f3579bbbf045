package verdict

import (
	"testing"

	"github.com/culprit-rag/culprit/matrix"
)

// What becomes of a claim: it is met, or missing with the near miss behind it.
const (
	isMet       = "met"
	isMissing   = "missing"
	isNegated   = isMissing + ": " + NearNegated
	isNumber    = isMissing + ": " + NearOtherNumber
	isDate      = isMissing + ": " + NearOtherDate
	isRange     = isMissing + ": " + NearRange
	isBounded   = isMissing + ": " + NearBounded
	isRate      = isMissing + ": " + NearRate
	isFormer    = isMissing + ": " + NearFormer
	isUndecided = isMissing + ": " + NearUndecided
	twoNumbers  = isMissing + ": " + NearAmbiguousNumber
	twoDates    = isMissing + ": " + NearAmbiguousDate
)

// matched holds a literal against an answer, and wants what becomes of it.
type matched struct{ claim, answer, want string }

// match judges one alternate against one answer.
func match(t *testing.T, alternate, answer string) string {
	t.Helper()
	return matchIn(t, matrix.Case{ID: "x"}, matrix.Claim{Any: []string{alternate}}, answer, nil)
}

// matchIn judges the only claim of a case against one answer to what was packed.
func matchIn(t *testing.T, c matrix.Case, claim matrix.Claim, answer string, packed []matrix.Packed) string {
	t.Helper()
	claim.ID = "c"
	c.Expect, c.Claims = matrix.ExpectAnswer, []matrix.Claim{claim}
	k, err := NewChecker(&c, nil)
	if err != nil {
		t.Fatalf("NewChecker(%+v): %v", claim, err)
	}
	r := k.Check(answer, packed).Claims[0]
	if r.Near != "" {
		return string(r.State) + ": " + r.Near
	}
	return string(r.State)
}

// holdAll holds rows of one idea.
func holdAll(t *testing.T, rows []matched) {
	t.Helper()
	for _, r := range rows {
		if got := match(t, r.claim, r.answer); got != r.want {
			t.Errorf("claim %q in %q: want %q, got %q", r.claim, r.answer, r.want, got)
		}
	}
}

// holdKinds holds rows by what they are about.
func holdKinds(t *testing.T, kinds map[string][]matched) {
	t.Helper()
	for kind, rows := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			holdAll(t, rows)
		})
	}
}
