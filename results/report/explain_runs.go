package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/measure"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

// cellRow is one line of the table of runs.
type cellRow struct {
	run, context, claims, result string
	answers                      []answerLine
}

// answerLine is an answer, not safe yet, behind what is said of it.
type answerLine struct{ head, text string }

// runs draws A, B and D side by side.
func (x *explained) runs() {
	if len(x.Evaluation.Cells) == 0 {
		return
	}
	exact := !slices.ContainsFunc(x.Evaluation.Cells, func(c verdict.CellResult) bool { return c.Scored > 0 && !c.Exact })
	passes := "passes"
	if exact { // said once
		passes += ", exact"
	}
	rows := []cellRow{{run: "run", context: "context", claims: "claims", result: passes, answers: []answerLine{{head: "answer"}}}}
	var reasons []string
	notRun := map[string][]string{} // by reason
	for i := range x.Evaluation.Cells {
		c := &x.Evaluation.Cells[i]
		if c.Cell.Run() == matrix.Perturbation && c.Planned > 0 && c.NotRun == c.Planned {
			if notRun[c.Reason] == nil {
				reasons = append(reasons, c.Reason)
			}
			notRun[c.Reason] = append(notRun[c.Reason], cellName(c.Cell))
			continue
		}
		if onCurve(c) {
			continue
		}
		rows = append(rows, x.cellRow(c, exact))
	}
	var runWidth, contextWidth, claimsWidth, resultWidth int
	for _, r := range rows {
		runWidth, contextWidth = max(runWidth, columns(r.run)), max(contextWidth, columns(r.context))
		claimsWidth, resultWidth = max(claimsWidth, columns(r.claims)), max(resultWidth, visible(r.result))
	}
	indent := 2 + runWidth + 2 + contextWidth + 2 + claimsWidth + 2 + resultWidth + 2
	for i, r := range rows {
		head := "  " + pad(r.run, runWidth) + "  " + pad(r.context, contextWidth) + "  " + pad(r.claims, claimsWidth) + "  " +
			r.result + spaces(resultWidth-visible(r.result)) + "  "
		if i == 0 {
			head = x.dim(head)
		}
		x.answerLines(head, indent, r.answers)
	}
	if slices.ContainsFunc(rows, func(r cellRow) bool { return strings.Contains(r.result, markBetween) }) {
		x.note(markBetween + " neither reliable nor failing, or not told apart from its base: more repeats would tell")
	}
	if slices.ContainsFunc(x.Evaluation.Cells, func(c verdict.CellResult) bool {
		return c.Expect == matrix.ExpectInvariant && c.Scored > c.Pass && heldMark(&c) == markPass && !onCurve(&c)
	}) {
		x.note("invariant " + markPass + " answers as its base does, be that right or wrong")
	}
	x.intervals()
	if slices.ContainsFunc(x.Evaluation.Cells, func(c verdict.CellResult) bool { return c.Cell == matrix.CellAgain }) {
		x.note("A again is A's own request once more: a generator that is deterministic answers it alike")
	}
	x.attribution()
	x.shows()
	for _, reason := range reasons {
		x.paragraph("not run: " + strings.Join(notRun[reason], ", ") + ", as " + reason)
	}
	x.claims()
	x.ledger()
	x.blank()
}

// intervals says once of what kind the intervals of the page are.
func (x *explained) intervals() {
	var kinds Intervals
	for i := range x.Evaluation.Cells {
		if c := &x.Evaluation.Cells[i]; c.Scored > 0 && !c.Exact {
			kinds.Add(c)
		}
	}
	x.paragraph(kinds.String())
}

// answerLines draws a row with its answers, below it where the page is too narrow.
func (x *explained) answerLines(head string, indent int, answers []answerLine) {
	const least = 20
	if x.width-indent < least {
		x.line(head)
		head, indent = "     └ ", 7
	}
	for _, answer := range answers {
		x.line(head + answer.head + x.statements.preview(answer.text, x.width-indent-columns(answer.head)))
		head = spaces(indent)
	}
	if len(answers) == 0 {
		x.line(head)
	}
}

func (x *explained) cellRow(c *verdict.CellResult, exact bool) cellRow {
	r := cellRow{run: cellName(c.Cell), context: "–", claims: "–", answers: x.answers(c)}
	if t, f := x.firstTrial(c.Cell); t != nil && len(t.Packed) > 0 {
		r.context = packedText(t, f)
	}
	met, n := 0, 0
	for _, claim := range c.Claims {
		met, n = met+claim.Met, n+claim.N
	}
	if n > 0 {
		r.claims = fmt.Sprintf("%d/%d", met, n)
	}
	result := passBar(c) + ratio(c.Pass, c.Scored, c.Exact, c.Interval())
	if exact {
		result = fmt.Sprintf("%d/%d", c.Pass, c.Scored)
	}
	switch {
	case c.Scored == 0 && c.NotRun == c.Planned:
		r.result = "not run"
	case c.Scored == 0:
		r.result = result + " " + x.mark(markEnvironment)
	case c.Expect != "":
		r.result = fit(string(c.Expect), 16) + " " + x.mark(heldMark(c)) + "  " + result
	default:
		r.result = result + " " + x.mark(passMark(c))
	}
	return r
}

// passBar draws the pass rate of a cell that was repeated.
func passBar(c *verdict.CellResult) string {
	const width = 8
	if c.Exact || c.Scored < 2 {
		return ""
	}
	full := (c.Pass*width + c.Scored/2) / c.Scored
	if c.Pass > 0 && c.Pass < c.Scored {
		full = min(max(full, 1), width-1) // all and none are told apart from nearly so
	}
	return strings.Repeat("█", full) + strings.Repeat("░", width-full) + " "
}

// attribution says what A against B comes to, where answers vary.
func (x *explained) attribution() {
	t := x.Evaluation.Attribution
	if t == nil || t.By == verdict.DecidedExactly {
		return
	}
	parts := []string{t.Kind}
	if t.Level != "" {
		parts[0] += ", " + map[string]string{
			verdict.RestoresFully: "full: gold alone restores the answer", verdict.RestoresPartly: "partial: gold alone helps, and does not restore",
			verdict.RestoresForSome: "provisional: gold alone helps; whether it restores is not established",
		}[t.Level]
	}
	parts = append(parts, fmt.Sprintf("A passes %s, B %s", t.A, t.B))
	if evidence := differenceShown(t); evidence != "" {
		parts = append(parts, evidence)
	}
	if bounds := differenceOf(t.Interval); bounds != "" && t.By == verdict.DecidedFixed { // the other is so wide that it only confuses
		parts = append(parts, "B passes more by "+bounds)
	}
	switch {
	case t.More > 0:
		parts = append(parts, fmt.Sprintf("about %s would decide", counted(t.More, "more pair", "more pairs")))
	case t.Unsettled:
		parts = append(parts, "more pairs are unlikely to decide")
	}
	x.labelled("A against B", strings.Join(parts, "; "))
}

// differenceShown says what the evidence of a difference between A and B is worth.
func differenceShown(t *verdict.Attribution) string {
	alpha, err := strconv.ParseFloat(t.Alpha, 64)
	if err != nil || !(alpha > 0 && alpha < 1) {
		return ""
	}
	if t.By == verdict.DecidedFixed {
		return fmt.Sprintf("that they differ has %s (a difference needs %s or less)", t.Evidence, t.Alpha)
	}
	return fmt.Sprintf("that they differ has evidence %s (a difference needs %.0f)", t.Evidence, 1/alpha)
}

// differenceOf writes the interval of a difference of rates, which may be negative.
func differenceOf(bounds []string) string {
	if len(bounds) != 2 {
		return ""
	}
	low, err1 := strconv.ParseFloat(bounds[0], 64)
	high, err2 := strconv.ParseFloat(bounds[1], 64)
	if err1 != nil || err2 != nil || !(low >= -1 && high <= 1 && low <= high) {
		return ""
	}
	return fmt.Sprintf("%.2f to %.2f", low, high)
}

// passMark says whether a cell is reliable, failing, or neither.
func passMark(c *verdict.CellResult) string {
	switch c.Decision {
	case measure.Passes.String():
		return markPass
	case measure.Fails.String():
		return markFail
	default:
		return markBetween
	}
}

// heldMark says whether the expectation of a cell held. Where trials were scored and do not tell, they are too few.
func heldMark(c *verdict.CellResult) string {
	if c.Held != matrix.Yes && c.Held != matrix.No && c.Scored > 0 && !c.Exact {
		return markBetween
	}
	return answerMark(c.Held)
}

// cellName writes "A production", "B gold" and "D drop-span:c08".
func cellName(c matrix.CellID) string {
	switch c {
	case matrix.CellA:
		return "A  production"
	case matrix.CellB:
		return "B  gold"
	}
	letter, variant, _ := strings.Cut(string(c), "/")
	variant, subject, about := strings.Cut(variant, ":")
	name := fit(letter+"  "+variant, 20)
	if about {
		name += ":" + fitID(subject, 25-columns(name))
	}
	return name
}

// packedText names the items of a context, or counts them and says where the gold stands among them.
func packedText(t *matrix.Trial, f *verdict.TrialFeatures) string {
	const room = 18
	var ids, gold []string
	for i := range t.Packed {
		ids = append(ids, shownID(t.Packed[i].ID, t.Packed[i].Source))
	}
	if names := Safe(strings.Join(ids, " ")); columns(names) <= room {
		return names
	}
	for _, g := range f.Gold {
		if at := strconv.Itoa(g.Packed); g.Packed > 0 && !slices.Contains(gold, at) {
			gold = append(gold, at)
		}
	}
	text := counted(len(ids), "item", "items")
	switch {
	case len(ids) == 1:
		return fitID(ids[0], room)
	case len(gold) > 0:
		text += ", gold " + strings.Join(gold, " ")
	}
	return fit(text, room)
}

// answers shows the answers of a cell, the most frequent first, and what happened to the trials that have none.
func (x *explained) answers(c *verdict.CellResult) []answerLine {
	const most = 3
	type answer struct {
		text  string
		times int
	}
	var seen []*answer
	byKey := map[string]*answer{}
	other := ""
	for i := range x.Observations.Trials {
		t := &x.Observations.Trials[i]
		if t.Cell != c.Cell {
			continue
		}
		if t.Status != matrix.StatusOK {
			if other == "" {
				other = failure(t.Status, t.Reason, t.Error)
			}
			continue
		}
		key := t.Answer.Ref
		if i < len(x.Features.Trials) && x.Features.Trials[i].Answer != 0 {
			key = strconv.Itoa(x.Features.Trials[i].Answer)
		}
		a := byKey[key]
		if a == nil {
			a = &answer{text: x.answerText(t)}
			byKey[key] = a
			seen = append(seen, a)
		}
		a.times++
	}
	slices.SortStableFunc(seen, func(a, b *answer) int { return b.times - a.times })
	var lines []answerLine
	for _, a := range seen[:min(most, len(seen))] {
		line := answerLine{text: a.text}
		if c.Scored > 1 {
			line.head = fmt.Sprintf("%d× ", a.times)
		}
		lines = append(lines, line)
	}
	if more := len(seen) - most; more > 0 {
		lines = append(lines, answerLine{head: "and " + counted(more, "other answer", "other answers")})
	}
	if agreement, err := strconv.ParseFloat(c.Agreement, 64); err == nil && c.Distinct > 1 {
		lines = append(lines, answerLine{text: fmt.Sprintf("agreement: two of the %d answers are the same in %.0f %% of pairs", c.Scored, 100*agreement)})
	}
	if len(lines) == 0 && other == "" && c.Reason != "" {
		other = "not run: " + c.Reason
	}
	if other != "" {
		lines = append(lines, answerLine{text: other})
	}
	return lines
}

func (x *explained) answerText(t *matrix.Trial) string {
	text, said := t.Answer.Value, verdict.Said{}
	if form := x.Experiment.Pipeline.Answer; form.Structured() {
		said = verdict.ReadAnswer(form, t)
		text = said.Text
	}
	switch {
	case t.Answer.Withheld():
		return "(withheld)"
	case said.Refused:
		return strings.TrimSpace("(refused) " + text)
	case text == "":
		return "(no text)"
	case t.Cached:
		return "(cached) " + text
	default:
		return text
	}
}

// claims counts each claim in A and B, where there are several to tell apart.
func (x *explained) claims() {
	const most = 12
	var ids []string
	met := map[string][]string{}
	for i := range x.Evaluation.Cells {
		c := &x.Evaluation.Cells[i]
		if c.Cell != matrix.CellA && c.Cell != matrix.CellB {
			continue
		}
		for _, claim := range c.Claims {
			if met[claim.ID] == nil {
				ids = append(ids, claim.ID)
			}
			met[claim.ID] = append(met[claim.ID], fmt.Sprintf("%s %d/%d", c.Cell, claim.Met, claim.N))
		}
	}
	if len(ids) < 2 {
		return
	}
	x.line("  " + x.dim("claims"))
	for _, id := range ids[:min(most, len(ids))] {
		x.line("  · " + pad(fit(id, 40), 40) + "  " + strings.Join(met[id], "   "))
	}
	if more := len(ids) - most; more > 0 {
		x.line("  · " + x.dim(fmt.Sprintf("and %d more", more)))
	}
}
