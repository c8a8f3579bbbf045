package verdict

import (
	"fmt"
	"slices"
	"testing"

	"github.com/culprit-rag/culprit/matrix"
)

// A server's tokenizer is another than the local one, and its chat template adds tokens to every prompt: neither is a cut.
func TestPromptCutByTheServer(t *testing.T) {
	t.Parallel()
	type count struct{ local, reported int }
	for _, test := range []struct {
		name            string
		a, b, closed    count
		cachedA, repeat int  // of A: tokens from a cache that the count leaves out; what a second repeat reports
		reordered       bool // A's items pass in another order
		want            bool
	}{
		{name: "the same tokenizer", a: count{400, 400}, b: count{80, 80}, closed: count{40, 40}},
		{name: "a template that is longer than a short prompt", a: count{200, 290}, b: count{30, 69}, closed: count{20, 56}},
		{name: "a tokenizer that makes twice as many", a: count{400, 840}, b: count{80, 200}, closed: count{40, 120}},
		{name: "a tokenizer that makes half as many", a: count{400, 230}, b: count{80, 70}, closed: count{40, 50}},
		{name: "other text that is read nearly half as densely", a: count{400, 290}, b: count{80, 110}, closed: count{40, 70}},
		{name: "an order of magnitude more, all of it read", a: count{9000, 11700}, b: count{80, 130}, closed: count{40, 80}},
		{name: "no count of the closed book, and a template", a: count{200, 290}, b: count{30, 90}},
		{name: "a cut that no tokenizer explains", a: count{400, 110}, b: count{80, 110}, closed: count{40, 70}, want: true},
		{name: "a window of 2048 tokens", a: count{9000, 2048}, b: count{300, 330}, closed: count{60, 70}, want: true},
		{name: "a cut of which B is not free", a: count{400, 64}, b: count{80, 64}, closed: count{40, 60}, want: true},
		{name: "a cut, without a closed book", a: count{400, 100}, b: count{80, 104}, want: true},
		{name: "a cut to less than half, without a closed book, is not shown", a: count{400, 120}, b: count{80, 104}},
		{name: "a cut of a third that takes the gold away in one place alone", a: count{400, 250}, b: count{80, 84}, closed: count{40, 44}, reordered: true, want: true},
		{name: "the same shortfall with any order is a text that is read so", a: count{400, 250}, b: count{80, 84}, closed: count{40, 44}},
		{name: "an order that matters, and a text that is read a little otherwise", a: count{400, 340}, b: count{80, 84}, closed: count{40, 44}, reordered: true},
		{name: "A is no longer than B", a: count{84, 60}, b: count{80, 84}, closed: count{40, 44}},
		{name: "what was cached is left out of the count and told", a: count{400, 12}, b: count{80, 84}, closed: count{40, 44}, cachedA: 396},
		{name: "what was cached is left out of a later repeat", a: count{400, 404}, b: count{80, 84}, closed: count{40, 44}, repeat: 5},
		{name: "a gateway that gives one number for every prompt", a: count{400, 100}, b: count{80, 100}, closed: count{40, 100}},
		{name: "nothing is reported", a: count{400, 0}, b: count{80, 0}, closed: count{40, 0}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			report := func(trial *matrix.Trial, c count) {
				trial.PromptTokensLocal = c.local
				if c.reported > 0 {
					trial.Usage.InputTokens = &c.reported
				}
			}
			e, c, p, o := askedCase(3, func(trial *matrix.Trial) {
				if trial.Cell == matrix.CellB {
					report(trial, test.b)
					return
				}
				report(trial, test.a)
				if test.cachedA > 0 {
					trial.Usage.CachedInputTokens = &test.cachedA
				}
				if trial.Rep == 2 && test.repeat > 0 {
					trial.Usage.InputTokens = &test.repeat
				}
			})
			closed := o.Trials[0]
			closed.CallKey, closed.Cell, closed.Packed, closed.Retrieval = "closed", "D/closed-book", []matrix.Packed{}, ""
			closed.Usage = matrix.Usage{}
			report(&closed, test.closed)
			o.Trials = append(o.Trials, closed)
			p.Cells = append(p.Cells, matrix.PlannedCell{Cell: closed.Cell, Base: matrix.CellA, Repeats: 1, Change: "the context is empty"})
			if test.reordered {
				const cell = "D/gold-last"
				for _, last := range o.Trials[:3] {
					last.CallKey, last.Cell, last.Answer = fmt.Sprint("last", last.Rep), cell, matrix.NewText("It is forty crowns.")
					o.Trials = append(o.Trials, last)
				}
				p.Cells = append(p.Cells, matrix.PlannedCell{Cell: cell, Base: matrix.CellA, Repeats: 3, Change: "the gold is moved to the end"})
			}
			ev := evaluated(t, e, c, p, o)
			got := slices.ContainsFunc(ev.Defects, func(d Defect) bool { return d.Name() == "prompt/truncated-by-server" })
			if got != test.want {
				t.Errorf("truncated by the server: %v, want %v: %+v", got, test.want, ev.Defects)
			}
		})
	}
}

// TestCutOrRoleDropped: a number that every prompt comes to is that of the other roles' messages where the server drops the role, and that
// at which it cuts where it is reported for a prompt without them, too.
func TestCutOrRoleDropped(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name      string
		reference int // what the server reports for the reference prompt; 0: it was not asked
		role      string
		want      string
	}{
		{"nothing but the system's message is read", 3, "user", "prompt/role-dropped"},
		{"a chat template puts a system's message of its own before the reference prompt", 26, "user", "prompt/role-dropped"},
		{"the reference prompt was not asked", 0, "user", "prompt/role-dropped"},
		{"the reference prompt has another role", 21, "developer", "prompt/role-dropped"},
		{"every prompt is cut", 21, "user", "prompt/truncated-by-server"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e, c, p, o := askedCase(3, func(trial *matrix.Trial) { trial.Answer = matrix.NewText("It is fifty crowns.") })
			add := func(cell matrix.CellID, local, reported int) {
				trial := o.Trials[len(o.Trials)-1]
				trial.CallKey, trial.Cell, trial.Rep = string(cell), cell, 1
				trial.PromptTokensLocal, trial.Usage.InputTokens = local, &reported
				o.Trials = append(o.Trials, trial)
				p.Cells = append(p.Cells, matrix.PlannedCell{Cell: cell, Base: matrix.CellB, Repeats: 1, Change: "the prompt is another"})
			}
			for i := range o.Trials {
				trial, read := &o.Trials[i], 21
				trial.PromptTokensLocal, trial.Usage.InputTokens = map[matrix.CellID]int{"A": 84, "B": 50}[trial.Cell], &read
				trial.Prompt = []matrix.PromptMessage{{Role: "system", Tokens: 24, Text: matrix.NewText("Answer from the context alone.")}, {Role: test.role, Tokens: 60, Text: trial.Prompt[0].Text}}
			}
			add("D/"+matrix.ClosedBook, 34, 21)
			closed := &o.Trials[len(o.Trials)-1]
			closed.Packed, closed.Prompt = nil, closed.Prompt[:1]
			if test.reference > 0 {
				add(matrix.RungPrompt, 43, test.reference)
				reference := &o.Trials[len(o.Trials)-1]
				reference.Packed, reference.Prompt = o.Trials[3].Packed, []matrix.PromptMessage{{Role: "user", Tokens: 43, Text: o.Trials[3].Prompt[1].Text}}
			}
			ev := evaluated(t, e, c, p, o)
			if len(ev.Defects) != 1 || ev.Defects[0].Name() != test.want {
				t.Errorf("%+v, want %s", ev.Defects, test.want)
			}
		})
	}
}

// TestReplacedInAShortPrompt: a text of which the fact alone is replaced is in the prompt, although the question asks in most of its words.
func TestReplacedInAShortPrompt(t *testing.T) {
	t.Parallel()
	for prompt, want := range map[string]string{
		"[tariff] The fee is as posted.\nWhat is the fee?": "prompt/escaped-away",
		"[tariff] tariff\nWhat is the fee?":                "prompt/wrong-variable",
		"What is the fee?":                                 "prompt/not-serialised",
	} {
		e, c, p, o := askedCase(5, func(trial *matrix.Trial) {
			trial.Prompt, trial.Answer = []matrix.PromptMessage{{Role: "user", Text: matrix.NewText(prompt)}}, matrix.NewText("I don't know.")
			trial.Packed = trial.Packed[:1]
		})
		e.Pipeline.Prompt.User = "{{#context}}[{{id}}] {{text}}\n{{/context}}{{query}}"
		ev := evaluated(t, e, c, p, o)
		if len(ev.Defects) != 1 || ev.Defects[0].Name() != want {
			t.Errorf("%q: %+v, want %s", prompt, ev.Defects, want)
		}
	}
}
