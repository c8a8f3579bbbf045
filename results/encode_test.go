package results

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is written case by case must be what is written at once.
func TestEncode(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]Summary{
		"no case": {Schema: SummarySchema, Execution: "20261129T200000Z-k3f9qa", Cases: []CaseSummary{}},
		"one":     {Schema: SummarySchema, Execution: "20261129T200000Z-k3f9qa", Name: `"cases": [] <b>`, Cases: []CaseSummary{{ID: "a", Summary: `"cases": []`}}},
		"two":     {Schema: SummarySchema, Execution: "20261129T200000Z-k3f9qa", Cases: []CaseSummary{{ID: "a"}, {ID: "b", Findings: []string{"x"}}}, Warnings: []string{"w"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, err := json.MarshalIndent(s, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if err := s.Encode(&got, "  "); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want)+"\n", got.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
