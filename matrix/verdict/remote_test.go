package verdict

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/matrix"
)

// Without a store, evidence that the service does not pass on is judged as far as its trace goes, and what might be is listed.
func TestWithoutAStore(t *testing.T) {
	t.Parallel()
	threshold := matrix.Decimal("0.5")
	lost := func(r *matrix.Retrieval) { r.Candidates = r.Candidates[1:] }
	below := func(r *matrix.Retrieval) { slices.Reverse(r.Candidates) }
	both := func(changes ...func(*matrix.Retrieval)) func(*matrix.Retrieval) {
		return func(r *matrix.Retrieval) {
			for _, change := range changes {
				change(r)
			}
		}
	}
	filtered := func(r *matrix.Retrieval) { r.Filter = matrix.Filter{{Field: "id", AnyOf: []string{"tariff", "lunch"}}} }
	for _, test := range []struct {
		name    string
		mode    string
		change  func(*matrix.Retrieval)
		defect  string
		mayBe   []string // labels of Missing
		mayNot  []string
		inIndex State
	}{
		{name: "lost", change: lost, mayBe: []string{"index/missing", "index/stale", "retrieve/vocabulary-miss", "retrieve/below-cutoff"}, mayNot: []string{"embed/", "filtered-out", "below-threshold", "approximate-miss", "query-altered", "crowded-out", "rerank/"}, inIndex: Unobserved},
		{name: "lost by vectors", mode: matrix.ModeDense, change: lost, mayBe: []string{"index/missing", "embed/model-mismatch", "retrieve/approximate-miss"}, mayNot: []string{"filtered-out"}, inIndex: Unobserved},
		{name: "lost behind a filter", change: both(lost, filtered), mayBe: []string{"retrieve/filtered-out"}, inIndex: Unobserved},
		{name: "lost behind a threshold", change: both(lost, func(r *matrix.Retrieval) { r.Threshold = &threshold }), mayBe: []string{"retrieve/below-threshold"}, inIndex: Unobserved},
		{name: "lost for another query", change: both(lost, func(r *matrix.Retrieval) { r.QueryEffective = "fee" }), mayBe: []string{"retrieve/query-altered"}, inIndex: Unobserved},
		{name: "below the cutoff", change: below, defect: "retrieve/below-cutoff", inIndex: Clear},
		{name: "below the cutoff, and the filter admits it", change: both(below, filtered), defect: "retrieve/below-cutoff", inIndex: Clear},
		{name: "below the cutoff by vectors", mode: matrix.ModeDense, change: below, mayBe: []string{"embed/model-mismatch", "retrieve/below-cutoff"}, mayNot: []string{"index/", "filtered-out"}, inIndex: Clear},
		{name: "found", change: func(*matrix.Retrieval) {}, defect: "generate/", inIndex: Clear},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e, c, p, o := askedCase(5, func(trial *matrix.Trial) {
				trial.By = matrix.ByService
				if trial.Cell == matrix.CellA && test.name != "found" {
					trial.Packed, trial.Prompt = trial.Packed[1:], []matrix.PromptMessage{{Role: "user", Text: matrix.NewText("Lunch is at noon.")}}
				}
			})
			e.Backends.Pipeline = &matrix.Backend{Adapter: "remote"}
			if test.mode != "" {
				e.Pipeline.Search.Mode = test.mode
			}
			o.Store = matrix.StoreFacts{Scan: matrix.ScanFacts{Reason: NoStore}, Gold: []matrix.GoldFacts{{Text: o.Store.Gold[0].Text, TextOrigin: "case"}}}
			r := &o.Retrievals[0]
			r.By, r.Mode, r.K = matrix.ByService, e.Pipeline.Search.Mode, 2
			if strings.HasPrefix(test.name, "below") {
				r.K = 1
			}
			test.change(r)
			for i := range r.Candidates {
				r.Candidates[i].Rank = i + 1
			}
			ev := evaluated(t, e, c, p, o)
			missing := strings.Join(ev.Missing, "\n")
			switch {
			case test.defect != "" && (len(ev.Defects) == 0 || !strings.HasPrefix(ev.Defects[0].Name(), test.defect)):
				t.Errorf("defects %+v, want %s; missing %q", ev.Defects, test.defect, missing)
			case test.defect == "" && (ev.Outcome != Inconclusive || !strings.Contains(missing, "backends.store would decide")):
				t.Errorf("%s with %q, want inconclusive and what would decide", ev.Outcome, missing)
			}
			for _, label := range test.mayBe {
				if !strings.Contains(missing, label) {
					t.Errorf("%q does not list %s", missing, label)
				}
			}
			for _, label := range test.mayNot {
				if strings.Contains(missing, label) {
					t.Errorf("%q lists %s", missing, label)
				}
			}
			for _, s := range ev.Stages {
				if s.Stage == StageIndex && s.State != test.inIndex && !(s.State == NotReached && test.inIndex == Unobserved) {
					t.Errorf("the stage index is %s (%s), want %s", s.State, s.Tested, test.inIndex)
				}
			}
			for _, check := range ev.Checks {
				if slices.Contains([]string{"gold_id_resolves", "revision_match", "body_hash_match", "fresh", "index_stable"}, check.Name) && check.Result != matrix.Unknown {
					t.Errorf("%s is %s, which only a store could tell", check.Name, check.Result)
				}
			}
		})
	}
}

// What nobody saw is not said to be there: the evidence was packed, and the service does not tell its prompt.
func TestPromptUntold(t *testing.T) {
	t.Parallel()
	for _, untold := range []bool{false, true} {
		e, c, p, o := askedCase(5, func(trial *matrix.Trial) {
			if untold {
				trial.Prompt, trial.Unobserved = nil, []string{matrix.PromptUnobserved}
			}
		})
		want := matrix.Yes
		if untold {
			want = matrix.Unknown
		}
		checks := evaluated(t, e, c, p, o).Checks
		i := slices.IndexFunc(checks, func(c Check) bool { return c.Name == "gold_in_prompt" })
		if i < 0 || checks[i].Result != want || (checks[i].Evidence != "") != untold {
			t.Errorf("untold %t: checks %+v, want %s", untold, checks, want)
		}
	}
}

// What stands in for B where the service takes no context is not production, and nothing that it does is blamed on production.
func TestStandIn(t *testing.T) {
	t.Parallel()
	lost := func(trial *matrix.Trial) {
		trial.Packed, trial.Prompt = trial.Packed[1:], []matrix.PromptMessage{{Role: "user", Text: matrix.NewText("Lunch is at noon.\nWhat is the fee?")}}
	}
	says := func(trial *matrix.Trial, answer string) { trial.Answer = matrix.NewText(answer) }
	for _, test := range []struct {
		name     string
		a        func(*matrix.Trial) // nil: wrong, with the gold in its prompt
		b        string              // what the stand-in answers; "": right
		other    bool                // the service packed something else than pipeline.search would
		below    bool
		composed bool              // the service takes a context: B is production's
		orders   map[string]string // what the stand-in answers to A's items in other orders
		outcome  Outcome
		defect   string
		grade    Grade
		missing  string
		story    string
	}{
		{name: "the stand-in refuses, and A's context lacks the gold", a: lost, b: "I don't know.", other: true, outcome: Inconclusive, missing: "declare its search in pipeline.search as it is, with the ids of the store in its trace, or let its trace tell more of its ranking"},
		{name: "the stand-in is wrong, and A's context lacks the gold", a: lost, b: "It is ten crowns.", other: true, outcome: Inconclusive, missing: "declare its search"},
		{name: "the stand-in says nothing", a: lost, b: " ", other: true, outcome: Inconclusive, missing: "declare its search"},
		{name: "the stand-in passes", outcome: Inconclusive, missing: "let the service take a context"},
		{name: "the stand-in refuses, and A is wrong with the gold", b: "I don't know.", outcome: Inconclusive, missing: "let the service take a context"},
		{name: "A refuses with the gold", a: func(trial *matrix.Trial) { says(trial, "I don't know.") }, b: "I don't know.", outcome: Fail, defect: "abstain/refused-answerable", grade: Shown},
		{name: "A refuses with the gold in a prompt that is not told", a: func(trial *matrix.Trial) {
			says(trial, "I don't know.")
			trial.Prompt, trial.Unobserved = nil, []string{matrix.PromptUnobserved}
		}, outcome: Fail, defect: "abstain/refused-answerable", grade: Inferred, story: "The evidence was in the context, and the system refuses"},
		{name: "A is sometimes right", a: func(trial *matrix.Trial) {
			if trial.Rep > 7 {
				says(trial, "It is forty crowns.")
			}
		}, b: "I don't know.", outcome: Fail, defect: "generate/unstable", grade: Shown},
		{name: "below the cutoff", a: lost, below: true, outcome: Fail, defect: "retrieve/below-cutoff", grade: Shown, story: "whether the service would was not tested"},
		{name: "the stand-in goes by the order", orders: map[string]string{matrix.GoldFirst: "It is forty crowns.", matrix.GoldLast: "It is ten crowns."}, outcome: Fail, defect: "generate/position-sensitive", grade: Inferred},
		{name: "the stand-in passes in every order", orders: map[string]string{matrix.GoldFirst: "It is forty crowns.", matrix.GoldLast: "It is forty crowns."}, outcome: Inconclusive, missing: "let the service take a context"},
		{name: "the stand-in is led away by one item more", orders: map[string]string{matrix.WithIrrelevant: "It is ten crowns."}, outcome: Inconclusive, missing: "let the service take a context"},
		{name: "production's own B refuses", a: lost, b: "I don't know.", other: true, composed: true, outcome: Fail, defect: "abstain/refused-answerable", grade: Shown},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e, c, p, o := askedCase(10, func(trial *matrix.Trial) {
				switch {
				case trial.Cell == matrix.CellB && test.b != "":
					trial.Answer = matrix.NewText(test.b)
				case trial.Cell == matrix.CellA && test.a != nil:
					test.a(trial)
				}
				if trial.Cell == matrix.CellA {
					trial.By, trial.ModelReported = matrix.ByService, "of-the-service" // another than the stand-in's, as may be
				}
				if test.composed {
					trial.By, trial.ModelReported = matrix.ByService, ""
				}
			})
			for variant, answer := range test.orders {
				cell := matrix.CellID("D/" + variant)
				p.Cells = append(p.Cells, matrix.PlannedCell{Cell: cell, Base: matrix.CellA, Expect: matrix.ExpectInvariant, Repeats: 10})
				for i, trial := range o.Trials[10:20] { // B's
					trial.CallKey, trial.Cell, trial.Answer = fmt.Sprint(cell, i), cell, matrix.NewText(answer)
					o.Trials = append(o.Trials, trial)
				}
			}
			e.Backends.Store, e.Backends.Pipeline = &matrix.Backend{Adapter: "embedded"}, &matrix.Backend{Adapter: "remote"}
			r := &o.Retrievals[0]
			r.By = matrix.ByService
			if test.other {
				declared := *r
				declared.Cell, declared.By = matrix.ProbeDeclared, ""
				r.Candidates = []matrix.Hit{{Rank: 1, ID: "lunch", Source: "lunch", Text: r.Candidates[1].Text}}
				o.Retrievals = append(o.Retrievals, declared)
			}
			if test.below {
				r.K = 1
				slices.Reverse(r.Candidates)
				r.Candidates[0].Rank, r.Candidates[1].Rank = 1, 2
			}
			ev := evaluated(t, e, c, p, o)
			if ev.Outcome != test.outcome || test.missing != "" && !strings.Contains(strings.Join(ev.Missing, "\n"), test.missing) {
				t.Errorf("%s with %q, want %s with %q", ev.Outcome, ev.Missing, test.outcome, test.missing)
			}
			switch {
			case test.defect == "" && len(ev.Defects) > 0, test.defect != "" && (len(ev.Defects) != 1 || ev.Defects[0].Name() != test.defect || ev.Defects[0].Grade != test.grade):
				t.Errorf("defects %+v, want %q (%s)", ev.Defects, test.defect, test.grade)
			}
			if test.grade == Inferred && strings.Contains(ev.Defects[0].Wasted+ev.Defects[0].Decided, "in the prompt") && test.orders == nil {
				t.Errorf("%+v speaks of a prompt that nobody saw", ev.Defects[0])
			}
			if !strings.Contains(ev.Story, test.story) || strings.Contains(ev.Story, "the same generator") {
				t.Errorf("story %q, want %q in it", ev.Story, test.story)
			}
			for _, cell := range ev.Cells {
				if cell.Expect != "" || cell.Held != "" {
					t.Errorf("%s is %s: %s, and its base is another pipeline", cell.Cell, cell.Expect, cell.Held)
				}
			}
			for _, s := range ev.Stages {
				if !test.composed && strings.Contains(s.Tested, "B's prompt") && s.State != Unobserved || s.Stage == StageGenerate && s.State == Clear {
					t.Errorf("the stage %s is %s (%s), which rests on the stand-in", s.Stage, s.State, s.Tested)
				}
			}
		})
	}
}

// Evidence that the service's own search lacks is not explained by another search, and what would explain it is said.
func TestOtherSearch(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		change func(*matrix.Observations)
		want   string
		not    string
	}{
		{"another is declared", func(*matrix.Observations) {}, "passes on items of other ids, so that no probe shows why: declare its search", ""},
		{"it failed", func(o *matrix.Observations) { o.Retrievals[1].Status = matrix.StatusError }, "was not made, or failed, so that no probe shows why: let its trace", "declare its"},
		{"of several", func(o *matrix.Observations) { o.Retrievals[0].Searches = make([]matrix.Searched, 2) }, "one search and not several, so that no probe shows why: let its trace", "declare its"},
	} {
		e, c, p, o := askedCase(5, func(trial *matrix.Trial) {
			trial.By = matrix.ByService
			if trial.Cell == matrix.CellA {
				trial.Packed, trial.Prompt = trial.Packed[1:], nil
			}
		})
		e.Backends.Store, e.Backends.Pipeline = &matrix.Backend{Adapter: "embedded"}, &matrix.Backend{Adapter: "remote"}
		declared := o.Retrievals[0]
		declared.Cell = matrix.ProbeDeclared
		o.Retrievals[0].By, o.Retrievals[0].Candidates = matrix.ByService, declared.Candidates[1:]
		o.Retrievals = append(o.Retrievals, declared)
		test.change(o)
		ev := evaluated(t, e, c, p, o)
		missing := strings.Join(ev.Missing, "\n")
		if ev.Outcome != Inconclusive || !strings.Contains(missing, "gold tariff is not in what the service tells of its search (1 item)") || !strings.Contains(missing, test.want) || test.not != "" && strings.Contains(missing, test.not) {
			t.Errorf("%s: %s, %q, want %q", test.name, ev.Outcome, missing, test.want)
		}
	}
}

// What a trace contradicts, or does not tell, is no loss of the pipeline's.
func TestTraceThatTellsLittle(t *testing.T) {
	t.Parallel()
	const without = "Lunch is at noon.\nWhat is the fee?"
	ghost := func(text, prompt string) func(*matrix.Trial) {
		return func(trial *matrix.Trial) {
			p := matrix.Packed{Position: 1, ID: "ghost"}
			if text != "" {
				p.Text = matrix.NewText(text)
			}
			trial.Packed, trial.Prompt = []matrix.Packed{p}, []matrix.PromptMessage{{Role: "user", Text: matrix.NewText(prompt)}}
			if prompt == "" {
				trial.Prompt, trial.Unobserved = nil, []string{matrix.PromptUnobserved}
			}
		}
	}
	unpacked := func(trial *matrix.Trial) {
		trial.Packed, trial.Unobserved = []matrix.Packed{}, []string{matrix.PackedUnobserved}
	}
	alike := func(scores ...string) func(*matrix.Retrieval) {
		return func(r *matrix.Retrieval) {
			r.K = 1
			slices.Reverse(r.Candidates)
			for i := range r.Candidates {
				score := matrix.Decimal(scores[i])
				r.Candidates[i].Rank, r.Candidates[i].Score = i+1, &score
			}
		}
	}
	for _, test := range []struct {
		name      string
		a         func(*matrix.Trial)
		search    func(*matrix.Retrieval)
		store     bool // the ranking is the store's
		moved     matrix.CellID
		condition string
		defect    string
		missing   string
	}{
		{name: "no packed, and no order was planned", a: unpacked, defect: "seam/isolated-parts-pass"},
		{name: "no packed, and the gold was to go first", a: unpacked, moved: "D/gold-first", condition: matrix.IfGoldPacked, missing: "add packed to its trace"},
		{name: "no packed, and the context was to be reversed", a: unpacked, moved: "D/context-reversed", condition: matrix.IfManyPacked, missing: "add packed to its trace"},
		{name: "no packed, and a prompt without the gold", a: func(trial *matrix.Trial) {
			unpacked(trial)
			trial.Prompt = []matrix.PromptMessage{{Role: "user", Text: matrix.NewText(without)}}
		}, missing: "is not in A's prompt, and the service does not tell what it packs"},
		{name: "a foreign item without a text", a: ghost("", ""), missing: `"ghost", which is in no list of candidates`},
		{name: "a foreign item with another text", a: ghost("Supper is at six.", ""), defect: "assemble/lost"},
		{name: "a foreign item, and a prompt without the gold", a: ghost("", without), defect: "assemble/lost"},
		{name: "a foreign item, and a prompt with the gold", a: ghost("", "The fee is forty crowns.\n"+without), defect: "seam/isolated-parts-pass"},
		{name: "a service that scores all alike", a: ghost("Lunch is at noon.", without), search: alike("1", "1"), defect: "retrieve/below-cutoff"},
		{name: "a store that does", a: ghost("Lunch is at noon.", without), search: alike("1", "1"), store: true, defect: "retrieve/vocabulary-miss"},
		{name: "a service that scores by rank", a: ghost("Lunch is at noon.", without), search: alike("2", "1"), defect: "retrieve/below-cutoff"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e, c, p, o := askedCase(5, func(trial *matrix.Trial) {
				trial.By = matrix.ByService
				if trial.Cell == matrix.CellA {
					test.a(trial)
				}
			})
			e.Backends.Pipeline = &matrix.Backend{Adapter: "remote"}
			if test.moved != "" {
				p.Cells = append(p.Cells, matrix.PlannedCell{Cell: test.moved, Base: matrix.CellA, Expect: matrix.ExpectInvariant, Condition: test.condition, Repeats: 1})
				o.Trials = append(o.Trials, matrix.Trial{CallKey: "d", Cell: test.moved, Rep: 1, Status: matrix.StatusNotRun, Reason: "no packed"})
			}
			if test.search != nil {
				test.search(&o.Retrievals[0])
			}
			if !test.store {
				o.Retrievals[0].By = matrix.ByService
			}
			ev := evaluated(t, e, c, p, o)
			missing := strings.Join(ev.Missing, "\n")
			switch {
			case test.defect != "" && (len(ev.Defects) != 1 || ev.Defects[0].Name() != test.defect):
				t.Errorf("defects %+v, want %s; missing %q", ev.Defects, test.defect, missing)
			case test.defect == "" && (ev.Outcome != Inconclusive || !strings.Contains(missing, test.missing)):
				t.Errorf("%s with %q and %+v, want inconclusive with %q", ev.Outcome, missing, ev.Defects, test.missing)
			}
		})
	}
}
