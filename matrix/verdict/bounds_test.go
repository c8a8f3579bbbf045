package verdict

import (
	"testing"

	"github.com/culprit-rag/culprit/matrix"
)

// TestClaimDenials are answers that hold the words of a claim and deny them, each beside one that looks alike and is right.
func TestClaimDenials(t *testing.T) {
	t.Parallel()
	const met, negated = isMet, isNegated
	holdAll(t, []matched{
		{"60 crowns", "Nobody pays 60 crowns.", negated},
		{"60 crowns", "Nobody gets 60 crowns.", negated},
		{"60 crowns", "Nobody has to pay 60 crowns.", negated},
		{"60 crowns", "No one ever pays 60 crowns.", negated},
		{"60 crowns", "No one has paid 60 crowns.", negated},
		{"60 crowns", "None of the guests pays 60 crowns.", negated},
		{"60 crowns", "Nobody disputes that the fee is 60 crowns.", met},
		{"60 crowns", "Nobody told me, it is 60 crowns.", met},
		{"60 crowns", "Nobody doubts the fee is 60 crowns.", met},
		{"60 crowns", "Nobody but a member pays 60 crowns.", met},
		{"60 crowns", "Guests whom nobody invited are rare. They pay 60 crowns.", met},
		{"60 crowns", "Exceptions: none. The fee is 60 crowns.", met},
		{"60 crowns", "The one fee is 60 crowns.", met},
		{"nobody pays", "Nobody pays.", met},

		{"60 crowns", "60 crowns is wrong.", negated},
		{"60 crowns", "The 60 crowns are incorrect.", negated},
		{"1 September 2026", "1 September 2026 is wrong.", negated},
		{"60 crowns", "60 crowns is not wrong.", met},
		{"60 crowns", "60 crowns is right, 99 is wrong.", met},
		{"60 crowns", "It is 60 crowns. Wrong forms are sent back.", met},
		{"option B", "Option B is wrong.", met}, // which may be what was asked
		{"statement 2", "Statement 2 is false.", met},

		{"60 crowns", "60 crowns? No, 99.", negated},
		{"60 crowns", "Does it cost 60 crowns a night? No, it is 99.", negated},
		{"60 crowns", "Is it 60 crowns? No. It is 99.", negated},
		{"60 crowns", "60 crowns? No it is 99.", negated},
		{"60 crowns", "60 crowns? No", negated},
		{"60 crowns", "60 crowns? Yes.", met},
		{"60 crowns", "Is it 99? No, 60 crowns.", met},
		{"60 crowns", "Is it 60 crowns? No problem, it is.", met},
		{"60 crowns", "Is it more than 60 crowns? No, it is 60 crowns.", met},
		{"60 crowns", "It is 60 crowns. Anything else? No.", met},
		{"60 crowns", "It is 60 crowns, is it not? Not at all sure.", met},
	})
}

// TestClaimNames: a literal that looks like a name is not found in a longer name.
func TestClaimNames(t *testing.T) {
	t.Parallel()
	const met, missing = isMet, isMissing
	holdAll(t, []matched{
		{"gh-pages", "the branch gh-pages-old", missing},
		{"gh-pages", "the branch old-gh-pages", missing},
		{"gh-pages", "the branch gh-pages-2", missing},
		{"gh-pages", "gh-pages-old is gone, use gh-pages.", met},
		{"gh-pages", "gh-pages - the branch", met},
		{"gh-pages", "- gh-pages", met},
		{"gh-pages", "gh-pages—which is the default", met},
		{"gh-pages", "(gh-pages)", met},
		{"python3", "python3-pip", missing},
		{"python3", "use python3", met},
		{"c08-3", "c08-3-b", missing},
		{"heron-41", "heron-41-b", missing},
		{"30 days", "a 30-day-notice", met}, // a quantity is no name
		{"economy class", "economy class-only fares", met},
		{"remote", "a remote-first company", met},
	})
}

// TestClaimBounds: a quantity with a bound or a rate is another one, unless the case speaks of it.
func TestClaimBounds(t *testing.T) {
	t.Parallel()
	const met, bounded, rate = isMet, isBounded, isRate
	packed := func(source, text string) []matrix.Packed {
		return []matrix.Packed{{Position: 1, ID: source + "-1", Source: source, Text: matrix.NewText(text)}}
	}
	plain := matrix.Case{Query: "What is the fee?", Evidence: matrix.Evidence{
		Required: []matrix.Requirement{{AnyOf: []matrix.Gold{{Source: "fees", Span: "60 crowns"}}}},
	}}
	asking := func(query string) matrix.Case { c := plain; c.Query = query; return c }
	saying := func(says string) matrix.Case { c := plain; c.Claims = []matrix.Claim{{Says: says}}; return c }
	tests := []struct {
		c             matrix.Case
		claim, answer string
		packed        []matrix.Packed
		want          string
	}{
		{plain, "60 crowns", "It is 60 crowns.", nil, met},
		{plain, "60 crowns", "less than 60 crowns", nil, bounded},
		{plain, "60 crowns", "more than 60 crowns", nil, bounded},
		{plain, "60 crowns", "up to 60 crowns", nil, bounded},
		{plain, "€60", "less than €60", nil, bounded},
		{plain, "60", "fewer than 60", nil, bounded},
		{plain, "September 1, 2026", "later than 1 September 2026", nil, bounded},
		{plain, "60 crowns", "more than 60 crowns, or 60 crowns at night", nil, met},
		{plain, "60 crowns", "not more than 60 crowns", nil, bounded},
		{plain, "60 crowns", "It costs no more than 60 crowns.", nil, bounded},
		{plain, "60 crowns", "It never costs more than 60 crowns.", nil, bounded},
		{plain, "60 crowns", "at most 60 crowns", nil, bounded},
		{plain, "60 crowns", "The fees add up to 60 crowns.", nil, met},
		{plain, "60 crowns", "99 rather than 60 crowns", nil, "missing: negated"},
		{plain, "60 crowns", "The boat is longer than most. 60 crowns.", nil, met},
		{plain, "fee is 60 crowns", "the fee is 60 crowns, less than 99", nil, met},
		// The literal, the wording, the question or the evidence speaks of it.
		{plain, "less than 60 crowns", "less than 60 crowns", nil, met},
		{plain, "up to 60 crowns", "up to 60 crowns", nil, met},
		{plain, "up to 60 crowns", "60 crowns", nil, "missing"},
		{saying("It is capped at 60 crowns."), "60 crowns", "up to 60 crowns", nil, met},
		{saying("It must not be more than 60 crowns."), "60 crowns", "up to 60 crowns", nil, met},
		{saying("It is capped at 60 crowns."), "60 crowns", "more than 60 crowns", nil, bounded},
		{asking("What is the limit?"), "60 crowns", "up to 60 crowns", nil, met},
		{asking("Over which fee is a form needed?"), "60 crowns", "more than 60 crowns", nil, met},
		{plain, "60 crowns", "up to 60 crowns", packed("fees", "A berth is paid up to 60 crowns."), met},
		{plain, "60 crowns", "up to 60 crowns", packed("fees", "A berth is 60 crowns. Up to two boats share it."), bounded},
		{plain, "60 crowns", "up to 60 crowns", packed("old", "A berth is paid up to 60 crowns."), bounded},

		{plain, "60 crowns", "60 crowns per hour", nil, rate},
		{plain, "60 crowns", "60 crowns/hour", nil, rate},
		{plain, "€60", "€60 per night", nil, rate},
		{plain, "5%", "5 % per year", nil, rate},
		{plain, "60 crowns", "60 crowns per our policy", nil, met},
		{plain, "60 crowns", "60 crowns per section 4", nil, met},
		{plain, "60 crowns", "60 crowns and/or a day of work", nil, met},
		{plain, "60 crowns", "60 crowns as of today; hours vary", nil, met},
		{plain, "60 crowns per hour", "60 crowns per hour", nil, met},
		{plain, "60 crowns per hour", "60 crowns", nil, "missing"},
		{saying("60 crowns an hour."), "60 crowns", "60 crowns per hour", nil, met},
		{saying("60 crowns an hour."), "60 crowns", "60 crowns per day", nil, rate},
		{asking("What is the daily fee?"), "60 crowns", "60 crowns per day", nil, met},
		{plain, "60 crowns", "60 crowns per night", packed("fees", "A berth costs 60 crowns a night."), met},
		{plain, "60 crowns", "60 crowns per night", packed("fees", "A berth costs 60 crowns. At night it is closed."), rate},
		{plain, "/60 crowns/", "less than 60 crowns per hour", nil, met}, // an expression says itself what it wants
	}
	for _, tt := range tests {
		claim := matrix.Claim{Any: []string{tt.claim}}
		if len(tt.c.Claims) > 0 {
			claim.Says = tt.c.Claims[0].Says
		}
		if got := matchIn(t, tt.c, claim, tt.answer, tt.packed); got != tt.want {
			t.Errorf("claim %q in %q, says %q, query %q: want %q, got %q", tt.claim, tt.answer, claim.Says, tt.c.Query, tt.want, got)
		}
	}
}
