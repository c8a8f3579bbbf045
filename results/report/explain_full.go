package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/culprit-rag/culprit/matrix"
)

// full ends the page with the texts that the rest of it cuts: what A packed, the prompts of A and B, and every different answer.
func (x *explained) full() {
	if w := x.Observations.Rewriting; w != nil {
		for _, m := range w.Prompt {
			x.text("prompt of the rewriting, "+fit(m.Role, 16), m.Text)
		}
		x.text("answer of the rewriting", w.Answer)
	}
	if a, _ := x.firstTrial(matrix.CellA); a != nil {
		for i := range a.Packed {
			k := &a.Packed[i]
			x.text(fmt.Sprintf("packed %d, %s", k.Position, fit(k.ID, maxPath)), k.Text)
		}
	}
	for _, cell := range []matrix.CellID{matrix.CellA, matrix.CellB} {
		t, _ := x.firstTrial(cell)
		if t == nil {
			continue
		}
		for i := range t.Prompt {
			x.text(fmt.Sprintf("prompt of %s, %s", cell, fit(t.Prompt[i].Role, 16)), t.Prompt[i].Text)
		}
	}
	x.answersInFull()
}

// answersInFull shows every different answer once, with the cells that gave it.
func (x *explained) answersInFull() {
	cells := map[string][]string{} // by the answer's reference
	var order []matrix.Text
	for i := range x.Observations.Trials {
		t := &x.Observations.Trials[i]
		if t.Status != matrix.StatusOK {
			continue
		}
		if cells[t.Answer.Ref] == nil {
			order = append(order, t.Answer)
		}
		if cell := fit(string(t.Cell), maxPath); !slices.Contains(cells[t.Answer.Ref], cell) {
			cells[t.Answer.Ref] = append(cells[t.Answer.Ref], cell)
		}
	}
	for _, answer := range order {
		x.text("answer of "+strings.Join(cells[answer.Ref], ", "), answer)
	}
}

const (
	maxPath   = 80        // columns of an id in a heading
	fullBytes = 256 << 10 // of one text; more would flood even who asked for all
)

// text shows a text line by line behind a bar, so that nothing in it can be taken for a part of the page.
func (x *explained) text(heading string, t matrix.Text) {
	x.blank()
	for _, line := range wrapSafe(heading, x.width-4) {
		x.line("  " + x.bold(line))
	}
	whole := t.Value
	switch {
	case t.Withheld():
		x.line("  │ (withheld)")
		return
	case len(whole) > fullBytes:
		end := fullBytes
		for !utf8.RuneStart(whole[end]) {
			end--
		}
		whole = whole[:end]
	}
	for line := range strings.Lines(whole) {
		x.barred(strings.TrimRight(line, "\r\n"))
	}
	if n := len(t.Value); n > len(whole) {
		x.line("  │ " + x.dim(fmt.Sprintf("(cut: %s bytes)", thousands(n))))
	}
}

// barred wraps one line of a text; its indent is kept.
func (x *explained) barred(line string) {
	const deepest = 20
	bar := "  │ " + spaces(min(len(line)-len(strings.TrimLeft(line, " ")), deepest))
	safe, _ := clean(line, 16*fullBytes) // no character takes more columns than that: nothing is cut
	lines := wrapSafe(safe, x.width-columns(bar))
	if len(lines) == 0 {
		lines = []string{""}
	}
	for _, part := range lines {
		x.line(bar + part)
	}
}
