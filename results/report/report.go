package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/results"
)

const (
	maxNamed   = 5  // cases named in one line
	maxName    = 48 // of stage/label
	maxStage   = 16
	maxSetting = 40
)

// Run draws one execution: a line for each case, then the totals, so that what matters most stands at the end of the screen.
func Run(w io.Writer, s *results.Summary, o Options) error {
	p := newPage(o, runLabels)
	p.runHead(s)
	p.blank()
	if len(s.Cases) > 0 {
		p.cases(s, o.All)
		p.blank()
		p.runCounts(s)
		p.leftOut(s, o.All)
	}
	p.runEnd(s)
	return p.flush(w)
}

// runHead says what was run on what.
func (p *page) runHead(s *results.Summary) {
	cases := counted(len(s.Cases), "case", "cases")
	if s.Planned > len(s.Cases) {
		cases = thousands(len(s.Cases)) + " of " + counted(s.Planned, "case", "cases")
	}
	parts := []string{p.bold(Safe(s.Name)), cases}
	add := func(label, value string) {
		if value != "" {
			parts = append(parts, strings.TrimSpace(label+" "+fit(value, maxSetting)))
		}
	}
	if s.ReenactedOf != "" {
		parts = append(parts, reenactedOf(s.ReenactedOf))
	}
	add("", strings.Join(s.Setup.Runs, " "))
	if s.Setup.Store != "" {
		add("store", s.Setup.Store+"/"+s.Setup.Search)
	}
	add("reranker", s.Setup.Reranker)
	if s.Setup.Generator != "" && s.Setup.Generation != "" {
		add("generator", s.Setup.Generator+" ("+s.Setup.Generation+")")
	} else {
		add("generator", s.Setup.Generator)
	}
	if s.Setup.K > 0 {
		add("k", strconv.Itoa(s.Setup.K))
	}
	if s.Setup.Top > 0 {
		add("top", strconv.Itoa(s.Setup.Top))
	}
	add("budget", s.Setup.Budget)
	p.flow("", "   ", parts)
	switch {
	case s.Rebuilt:
		p.line("  " + p.mark(markEnvironment) + " this execution did not end: what follows is made of the bundles it left")
	case s.Stopped != "":
		p.line("  " + p.mark(markEnvironment) + " " + fit(stopped(s.Stopped, s.Planned-len(s.Cases)), p.width-4))
	}
}

// stopped says why some cases are left.
func stopped(why string, left int) string {
	says := map[string]string{
		results.StoppedInterrupted: "interrupted", results.StoppedCancelled: "cancelled",
		results.StoppedLimit: "stopped at limits.budget", results.StoppedError: "stopped by an error",
	}[why]
	if says == "" {
		says = "stopped: " + why
	}
	if left > 0 {
		says += ": " + counted(left, "case was", "cases were") + " not run to the end"
	}
	return says
}

// flow puts safe parts one after the other, on more lines where they do not fit on one.
func (p *page) flow(indent, gap string, parts []string) {
	line := indent
	for i, part := range parts {
		if i > 0 {
			if columns(sgr.ReplaceAllString(line+gap+part, "")) > p.width {
				p.line(line)
				line = indent + "  "
			} else {
				line += gap
			}
		}
		line += part
	}
	p.line(line)
}

// runCounts gives the outcomes with the recall, the stages and the answers.
func (p *page) runCounts(s *results.Summary) {
	c := s.Counts
	outcomes := fmt.Sprintf("%d failing, %d passing, %d inconclusive", c.Failing, c.Passing, c.Inconclusive)
	if c.Environment > 0 {
		outcomes += fmt.Sprintf(", %d environment", c.Environment)
	}
	if c.Invalid > 0 {
		outcomes += fmt.Sprintf(", %d invalid", c.Invalid)
	}
	p.line("  " + outcomes)
	if len(s.Recall) > 0 {
		p.flow("  ", "   ", recallParts(s))
	}
	if parts := rankingParts(s); parts != nil {
		p.flow("  ", "   ", parts)
	}
	if len(s.ByStage) > 0 {
		stages := []string{"by stage"}
		for _, b := range s.ByStage {
			stages = append(stages, fmt.Sprintf("%s %d", fit(string(b.Stage), maxStage), b.Cases))
		}
		p.flow("  ", "   ", stages)
	}
	p.gradeCounts(s)
	if a := s.Answers; a.Scored > 0 {
		p.labelled("answers", answers(a, s.Setup.Generation == "deterministic"))
	}
	p.runJudged(s)
	p.runIntervals(s)
	p.notProduction(s)
}

// runIntervals says once of what kind the intervals are.
func (p *page) runIntervals(s *results.Summary) {
	var kinds Intervals
	for i := range s.Cases {
		for id, c := range s.Cases[i].Cells {
			if (id == matrix.CellA || id == matrix.CellB) && !c.Exact {
				kinds.add(c.Wilson95, c.Sequence95, c.Judged95)
			}
		}
	}
	says := kinds.String()
	if says != "" && kinds != (Intervals{fixed: true}) {
		says += "; that of the answers, which are of all cases, is Wilson's"
	}
	p.labelled("intervals", says)
}

// notProduction says once what was made otherwise than by the user's own service, and in how many of the cases.
func (p *page) notProduction(s *results.Summary) {
	count, order := map[string]int{}, []string{}
	for i := range s.Cases {
		for _, part := range s.Cases[i].NotProduction {
			if count[part]++; count[part] == 1 {
				order = append(order, part)
			}
		}
	}
	for _, part := range order {
		p.paragraph(fmt.Sprintf("not production: %s (%d of %s)", part, count[part], counted(len(s.Cases), "case", "cases")))
	}
}

// leftOut says of each case that was not observed to its end what is missing, and why.
func (p *page) leftOut(s *results.Summary, all bool) {
	const most = 8
	shown, more := 0, 0
	for i := range s.Cases {
		c := &s.Cases[i]
		switch {
		case len(c.LeftOut) == 0:
		case shown == most && !all:
			more++
		default:
			shown++
			for _, says := range c.LeftOut {
				p.labelled("left out", c.ID+" "+says)
			}
		}
	}
	if more > 0 {
		p.labelled("left out", fmt.Sprintf("and of %s more: --all shows it", counted(more, "case", "cases")))
	}
}

// answers counts what is not zero. The interval is about the same cases again: other cases may fare otherwise.
func answers(a results.AnswerTotals, exact bool) string {
	text := fmt.Sprintf("%s of %s correct", thousands(a.Correct), thousands(a.Scored))
	if bounds := interval(verdict.Wilson95(a.Correct, a.Scored)); !exact && bounds != "" {
		text += " " + bounds
	}
	if a.Answered == 0 {
		return text + ", all of them refusals"
	}
	text += "; " + thousands(a.Answered) + " answered"
	if a.Copied > 0 {
		text += ", " + thousands(a.Copied) + " copied from the prompt"
		if a.CopiedCorrect > 0 {
			text += fmt.Sprintf(" (%s of those correct)", thousands(a.CopiedCorrect))
		}
	}
	return text
}

// recallParts gives the mean recall at each k, over the cases that have gold.
func recallParts(s *results.Summary) []string {
	keys := slices.SortedFunc(maps.Keys(s.Recall), func(a, b string) int {
		x, _ := strconv.Atoi(a) // a key that is no number comes first, and is shown as it is
		y, _ := strconv.Atoi(b)
		if x != y {
			return x - y
		}
		return strings.Compare(a, b)
	})
	parts := []string{"recall  "}
	for _, k := range keys {
		value := "unknown"
		if n := s.Recall[k]; n != nil {
			value = fraction(float64(*n))
		}
		parts = append(parts, "@"+fit(k, 6)+" "+value)
	}
	return append(parts, fmt.Sprintf("(%d of %s, those with gold)", s.RecallCases.Used, counted(s.RecallCases.Total, "case", "cases")))
}

// rankingParts gives the other means of the production ranking. One that is over fewer cases than MRR says over how many.
func rankingParts(s *results.Summary) []string {
	mrr, ok := s.Metrics["mrr"]
	if !ok {
		return nil
	}
	parts := []string{"ranking "}
	add := func(shown string, m results.Mean) {
		value := "unknown"
		if m.Mean != nil {
			value = fraction(float64(*m.Mean))
		}
		if m.Used != mrr.Used {
			value += " of " + thousands(m.Used)
		}
		parts = append(parts, shown+" "+value)
	}
	add("MRR", mrr)
	for _, metric := range []struct{ name, shown string }{{"ndcg@", "nDCG@"}, {"hit@", "hit@"}, {"complete@", "complete@"}, {"precision@", "precision@"}} {
		for _, name := range slices.Sorted(maps.Keys(s.Metrics)) {
			if k, ok := strings.CutPrefix(name, metric.name); ok {
				add(metric.shown+fit(k, 6), s.Metrics[name])
			}
		}
	}
	return append(parts, "("+counted(mrr.Used, "case", "cases")+" with gold)")
}

// bill says how many calls are paid, and how many besides may be: that is the least and the most that providers bill.
func bill(paid, inDoubt int) string {
	says := thousands(paid) + " paid"
	if inDoubt > 0 {
		says += fmt.Sprintf(", and %s in doubt that may have been", thousands(inDoubt))
	}
	return says
}

// spent says what calls took that may have to be paid for.
func spent(t *results.Totals, currency string) (says string) {
	if t.Paid > 0 && t.TokensIn != nil && t.TokensOut != nil {
		says = fmt.Sprintf("; %s tokens in, %s out", thousands(int(*t.TokensIn)), thousands(int(*t.TokensOut)))
	}
	if cost := t.CostSays(currency); cost != "" {
		says += "; " + Safe(cost)
	}
	return says
}

// Unledgered says what a command has asked for that is no execution; "" where nobody has to be paid.
func Unledgered(t *results.Totals, currency string) string {
	if t.Paid+t.InDoubt == 0 {
		return ""
	}
	return counted(t.Calls, "call", "calls") + ", " + bill(t.Paid, t.InDoubt) + spent(t, currency) + "; they stand in no ledger"
}

// runEnd says what it cost, where it is, what it does to the exit code and what to do next.
func (p *page) runEnd(s *results.Summary) {
	calls := counted(s.Totals.Calls, "call", "calls")
	if !s.Rebuilt {
		calls += " in " + seconds(s.WallMS)
	}
	calls += ", " + bill(s.Totals.Paid, s.Totals.InDoubt)
	if s.Totals.Reused > 0 && !s.Rebuilt {
		calls += fmt.Sprintf("; %s served by an identical one", counted(s.Totals.Reused, "call", "calls"))
	}
	calls += spent(&s.Totals, s.Setup.Currency)
	if u := s.Unfinished; u != nil {
		calls += "; of these " + counted(u.Calls, "call", "calls")
		if cost := u.CostSays(s.Setup.Currency); cost != "" {
			calls += " (" + Safe(cost) + ")"
		}
		calls += " in cases that were not finished"
	}
	p.paragraph(calls)
	p.exitLine(s)
	if s.Bundles != "" {
		p.unwrapped("bundles", Safe(strings.TrimSuffix(s.Bundles, "/")+"/"))
	}
	if next := worthExplaining(s); next != "" {
		command := "culprit explain "
		if p.folder != "" {
			command += "--results=" + strings.TrimPrefix(shellWord(p.folder), "-- ") + " "
		}
		p.unwrapped("next", p.bold(command+shellWord(next)))
	}
}

// exitLine says what decides the exit code.
func (p *page) exitLine(s *results.Summary) {
	failing, undecided := s.Counts.Failing+s.Counts.Invalid > 0, s.Counts.Inconclusive > 0
	held := named(s, (*results.CaseSummary).Holds)
	switch {
	case s.Counts.Blocking > 0:
		p.labelled("blocked", "by "+named(s, (*results.CaseSummary).Blocks))
		if held != "" {
			p.labelled("held", "undecided: "+held)
		}
	case s.Counts.Environment > 0:
		p.labelled("unjudged", "environment: "+named(s, func(c *results.CaseSummary) bool { return c.Outcome == verdict.Environment }))
	case held != "":
		p.labelled("held", "undecided: "+held)
	case failing && undecided:
		p.labelled("blocked", "by none: every failing or undecided case is risk: investigate")
	case failing:
		p.labelled("blocked", "by none: every failing case is risk: investigate")
	case undecided:
		p.labelled("held", "by none: every undecided case is risk: investigate")
	}
}

// named lists the first cases that a condition holds for; the ids are not safe yet.
func named(s *results.Summary, holds func(*results.CaseSummary) bool) string {
	var ids []string
	more := 0
	for i := range s.Cases {
		switch c := &s.Cases[i]; {
		case !holds(c):
		case len(ids) == maxNamed:
			more++
		default:
			ids = append(ids, c.ID)
		}
	}
	if more > 0 {
		ids = append(ids, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(ids, ", ")
}

func seconds(ms int64) string {
	if ms < 100_000 {
		return strconv.FormatFloat(float64(ms)/1000, 'f', 1, 64) + " s"
	}
	return fmt.Sprintf("%d min %d s", ms/60_000, ms/1000%60)
}

// worthExplaining picks the case whose explanation shows most: one that blocks before others, one whose evidence was
// found in the ranking before those without.
func worthExplaining(s *results.Summary) string {
	best, id := -1, ""
	for i := range s.Cases {
		c := &s.Cases[i]
		score := -1
		switch c.Outcome {
		case verdict.Fail:
			score = 4
		case verdict.InvalidFixture, verdict.Environment, verdict.Inconclusive:
			score = 0
		}
		if score >= 0 && c.Risk == matrix.RiskBlocking {
			score += 2
		}
		for _, rank := range c.Retrieval.Ranks {
			if score >= 0 && rank != nil {
				score++
				break
			}
		}
		if score > best {
			best, id = score, c.ID
		}
	}
	return id
}

// shellWord quotes an id that a shell would read as something else.
func shellWord(id string) string {
	plain := strings.IndexFunc(id, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-/:@%+=,", r))
	}) < 0
	if plain && id != "" && !strings.HasPrefix(id, "-") {
		return id
	}
	return "-- '" + strings.ReplaceAll(Safe(id), "'", `'\''`) + "'"
}
