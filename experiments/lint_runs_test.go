package experiments

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Repeats that can show no pass are told of, at their place.
func TestRepeatsThatCannotShowAPass(t *testing.T) {
	t.Parallel()
	const head = `
-- experiment.yaml --
culprit: v1
name: repeats
backends: {store: {adapter: plain}, generator: %s}
runs: %s
cases: [{id: a, query: q, expect: abstain}]
`
	anything := json.RawMessage(`{"type": "object"}`)
	o := Options{Schemas: schemas(t)}
	o.Schemas["generator"]["embedded"], o.Schemas["generator"]["plugin"] = anything, anything
	const asked = "{adapter: plain}"
	fixed := func(n, alpha string, need int) string {
		return fmt.Sprintf("warning: experiment.yaml:4:17: repeats is %s, and no case can be shown to pass: at alpha %s that takes %d that all pass, or write auto\n", n, alpha, need)
	}
	for _, tt := range []struct{ generator, runs, want string }{
		{asked, "{repeats: 4}", fixed("4", "0.05", 5)},
		{asked, "{repeats: 5}", ""},
		{asked, "{repeats: 6, alpha: 0.01}", fixed("6", "0.01", 7)},
		{asked, "{repeats: auto}", ""},
		{asked, "{max_repeats: 6}", "warning: experiment.yaml:4:21: max_repeats is 6, and no case can be shown to pass: at alpha 0.05 that takes 7 repeats that all pass\n"},
		{asked, "{max_repeats: 7}", ""},
		{asked, "{repeats: 5, max_repeats: 3}", ""}, // which is not used
		{"{adapter: embedded}", "{repeats: 1}", ""},
		{"{adapter: embedded, flip: {rate: 0.5}}", "{repeats: 1}", fixed("1", "0.05", 5)},
		{"{adapter: embedded, deterministic: false}", "{repeats: 1}", fixed("1", "0.05", 5)},
		{"{adapter: plugin}", "{repeats: 1}", ""}, // what it declares is not known yet
	} {
		if diff := cmp.Diff(tt.want, problems(t, folderOf(t, fmt.Sprintf(head, tt.generator, tt.runs)), o)); diff != "" {
			t.Errorf("%s, %s (-want +got):\n%s", tt.generator, tt.runs, diff)
		}
	}
}
