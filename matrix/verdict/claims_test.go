package verdict

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/matrix"
)

func TestClaimAlternates(t *testing.T) {
	t.Parallel()
	const met, missing, negated, otherNumber, otherDate, ambiguous, ambiguousDate = isMet, isMissing, isNegated, isNumber, isDate, twoNumbers, twoDates
	tests := []struct{ name, claim, answer, want string }{
		{"the literal itself", "economy class", "Employees book economy class.", met},
		{"case, white space and emphasis do not matter", "Economy Class", "book **economy\n  class** fares", met},
		{"a soft hyphen and a ligature are not seen", "scientific office", "the scien\u00adti\ufb01c office", met},
		{"accents in either normal form", "Málaga", "in Ma\u0301laga", met},
		{"a word is not part of a word", "cat", "a category", missing},
		{"the full stop of the claim is no part of it", "It is teal.", "I think it is teal, mostly", met},
		{"white space around marks counts", "node.js", "the node. JS follows", missing},
		{"a possessive keeps its word", "employee", "the employee's bag", met},
		{"a script without spaces", "三十天", "退款期限是三十天。", met},
		{"a placeholder is text", "{{model}}", "Set it to {{model}} before saving.", met},
		{"a code", "heron-41", "The code is Heron-41.", met},
		{"another code", "heron-41", "The code is heron-410.", missing + ": other number"},
		{"a time", "18:00", "Gate closes at 18:00.", met},
		{"another time", "18:00", "Gate closes at 18:30.", otherNumber},
		{"contractions are spelled out", "does not apply", "It doesn't apply.", met},

		{"30 days is not in 130 days", "30 days", "within 130 days", otherNumber},
		{"9 is not in 90", "9", "there are 90", missing},
		{"9 is not in 4.9", "9", "it is 4.9", missing},
		{"4.2 is not 4.25", "4.2", "it is 4.25", missing},
		{"4.2 is 4.20", "4.2", "it is 4.20", met},
		{"the sentence ends behind a number", "4.2", "It is 4.2.", met},
		{"a list goes on behind a number", "4.2", "4.2, 5 and 6", met},
		{"a number in a name is no number", "19", "covid-19 rules", missing},
		{"a number in a range or a version is no number", "12", "10-12 or v1.12 or 12.1.3", missing + ": range"},
		{"a letter behind it is another number", "30", "see 30a", missing},
		{"an ordinal is no number", "1", "the 1st floor", missing},
		{"the day of a date is no number", "1", "from 1 September 2026", missing},
		{"a numbered citation is no number", "2", "There are three offices [2].", missing},
		{"a raised digit does not join", "102", "10² metres", missing},
		{"nor does the base stand alone", "10", "10² metres", missing},
		{"a fraction is another number", "1", "1½ hours", missing},
		{"nor is it eleven halves", "11", "1½ hours", missing},
		{"a leading zero is a code", "7", "agent 007", missing},

		{"decimal comma", "2.48%", "Rendite 2,48 %", met},
		{"decimal point with a space", "2.48%", "yield of 2.48 %", met},
		{"percent in words", "150 percent", "paid at 150%", met},
		{"per cent in two words", "150%", "paid at 150 per cent of", met},
		{"percentage points are something else", "2%", "up 2 percentage points", missing},
		{"another percentage", "2.48%", "2.5%", otherNumber},
		{"thousands by comma", "1250", "1,250 people", met},
		{"thousands by space", "1250", "1 250 people", met},
		{"thousands by narrow space", "1250", "1\u202f250 people", met},
		{"thousands by apostrophe", "1250", "1'250 or 1’250", met},
		{"thousands by point are ambiguous", "1250", "1.250 people", ambiguous},
		{"and so is the claim", "1.250", "1250 people", ambiguous},
		{"the same form is the same", "1.250", "1.250 people", met},
		{"1,971 for 1.971 is ambiguous", "1.971", "1,971", ambiguous},
		{"millions by point", "1250000", "1.250.000", met},
		{"both separators", "1250.5", "1.250,50", met},
		{"both separators the other way", "1250.5", "1,250.50", met},
		{"Indian groups", "1234567", "12,34,567", met},
		{"the last group alone", "250 people", "1 250 people", ambiguous},
		{"a year and a number are two numbers", "300 people", "in 2026 300 people", met},
		{"Unicode minus", "-5", "it is −5 °C", met},
		{"minus is not plus", "5", "it is −5", missing},

		{"unit without a space", "5 km", "for 5km", met},
		{"unit with a space", "5km", "for 5 km", met},
		{"unit spelled out", "5 km", "5 kilometres", met},
		{"hyphen", "30 days", "a 30-day notice", met},
		{"hours", "10 hours", "it takes 10h", met},
		{"another unit", "10 hours", "10 minutes", otherNumber},
		{"conversion", "60 minutes", "1 hour", met},
		{"a unit alone is a word", "days of leave", "30 days of leave", met},
		{"degree", "20 °C", "20°C", met},

		{"a date as written", "1 September 2026", "from 1 September 2026.", met},
		{"month first", "1 September 2026", "from September 1, 2026", met},
		{"ISO", "1 September 2026", "from 2026-09-01", met},
		{"points", "1 September 2026", "from 01.09.2026", met},
		{"abbreviated", "1 September 2026", "from 1 Sept 2026", met},
		{"abbreviated with a point", "1 September 2026", "from 1 Sept. 2026", met},
		{"ordinal", "applies from 1 September 2026", "applies from the 1st of September, 2026", met},
		{"with a leading zero", "1 September 2026", "01 September 2026", met},
		{"the other way round", "2026-09-01", "September 1st 2026", met},
		{"a part of the date", "September 2026", "on 2026-09-01", met},
		{"the year", "2026", "on 1 September 2026 or 2026-09-01", met},
		{"another day", "1 September 2026", "11 September 2026", otherDate},
		{"another year", "1 September 2026", "1 September 2024", otherDate},
		{"a day only", "1 September 2026", "1 September", otherDate},
		{"slashes are ambiguous", "1 September 2026", "09/01/2026", ambiguousDate},
		{"slashes with a day above 12", "13 September 2026", "09/13/2026", met},
		{"may is a verb", "3 times", "employees may 3 times in all", met},
		{"May is a month", "4 May", "starts on May 4.", met},

		{"a negated verb", "1 September 2026", "It does not apply from 1 September 2026.", negated},
		{"a bare not", "30 days", "It is 45, not 30 days.", negated},
		{"a contraction", "30 days", "You don't get 30 days.", negated},
		{"no longer", "30 days", "They no longer get 30 days.", negated},
		{"not true that", "30 days", "It is not true that the notice period is 30 days.", negated},
		{"rather than", "30 days", "45 rather than 30 days", negated},
		{"denied behind", "1 September 2026", "1 September 2026 is not the right date.", negated},
		{"stated elsewhere as well", "30 days", "Not 30 days? Yes: 30 days.", met},
		{"the negation is another clause's", "30 days", "No, it is 30 days.", met},
		{"but", "30 days", "not 45 but 30 days", met},
		{"another clause before", "30 days", "Managers are not covered; staff get 30 days.", met},
		{"who are not", "30 days", "Employees who are not managers get 30 days.", met},
		{"who do not", "30 days", "Staff who do not smoke get 30 days.", met},
		{"who never", "30 days", "Staff who never smoke get 30 days.", met},
		{"never", "30 days", "You never get 30 days.", negated},
		{"do not usually", "30 days", "You do not usually get 30 days.", negated},
		{"without exception", "30 days", "Without exception 30 days apply.", met},
		{"without", "30 days", "It ends without 30 days notice.", negated},
		{"not without", "30 days", "It does not end without 30 days notice.", met},
		{"whether or not", "30 days", "whether or not you ask, it is 30 days", met},
		{"a remark behind", "45 days", "It is 30 days, not 45 days.", negated},
		{"not later than", "1 September 2026", "not later than 1 September 2026", met},
		{"not before", "1 September 2026", "does not apply before 1 September 2026", met},
		{"must not exceed", "30 days", "It must not exceed 30 days.", missing + ": bounded"},
		{"not only", "30 days", "not only 30 days but more", met},
		{"a literal with its own negation", "not 30 days", "It is not 30 days.", met},
		{"not about the number", "30 days", "30 days is not negotiable", met},

		{"an expression", `/\b30 (days|d)\b/`, "about 30\n days", met},
		{"an expression keeps case", `/Economy/`, "economy", missing},
		{"an expression under a negation", `/30 days/`, "not 30 days", negated},
		{"an expression with its own", `/not 30 days/`, "not 30 days", met},
		{"an expression with its own behind an escape", `/\bnot\s30 days/`, "not 30 days", met},
		{"an expression across a negation", `/applies.*2026/`, "It applies, but not from 2026", negated},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := match(t, tt.claim, tt.answer); got != tt.want {
				t.Errorf("claim %q in %q: want %q, got %q", tt.claim, tt.answer, tt.want, got)
			}
		})
	}
}

func leaveCase() *matrix.Case {
	return &matrix.Case{ID: "leave", Expect: matrix.ExpectAnswer, Claims: []matrix.Claim{
		{ID: "date", Any: []string{"1 September 2026"}},
		{ID: "old", Never: []string{"1 July 2024"}},
		{ID: "cited", Cites: []string{"hr-leave"}},
	}}
}

func TestCheckMeets(t *testing.T) {
	t.Parallel()
	packed := []matrix.Packed{{Position: 1, ID: "c01", Source: "hr-pay"}, {Position: 2, ID: "c08", Source: "hr-leave"}}
	abstain := &matrix.Case{ID: "gym", Expect: matrix.ExpectAbstain, Claims: []matrix.Claim{{ID: "fee", Never: []string{"30 EUR"}}}}
	tests := []struct {
		name           string
		c              *matrix.Case
		answer         string
		refused, meets bool
	}{
		{"all met", leaveCase(), "From 1 September 2026 [c08].", false, true},
		{"cited by position", leaveCase(), "From 1 September 2026 [2].", false, true},
		{"cites another", leaveCase(), "From 1 September 2026 [c01].", false, false},
		{"states what it must not", leaveCase(), "From 1 September 2026, before that 1 July 2024 [c08].", false, false},
		{"denies what it must not state", leaveCase(), "From 1 September 2026, not from 1 July 2024 [c08].", false, true},
		{"refuses", leaveCase(), "I don’t know.", true, false},
		{"refuses in other words", leaveCase(), "Sorry, I do not know that.", true, false},
		{"a refusal with a correct claim is none", leaveCase(), "I don't know all, but from 1 September 2026 [c08].", false, true},
		{"a refusal with a wrong date is one", leaveCase(), "I don't know; maybe from 2 September 2026 [c08].", true, false},
		{"empty", leaveCase(), " \u200b\n", false, false},
		{"a right refusal", abstain, "I don't know.", true, true},
		{"a refusal that leaks", abstain, "I don't know, maybe 30 EUR.", true, false},
		{"no refusal", abstain, "The Nile.", false, false},
		{"empty is no refusal", abstain, "", false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			k, err := NewChecker(tt.c, []string{"I don't know"})
			if err != nil {
				t.Fatal(err)
			}
			got := k.Check(tt.answer, packed)
			if got.Refused != tt.refused || got.Meets != tt.meets {
				t.Errorf("%q: want refused %v, meets %v; got %+v", tt.answer, tt.refused, tt.meets, got)
			}
			if want := strings.Trim(tt.answer, " \u200b\n") == ""; got.Empty != want {
				t.Errorf("%q: Empty is %v", tt.answer, got.Empty)
			}
		})
	}
}

func TestNewCheckerNamesEveryBadAlternate(t *testing.T) {
	t.Parallel()
	_, err := NewChecker(&matrix.Case{Claims: []matrix.Claim{{ID: "a", Any: []string{"/(/", "ok", " "}}, {ID: "b", Never: []string{"/*/"}}}}, []string{""})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{`claim "a", any: expression "/(/"`, `claim "a", any: " "`, `claim "b", never`, "refusal phrase"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q:\n%v", want, err)
		}
	}
}

// FuzzLiteralMatchesItself: a literal that compiles is met by an answer that is the literal, and nothing panics.
func FuzzLiteralMatchesItself(f *testing.F) {
	for _, s := range []string{"30 days", "1,250", "1 250.5", "2,48 %", "1 September 2026", "09/01/2026", "doesn't", "10²½", "c08-3", "per cent", "5 per cent", "-5°C", "{{model}}", "三十天", "1.2.3", "İ", "a\xffb", "not 30", "１２", "٣٠ يوم", "1st of May", "[2]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if _, ok := expression(s); ok {
			return
		}
		p, err := newPattern(s, readProse)
		if err != nil {
			return
		}
		if !p.holds(readProse(s)) {
			t.Errorf("%q does not match itself: tokens %+v", s, p.tokens)
		}
	})
}

// An answer is judged as if no other had been judged before it, in whatever order they come.
func TestEachAnswerIsJudgedByItself(t *testing.T) {
	t.Parallel()
	c := &matrix.Case{
		Query: "What is the fee?",
		Claims: []matrix.Claim{
			{ID: "fee", Any: []string{"60 crowns"}, Never: []string{"70 crowns"}},
			{ID: "cited", Cites: []string{"fees"}},
		},
		Evidence: matrix.Evidence{Required: []matrix.Requirement{{AnyOf: []matrix.Gold{{Source: "fees", Span: "60 crowns"}}}}},
		Expect:   matrix.ExpectAnswer,
	}
	item := func(position int, id, source, text string, gold bool) matrix.Packed {
		return matrix.Packed{Position: position, ID: id, Source: source, Gold: gold, Text: matrix.Text{Ref: id + text, Value: text}}
	}
	contexts := [][]matrix.Packed{
		nil,
		{item(1, "a", "fees", "The fee is 60 crowns.", false)},
		{item(1, "a", "fees", "The fee is at most 60 crowns.", false)}, // so that a bound in the answer is no other quantity
		{item(1, "a", "lunch", "The fee is at most 60 crowns.", false)},
		{item(1, "a", "lunch", "The fee is at most 60 crowns.", true)},
		{item(2, "a", "fees", "The fee is 60 crowns.", false)},
		{item(1, "b", "fees", "The fee is 60 crowns.", false)},
		{item(1, "a", "fees", "", false)},
	}
	var answers []Said
	for _, text := range []string{"I don't know.", "60 crowns", "60 crowns [1]", "60 crowns [a]", "at most 60 crowns", "70 crowns, said nobody", "nothing of it", "nothing [a]", "nothing [1]", ""} {
		answers = append(answers, Said{Text: text}, Said{Text: text, Refused: true}, Said{Text: text, Declared: true},
			Said{Text: text, Declared: true, Cited: []string{"a"}}, Said{Text: text, Declared: true, Cited: []string{"a", "1"}}, Said{Text: text, Declared: true, Cited: []string{"a\x001"}})
	}
	type asked struct {
		said   Said
		packed []matrix.Packed
	}
	var all []asked
	for _, said := range answers {
		for _, packed := range contexts {
			all = append(all, asked{said, packed})
		}
	}
	checker := func() *Checker {
		k, err := NewChecker(c, []string{"I don't know"})
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	differ := map[string]bool{}
	forwards, backwards := checker(), checker()
	var want []AnswerCheck
	for _, a := range all {
		want = append(want, checker().CheckSaid(a.said, a.packed))
		differ[fmt.Sprintf("%+v", want[len(want)-1])] = true
	}
	for i, a := range all {
		j := len(all) - 1 - i
		if got := forwards.CheckSaid(a.said, a.packed); !reflect.DeepEqual(got, want[i]) {
			t.Errorf("%+v in %+v: %+v, and by itself %+v", a.said, a.packed, got, want[i])
		}
		if got := backwards.CheckSaid(all[j].said, all[j].packed); !reflect.DeepEqual(got, want[j]) {
			t.Errorf("%+v in %+v, the last first: %+v, and by itself %+v", all[j].said, all[j].packed, got, want[j])
		}
	}
	if len(differ) < 20 {
		t.Errorf("%d answers are judged in %d ways only", len(all), len(differ))
	}
}
