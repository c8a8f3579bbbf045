package selftest

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Text writes the report as a person reads it, in so many columns: the thresholds, the figures, and what was wrong.
func (r *Report) Text(w io.Writer, columns int) {
	table := plainTable(columns)
	r.thresholds(w, table)
	fmt.Fprintln(w)
	r.accuracy(w, table)
	fmt.Fprintln(w)
	r.rates(w, table)
	if len(r.Wrong) > 0 {
		fmt.Fprintln(w)
		r.wrong(w, table)
	}
	fmt.Fprintf(w, "\nThe same options give the same figures. %d s.\n", r.WallMS/1000)
}

// Markdown writes the report as docs/accuracy.md; command is what made it.
func (r *Report) Markdown(w io.Writer, command string) {
	s := r.Scope
	fmt.Fprintf(w, `# Accuracy

How often a verdict is right, measured and not claimed. This page is written by

    %s

It invents small corpora from seeds, breaks each in one known way, and takes it the way of any experiment: a file, read and checked, run
over the embedded backends, and judged from its sealed bundle. The same command gives the same page. Rules: %s.

What this is evidence for: faults of the kinds below, in small English corpora, with a generator that quotes. It says nothing of how often
a real system has which fault, and nothing of a judge. Each figure stands with its count and the Wilson 95 %% interval. Cases of one seed
share their corpus, so the intervals are a little too narrow.

- **Deterministic faults**: for each fault and shape of experiment, corpora of %d seed(s); the generator gives equal answers to equal requests.
- **Noisy faults**: the same faults with a generator that is right at the pass rates %s and otherwise wrong or refusing, each answer
  drawn on its own; `+"`runs.repeats`"+` is %s. Each is run twice.
- **Two faults**: %d pairs of faults of two stages in one case, of which the first keeps the other from being seen, each fault in about as many
  of them as any other. The first must be named first; then it is mended, and the other must be named. Pairs left out are listed below.
- **Healthy cases**: %d runs of unbroken experiments under the same noise. Where the generator passes at 80 %% or more, any defect is
  false blame; where it passes less often it is not reliable itself, and any stage but the generator's is. One corpus in %d is run with
  all perturbations, the others with A, B and C.
- **Same system twice**: pairs of runs that differ in the generator's draws alone. A flip is two verdicts, both given, with another outcome
  or another stage first.

A fault that leaves the answer right is left out (%d and %d runs), since there is nothing to explain.

## What must hold

`, command, short(r.Ruleset), s.Seeds, percents(s.PassRates), s.Repeats, s.Pairs, s.Healthy, perturbed, r.Deterministic.Harmless, r.Noisy.Harmless)
	r.thresholds(w, markdownTable)
	fmt.Fprint(w, "\n## Beside the baselines\n\nThe span script asks ten lines' worth of questions: is the gold span in the store, in the candidates, in the prompt? The constant\nanswer is \"retrieve\". They are compared where a stage of the pipeline is to blame; an inconclusive verdict counts as wrong there.\n\n")
	r.accuracy(w, markdownTable)
	fmt.Fprint(w, "\n## By pass rate of the generator\n\n")
	r.rates(w, markdownTable)
	fmt.Fprint(w, "\n## Every fault\n\nThe label without noise, the stage under noise.\n\n")
	r.everyFault(w)
	fmt.Fprint(w, "\nNot brought about, since the embedded backends cannot:\n\n")
	for _, label := range slices.Sorted(maps.Keys(r.Unproduced)) {
		fmt.Fprintf(w, "- `%s`: %s.\n", label, r.Unproduced[label])
	}
	fmt.Fprint(w, "\nPairs of faults left out, beside two of one stage:\n\n")
	for _, why := range r.PairsLeftOut {
		fmt.Fprintf(w, "- %s.\n", why)
	}
	fmt.Fprint(w, "\n## Stages: true × given\n\nDeterministic faults:\n\n")
	matrixTable(w, r.Deterministic.Stages)
	fmt.Fprint(w, "\nNoisy faults:\n\n")
	matrixTable(w, r.Noisy.Stages)
	fmt.Fprint(w, "\n## Labels: true × given\n\nWhat was given for each true label, without noise and under it.\n\n")
	r.labels(w)
	if len(r.Wrong) > 0 {
		fmt.Fprint(w, "\n## Wrong without noise\n\n")
		r.wrong(w, markdownTable)
	}
	if len(r.Healthy.Blamed) > 0 {
		fmt.Fprint(w, "\n## Blamed in healthy cases\n\n")
		var rows [][]string
		for _, c := range r.Healthy.Blamed {
			rows = append(rows, []string{c.Given, strconv.Itoa(c.N)})
		}
		markdownTable(w, []string{"label", "n"}, rows)
	}
}

func short(digest string) string {
	_, hex, _ := strings.Cut(digest, ":")
	return hex[:min(12, len(hex))]
}

func percents(rates []float64) string {
	var out []string
	for _, r := range rates {
		out = append(out, percent(r))
	}
	return orNone(strings.Join(out, ", "))
}

func percent(r float64) string { return fmt.Sprintf("%.4g %%", 100*r) }

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

func (r *Report) thresholds(w io.Writer, table drawTable) {
	var rows [][]string
	for _, t := range r.Thresholds {
		rows = append(rows, []string{t.Name, t.Wants, t.Got, string(t.State)})
	}
	table(w, []string{"figure", "wants", "got", ""}, rows)
}

func (r *Report) accuracy(w io.Writer, table drawTable) {
	both := func(name string, of func(*Accuracy) string) []string {
		return []string{name, of(&r.Deterministic), of(&r.Noisy)}
	}
	table(w, []string{"", "deterministic", "noisy"}, [][]string{
		both("right stage, of the verdicts given", func(a *Accuracy) string { return a.Stage.String() }),
		both("right label, of the verdicts given", func(a *Accuracy) string { return a.Label.String() }),
		both("inconclusive", func(a *Accuracy) string { return a.Inconclusive.String() }),
		both("right stage, where one is to blame: culprit", func(a *Accuracy) string { return a.Product.String() }),
		both("— span script", func(a *Accuracy) string { return a.SpanScript.String() }),
		both(`— always "retrieve"`, func(a *Accuracy) string { return a.Constant.String() }),
		both("verdicts graded verified", func(a *Accuracy) string { return a.Verified.String() }),
		both("— of these, not what was injected", func(a *Accuracy) string { return a.VerifiedWrong.String() }),
		{"two faults: verified, not what was injected; healthy cases: the same", r.Compound.VerifiedWrong.String(), r.Healthy.VerifiedWrong.String()},
		both("generations", func(a *Accuracy) string { return spent(a.Generations, a.FixedN) }),
		{"— of healthy cases", "", spent(r.Healthy.Generations, r.Healthy.FixedN)},
		{"healthy cases inconclusive", "", r.Healthy.Inconclusive.String()},
		{"second of two faults named at once", r.Compound.Behind.String(), ""},
		{"same system twice, one of the two inconclusive", "", r.AA.Open.String()},
	})
}

func spent(n, fixed int) string {
	if fixed == 0 {
		return "none"
	}
	return fmt.Sprintf("%d; %.0f %% of %d at a fixed n of %d", n, 100*float64(n)/float64(fixed), fixed, fixedRepeats)
}

func (r *Report) rates(w io.Writer, table drawTable) {
	var rows [][]string
	for _, a := range r.ByRate {
		rows = append(rows, []string{percent(a.PassRate), a.Stage.String(), a.Label.String(), a.FalseBlame.String(), a.AA.Flips.String()})
	}
	table(w, []string{"pass rate", "right stage", "right label", "false blame, healthy", "flips"}, rows)
}

func (r *Report) wrong(w io.Writer, table drawTable) {
	var rows [][]string
	for _, m := range r.Wrong {
		rows = append(rows, []string{m.Fault, m.Shape, strconv.FormatUint(m.Seed, 10), m.True, strings.Join(m.Given, ", ")})
	}
	table(w, []string{"wrong: fault", "shape", "seed", "true", "given"}, rows)
}

func (r *Report) everyFault(w io.Writer) {
	var rows [][]string
	for _, f := range r.Faults {
		rows = append(rows, []string{f.Fault, "`" + f.True + "`", of(f.Deterministic), of(f.Noisy)})
	}
	markdownTable(w, []string{"fault", "true label", "label", "stage under noise"}, rows)
}

func of(r Rate) string {
	if r.N == 0 {
		return "–"
	}
	return fmt.Sprintf("%d of %d", r.K, r.N)
}

func (r *Report) labels(w io.Writer) {
	var order []string
	given := map[string][2][]string{}
	for i, part := range [][]Confused{r.Deterministic.Labels, r.Noisy.Labels} {
		for _, c := range part {
			if !slices.Contains(order, c.True) {
				order = append(order, c.True)
			}
			g := given[c.True]
			name := c.Given
			if name == c.True {
				name = "right"
			}
			g[i] = append(g[i], fmt.Sprintf("%s %d", name, c.N))
			given[c.True] = g
		}
	}
	slices.SortFunc(order, byStage)
	var rows [][]string
	for _, label := range order {
		rows = append(rows, []string{"`" + label + "`", strings.Join(given[label][0], ", "), strings.Join(given[label][1], ", ")})
	}
	markdownTable(w, []string{"true", "without noise", "under noise"}, rows)
}

// matrixTable writes a confusion matrix in the order of stages.
func matrixTable(w io.Writer, cells []Confused) {
	var names []string
	for _, s := range append(stageNames(), environment, "pass", inconclusive) {
		if slices.ContainsFunc(cells, func(c Confused) bool { return c.True == s || c.Given == s }) {
			names = append(names, s)
		}
	}
	var rows [][]string
	for _, row := range names {
		cols := []string{row}
		for _, col := range names {
			n := ""
			if i := slices.IndexFunc(cells, func(c Confused) bool { return c.True == row && c.Given == col }); i >= 0 {
				n = strconv.Itoa(cells[i].N)
			}
			cols = append(cols, n)
		}
		rows = append(rows, cols)
	}
	markdownTable(w, append([]string{"true"}, names...), rows)
}

// drawTable writes a table whose columns are aligned.
type drawTable func(w io.Writer, head []string, rows [][]string)

// plainTable draws columns and no lines. Where they are wider than the page, the first cell of each row stands above the others.
func plainTable(columns int) drawTable {
	return func(w io.Writer, head []string, rows [][]string) {
		for _, cells := range aligned(append([][]string{head}, rows...)) {
			line := "  " + strings.Join(cells, "  ")
			if utf8.RuneCountInString(line) > columns {
				if first := strings.TrimSpace(cells[0]); first != "" {
					fmt.Fprintln(w, "  "+first)
				}
				line = "    " + strings.Join(cells[1:], "  ")
			}
			fmt.Fprintln(w, strings.TrimRight(line, " "))
		}
	}
}

// markdownTable can be read as it is, too.
func markdownTable(w io.Writer, head []string, rows [][]string) {
	for i, cells := range aligned(append([][]string{head}, rows...)) {
		fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
		if i == 0 {
			for _, cell := range cells {
				fmt.Fprintf(w, "|%s", strings.Repeat("-", utf8.RuneCountInString(cell)+2))
			}
			fmt.Fprintln(w, "|")
		}
	}
}

// aligned fills each column up to its widest cell.
func aligned(rows [][]string) [][]string {
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	out := make([][]string, len(rows))
	for n, row := range rows {
		for i, cell := range row {
			out[n] = append(out[n], cell+strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell)))
		}
	}
	return out
}
