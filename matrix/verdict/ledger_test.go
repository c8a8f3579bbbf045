package verdict

import (
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/culprit-rag/culprit/matrix"
)

func tariffPacked() []matrix.Packed {
	return []matrix.Packed{
		{Position: 1, ID: "old", Source: "tariff-2024", Text: matrix.NewText("Until 2025 a berth was €45 a night.")},
		{Position: 2, ID: "new", Source: "tariff-2026", Text: matrix.NewText("From 1 September 2026 a berth costs sixty euros. Notice must be given two weeks before.")},
		{Position: 3, ID: "untold"},
	}
}

// TestLedger: each claim of an answer has its state, its place in the answer, the items that state it too, and its near miss.
func TestLedger(t *testing.T) {
	t.Parallel()
	c := &matrix.Case{Query: "What is the fee?", Expect: matrix.ExpectAnswer, Claims: []matrix.Claim{
		{ID: "fee", Any: []string{"60 euros"}},
		{ID: "notice", Any: []string{"14 days"}},
		{ID: "old", Never: []string{"45 euros"}},
		{ID: "cited", Cites: []string{"tariff-2026"}},
	}}
	type line struct {
		State    ClaimState
		Near, At string
		Support  []string
	}
	tests := []struct {
		name, answer string
		want         []line
	}{
		{"met", "The fee is **€60** [2], with 14 days’ notice\u00a0[new].", []line{
			{ClaimMet, "", "€60", []string{"new"}}, {ClaimMet, "", "14 days", []string{"new"}}, {State: ClaimMet}, {ClaimMet, "", "", []string{"new"}},
		}},
		{"near misses", "The fee is not\n**sixty  euros** [1]; notice is 15 days.", []line{
			{ClaimMissing, NearNegated, "sixty  euros", nil}, {ClaimMissing, NearOtherNumber, "15 days", nil}, {State: ClaimMet}, {ClaimMissing, "", "", nil},
		}},
		{"violated, from memory in part", "- É: it is €45.00.\n- 1 week’s notice; 60 dollars", []line{
			{ClaimMissing, NearOtherNumber, "€45.00", nil}, {ClaimMissing, NearOtherNumber, "1 week", nil}, {ClaimViolated, "", "€45.00", []string{"old"}}, {State: ClaimMissing},
		}},
		{"not found", "Ask the harbour.", []line{{State: ClaimMissing}, {State: ClaimMissing}, {State: ClaimMet}, {State: ClaimMissing}}},
	}
	k, err := NewChecker(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		var got []line
		for _, r := range k.Check(tt.answer, tariffPacked()).Claims {
			l := line{State: r.State, Near: r.Near, Support: r.Support}
			if r.At != nil {
				l.At = r.At.In(tt.answer)
			}
			got = append(got, l)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestRangeOfTheCase: a range that the case speaks of is no other quantity.
func TestRangeOfTheCase(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ query, gold, answer, want string }{
		{"How long?", "It takes 10 to 12 days.", "It takes 10-12 days.", isMet},
		{"How long?", "It takes 12 days.", "It takes 10 to 12 days.", isRange},
		{"Is it 10 to 12 days?", "It takes 12 days.", "It takes 10 to 12 days.", isMet},
	} {
		c := matrix.Case{Query: tt.query}
		c.Evidence.Required = []matrix.Requirement{{AnyOf: []matrix.Gold{{Source: "gold", Span: "It takes"}}}}
		packed := []matrix.Packed{{Position: 1, ID: "g", Source: "gold", Text: matrix.NewText(tt.gold)}}
		if got := matchIn(t, c, matrix.Claim{Any: []string{"12 days"}}, tt.answer, packed); got != tt.want {
			t.Errorf("%q, %q, %q: want %q, got %q", tt.query, tt.gold, tt.answer, tt.want, got)
		}
	}
}

func TestUnsupported(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, answer string
		want         []string
	}{
		{"verbatim", "From 1 September 2026 a berth costs sixty euros [new].", nil},
		{"in other forms", "As of 2026-09-01, berths cost €60, with 14 days of notice.", nil},
		{"the question again", "You asked what the fee of the harbour is.", nil},
		{"a number of its own", "A berth costs 99 euros. Notice must be given two weeks before.", []string{"A berth costs 99 euros."}},
		{"a date of its own", "A berth costs sixty euros from 2 September 2026.", []string{"A berth costs sixty euros from 2 September 2026."}},
		{"the year alone is told", "A berth costs sixty euros in September 2026.", nil},
		{"memory", "A berth costs sixty euros. Dogs, bicycles and kayaks travel free on every ferry!", []string{"Dogs, bicycles and kayaks travel free on every ferry!"}},
		{"a list", "1. A berth costs sixty euros\n2. **Showers** need metal tokens from reception [9]\n", []string{"Showers** need metal tokens from reception"}},
		{"courtesy", "Hello! Certainly, here is what I found in the documents:\n\nSixty euros.\n\nI hope this helps. Please let me know if you have any further questions.", nil},
		{"a citation alone", "[new]\n\n(source: tariff-2026)", nil},
		{"a refusal in it", "A berth costs sixty euros. I don't know anything about parking bicycles overnight there.", nil},
		{"an abbreviation", "Berths cost approx. 60 euros.", nil},
		{"a script without stops of its own", "停泊费是六十欧元。", []string{"停泊费是六十欧元。"}},
	} {
		k, err := NewChecker(&matrix.Case{Query: "What is the fee of the harbour?"}, []string{"I don't know"})
		if err != nil {
			t.Fatal(err)
		}
		texts := slices.Clone(k.asked)
		for _, r := range k.context(tariffPacked()) {
			texts = append(texts, r.prose)
		}
		var got []string
		for _, e := range k.unsupported(tt.answer, readContext(texts)) {
			got = append(got, e.In(tt.answer))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// BenchmarkAnswer judges an answer of a usual length, as a run does for each of its trials.
func BenchmarkAnswer(b *testing.B) {
	c := &matrix.Case{Query: "What is the fee?", Expect: matrix.ExpectAnswer, Claims: []matrix.Claim{
		{ID: "fee", Any: []string{"60 euros"}}, {ID: "notice", Any: []string{"14 days"}}, {ID: "old", Never: []string{"45 euros"}},
	}}
	k, err := NewChecker(c, []string{"I don't know", "not in the documents"})
	if err != nil {
		b.Fatal(err)
	}
	answer := "From **1 September 2026** a berth costs €60 a night [2]. Notice has to be given at least two weeks before arrival, in writing. " +
		"The earlier fee no longer applies, and children under twelve years travel free of charge."
	packed := tariffPacked()
	b.ReportAllocs()
	for b.Loop() {
		k.Check(answer, packed)
	}
}

// FuzzAnswer reads any answer with any claim: nothing panics, places are in the answer between whole characters, citations that are
// blanked keep every other byte, and a text is unsupported nowhere by itself.
func FuzzAnswer(f *testing.F) {
	for _, s := range [][2]string{
		{"60 euros", "It is **€60** [1]."},
		{"90 minutes", "1 hour and 30 minutes"},
		{"10-12 days", "between 10 and 12 days or €10–12"},
		{"twenty-five", "~~a hundred~~ twenty-five (25) million"},
		{"18:00", "at 6 p.m. on Tuesday, the 1st of Sept."},
		{"/a.c/", "1. a\\*c\n2. <b>abc</b>&nbsp;"},
		{"1 September 2026", "2026年9月1日 or 1. 9. 2026"},
		{"20 °C", "68\u00a0°F – ½ an hour"},
		{"e\u0301", "\xff\u0301e\u0301\u00ad１２㎞"},
		{"half an hour", "from half a million to 1 1/2 k【4:0†x】"},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, claim, answer string) {
		k, err := NewChecker(&matrix.Case{Expect: matrix.ExpectAnswer, Claims: []matrix.Claim{{ID: "a", Any: []string{claim}}, {ID: "n", Never: []string{claim}}}}, []string{claim})
		if err != nil {
			return
		}
		if blank := withoutCitations(answer); len(blank) != len(answer) {
			t.Errorf("%q: %d bytes became %d", answer, len(answer), len(blank))
		}
		inside := func(what string, e Extent) {
			whole := func(i int) bool { return i == len(answer) || utf8.RuneStart(answer[i]) }
			if e.From < 0 || e.From >= e.To || e.To > len(answer) || utf8.ValidString(answer) && (!whole(e.From) || !whole(e.To)) {
				t.Errorf("claim %q, answer %q: %s at %+v", claim, answer, what, e)
			}
		}
		packed := []matrix.Packed{{Position: 1, ID: "p", Text: matrix.NewText(answer)}}
		for _, r := range k.Check(answer, packed).Claims {
			if r.At != nil {
				inside("claim", *r.At)
			}
		}
		itself := readContext([]*prose{readProse(answer)})
		for _, e := range k.unsupported(answer, readContext(nil)) {
			inside("sentence", e)
		}
		if withoutCitations(answer) == answer {
			for _, e := range k.unsupported(answer, itself) {
				t.Errorf("%q does not support its own %q", answer, e.In(answer))
			}
		}
	})
}
