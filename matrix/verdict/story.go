package verdict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/measure"
)

// summary is one line: what was seen.
func (w *walker) summary() string {
	a := w.cells[matrix.CellA].result
	switch {
	case len(w.defects) > 0:
		parts := []string{w.defects[0].Evidence[0]}
		if r := w.restores(); r != "" && isBeforeAnswer(w.defects[0].Stage) {
			parts = append(parts, r)
		}
		return strings.Join(parts, "; ")
	case len(w.missing) > 0:
		return w.missing[0]
	case w.qualifier == CorrectRefusal:
		return fmt.Sprintf("correct refusal in %d of %d", a.Pass, a.Scored)
	case w.qualifier == WithoutEvidence:
		return fmt.Sprintf("right in %d of %d, without the evidence in the prompt", a.Pass, a.Scored)
	case w.qualifier == FromMemory:
		return fmt.Sprintf("right in %d of %d, whatever the evidence says", a.Pass, a.Scored)
	}
	return fmt.Sprintf("right in %d of %d", a.Pass, a.Scored)
}

// restores says what gold alone does for the answer, where B judges it.
func (w *walker) restores() string {
	b := w.cells[matrix.CellB]
	switch {
	case b == nil || b.result.Scored == 0 || b.other != "" || !w.goldTested() || w.onlyGiven():
		return ""
	case b.passes():
		return fmt.Sprintf("gold context restores %d/%d", b.result.Pass, b.result.Scored)
	}
	return fmt.Sprintf("gold context does not restore (%d/%d)", b.result.Pass, b.result.Scored)
}

// story is what happened, in two or three sentences.
func (w *walker) story() string {
	var out []string
	switch {
	case len(w.defects) > 0:
		out = append(out, w.says[0])
		first, b := w.defects[0], w.cells[matrix.CellB]
		switch alone := len(w.defects) == 1 && b.passes() && w.goldTested() && isBeforeAnswer(first.Stage); {
		case alone && b.decided != measure.Passes:
			out = append(out, fmt.Sprintf("With the evidence in its prompt the same generator answers better (B %d of %d); whether it is reliable then is not established.", b.result.Pass, b.result.Scored))
		case alone && w.beside != "":
			out = append(out, fmt.Sprintf("With the evidence alone in its prompt the same generator answers correctly (B %d of %d). Repaired alone it fails all the same (%s), with the evidence in its prompt: what stands beside it matters, too.", b.result.Pass, b.result.Scored, w.beside))
		case alone:
			out = append(out, fmt.Sprintf("With the evidence in its prompt the same generator answers correctly (B %d of %d), so the prompt and the generator are not at fault here.", b.result.Pass, b.result.Scored))
		}
		if len(w.defects) == 1 && b.passes() && w.standIn && isBeforeAnswer(first.Stage) {
			out = append(out, fmt.Sprintf("From the evidence backends.generator answers correctly through pipeline.prompt (B %d of %d); whether the service would was not tested, since it takes no context.", b.result.Pass, b.result.Scored))
		}
		if b.fails() && !w.standIn && !w.goldTested() && first.Stage == StagePrompt {
			out = append(out, "B fails as well, through the same prompt, so it says nothing of the generator.")
		}
		for _, s := range w.says[1:] {
			out = append(out, "A second defect stands behind it: "+lowerFirst(s))
		}
		for _, s := range w.behindSays {
			out = append(out, "Repaired alone it fails all the same, and the next one shows: "+lowerFirst(s))
		}
	case w.outcome == Environment:
		out = append(out, "The provider or the store did not give an answer that can be scored; no stage is blamed.")
	case w.outcome == Inconclusive:
		out = append(out, "What was observed does not decide the case.")
	case w.qualifier == CorrectRefusal:
		out = append(out, "The case says that nothing answers the question, and the system refuses.")
		if t := w.productionTrial(); t != nil && len(t.Packed) == 0 && !t.Unseen(matrix.PackedUnobserved) {
			out = append(out, "Nothing was packed, so that whether it refuses with a context before it was not tested.")
		}
	case w.qualifier == WithoutEvidence:
		out = append(out, "The answer is right although the evidence never reached the prompt: "+w.howKnown())
	case w.qualifier == FromMemory:
		c := w.fromMemory()
		out = append(out, fmt.Sprintf("The answer is right and does not come from the evidence: with %s in the gold it stays what it is (%s %d of %d).", c.swapped(), c.result.Cell, c.result.Pass, c.result.Scored))
	case len(w.gold) > 0 && !w.allInPrompt():
		out = append(out, "The answer is right; whether the evidence reached the prompt was not seen.")
	case len(w.gold) > 0 && w.promptUnseen():
		out = append(out, "The evidence is in the context that the service tells, and the answer is right.")
	default:
		out = append(out, "The evidence reached the prompt and the answer is right.")
	}
	return strings.Join(out, " ")
}

// howKnown says what D/closed-book tells of an answer that is right without its evidence.
func (w *walker) howKnown() string {
	closed := w.cells[matrix.CellID("D/"+matrix.ClosedBook)]
	switch {
	case w.standIn, !closed.usable():
		return "the model knew it, guessed it, or took it from another item."
	case closed.passes():
		return fmt.Sprintf("the model knows it without any context (D/closed-book %d of %d).", closed.result.Pass, closed.result.Scored)
	}
	return fmt.Sprintf("another item in the context says so, for without any context it does not (D/closed-book %d of %d).", closed.result.Pass, closed.result.Scored)
}

func isBeforeAnswer(s Stage) bool {
	return slices.Contains([]Stage{StageIndex, StageEmbed, StageRetrieve, StageRerank, StageAssemble}, s)
}

func lowerFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// findings are worth knowing and are not the cause.
func (w *walker) findings() []string {
	var out []string
	out = append(out, w.staleIDs()...)
	out = append(out, w.equivalents()...)
	out = append(out, w.lostSpans()...)
	out = append(out, w.movedPins()...)
	out = append(out, w.embedFindings()...)
	for _, planned := range w.p.Cells {
		if f := w.unmet(planned); f != "" {
			out = append(out, f)
		}
	}
	out = append(out, w.probeFindings()...)
	if closed := w.cells[matrix.CellID("D/"+matrix.ClosedBook)]; w.c.Expect == matrix.ExpectAnswer && closed.passes() && !w.standIn {
		out = append(out, fmt.Sprintf("memory: D/closed-book passes %d of %d without any context", closed.result.Pass, closed.result.Scored))
	}
	for _, planned := range w.p.Cells {
		if slices.ContainsFunc(w.cells[planned.Cell].trials, func(t *matrix.Trial) bool { return t.AnswerLossy }) {
			out = append(out, fmt.Sprintf("answer: one of %s was cut at the size limit, or was not valid UTF-8; it was judged as it is kept", planned.Cell))
		}
	}
	if w.found != nil && len(w.found.Filtered) > 0 {
		out = append(out, fmt.Sprintf("filter: %s not admitted by the declared filter: %s", counted(len(w.found.Filtered), "returned item is", "returned items are"), w.ranksOf(w.search, w.found.Filtered)))
	}
	if open := w.openFilter(); open != "" && !w.filterGuards() {
		out = append(out, "filter: "+open)
	}
	return out
}

// staleIDs reports gold sources that exist nowhere although the span is stored: a matter of the case, not of the index.
func (w *walker) staleIDs() []string {
	var out []string
	for i := range w.o.Store.Gold {
		g := &w.o.Store.Gold[i]
		want := w.c.Evidence.Required[g.Requirement].AnyOf[g.Alternative]
		if moved := Moved(g, want); w.o.Store.Scan.Complete && len(moved) > 0 {
			out = append(out, fmt.Sprintf("fixture/gold-id-stale: no item has the source %s; its span stands in %s", want.Source, quoted(moved)))
		}
	}
	return out
}

// equivalents reports gold that was counted by a copy of its text under another source.
func (w *walker) equivalents() []string {
	var out []string
	for _, g := range w.gold {
		if first := g.place.BySpan; first > 0 && !matrix.Nameless(g.place.ID, "") && len(w.relations(g.requirement)) > 0 && (g.place.BySource == 0 || g.place.BySource > first) {
			out = append(out, fmt.Sprintf("fixture/gold-equivalent: %s at rank %d has the text of gold %s (%s) and counts as it",
				g.place.ID, first, g.source, rankOrAbsent(g.place.BySource)))
		}
	}
	return out
}

// lostSpans reports gold whose span stands nowhere although the answer is right: the case may have it wrong.
func (w *walker) lostSpans() []string {
	var out []string
	for _, g := range w.gold {
		if i := slices.IndexFunc(w.relations(g.requirement), func(r StoredRelation) bool { return r.Stale }); w.outcome == Pass && i >= 0 && g.inStore == matrix.No {
			r := w.relations(g.requirement)[i]
			out = append(out, fmt.Sprintf("revision: gold %s is stored in revision %q (%s), the case needs another", g.source, r.Revision, r.ID))
			continue
		}
		if w.outcome == Pass && w.qualifier == WithoutEvidence && g.inStore == matrix.No {
			out = append(out, fmt.Sprintf("fixture/span-not-found: the span of gold %s stands nowhere in the store (%s scanned), and the answer is right: compare the span with the document, letter by letter", g.source, w.scanned()))
		}
	}
	return out
}

func (w *walker) movedPins() []string {
	var out []string
	pins := w.e.Pins
	if want := pins.Generator.ModelReported; want != "" {
		for _, t := range w.cells[matrix.CellA].trials {
			if t.ModelReported != want && !t.Cached {
				out = append(out, fmt.Sprintf("pin: generator.model_reported is %q, the generator reports %q", want, t.ModelReported))
				break
			}
		}
	}
	if i := pins.Index; w.e.WithoutStore() {
		if i.Revision != "" || i.EmbedModel != "" || i.Dimensions != 0 {
			out = append(out, "pin: index was not compared: "+NoStore)
		}
		return out
	}
	if want := pins.Index.Revision; want != "" && w.o.Store.Revision != want {
		out = append(out, fmt.Sprintf("pin: index.revision is %q, the store says %q", want, orElse(w.o.Store.Revision, "nothing")))
	}
	if e := w.o.Store.Embed; e != nil {
		if want := pins.Index.EmbedModel; want != "" && e.IndexModel != want {
			out = append(out, fmt.Sprintf("pin: index.embed_model is %q, the store declares %q", want, orElse(e.IndexModel, "nothing")))
		}
		if want := pins.Index.Dimensions; want != 0 && e.IndexDimensions != want {
			out = append(out, fmt.Sprintf("pin: index.dimensions is %d, the store has %d", want, e.IndexDimensions))
		}
	}
	return out
}

// unmet reports a perturbation whose expectation does not hold and that no defect rests on.
func (w *walker) unmet(planned matrix.PlannedCell) string {
	c := w.cells[planned.Cell]
	if w.standIn || c.result.Held != matrix.No || planned.Expect != matrix.ExpectBreaks {
		return ""
	}
	if planned.Cell.Variant() == matrix.SwapSpan {
		return fmt.Sprintf("memory: %s passes %d of %d with %s in its context: the answer keeps the old fact", planned.Cell, c.result.Pass, c.result.Scored, c.swapped())
	}
	return fmt.Sprintf("%s still passes %d of %d: the answer does not depend on this item", planned.Cell, c.result.Pass, c.result.Scored)
}
