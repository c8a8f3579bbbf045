package runner_test

import (
	"testing"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/runner"
)

// TestEstimateOfRepairs reckons with the dearest repairs at the most, each with what it asks of the store and the reranker, and expects
// none; and with auto it expects as many repeats as a reliable cell takes.
func TestEstimateOfRepairs(t *testing.T) {
	t.Parallel()
	const searches = 2 // of the repairs that are reckoned with, each asks for texts and reranks
	for name, tt := range map[string]struct {
		set             []string
		repairs         int // calls at the most
		worst, expected int // generations of A
	}{
		"auto":              {nil, matrix.MostRepairs * (20 + searches), 20, 7},
		"a release":         {[]string{"runs.max_repeats=50", "runs.alpha=0.01"}, matrix.MostRepairs * (50 + searches), 50, 10},
		"few":               {[]string{"runs.max_repeats=5"}, matrix.MostRepairs * (5 + searches), 5, 5},
		"a fixed number":    {[]string{"runs.repeats=6"}, matrix.MostRepairs * (6 + searches), 6, 6},
		"without repairs":   {[]string{"runs.repairs=false"}, 0, 20, 7},
		"nothing to rerank": {[]string{"pipeline.rerank=null", "backends.reranker=null"}, matrix.MostRepairs * (20 + 1), 20, 7},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			loaded := loadExample(t, "handbook", "", tt.set...)
			loaded.Experiment.Backends.Generator = &matrix.Backend{Adapter: "openai"} // asked for each repeat
			var plans []*matrix.Plan
			for i := range loaded.Cases {
				plan, err := matrix.Expand(&loaded.Experiment, &loaded.Cases[i].Case, false)
				if err != nil {
					t.Fatal(err)
				}
				plans = append(plans, plan)
			}
			estimate, err := runner.EstimateRun(t.Context(), loaded, plans)
			if err != nil {
				t.Fatal(err)
			}
			repairs, a := 0, runner.CellNeed{}
			for _, cell := range estimate.Cells {
				switch {
				case cell.Case != "bonus-points":
				case cell.Cell == "A":
					a = cell
				case cell.Cell == "repairs":
					repairs = cell.Worst.Calls
					if cell.Expected.Calls != 0 {
						t.Errorf("%d repairs are expected", cell.Expected.Calls)
					}
				}
			}
			if repairs != tt.repairs || a.Worst.Calls != tt.worst || a.Expected.Calls != tt.expected {
				t.Errorf("calls: want repairs %d, A %d, expected %d; got %d, %d, %d", tt.repairs, tt.worst, tt.expected, repairs, a.Worst.Calls, a.Expected.Calls)
			}
		})
	}
}
