package verdict

import (
	"testing"

	"github.com/culprit-rag/culprit/matrix"
)

// TestSwapFact changes the fact that a claim rests on, everywhere in the item, and nothing else.
func TestSwapFact(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, text, span string
		others           []string // gold texts of other items
		any              []string
		want             string // "": nothing can be changed
		from, to         string
	}{
		{
			name: "a number, wherever it stands with its unit", text: "Refunds take 30 days. After 30 days, 30 people wait.", span: "30 days", any: []string{"30 days"},
			want: "Refunds take 47 days. After 47 days, 30 people wait.", from: "30 days", to: "47 days",
		},
		{name: "another spelling of the unit", text: "A 30-day wait, thus 30 days.", span: "30 days", any: []string{"30 days"}, want: "A 47-day wait, thus 47 days.", from: "30 days", to: "47 days"},
		{name: "a number by itself", text: "Harbour fee is 60 per day.", span: "60", any: []string{"60"}, want: "Harbour fee is 77 per day.", from: "60", to: "77"},
		{name: "a number in groups", text: "It costs $1,250.50.", span: "$1,250.50", any: []string{"1250.50"}, want: "It costs $2,927.27.", from: "1,250.50", to: "2,927.27"},
		{name: "a share", text: "At most 4.2 % of it.", span: "4.2 %", any: []string{"4.2%"}, want: "At most 5.9 % of it.", from: "4.2 %", to: "5.9 %"},
		{name: "a part of one", text: "The ratio is 0.5 today.", span: "ratio is 0.5", any: []string{"0.5"}, want: "The ratio is 0.6 today.", from: "0.5", to: "0.6"},
		{name: "a year", text: "The basin was dug in 1904.", span: "dug in 1904", any: []string{"1904"}, want: "The basin was dug in 1917.", from: "1904", to: "1917"},
		{name: "a time of day", text: "It opens at 08:30 and shuts at 22:00.", span: "shuts at 22:00", any: []string{"22:00"}, want: "It opens at 08:30 and shuts at 01:00.", from: "22:00", to: "01:00"},
		{
			name: "a date", text: "The policy of\n1 September 2026 holds for 1 year.", span: "1 September 2026", any: []string{"1 September 2026"},
			want: "The policy of\n9 November 2026 holds for 1 year.", from: "1 September 2026", to: "9 November 2026",
		},
		{name: "a date in digits", text: "From 2026-09-25 on.", span: "2026-09-25", any: []string{"25 September 2026"}, want: "From 2026-11-17 on.", from: "2026-09-25", to: "2026-11-17"},
		{name: "a date, month first", text: "Due Sept. 1st, 2026.", span: "Sept. 1st, 2026", any: []string{"1 September 2026"}, want: "Due Nov. 9th, 2026.", from: "Sept. 1st, 2026", to: "Nov. 9th, 2026"},
		{name: "a date of the weekday that it has", text: "On Tuesday, 1 September 2026.", span: "Tuesday, 1 September 2026", any: []string{"1 September 2026"}, want: "On Monday, 9 November 2026.", from: "Tuesday, 1 September 2026", to: "Monday, 9 November 2026"},
		{name: "a month in another language stays", text: "Ab dem 1. Mai 2026 gilt es.", span: "1. Mai 2026", any: []string{"1. Mai 2026"}, want: "Ab dem 9. Mai 2026 gilt es.", from: "1. Mai 2026", to: "9. Mai 2026"},
		{name: "a date that may be read in two ways", text: "Due 09/01/2026.", span: "09/01/2026", any: []string{"09/01/2026"}},
		{name: "a spelled number", text: "Its depth is four metres.", span: "four metres", any: []string{"four metres"}, want: "Its depth is seven metres.", from: "four metres", to: "seven metres"},
		{name: "a part of a spelled number", text: "It is twenty-five metres.", span: "twenty-five metres", any: []string{"twenty-five metres"}},
		{name: "a name", text: "Claims go to Anna Keller in Zurich.", span: "go to Anna Keller", any: []string{"Anna Keller"}, want: "Claims go to Velmora in Zurich.", from: "Anna Keller", to: "Velmora"},
		{name: "a claim that rests on the second fact", text: "Within 30 days, at most 500 crowns.", span: "Within 30 days, at most 500 crowns", any: []string{"500 crowns"}, want: "Within 30 days, at most 677 crowns.", from: "500 crowns", to: "677 crowns"},
		{name: "a claim by an expression", text: "It takes 30 days.", span: "30 days", any: []string{`/\b30[- ]days?\b/`}, want: "It takes 47 days.", from: "30 days", to: "47 days"},
		{name: "no claim rests on a fact", text: "Dogs may enter in 3 rooms.", span: "Dogs may enter in 3 rooms", any: []string{"dogs may enter"}},
		{name: "no fact", text: "Dogs may enter.", span: "Dogs may enter", any: []string{"dogs may enter"}},
		{name: "another item states it, too", text: "It takes 30 days.", span: "30 days", others: []string{"Wait for 30 days."}, any: []string{"30 days"}},
		{name: "the item states it in another form, too", text: "It takes 30 days (720 hours).", span: "30 days", any: []string{"30 days", "720 hours"}},
		{name: "the gold does not state the claim", text: "It takes 30 days.", span: "30 days", any: []string{"40 days"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := &matrix.Case{ID: "c", Query: "q", Expect: matrix.ExpectAnswer, Claims: []matrix.Claim{{ID: "fact", Any: test.any}}}
			got, swap, ok := SwapFact(c, append([]string{test.text}, test.others...), 0, test.span)
			if ok != (test.want != "") || got != test.want || swap != (matrix.Swap{From: test.from, To: test.to}) {
				t.Errorf("got %q, %+v, %v\nwant %q, %q → %q", got, swap, ok, test.want, test.from, test.to)
			}
		})
	}
}

// FuzzSwapFact: whatever the texts are, a change leaves the gold without the claim that it had, and the same change comes again.
func FuzzSwapFact(f *testing.F) {
	for _, seed := range [][3]string{{"It takes 30 days.", "30 days", "30 days"}, {"Due Sept. 1st, 2026, by Anna Keller", "1st, 2026", "Keller"}, {"~~30~~ 3٣", "٣", "3"}} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, text, span, claim string) {
		c := &matrix.Case{ID: "c", Query: "q", Expect: matrix.ExpectAnswer, Claims: []matrix.Claim{{ID: "fact", Any: []string{claim}}}}
		got, swap, ok := SwapFact(c, []string{text}, 0, span)
		if !ok {
			return
		}
		if swap.From == swap.To || got == text {
			t.Errorf("%q: %q was changed to %q", text, swap.From, swap.To)
		}
		if again, same, _ := SwapFact(c, []string{text}, 0, span); again != got || same != swap {
			t.Errorf("%q: changed to %q, and then to %q", text, got, again)
		}
		k, err := NewChecker(c, nil)
		if err != nil {
			t.Fatal(err)
		}
		if k.statedBy([]string{got})[0] {
			t.Errorf("%q still states %q", got, claim)
		}
	})
}
