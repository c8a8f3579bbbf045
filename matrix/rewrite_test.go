package matrix

import (
	"fmt"
	"testing"
)

func TestRewriteQueries(t *testing.T) {
	t.Parallel()
	one, several := &Rewrite{}, &Rewrite{Several: true, Most: 3}
	for name, test := range map[string]struct {
		rewrite *Rewrite
		answer  string
		want    []string
	}{
		"one query, over two lines":            {one, " mooring fee\n per night ", []string{"mooring fee per night"}},
		"one query keeps its number":           {one, "1. FC Köln founded", []string{"1. FC Köln founded"}},
		"nothing":                              {one, " \n\t", nil},
		"numbers are stripped":                 {several, "1. mooring fee\n2) fee per night\n(3) price of a berth", []string{"mooring fee", "fee per night", "price of a berth"}},
		"signs are stripped":                   {several, "- mooring fee\n* fee per night\n• berth", []string{"mooring fee", "fee per night", "berth"}},
		"empty lines and repeats do not count": {several, "a\n\n a \nb\r\nc", []string{"a", "b", "c"}},
		"no more than were asked for":          {several, "a\nb\nc\nd", []string{"a", "b", "c"}},
		"a number that is no list's":           {several, "2026 tariff\n3.5 tonnes\n60 crowns", []string{"2026 tariff", "3.5 tonnes", "60 crowns"}},
		"a number alone is no query":           {several, "1.\n2.", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.rewrite.Queries(test.answer); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", test.want) {
				t.Errorf("want %q, got %q", test.want, got)
			}
		})
	}
}

func TestMergeHits(t *testing.T) {
	t.Parallel()
	hits := func(ids ...string) []Hit {
		var out []Hit
		for i, id := range ids {
			score := NewDecimal(float64(9 - i))
			out = append(out, Hit{Rank: i + 1, ID: id, Score: &score})
		}
		return out
	}
	for name, test := range map[string]struct {
		how      string
		rankings [][]Hit
		k, depth int
		want     string
	}{
		"in turn, each item once":                     {MergeRoundRobin, [][]Hit{hits("a", "b", "c"), hits("b", "d")}, 3, 9, "1 a -, 2 b -, 3 d -, 4 c -"},
		"what is passed on goes first":                {MergeRoundRobin, [][]Hit{hits("a", "b", "c"), hits("d", "e")}, 1, 9, "1 a -, 2 d -, 3 b -, 4 e -, 5 c -"},
		"to the depth":                                {MergeRoundRobin, [][]Hit{hits("a", "b"), hits("c")}, 2, 2, "1 a -, 2 c -"},
		"what several searches return is ahead":       {MergeRRF, [][]Hit{hits("a", "b"), hits("c", "b")}, 2, 9, "1 b 0.032258064516129, 2 a 0.016393442622951, 3 c 0.016393442622951"},
		"a rank that is not passed on does not count": {MergeRRF, [][]Hit{hits("a", "b"), hits("c", "b")}, 1, 9, "1 a 0.016393442622951, 2 c 0.016393442622951, 3 b 0.032258064516129"},
		"nothing": {MergeRRF, [][]Hit{nil, nil}, 1, 9, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ""
			for _, h := range MergeHits(test.how, test.rankings, test.k, test.depth) {
				score := "-"
				if h.Score != nil {
					score = fmt.Sprintf("%.15f", h.Score.Float())
				}
				if got != "" {
					got += ", "
				}
				got += fmt.Sprintf("%d %s %s", h.Rank, h.ID, score)
			}
			if got != test.want {
				t.Errorf("want %s\n got %s", test.want, got)
			}
		})
	}
}

// The rankings of the searches are kept as they were, whatever the merge makes of them.
func TestMergeHitsLeavesItsInput(t *testing.T) {
	t.Parallel()
	score := Decimal("3")
	first, second := []Hit{{Rank: 1, ID: "a", Score: &score}}, []Hit{{Rank: 1, ID: "b", Score: &score}}
	MergeHits(MergeRRF, [][]Hit{first, second}, 5, 5)
	if second[0].Rank != 1 || second[0].Score == nil || *second[0].Score != "3" {
		t.Errorf("the second ranking became %+v", second[0])
	}
}

func TestExpandRewrite(t *testing.T) {
	t.Parallel()
	plan := func(r *Rewrite) *Plan {
		e := exampleExperiment()
		e.Pipeline.Rewrite = r
		p, err := Expand(e, exampleCase(), true)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	cells := func(p *Plan) string {
		var got []CellID
		for _, r := range p.Retrievals {
			got = append(got, r.Cell)
		}
		return fmt.Sprint(got)
	}
	plain, one := plan(nil), plan(&Rewrite{Prompt: "{{query}}", Most: 4})
	several := plan(&Rewrite{Prompt: "{{query}}", Several: true, Most: 4, KeepOriginal: true})
	if plain.Rewrite != nil || one.Rewrite.Searches != 1 || several.Rewrite.Searches != 5 {
		t.Errorf("searches: %+v, %+v, %+v", plain.Rewrite, one.Rewrite, several.Rewrite)
	}
	if want := "[C C/as-typed C/named C/ahead]"; cells(one) != want {
		t.Errorf("want %s, got %s", want, cells(one))
	}
	if want := "[C C/as-typed]"; cells(several) != want {
		t.Errorf("several searches place no item by its own score: want %s, got %s", want, cells(several))
	}
	if one.Rewrite.Settings == several.Rewrite.Settings || one.Cells[0].Settings != plain.Cells[0].Settings {
		t.Error("how the query is rewritten is a setting of the rewriting, and of no generation")
	}
	if one.Generations() != plain.Generations()+1 {
		t.Errorf("generations: %d and %d", plain.Generations(), one.Generations())
	}
}
