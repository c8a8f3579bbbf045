package verdict

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/matrix"
)

// measured is bench/identity/cosines.json: what two real backends of one model and some that are none gave.
type measured struct {
	Sample    int        `json:"sample"`
	Scenarios []scenario `json:"scenarios"`
}

// scenario is one way in which stored vectors were made, with cosines in millionths.
type scenario struct {
	Name       string           `json:"name"`
	Made       string           `json:"made"`
	N          int              `json:"n"`
	Matching   int              `json:"matching"`
	Prefix     string           `json:"prefix"`
	OwnNearest []int            `json:"own_is_nearest"`
	Quantiles  []int            `json:"quantiles"`
	Own        []int            `json:"own"`
	At         []int            `json:"at"`
	Near       []int            `json:"near"`
	Candidates map[string][]int `json:"candidates"`
	Cuts       []int            `json:"cuts"` // of the first sample's vectors that do not match
}

// sample returns the observations of the items from first on, as the runner records them.
func (s *scenario) sample(first, n int) []matrix.EmbedSample {
	var out []matrix.EmbedSample
	cuts := s.Cuts
	for i := first; i < first+n; i++ {
		v := matrix.EmbedSample{ID: fmt.Sprint(i), Passage: millionths(s.Own[i]), Among: n, OwnNearest: s.At[i] == i-first, Zero: s.Own[i] == 0 && s.Near[i] == 0}
		if !v.OwnNearest {
			v.Nearest, v.NearestCosine = fmt.Sprint(first+s.At[i]), millionths(s.Near[i])
			if same(v.NearestCosine) && !same(v.Passage) {
				v.OtherText = v.Nearest
			}
		}
		for _, prefix := range []string{"", "query: ", "passage: ", "search_document: ", "title: none | text: "} {
			if c := s.Candidates[prefix]; c != nil && !same(v.Passage) && explanation(&v) == nil {
				v.Tried = append(v.Tried, matrix.EmbedTried{Prefix: prefix, Cosine: *millionths(c[i])})
			}
		}
		if len(cuts) > 0 && first == 0 && !same(v.Passage) {
			v.Tried = append(v.Tried, matrix.EmbedTried{Words: 1, Cosine: *millionths(cuts[0])})
			cuts = cuts[1:]
		}
		out = append(out, v)
	}
	return out
}

func readMeasured(t *testing.T) measured {
	t.Helper()
	data, err := os.ReadFile("../../bench/identity/cosines.json")
	if err != nil {
		t.Fatal(err)
	}
	var m measured
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func millionths(n int) *matrix.Decimal {
	d := matrix.NewDecimal(float64(n) / 1e6)
	return &d
}

// TestRuleOnRealModels applies the rule to each sample that was measured, of which it is known how its vectors were made.
func TestRuleOnRealModels(t *testing.T) {
	t.Parallel()
	const prefix, cut, moved, kin, other, blank = "match when embedded", "start of their text", "belong to other texts", "close relative", "another model", "without a vector"
	type want struct {
		answer      matrix.Answer
		says        string // in the evidence of every sample
		neverBlamed bool   // no sample may be taken for another model
		far         bool   // relatives that are blamed all the same
	}
	wants := map[string]want{
		"same":           {matrix.Yes, "32 of 32 sampled", true, false},
		"float16":        {matrix.Yes, "32 of 32 sampled", true, false},
		"not-normalised": {matrix.Yes, "32 of 32 sampled", true, false},
		"shortened":      {matrix.Yes, "32 of 32 sampled", true, false},
		"lower-case":     {matrix.Yes, "32 of 32 sampled", true, false},
		"precision":      {matrix.Yes, "sampled", true, false},
		"prefix-lost":    {matrix.No, prefix + " with no prefix", true, false},
		"prefix-added":   {matrix.No, prefix + ` with the prefix "passage: "`, true, false},
		"prefix-swapped": {matrix.No, prefix + ` with the prefix "query: "`, true, false},
		"prefix-unknown": {matrix.No, kin, true, false},
		"title":          {matrix.No, kin, true, false},
		"edited":         {matrix.No, kin, true, false},
		"truncated-128":  {matrix.No, "", true, false},
		"truncated-256":  {matrix.No, "", true, false},
		"five-layers":    {matrix.No, kin, true, true},
		"cls-pooled":     {matrix.No, kin, true, true},
		"rotated":        {matrix.No, other, false, false},
		"hashing":        {matrix.No, other, false, false},
		"mixed":          {matrix.No, "so 11.5 % to 43.4 % of the index does not (95 %): 8 with", false, false},
		"shifted":        {matrix.No, moved, true, false},
		"shifted-unseen": {matrix.No, other, false, false}, // without the store's search nothing tells them apart
		"zeros":          {matrix.No, blank, true, false},
	}
	m := readMeasured(t)
	var seen []string
	for _, s := range m.Scenarios {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			want, ok := wants[s.Name]
			if !ok {
				t.Fatal("measured, and nothing is expected of it")
			}
			for first := 0; first+m.Sample <= len(s.Own); first += m.Sample {
				got := sampled(&matrix.EmbedFacts{PassagePrefix: s.Prefix, QueryPrefix: s.Prefix, Sample: s.sample(first, m.Sample)})
				if got.answer() != want.answer || !strings.Contains(got.says(), want.says) {
					t.Errorf("sample %d: %s: %s; want %s: …%s…", first/m.Sample, got.answer(), got.says(), want.answer, want.says)
				}
				if far := got.open > 0 && got.kin == kinRelative && got.median() < farVector; far != want.far {
					t.Errorf("sample %d: far away: %t, want %t: %s", first/m.Sample, far, want.far, got.says())
				}
				if want.neverBlamed && got.kin == kinStranger {
					t.Errorf("sample %d is taken for another model's: %s", first/m.Sample, got.says())
				}
			}
		})
		seen = append(seen, s.Name)
	}
	for name := range wants {
		if !slices.Contains(seen, name) {
			t.Errorf("%s is expected and was not measured", name)
		}
	}
}

func sampled(e *matrix.EmbedFacts) sample {
	x := &facts{e: &matrix.Experiment{}, o: &matrix.Observations{Store: matrix.StoreFacts{Embed: e}}}
	return x.sample(&goldState{})
}

// TestChanceOfKin pairs vectors with texts at random, whatever the shape of the space, and counts how often the rule takes them
// for relatives: no more often than its bound says.
func TestChanceOfKin(t *testing.T) {
	t.Parallel()
	const trials = 20000
	for _, n := range []int{3, 6, 12, 32, 100} {
		for _, hubs := range []int{n, max(n/3, 1), 1} { // so many texts are nearest to anything at all
			random := rand.New(rand.NewPCG(uint64(n), uint64(hubs)))
			counts := make([]int, n+1) // of trials with so many nearest to their own
			for range trials {
				nearest := make([]int, n) // of each vector, the text that is nearest
				for i, p := range random.Perm(n) {
					nearest[i] = p % hubs
				}
				own := 0
				for vector, text := range random.Perm(n) { // the text it is stored with
					if nearest[vector] == text {
						own++
					}
				}
				counts[own]++
			}
			relatives, atLeast := 0, make([]int, n+2)
			for k := n; k >= 0; k-- {
				atLeast[k] = atLeast[k+1] + counts[k]
				if counts[k] > 0 && kin(n, k, n) == kinRelative {
					relatives += counts[k]
				}
			}
			if most := trials * chance; float64(relatives) > most+3*math.Sqrt(most) {
				t.Errorf("n = %d, %d hubs: taken for relatives %d times of %d", n, hubs, relatives, trials)
			}
			for k := 1; k <= n; k++ {
				if most := trials * byChance(n, k, n); float64(atLeast[k]) > most+4*math.Sqrt(most)+1 {
					t.Errorf("n = %d, %d hubs: %d or more nearest to their own in %d of %d, bound %.1f", n, hubs, k, atLeast[k], trials, most)
				}
			}
		}
	}
}

func TestKin(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		m, own, n int
		want      kinship
	}{
		{0, 0, 32, kinNone},
		{32, 6, 32, kinRelative},
		{32, 5, 32, kinStranger},
		{32, 0, 32, kinStranger},
		{32, 32, 32, kinRelative},
		{12, 6, 12, kinRelative},
		{12, 5, 12, kinStranger},
		{8, 5, 8, kinUnclear},
		{8, 2, 8, kinStranger},
		{5, 5, 5, kinUnclear},
		{5, 1, 5, kinStranger},
		{5, 2, 5, kinUnclear},
		{3, 0, 3, kinStranger},
		{2, 0, 2, kinUnclear},
		{1, 1, 1, kinUnclear},
		{1, 1, 32, kinUnclear},
		{2, 2, 32, kinRelative},
		{2, 1, 32, kinUnclear},
		{3, 0, 32, kinStranger},
		{3, 4, 2, kinUnclear}, // no such sample
	} {
		if got := kin(test.m, test.own, test.n); got != test.want {
			t.Errorf("%d of %d nearest to their own of %d: got %d, want %d", test.own, test.m, test.n, got, test.want)
		}
	}
}

// TestAnswer goes through what the kinds of vectors come to.
func TestAnswer(t *testing.T) {
	t.Parallel()
	item := func(cosine string, change ...func(*matrix.EmbedSample)) matrix.EmbedSample {
		d := matrix.Decimal(cosine)
		v := matrix.EmbedSample{Passage: &d, OwnNearest: true, Among: 4}
		for _, c := range change {
			c(&v)
		}
		return v
	}
	own, near, open := item("1"), item("0.995"), item("0.8")
	far := item("0.995", func(v *matrix.EmbedSample) { v.OwnNearest = false })
	blank := matrix.EmbedSample{Blank: true}
	added := item("0.1", func(v *matrix.EmbedSample) { v.Added = true })
	for _, test := range []struct {
		name  string
		more  string
		items []matrix.EmbedSample
		want  matrix.Answer
		says  string
	}{
		{"nothing", "", nil, matrix.Unknown, "0 of 0"},
		{"an item without text is left out", "", []matrix.EmbedSample{own, blank}, matrix.Yes, "1 of 1 sampled"},
		{"gold that was added says nothing of the index", "", []matrix.EmbedSample{own, added}, matrix.Yes, "1 of 1 sampled"},
		{"some are near", "", []matrix.EmbedSample{own, own, near}, matrix.Yes, "1 is near"},
		{"most are near", "", []matrix.EmbedSample{own, near, near}, matrix.Unknown, "2 are near"},
		{"near to its own text, and nearer to another", "", []matrix.EmbedSample{own, own, far}, matrix.No, "1 with a median cosine of 0.995, and 0 of 1 is nearest"},
		{"one is open", "", []matrix.EmbedSample{own, own, open}, matrix.No, "too few to tell"},
		{"one is open in an index that embeds more", "the title", []matrix.EmbedSample{own, own, open}, matrix.Unknown, "embeds more than the text (the title)"},
		{"one has no vector in an index that embeds more", "the title", []matrix.EmbedSample{own, {Missing: true}}, matrix.No, "1 stored without a vector"},
	} {
		got := sampled(&matrix.EmbedFacts{EmbedInput: test.more, Sample: test.items})
		if got.answer() != test.want || !strings.Contains(got.says(), test.says) {
			t.Errorf("%s: %s: %s; want %s: …%s…", test.name, got.answer(), got.says(), test.want, test.says)
		}
	}
}

// TestNames reads what the collection and its items declare, whatever the vectors are.
func TestNames(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name            string
		collection      string
		items           map[string]int
		declared, match matrix.Answer
		evidence        string
	}{
		{"nothing", "", nil, matrix.No, matrix.Unknown, "the store declares no model"},
		{"the collection", "a", nil, matrix.Yes, matrix.Yes, "a"},
		{"another", "b", nil, matrix.Yes, matrix.No, "b"},
		{"the collection, and some items", "a", map[string]int{"a": 2, "": 1}, matrix.Yes, matrix.Yes, "collection: a; items: a of 2 items, no model of 1 item"},
		{"some items", "", map[string]int{"a": 2, "": 1}, matrix.Yes, matrix.Unknown, "collection: none; items: a of 2 items, no model of 1 item"},
		{"no item", "", map[string]int{"": 3}, matrix.No, matrix.Unknown, "no model of 3 items"},
		{"a mixture", "", map[string]int{"a": 2, "b": 5}, matrix.Yes, matrix.No, "b of 5 items, a of 2 items"},
	} {
		e := &matrix.EmbedFacts{QueryModel: "a", IndexModel: test.collection, DeclaredPerItem: test.items}
		x := &facts{e: &matrix.Experiment{}, o: &matrix.Observations{Store: matrix.StoreFacts{Embed: e}}}
		got := x.embedChecks(e)
		if got[0].Result != test.declared || got[1].Result != test.match || !strings.Contains(got[0].Evidence, test.evidence) {
			t.Errorf("%s: %+v; want %s, %s, …%s…", test.name, got[:2], test.declared, test.match, test.evidence)
		}
	}
}
