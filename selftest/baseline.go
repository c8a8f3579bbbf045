package selftest

import (
	"strings"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/results"
)

// spanScript is what ten lines can do: is the gold span in the store, in the candidates, in the prompt? It answers with a stage.
func spanScript(b *results.Bundle) string {
	o := &b.Observations
	var candidates, prompt strings.Builder
	for i := range o.Retrievals {
		if r := &o.Retrievals[i]; r.Cell == matrix.CellC {
			for _, h := range r.PassedOn() {
				candidates.WriteString(h.Text.Value + "\n")
			}
		}
	}
	for i := range o.Trials {
		if t := &o.Trials[i]; t.Cell == matrix.CellA && t.Rep == 1 {
			for _, m := range t.Prompt {
				prompt.WriteString(m.Text.Value + "\n")
			}
		}
	}
	for i := range b.Case.Evidence.Required {
		span := b.Case.Evidence.Required[i].AnyOf[0].Span
		switch {
		case i >= len(o.Store.Gold) || len(o.Store.Gold[i].Exact) == 0:
			return "index"
		case !strings.Contains(candidates.String(), span):
			return "retrieve"
		case !strings.Contains(prompt.String(), span):
			return "assemble"
		}
	}
	return "generate"
}
