package verdict

import (
	"slices"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/matrix"
)

func TestFindCitations(t *testing.T) {
	t.Parallel()
	packed := []matrix.Packed{
		{Position: 1, ID: "c01", Source: "hr-pay"},
		{Position: 2, ID: "c08", Source: "hr-leave"},
		{Position: 3, ID: "c11", Source: "hr-leave"},
		{Position: 4, ID: "Staff Guide, part 2"},
	}
	tests := []struct {
		name, answer      string
		cited, fabricated []string
	}{
		{"an id", "From September [c08].", []string{"c08"}, nil},
		{"a list", "So [c08, c11] and [c01; c08].", []string{"c08", "c11", "c01"}, nil},
		{"a position", "So [1] and [2,3].", []string{"c01", "c08", "c11"}, nil},
		{"a source", "So [hr-leave].", []string{"c08", "c11"}, nil},
		{"in parentheses", "So (source: c08) and (Sources: c01, c11).", []string{"c08", "c01", "c11"}, nil},
		{"with a lead", "[source: c08] [Document 1] [id=c11] [#c01]", []string{"c08", "c01", "c11"}, nil},
		{"lenticular brackets", "So 【c08】.", []string{"c08"}, nil},
		{"another case", "So [C08] and [HR-Pay].", []string{"c08", "c01"}, nil},
		{"as an assistant with files cites", "So 【1†source】, 【4:0†hr-leave】, 【4:2†source】.", []string{"c01", "c08", "c11"}, nil},
		{"as an assistant with files makes up", "So 【4:0†hr-nowhere】.", nil, []string{"hr-nowhere"}},
		{"bold, with a number sign, with a stop inside", "So **[c08]** [#1] [c11, p. 3].", []string{"c08", "c01", "c11"}, nil},
		{"a footnote", "So [^1].", []string{"c01"}, nil},
		{"an id with a comma in it", "So [Staff Guide, part 2].", []string{"Staff Guide, part 2"}, nil},
		{"nested", "[[c08]] [see [c01]]", []string{"c08", "c01"}, nil},
		{"never closed", "[c08 and so on", nil, nil},
		{"fabricated", "So [c99] (source: hr-2031-s2).", nil, []string{"c99", "hr-2031-s2"}},
		{"fabricated, of the shape of a source", "So [hr-nowhere].", nil, []string{"hr-nowhere"}},
		{"a position that is not there", "So [9].", nil, []string{"9"}},
		{"one of each, told once", "[c08][c99][c99][c08]", []string{"c08"}, []string{"c99"}},
		{"words", "[sic] [Note] [x] [see below] [...] [10 km] [1-2] (c77) (see 3)", nil, nil},
		{"a year and a date", "[2026] [2026-09-01]", nil, nil},
		{"a link", "[page 2](https://example.com) [c99](https://example.com)", nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cited, fabricated := FindCitations(tt.answer, packed)
			if !slices.Equal(cited, tt.cited) || !slices.Equal(fabricated, tt.fabricated) {
				t.Errorf("%q: want %q, %q; got %q, %q", tt.answer, tt.cited, tt.fabricated, cited, fabricated)
			}
		})
	}
}

func TestFindCitationsInALongAnswer(t *testing.T) {
	t.Parallel()
	answer := strings.Repeat("[[[c01](", 10_000) + strings.Repeat("word [c01] ", 10_000) + "[c02]"
	cited, fabricated := FindCitations(answer, []matrix.Packed{{Position: 1, ID: "c01"}})
	if len(cited) != 1 || !slices.Equal(fabricated, []string{"c02"}) {
		t.Errorf("got %q, %q", cited, fabricated)
	}
}

func TestStripCitations(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		"Thirty days. [c08]":            "Thirty days.",
		"Thirty [1] days [c08, hr-1].":  "Thirty days.",
		"Thirty (source: c08) days":     "Thirty days",
		"Thirty [sic] days [see below]": "Thirty [sic] days [see below]",
		"none":                          "none",
	} {
		if got := StripCitations(answer); got != want {
			t.Errorf("%q: want %q, got %q", answer, want, got)
		}
	}
}
