package verdict

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/culprit-rag/culprit/matrix"
)

// Evaluate decides the verdict of one case from its observations and from the facts that [Extract] read. It is pure and
// reads no text.
func Evaluate(e *matrix.Experiment, c *matrix.Case, p *matrix.Plan, o *matrix.Observations, f *Features) (Evaluation, error) {
	digest, err := o.Digest()
	if err != nil {
		return Evaluation{}, fmt.Errorf("observations of case %q: %w", c.ID, err)
	}
	return EvaluateDigested(digest, e, c, p, o, f), nil
}

// EvaluateDigested is [Evaluate] where the digest of the observations is known, which takes most of the time to make.
func EvaluateDigested(digest string, e *matrix.Experiment, c *matrix.Case, p *matrix.Plan, o *matrix.Observations, f *Features) Evaluation {
	return evaluate(newFacts(e, c, p, o, f), digest, Ruleset())
}

func evaluate(x *facts, digest, ruleset string) Evaluation {
	c, p := x.c, x.p
	w := walk(x)
	w.checkDefects()
	w.countCells()
	ev := Evaluation{
		Schema: EvaluationSchema, Case: c.ID, Risk: c.Risk, Outcome: w.outcome, Qualifier: w.qualifier,
		Defects: w.defects, Behind: w.behind, Suspects: w.suspects, Missing: w.missing, Stages: w.stages(), Checks: x.checks(), Retrieval: x.retrievalResult(),
		Attribution: x.attribution, Answer: x.answerFacts(), Findings: w.findings(), NotProduction: x.notProduction(), ObservationDigest: digest, Ruleset: ruleset,
	}
	if ev.Defects == nil {
		ev.Defects = []Defect{}
	}
	cells := make([]CellResult, 0, len(p.Cells))
	for _, planned := range p.Cells {
		if c := x.cells[planned.Cell]; planned.Condition != matrix.IfDecides || c.asked() > 0 {
			cells = append(cells, c.result)
		}
	}
	if len(cells) > 0 {
		ev.Cells = cells
	}
	ev.Findings = append(ev.Findings, w.disagreements()...)
	ev.Findings = append(ev.Findings, x.rewriteFindings()...)
	ev.Summary, ev.Story = w.summary(), w.story()
	ev.Judged = x.judged()
	ev.Findings = append(ev.Findings, slices.Concat(x.answerFindings(), x.undeclaredRefusals(), x.generatorFindings(), x.embedderFindings())...)
	ev.Findings = append(ev.Findings, x.judgeFindings(ev.Judged)...)
	return ev
}

// Ruleset identifies the table of rules: another table, another digest.
func Ruleset() string { return ruleset() }

var ruleset = sync.OnceValue(func() string {
	digest, err := matrix.Digest(rowsOf(table()))
	if err != nil {
		panic(err) // the table is constant text
	}
	return digest
})

// rowsOf is what identifies rules.
func rowsOf(rules []Rule) any {
	type row struct{ ID, Needs, Says, Decides, TryFirst, Wasted string }
	var rows []row
	for _, r := range rules {
		rows = append(rows, row{r.ID(), r.Needs, r.Says, r.Decides, r.TryFirst, r.Wasted})
	}
	return rows
}

// walker goes through the rules once and keeps what they say.
type walker struct {
	*facts
	outcome   Outcome
	qualifier string
	defects   []Defect
	missing   []string
	fired     map[*Rule]int // index into defects
	says      []string      // of each defect, its rule's sentence
	behind    []Defect      // what showed when a defect was repaired
	suspects  []Defect      // what the trace shows, where it is open whether it matters

	behindSays []string // of each of these
	beside     string   // the repair that fails although the evidence is in its prompt
	ended      bool
	last       *Rule // is left when no other fires; nil: it takes no part
}

func walk(x *facts) *walker {
	rules := x.rules
	w := &walker{facts: x, fired: map[*Rule]int{}}
	for i := len(rules) - 1; i >= 0 && w.last == nil; i-- {
		if rules[i].ID() == causeNotShown {
			w.last = &rules[i]
		}
	}
	answered := false // a rule about the answer as a whole has fired
	for i := range rules {
		r := &rules[i]
		switch {
		case w.ended:
		// What was returned was returned, also by an index that moves: one answer is enough to show a leak.
		case r.Stage == StageFixture, r.Stage == StageAccess, r.ID() == dimensionMismatch && !w.unstableIndex():
			w.ask(r)
		case r.ID() == cachedAnswer && w.unstableIndex(): // which no search was made for
			w.ask(r)
		case r.ID() == notYetVisible && w.unstableIndex() && w.cells[matrix.CellA].fails():
			w.askGold(r)
		case w.judgeable() != "" && !(r.gold != nil && w.undecidedA()):
			// Errors and changes leave the matrix before any stage of the pipeline may be blamed.
		case r.gold != nil:
			w.askGold(r)
		case !answered:
			answered = w.ask(r)
		}
	}
	w.lacking()
	w.suspect()
	w.decide()
	if says := x.secretInOutput(); says != "" {
		w.outcome, w.qualifier, w.missing = Environment, "", []string{says}
		w.defects, w.says, w.behind, w.behindSays, w.suspects = nil, nil, nil, nil, nil
	}
	return w
}

// secretInOutput says which call got an answer that repeats a key, "" for none. What stands in such an answer was not kept, so that
// nothing is said of the case, whichever cell it is of.
func (x *facts) secretInOutput() string {
	says := func(cell matrix.CellID, e *matrix.CallError) string {
		if e == nil || e.Kind != matrix.KindSecret {
			return ""
		}
		return fmt.Sprintf("%s: %s: %s", e.Kind, cell, e.Cause())
	}
	for i := range x.o.Retrievals {
		if said := says(x.o.Retrievals[i].Cell, x.o.Retrievals[i].Error); said != "" {
			return said
		}
	}
	for i := range x.o.Trials {
		if said := says(x.o.Trials[i].Cell, x.o.Trials[i].Error); said != "" {
			return said
		}
	}
	for i := range x.o.Judgements {
		if said := says(x.o.Judgements[i].Cell, x.o.Judgements[i].Error); said != "" {
			return said
		}
	}
	if r := x.o.Rewriting; r != nil {
		return says(matrix.CellC, r.Error)
	}
	return ""
}

// undecidedA reports whether it is open if A fails, or what that is due to. What the trace shows then explains nothing yet.
func (w *walker) undecidedA() bool {
	a := w.cells[matrix.CellA]
	return a.usable() && !a.passes() && !a.fails() && w.c.Expect == matrix.ExpectAnswer && !w.unstableIndex()
}

// suspect takes what the trace shows of the gold from the defects where A is undecided.
func (w *walker) suspect() {
	if !w.undecidedA() {
		return
	}
	all, says := w.defects, w.says
	w.defects, w.says = nil, nil
	for i, d := range all {
		if d.Stage == StageFixture || d.Stage == StageAccess || d.Name() == dimensionMismatch {
			w.defects, w.says = append(w.defects, d), append(w.says, says[i])
		} else {
			w.suspects = append(w.suspects, d)
		}
	}
}

const (
	cachedAnswer      = "seam/cached-answer"
	causeNotShown     = "seam/cause-not-shown"
	dimensionMismatch = "embed/dimension-mismatch" // shows before anything is searched
	indexMoved        = "index: it changed during the run; run again when it is at rest"
)

// judgeable returns why no stage may be blamed, "" where one may.
func (w *walker) judgeable() string {
	switch {
	case !w.a.fails(), w.unstableIndex(), len(w.defects) > 0 && w.c.Expect != matrix.ExpectAnswer:
		return "A"
	}
	return ""
}

func (x *facts) unstableIndex() bool { return x.indexStable() == matrix.No }

// indexStable compares the fingerprints of the index before and after: the cheap one, and the complete one where it was taken.
func (x *facts) indexStable() matrix.Answer {
	s := &x.o.Store
	moved := func(before, after string) bool { return before != "" && after != "" && before != after }
	switch {
	case moved(s.Fingerprint, s.FingerprintAfter), moved(s.Content, s.ContentAfter):
		return matrix.No
	case x.e.Checks.Fingerprint == matrix.FingerprintComplete && (s.Content == "" || s.ContentAfter == ""), s.Fingerprint == "", s.FingerprintAfter == "", s.Scan.Miscounted():
		return matrix.Unknown
	}
	return matrix.Yes
}

// blindToAccess reports whether the rights of items were to be read from a field that no item has, and the asker has an
// attribute, such as groups, that is held against nothing else: then nothing is known of a leak.
func (x *facts) blindToAccess() bool {
	if x.search == nil || !slices.Contains(x.o.Store.Unmapped, "access") {
		return false
	}
	for attribute := range x.c.As {
		held := slices.ContainsFunc(x.search.Candidates, func(h matrix.Hit) bool { return len(h.Metadata[attribute]) > 0 })
		if !held {
			return true
		}
	}
	return false
}

const noAccessField = "no item has the field that backends.store.fields.access names, so that a leak could not be seen"

func (w *walker) ask(r *Rule) bool {
	if r.once == nil {
		return false
	}
	f := r.once(w.facts)
	switch f.answer {
	case matrix.Yes:
		w.add(r, f, "")
		w.ended = r.ends
		if r.ends {
			w.outcome = r.outcome
		}
		return true
	case matrix.Unknown:
		w.miss(r, f)
	}
	return false
}

func (w *walker) askGold(r *Rule) {
	for _, g := range w.gold {
		if g.rule != nil || g.blocked != "" || g.lost == crossedAll || g.lost == notSeen {
			continue
		}
		switch f := r.gold(w.facts, g); f.answer {
		case matrix.Yes:
			g.rule = r
			w.add(r, f, g.source)
		case matrix.Unknown:
			g.blocked = f.missing
			w.miss(r, w.rivals(r, g, f))
		}
	}
}

func (w *walker) miss(r *Rule, f finding) {
	m := fmt.Sprintf("%s: %s", r.Stage, w.seen(r)(f.missing))
	if !slices.Contains(w.missing, m) {
		w.missing = append(w.missing, m)
	}
}

func (w *walker) add(r *Rule, f finding, gold string) {
	i, known := w.fired[r]
	if !known {
		grade := r.grade
		if f.grade != "" {
			grade = f.grade
		}
		if t := w.attribution; t != nil && t.Level == RestoresForSome && (r.Stage == StageGenerate || r.Stage == StageAbstain || r.Stage == StageSeam) {
			grade = Inferred // how the generator does with gold alone is not established
		}
		seen := w.seen(r)
		if w.promptUnseen() && (r.Stage == StageGenerate || r.Stage == StageAbstain) {
			grade = Inferred // what the model received was not seen
		}
		i = len(w.defects)
		w.fired[r] = i
		w.defects = append(w.defects, Defect{Stage: r.Stage, Label: r.Label, Rule: r.ID(), Grade: grade, Decided: seen(r.Decides), TryFirst: r.TryFirst, Wasted: seen(r.Wasted)})
		w.says = append(w.says, seen(r.Says))
	}
	d := &w.defects[i]
	for _, line := range f.evidence {
		if line = w.seen(r)(line); !slices.Contains(d.Evidence, line) {
			d.Evidence = append(d.Evidence, line)
		}
	}
	if gold != "" {
		d.Gold = append(d.Gold, gold)
	}
}

// seen makes a rule about the answer speak of the context where the prompt was not seen.
func (x *facts) seen(r *Rule) func(string) string {
	if r.Stage != StageGenerate && r.Stage != StageAbstain || !x.promptUnseen() {
		return func(text string) string { return text }
	}
	return strings.NewReplacer("in the prompt", "in the context", "in its prompt", "in its context", "in B's prompt", "in B's context").Replace
}

// decide sets the outcome once every rule was asked.
func (w *walker) decide() {
	a := w.cells[matrix.CellA]
	switch {
	case w.ended:
	case len(w.defects) > 0:
		w.outcome = Fail
	case a.result.Scored == 0:
		w.outcome = Environment
		if rewriting := w.o.Rewriting; w.tooLong() != nil || rewriting != nil && rewriting.Error != nil && rewriting.Error.Kind == matrix.KindTooLong {
			w.qualifier = ContextLengthExceeded
		}
		w.missing = append(w.missing, w.environment())
	case w.unstableIndex():
		w.outcome = Inconclusive
		w.missing = append(w.missing, indexMoved)
	case !a.usable():
		w.outcome = Inconclusive
		w.missing = append(w.missing, w.environment())
	case !a.passes() && !a.fails():
		w.outcome = Inconclusive
		w.missing = slices.Insert(w.missing, 0, w.undecidedSays())
		for _, d := range w.suspects {
			w.missing = append(w.missing, fmt.Sprintf("%s is what the trace shows (%s); whether A fails for it is undecided", d.Name(), d.Evidence[0]))
		}
	case a.passes() && w.blindToAccess():
		w.outcome = Inconclusive
		w.missing = append(w.missing, "access: "+noAccessField)
	case a.passes():
		w.outcome = Pass
		switch {
		case w.c.Expect != matrix.ExpectAnswer:
			w.qualifier = CorrectRefusal
		case slices.ContainsFunc(w.gold, func(g *goldState) bool { return g.lost != crossedAll && g.lost != notSeen && !w.textless(g) }):
			w.qualifier = WithoutEvidence // what was not seen may have been there
		case w.fromMemory() != nil:
			w.qualifier = FromMemory
		}
	default:
		w.undecided()
	}
	if lost := w.lostB(); lost != "" && w.outcome == Inconclusive && a.usable() {
		w.missing = append(w.missing, lost)
	}
}

// undecided is reached when A fails and no rule fired: something was not observed, or the cause is not shown.
func (w *walker) undecided() {
	w.outcome = Inconclusive
	b := w.cells[matrix.CellB]
	switch {
	case len(w.missing) > 0:
	case w.allInPrompt() && w.standIn:
		w.missing = append(w.missing, fmt.Sprintf("generate: the evidence is in A's %s, and A fails all the same. B and D, which would show why, are not production's: let the service take a context (capabilities.context), or add backends.service.tap", w.seenIn()))
	case b != nil && b.other != "":
		w.missing = append(w.missing, "generate: "+b.other)
	case len(w.gold) == 0 && w.c.Expect == matrix.ExpectAnswer:
		w.missing = append(w.missing, "evidence: the case names no required evidence, so no stage can be tested")
	case w.allInPrompt() && !b.usable():
		how := "B was not scored"
		if b != nil && b.result.Scored > 0 {
			how = "too few calls of B were scored"
		}
		w.missing = append(w.missing, "generate: "+how+", so the generator cannot be told from the context: "+w.cellReason(b))
	case w.search != nil && w.packedUnseen() && !w.productionTrial().Unseen(matrix.PromptUnobserved):
		w.missing = append(w.missing, "assemble: the evidence left the search and is not in A's prompt, and the service does not tell what it packs: add packed to its trace")
	case w.search != nil && w.packedUnseen():
		w.missing = append(w.missing, "assemble: the service tells neither what it packs nor its prompt: add packed or prompt to its trace, or a tap")
	case slices.ContainsFunc(w.gold, func(g *goldState) bool { return g.lost == notSeen }):
		w.missing = append(w.missing, "retrieve: the production retrieval was not observed"+prefixed(": ", w.notSearched()))
	case w.e.WithoutStore() && w.bareSpan() != "":
		w.missing = append(w.missing, fmt.Sprintf("generate: of gold %s B had the span alone, which may be too little to answer from: add its text to the evidence, or let the service tell the text of its items; %s", w.bareSpan(), NoStore))
	case w.last == nil: // by a selection of the rules
		w.missing = append(w.missing, "seam: none of the rules that take part explains it")
	default:
		w.outcome = Fail
		w.add(w.last, yes(passes(w.facts, matrix.CellA), "no rule explains it with what was observed"), "")
	}
}

// bareSpan names a required item of which nobody tells more than the span, where B fails; "" for none.
func (w *walker) bareSpan() string {
	if !w.cells[matrix.CellB].fails() {
		return ""
	}
	for _, g := range w.gold {
		if best := GoldText(&w.o.Store, g.requirement); best != nil && best.TextOrigin == "span" {
			return g.name()
		}
	}
	return ""
}

// cellReason says why a cell was not scored: what became of the first trial that has no answer.
func (w *walker) cellReason(c *cellFacts) string {
	switch {
	case c == nil:
		return "it is not in the plan"
	case c.other != "":
		return c.other
	}
	for _, t := range c.all {
		switch {
		case t.Status == matrix.StatusOK:
		case t.Error != nil && t.Error.Kind == matrix.KindTooLong:
			return w.lengthOf(t)
		case t.Error != nil:
			return t.Error.String()
		case t.Reason != "":
			return t.Reason
		case t.FinishReason != "":
			return "finish reason " + t.FinishReason
		}
	}
	return "no trial was made"
}

// environment says what kept A from being scored, and then how many trials were.
func (w *walker) environment() string {
	a := w.cells[matrix.CellA]
	r := a.result
	says := fmt.Sprintf("; A: %d of %s scored", r.Scored, counted(r.Planned, "trial", "trials"))
	if r.Scored > 0 && a.other == "" && !a.usable() {
		says = "; " + a.lostSays()
	}
	failed := func(before string, e *matrix.CallError) string {
		return before + e.Cause() + says + " (" + e.Kind + ")"
	}
	if t := w.tooLong(); t != nil {
		return w.lengthOf(t) + says
	}
	for _, t := range a.all {
		switch {
		case t.Status == matrix.StatusFiltered:
			return "blocked by the provider (content filter)" + says
		case t.Status == matrix.StatusTruncated:
			return "stopped at the output limit (length), which is not an answer and not a refusal" + says
		case t.Error != nil:
			return failed("", t.Error)
		}
	}
	if q := w.failedSearch(); q != nil {
		return failed("the search failed: ", q)
	}
	if w.o.Store.Error != nil {
		return failed("the store failed: ", w.o.Store.Error)
	}
	return w.cellReason(a) + says
}

// lostSays says how many calls of a cell were lost, and that they are too many.
func (c *cellFacts) lostSays() string {
	return fmt.Sprintf("%s: %d of %s scored, and %d failed or gave no answer: more than one in %d leaves open what the others show",
		c.result.Cell, c.result.Scored, counted(c.result.Planned, "trial", "trials"), c.lost(), perLost)
}

// lostB says what became of the calls of B that were lost, where they are too many; "" where they are not.
func (w *walker) lostB() string {
	b := w.cells[matrix.CellB]
	if b == nil || b.usable() || b.other != "" || b.lost() == 0 {
		return ""
	}
	return b.lostSays() + ": " + w.cellReason(b)
}

// tooLong returns the first trial of A whose prompt the model could not read, nil where there is none.
func (w *walker) tooLong() *matrix.Trial {
	for _, t := range w.cells[matrix.CellA].all {
		if t.Error != nil && t.Error.Kind == matrix.KindTooLong {
			return t
		}
	}
	return nil
}

// lengthOf says how long a prompt was that the model could not read, and what would make it shorter.
func (w *walker) lengthOf(t *matrix.Trial) string {
	return fmt.Sprintf("the context of the model is exceeded: the prompt is %s by local count (%s), and pipeline.generate.max_tokens asks for %d more: lower max_tokens, pipeline.assemble.budget or pipeline.search.k, or take a model that reads more; %s: %s",
		counted(t.PromptTokensLocal, "token", "tokens"), orElse(w.e.Pipeline.Assemble.Tokenizer, "words"), w.e.Pipeline.Generate.MaxTokens, t.Error.Kind, t.Error.Message)
}
