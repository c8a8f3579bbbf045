package report

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/results"
)

func TestRunScreens(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		summary *results.Summary
		options Options
	}{
		"run-travel-policy": {summary: travelPolicy()},
		"run-colour":        {summary: travelPolicy(), options: Options{Color: true}},
		"run-narrow":        {summary: travelPolicy(), options: Options{Width: 60}},
		"run-noisy":         {summary: noisy()},
		"run-all":           {summary: noisy(), options: Options{All: true}},
		"run-hostile":       {summary: hostileSummary()},
		"run-stopped":       {summary: stoppedEarly()},
		"run-empty":         {summary: &results.Summary{Name: "nothing"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			if err := Run(&b, tc.summary, tc.options); err != nil {
				t.Fatal(err)
			}
			golden(t, name, b.Bytes())
		})
	}
}

func TestExplainScreens(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		bundle  *results.Bundle
		options Options
	}{
		"explain-long-haul": {bundle: longHaul()},
		"explain-colour":    {bundle: longHaul(), options: Options{Color: true}},
		"explain-narrow":    {bundle: longHaul(), options: Options{Width: 60}},
		"explain-narrowest": {bundle: unanswerable(), options: Options{Width: 50}},
		"explain-rerank":    {bundle: reranked()},
		"explain-refusal":   {bundle: refusal()},
		"explain-leak":      {bundle: unanswerable()},
		"explain-hostile":   {bundle: hostileBundle()},
		"explain-full":      {bundle: prompted(), options: Options{Full: true}},
		"explain-perturbed": {bundle: perturbed()},
		"explain-empty":     {bundle: &results.Bundle{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			if err := Explain(&b, tc.bundle, tc.options); err != nil {
				t.Fatal(err)
			}
			golden(t, name, b.Bytes())
		})
	}
}

// Colour repeats what marks and words say: without it the screen is the same.
func TestColourAddsNothing(t *testing.T) {
	t.Parallel()
	var plain, painted bytes.Buffer
	for w, o := range map[*bytes.Buffer]Options{&plain: {}, &painted: {Color: true}} {
		if err := errors.Join(Run(w, noisy(), o), Explain(w, longHaul(), o)); err != nil {
			t.Fatal(err)
		}
	}
	if bytes.Equal(plain.Bytes(), painted.Bytes()) {
		t.Error("nothing is painted")
	}
	if stripped := sgr.ReplaceAll(painted.Bytes(), nil); !bytes.Equal(plain.Bytes(), stripped) {
		t.Errorf("want %s\ngot %s", plain.Bytes(), stripped)
	}
}

func TestRunOfManyCasesListsThoseThatFail(t *testing.T) {
	t.Parallel()
	s := travelPolicy()
	for i := range 1000 {
		s.Cases = append(s.Cases, results.CaseSummary{ID: fmt.Sprintf("fine-%d", i), Outcome: verdict.Pass})
	}
	s.Total()
	var short, long bytes.Buffer
	if err := errors.Join(Run(&short, s, Options{}), Run(&long, s, Options{All: true})); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(short.String(), "fine-1") || !strings.Contains(short.String(), "1,002 more cases pass") {
		t.Errorf("got %s", short.String())
	}
	if !strings.Contains(long.String(), "fine-999") {
		t.Error("with All a passing case is missing")
	}
}

// A text takes one line of the table, and what says which case and label never gives way to it.
func TestRunCutsTextsOnly(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("words ", 40)
	label := strings.Repeat("x", maxName-len("retrieve/"))
	s := results.Summary{Cases: []results.CaseSummary{
		{ID: strings.Repeat("i", 60), Outcome: verdict.Fail, Summary: long, Defects: []results.DefectSummary{{Stage: verdict.StageRetrieve, Label: label}, {Stage: verdict.StageGenerate, Label: label, Evidence: []string{long}}}},
		{ID: "blank", Outcome: verdict.Inconclusive, Summary: " "},
		{ID: strings.Repeat("p", 60), Outcome: verdict.Pass, Qualifier: strings.Repeat("q", maxName)},
	}}
	for _, width := range []int{50, 60, 100, 140} {
		p := newPage(Options{Width: width}, runLabels)
		p.cases(&s, false)
		got := p.b.String()
		for _, whole := range []string{s.Cases[0].ID, "retrieve/" + label, "generate/" + label, s.Cases[2].ID, s.Cases[2].Qualifier} {
			if !strings.Contains(got, whole) {
				t.Errorf("width %d: %q is cut: %s", width, whole, got)
			}
		}
		if n := strings.Count(got, "words …\n"); n != 2 {
			t.Errorf("width %d: %d texts are cut, want 2: %s", width, n, got)
		}
		for line := range strings.Lines(got) {
			if strings.Contains(line, "words") && columns(line) > width+1 { // with its line end
				t.Errorf("width %d: %q", width, line)
			}
		}
		p = newPage(Options{Width: width}, runLabels)
		p.cases(&s, true)
		if got := p.b.String(); strings.Contains(got, "…") || strings.Count(got, "words") != 80 {
			t.Errorf("width %d: a text is not whole: %s", width, got)
		}
	}
}

func TestExitLineNamesWhatDecides(t *testing.T) {
	t.Parallel()
	c := func(id string, outcome verdict.Outcome, risk matrix.Risk) results.CaseSummary {
		return results.CaseSummary{ID: id, Outcome: outcome, Risk: risk}
	}
	fails, undecided := c("f", verdict.Fail, matrix.RiskInvestigate), c("u", verdict.Inconclusive, matrix.RiskInvestigate)
	for _, tt := range []struct {
		cases []results.CaseSummary
		want  string
	}{
		{[]results.CaseSummary{c("p", verdict.Pass, matrix.RiskBlocking)}, ""},
		{[]results.CaseSummary{fails}, "  blocked    by none: every failing case is risk: investigate\n"},
		{[]results.CaseSummary{undecided}, "  held       by none: every undecided case is risk: investigate\n"},
		{[]results.CaseSummary{fails, undecided}, "  blocked    by none: every failing or undecided case is risk: investigate\n"},
		{[]results.CaseSummary{fails, undecided, c("v", verdict.Inconclusive, matrix.RiskBlocking)}, "  held       undecided: v\n"},
		{[]results.CaseSummary{undecided, c("e", verdict.Environment, matrix.RiskInvestigate)}, "  unjudged   environment: e\n"},
		{[]results.CaseSummary{fails, c("i", verdict.InvalidFixture, matrix.RiskBlocking), c("g", verdict.Fail, matrix.RiskBlocking)}, "  blocked    by i, g\n"},
	} {
		s := results.Summary{Cases: tt.cases}
		s.Total()
		p := newPage(Options{}, runLabels)
		p.exitLine(&s)
		if got := p.b.String(); got != tt.want {
			t.Errorf("exit %d: want %q, got %q", s.Exit, tt.want, got)
		}
	}
}

func TestWindowKeepsTheBestTheCutoffAndTheGold(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		n, cut int
		marks  map[int]string
		want   string
	}{
		{5, 2, nil, "[1 2 3]"},
		{200, 20, map[int]string{150: goldMark}, "[1 2 3 19 20 21 150]"},
		{200, 5, map[int]string{1: goldMark, 500: goldMark}, "[1 2 3 4 5 6]"},
		{0, 5, nil, "[]"},
	} {
		if got := fmt.Sprint(window(tc.n, tc.cut, tc.marks)); got != tc.want {
			t.Errorf("window(%d, %d, %v): want %s, got %s", tc.n, tc.cut, tc.marks, tc.want, got)
		}
	}
}

func TestShellWord(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{"long-haul": "long-haul", "a b": "-- 'a b'", "-x": "-- '-x'", "it's $(rm)": `-- 'it'\''s $(rm)'`} {
		if got := shellWord(id); got != want {
			t.Errorf("%q: want %s, got %s", id, want, got)
		}
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("pipe is closed") }

func TestAFailedWriteIsReported(t *testing.T) {
	t.Parallel()
	if Run(brokenWriter{}, travelPolicy(), Options{}) == nil || Explain(brokenWriter{}, longHaul(), Options{}) == nil {
		t.Error("no error")
	}
}

func TestExplainShowsWhatThePromptMadeOfTheEvidence(t *testing.T) {
	t.Parallel()
	message := func(text string) []matrix.PromptMessage {
		return []matrix.PromptMessage{{Role: "system", Text: matrix.NewText("Answer from the context.")}, {Role: "user", Text: matrix.NewText(text)}}
	}
	const packed = "When you are sick, call 0800 555 0147 before nine."
	for _, tt := range []struct {
		name   string
		prompt []matrix.PromptMessage
		want   []string
	}{
		{
			"replaced", message("Context:\n[s] When you are sick, call (removed) before nine.\n\nQuestion: who?"),
			[]string{"     packed  When you are sick, call 0800 555 0147 before nine.\n", "     prompt  When you are sick, call (removed) before nine. "},
		},
		{"cut", message("[s] When you are sick, call 0800"), []string{"     packed  …you are sick, call 0800 555 0147 before nine.\n", "     prompt  …you are sick, call 0800\n"}},
		{"of other words", message("[s] s"), nil},
		{"withheld", []matrix.PromptMessage{{Role: "user"}}, nil},
	} {
		b := longHaul()
		a := &b.Observations.Trials[0]
		a.Prompt, a.Packed[0].Text = tt.prompt, matrix.NewText(packed)
		b.Features.Trials[0].Gold = []verdict.GoldPlace{{Packed: 1, PackedID: "c01"}}
		var out bytes.Buffer
		if err := Explain(&out, b, Options{}); err != nil {
			t.Fatal(err)
		}
		for _, want := range tt.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: %q is not in\n%s", tt.name, want, out.String())
			}
		}
		if tt.want == nil && strings.Contains(out.String(), "     packed  ") {
			t.Errorf("%s: nothing is to be compared, and is\n%s", tt.name, out.String())
		}
	}
}

func TestScoreKeepsSignificantDigits(t *testing.T) {
	t.Parallel()
	for in, want := range map[matrix.Decimal]string{
		"0": "0", "-0": "0", "12.3456": "12.35", "-1": "-1.00", "0.5": "0.500", "-0.0328": "-0.0328", "0.000012345": "1.23e-05", "0.00012345": "0.000123",
		"2000000": "2000000", "NaN": "NaN",
	} {
		if got := score(&in); got != want {
			t.Errorf("%s: want %s, got %s", in, want, got)
		}
	}
	if got := score(nil); got != "–" {
		t.Errorf("no score is %q", got)
	}
}

func TestMarksOfARepeatedCell(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		cell verdict.CellResult
		pass string
		held string
	}{
		{verdict.CellResult{Scored: 5, Pass: 5, Decision: "passes", Held: matrix.Yes}, markPass, markPass},
		{verdict.CellResult{Scored: 5, Pass: 5, Decision: "passes", Held: matrix.No}, markPass, markFail},
		{verdict.CellResult{Scored: 5, Pass: 4, Decision: "undecided", Held: matrix.Unknown}, markBetween, markBetween},
		{verdict.CellResult{Scored: 5, Decision: "fails", Held: matrix.Unknown}, markFail, markBetween},
		{verdict.CellResult{Scored: 1, Pass: 1, Exact: true, Decision: "passes", Held: matrix.Unknown}, markPass, markUnknown},
	} {
		if got := passMark(&tt.cell); got != tt.pass {
			t.Errorf("%d of %d: want %s, got %s", tt.cell.Pass, tt.cell.Scored, tt.pass, got)
		}
		if got := heldMark(&tt.cell); got != tt.held {
			t.Errorf("%d of %d held %s: want %s, got %s", tt.cell.Pass, tt.cell.Scored, tt.cell.Held, tt.held, got)
		}
	}
}

// Whole texts are as safe as cut ones, and not without end.
func TestFullTextsAreSafe(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := Explain(&b, hostileBundle(), Options{Full: true, Width: 60}); err != nil {
		t.Fatal(err)
	}
	checkScreen(t, b.Bytes())
	if !strings.Contains(b.String(), "(cut: 10,4") || b.Len() > 2<<20 {
		t.Errorf("%d bytes: an answer of 10 MiB is to be cut", b.Len())
	}
}

// Checks that are unknown for one reason take one line, and so do those that hardly any store can answer; each is named once.
func TestUnknownChecksAreFolded(t *testing.T) {
	t.Parallel()
	unknown := func(name, why string) verdict.Check {
		return verdict.Check{Name: name, Result: matrix.Unknown, Evidence: why}
	}
	for _, test := range []struct {
		name   string
		checks []verdict.Check
		full   bool
		want   string
	}{
		{
			name:   "one reason",
			checks: []verdict.Check{unknown("corpus_hit", "no store"), {Name: "gold_in_prompt", Result: matrix.No, Evidence: "no store"}, unknown("fresh", "no time"), unknown("index_stable", "no store")},
			want:   "corpus_hit, index_stable: unknown, no store\ngold_in_prompt: no, no store\nfresh: unknown, no time\n",
		},
		{
			name:   "what is hardly ever declared",
			checks: []verdict.Check{unknown("revision_match", "no revision"), unknown("body_hash_match", "no text"), unknown("corpus_hit", "no store"), {Name: "index_stable", Result: matrix.Yes}},
			want:   "corpus_hit: unknown, no store\nunknown: revision_match, body_hash_match; --full says why\nyes: index_stable\n",
		},
		{
			name:   "in full",
			checks: []verdict.Check{unknown("revision_match", "no revision"), unknown("body_hash_match", "no text")},
			full:   true,
			want:   "revision_match: unknown, no revision\nbody_hash_match: unknown, no text\n",
		},
	} {
		b := longHaul()
		b.Evaluation.Checks = test.checks
		var out bytes.Buffer
		if err := Explain(&out, b, Options{Full: test.full}); err != nil {
			t.Fatal(err)
		}
		_, got, _ := strings.Cut(out.String(), "  checks         ")
		got, _, _ = strings.Cut(got, "  findings ")
		if got = strings.ReplaceAll(got, "\n                 ", "\n"); got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
	}
}

// What an invariant row that fails like its base means is said, and only where there is one.
func TestInvariantIsExplained(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		cell verdict.CellResult
		want bool
	}{
		{verdict.CellResult{Expect: matrix.ExpectInvariant, Held: matrix.Yes, Scored: 5}, true},
		{verdict.CellResult{Expect: matrix.ExpectInvariant, Held: matrix.Yes, Scored: 5, Pass: 5}, false},
		{verdict.CellResult{Expect: matrix.ExpectInvariant, Held: matrix.No, Scored: 5}, false},
		{verdict.CellResult{Expect: matrix.ExpectAbstains, Held: matrix.Yes, Scored: 5}, false},
	} {
		b := longHaul()
		test.cell.Cell, test.cell.Planned = "D/irrelevant", 5
		b.Evaluation.Cells = append(b.Evaluation.Cells, test.cell)
		var out bytes.Buffer
		if err := Explain(&out, b, Options{}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(out.String(), "\n  invariant ✓ answers as its base does, be that right or wrong\n"); got != test.want {
			t.Errorf("%+v: said %v: %s", test.cell, got, out.String())
		}
	}
}
