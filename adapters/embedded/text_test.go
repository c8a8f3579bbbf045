package embedded

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{"", ""},
		{"...", ""},
		{"The lie-flat Seat, 10h!", "the lie flat seat 10h"},
		{"don't", "don t"},
		{"ÉCOLE à 7:45", "école à 7 45"},
		{"退款期限是三十天。", "退款期限是三十天"},
		{"a\xffb", "a b"},
	} {
		if got := strings.Join(words(tt.text), " "); got != tt.want {
			t.Errorf("words(%q) = %q, want %q", tt.text, got, tt.want)
		}
		if got := runs(inWord).count(tt.text); got != len(words(tt.text)) {
			t.Errorf("the number of words in %q is %d, want %d", tt.text, got, len(words(tt.text)))
		}
	}
}

func TestContentWords(t *testing.T) {
	t.Parallel()
	got := contentWords("Which of the policies and Policies' classes is the BUS's policy, gas or taxis?")
	want := []string{"policie", "classe", "bus", "policy", "gas", "taxi"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("content words (-want +got):\n%s", diff)
	}
}

func TestFirstAndLast(t *testing.T) {
	t.Parallel()
	const text = "  one, two — drei.\n"
	for _, tt := range []struct {
		name string
		in   runs
		n    int
		head string
		cut  bool
		tail string
		kept int
	}{
		{"words", inWord, 0, "", true, "", 0},
		{"words", inWord, 1, "  one", true, "drei.\n", 1},
		{"words", inWord, 2, "  one, two", true, "two — drei.\n", 2},
		{"words", inWord, 3, text, false, "one, two — drei.\n", 3},
		{"words", inWord, 9, text, false, text, 3},
		{"tokens", inToken, 1, "  one,", true, "drei.\n", 1},
		{"tokens", inToken, 2, "  one, two", true, "— drei.\n", 2},
		{"tokens", inToken, 3, "  one, two —", true, "two — drei.\n", 3},
		{"tokens", inToken, 9, text, false, text, 4},
	} {
		if head, cut := tt.in.first(text, tt.n); head != tt.head || cut != tt.cut {
			t.Errorf("first %d %s: %q, %v; want %q, %v", tt.n, tt.name, head, cut, tt.head, tt.cut)
		}
		if tail, kept := tt.in.last(text, tt.n); tail != tt.tail || kept != tt.kept {
			t.Errorf("last %d %s: %q, %d; want %q, %d", tt.n, tt.name, tail, kept, tt.tail, tt.kept)
		}
	}
}

func TestSentences(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"none", " \n ", nil},
		{"plain", "Trains are free. Meals cost 40! Really? Yes", []string{"Trains are free.", "Meals cost 40!", "Really?", "Yes"}},
		{"numbers keep their points", "It costs 1.50 a day. Version 2.1 is out.", []string{"It costs 1.50 a day.", "Version 2.1 is out."}},
		{"abbreviations", "Meals, e.g. Lunch, cost 40. See No. 7 of Dr. Wu.", []string{"Meals, e.g. Lunch, cost 40.", "See No. 7 of Dr. Wu."}},
		{"lower case goes on", "It costs approx. forty. ok then", []string{"It costs approx. forty. ok then"}},
		{"quotes and brackets close", `He said "Go." (Now.) Then "left."`, []string{`He said "Go."`, "(Now.)", `Then "left."`}},
		{"a title ends at its line", "Travel > Trains\nTrains are\nfree.", []string{"Travel > Trains", "Trains are\nfree."}},
		{"a title of words", "Trains\n\tThey are free", []string{"Trains", "They are free"}},
		{"a title goes on only below it", "Trains are free\nTravel\nMeals", []string{"Trains are free", "Travel\nMeals"}},
		{"a list's introduction is no title", "Free,\nAs you know.", []string{"Free,\nAs you know."}},
		{"a long line is wrapped text", strings.Repeat("word ", 15) + "of the\nEuropean Union.", []string{strings.Repeat("word ", 15) + "of the\nEuropean Union."}},
		{"a wrapped line is one sentence", "Trains are\nfree. Meals\ncost 40.", []string{"Trains are\nfree.", "Meals\ncost 40."}},
		{"headings and lists", "# Travel\nTrains are free\n- first class\n- second class\n\n1. Ask. 2. Go", []string{"# Travel", "Trains are free", "- first class", "- second class", "1. Ask.", "2. Go"}},
		{"a table", "Rates:\n| a | 1 |\n| b | 2 |\nEnd", []string{"Rates:", "| a | 1 |", "| b | 2 |", "End"}},
		{"no spaces after CJK stops", "退款期限是三十天。发货需要三天！好", []string{"退款期限是三十天。", "发货需要三天！", "好"}},
	} {
		if diff := cmp.Diff(tt.want, sentences(tt.text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// FuzzSentences: sentences are pieces of the text in its order, and no word is lost.
func FuzzSentences(f *testing.F) {
	for _, seed := range []string{"", "A. b. C!", "1. a\n2. b", "# h\n\n- x\n| y", "。！？", "\xff.\n\xff", "...\"'”)*_ x", strings.Repeat("a.", 500)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var all []string
		rest := text
		for _, s := range sentences(text) {
			_, after, ok := strings.Cut(rest, s)
			if !ok || strings.TrimSpace(s) != s || s == "" {
				t.Fatalf("%q is not the next piece of %q", s, rest)
			}
			rest = after
			all = append(all, words(s)...)
		}
		if want := words(text); !slices.Equal(all, want) {
			t.Errorf("words of the sentences %q, of the text %q", all, want)
		}
	})
}
