package verdict

import (
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/matrix"
)

// TestUnstableWhereGoldRestores: an answer that is right now and then with all of the evidence is unstable, and where gold alone is shown to
// be right more often, the verdict says that as well.
func TestUnstableWhereGoldRestores(t *testing.T) {
	t.Parallel()
	for wrong, want := range map[int]bool{0: true, 10: false} { // answers of B, of 20
		e, c, p, o := askedCase(20, func(trial *matrix.Trial) {
			trial.Answer = matrix.NewText("It is forty crowns.")
			if trial.Cell == matrix.CellA && trial.Rep > 8 || trial.Cell == matrix.CellB && trial.Rep <= wrong {
				trial.Answer = matrix.NewText("It is fifty crowns.")
			}
		})
		ev := evaluated(t, e, c, p, o)
		findings := strings.Join(ev.Findings, "\n")
		if len(ev.Defects) == 0 || ev.Defects[0].Name() != "generate/unstable" || strings.Contains(findings, "attribution: ") != want {
			t.Errorf("B wrong in %d: %+v with %q, attributed %+v", wrong, ev.Defects, findings, ev.Attribution)
		}
	}
}
