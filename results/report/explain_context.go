package report

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

// firstTrial returns the first trial of a cell that got as far as a context, and what was read from its texts.
func (x *explained) firstTrial(cell matrix.CellID) (*matrix.Trial, *verdict.TrialFeatures) {
	for i := range x.Observations.Trials {
		t := &x.Observations.Trials[i]
		if t.Cell != cell || t.Status == matrix.StatusNotRun {
			continue
		}
		for j := range x.Features.Trials {
			if f := &x.Features.Trials[j]; (f.CallKey == t.CallKey || f.CallKey == "") && f.Cell == t.Cell && f.Rep == t.Rep {
				return t, f
			}
		}
		return t, &verdict.TrialFeatures{}
	}
	return nil, nil
}

// context draws what production packed, what it left out and why, and whether the prompt held the evidence.
func (x *explained) context() {
	t, f := x.firstTrial(matrix.CellA)
	if t == nil {
		return
	}
	if t.Unseen(matrix.PackedUnobserved) {
		x.line("  context, which the service does not tell")
		x.prompt(t, f)
		x.blank()
		return
	}
	assemble := &x.Experiment.Pipeline.Assemble
	unit := fit(assemble.Budget.Unit, 8)
	if unit == "" {
		unit = "units"
	}
	units := 0
	for i := range t.Packed {
		units += t.Packed[i].Units
	}
	head := fmt.Sprintf("context, %s packed, %s", counted(len(t.Packed), "item", "items"), thousands(units)+" "+unit)
	if n := assemble.Budget.N; n > 0 {
		head = fmt.Sprintf("context, %s packed, %s of %s %s", counted(len(t.Packed), "item", "items"), thousands(units), thousands(n), unit)
	}
	x.line("  " + head)
	x.packed(t, f, unit)
	x.leftOut(t, unit)
	x.prompt(t, f)
	x.blank()
}

func (x *explained) packed(t *matrix.Trial, f *verdict.TrialFeatures, unit string) {
	const most = 12
	gold := map[int]bool{}
	for _, g := range f.Gold {
		gold[g.Packed] = true
	}
	forbidden, markRoom := x.forbidden(), 15
	if len(forbidden) > 0 {
		markRoom = columns(forbiddenMark) + 2
	}
	for i := range t.Packed {
		k := &t.Packed[i]
		if i >= most && !gold[k.Position] && !k.Gold && !forbidden[k.ID] {
			continue
		}
		mark := ""
		switch {
		case forbidden[k.ID]:
			mark = forbiddenMark
		case gold[k.Position] || k.Gold:
			mark = goldMark
		}
		if k.Cut {
			mark = strings.TrimSpace(mark + " (cut)")
		}
		line := right(strconv.Itoa(k.Position), 6) + "  " + pad(fitID(shownID(k.ID, k.Source), maxID), x.idWidth(t)) + "  " + right(thousands(k.Units)+" "+unit, 12) + "  "
		textWidth := x.width - columns(line) - markRoom
		if mark == "" {
			textWidth = x.width - columns(line) - 2
		}
		line += pad(x.evidence.preview(shownText(k.Text), textWidth), textWidth)
		if mark != "" {
			line += "  " + x.bold(mark)
		}
		x.line(line)
	}
	if len(t.Packed) > most {
		x.line("     ⋮  " + x.dim("of "+thousands(len(t.Packed))+" items the first "+strconv.Itoa(most)+" and the gold are shown"))
	}
}

func (x *explained) idWidth(t *matrix.Trial) int {
	n := 0
	for i := range t.Packed {
		n = max(n, columns(fitID(shownID(t.Packed[i].ID, t.Packed[i].Source), maxID)))
	}
	for i := range t.Dropped {
		n = max(n, columns(fitID(t.Dropped[i].ID, maxID)))
	}
	return n
}

// leftOut names what was passed on and is not in the context.
func (x *explained) leftOut(t *matrix.Trial, unit string) {
	const most = 12
	var lines []string
	gone := map[string]bool{}
	for i := range t.Packed {
		gone[t.Packed[i].ID] = true
	}
	for _, d := range t.Dropped {
		gone[d.ID] = true
		why := d.Reason
		switch d.Reason {
		case matrix.DroppedBudget:
			why = "over the budget"
			if d.Units > 0 {
				why += fmt.Sprintf(": the context would need %s %s with it", thousands(d.Units), unit)
			}
		case matrix.DroppedDuplicate:
			why = "repeats " + d.Of
		}
		lines = append(lines, x.outLine(t, d.ID, fmt.Sprintf("left out at rank %d, %s", d.Rank, why)))
	}
	if r, _ := x.production(); r != nil {
		for _, h := range r.Kept() {
			if !gone[h.ID] {
				lines = append(lines, x.outLine(t, h.ID, fmt.Sprintf("lost: passed on at rank %d, not packed, and no reason given", h.Rank)))
			}
		}
	}
	for _, line := range lines[:min(most, len(lines))] {
		x.line(line)
	}
	if more := len(lines) - most; more > 0 {
		x.line("     ⋮  " + x.dim(thousands(more)+" more left out"))
	}
}

func (x *explained) outLine(t *matrix.Trial, id, why string) string {
	head := right("–", 6) + "  " + pad(fitID(id, maxID), x.idWidth(t)) + "  "
	return head + fit(why, x.width-columns(head))
}

// prompt says whether the prompt held the evidence, and whether the server read all of it.
func (x *explained) prompt(t *matrix.Trial, f *verdict.TrialFeatures) {
	var parts []string
	switch n := len(f.Gold); {
	case t.Unseen(matrix.PromptUnobserved):
		parts = append(parts, "not told by the service")
	case n > 0:
		held := 0
		for _, g := range f.Gold {
			if g.Prompt {
				held++
			}
		}
		parts = append(parts, fmt.Sprintf("holds %d of %s", held, counted(n, "required span", "required spans")))
	}
	if t.PromptTokensLocal > 0 {
		parts = append(parts, thousands(t.PromptTokensLocal)+" tokens counted here")
	}
	if n := t.Usage.InputTokens; n != nil {
		parts = append(parts, thousands(*n)+" reported by the generator")
	}
	if t.Cached {
		parts = append(parts, "not sent: production served a cached answer")
	}
	if len(parts) > 0 {
		x.paragraph("prompt " + strings.Join(parts, ", "))
	}
	for _, g := range f.Gold {
		if g.Packed >= 1 && g.Packed <= len(t.Packed) && !g.Prompt {
			x.changed(t.Packed[g.Packed-1].Text.Value, t.Prompt)
		}
	}
}

// changed shows the first place at which a packed text and what the prompt made of it part.
func (x *explained) changed(packed string, prompt []matrix.PromptMessage) {
	const before, least = 24, 8 // runes in front of the place; fewer than least in common say nothing
	best, start, within := 0, 0, ""
	for _, m := range prompt {
		if n, at := commonStart(packed, m.Text.Value); n > best {
			best, start, within = n, at, m.Text.Value
		}
	}
	if best < min(least, len(packed)) {
		return
	}
	from := best
	for i := 0; i < before && from > 0; i++ {
		_, size := utf8.DecodeLastRuneInString(packed[:from])
		from -= size
	}
	lead := ""
	if from > 0 {
		lead = "…"
		if space := strings.IndexByte(packed[from:best], ' '); space >= 0 {
			from += space + 1
		}
	}
	x.line("     packed  " + fit(lead+packed[from:], x.width-15))
	x.line("     prompt  " + fit(lead+within[start+from:], x.width-15))
}

// commonStart returns how much of the start of text stands in whole, and where.
func commonStart(text, whole string) (n, at int) {
	ends := make([]int, 0, len(text))
	for i := range text {
		ends = append(ends, i)
	}
	ends = append(ends, len(text))
	first := sort.Search(len(ends), func(i int) bool { return !strings.Contains(whole, text[:ends[i]]) })
	n = ends[max(first-1, 0)]
	return n, strings.Index(whole, text[:n])
}
