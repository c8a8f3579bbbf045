package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/results"
)

func TestHistory(t *testing.T) {
	t.Parallel()
	entry := func(id, observation, pins, rules string, outcome verdict.Outcome, a results.Counted, defects ...string) results.Entry {
		return results.Entry{
			Case: "vpn", Execution: results.ExecutionID(id), Status: results.StatusComplete, CaseDigest: "c", Pins: pins, Observation: observation, Ruleset: rules,
			Outcome: outcome, Defects: defects, Grade: verdict.Shown, Production: a,
		}
	}
	of := results.History{
		Case: "vpn", More: 3, LedgerHead: strings.Repeat("0", 64),
		Entries: []results.Entry{
			entry("20261129T200004Z-aaaaaa", "1", "p", "r", verdict.Pass, results.Counted{Pass: 9, Scored: 10, Interval: []string{"0.55", "0.99"}}),
			entry("20261129T200003Z-aaaaaa", "2", "p", "r", verdict.Fail, results.Counted{Scored: 1}, "retrieve/below-cutoff", "generate/incomplete"),
			entry("20261129T200002Z-aaaaaa", "3", "q", "s", verdict.Fail, results.Counted{}, "index/missing"),
			entry("20261129T200001Z-aaaaaa", "3", "q", "r", verdict.Inconclusive, results.Counted{Pass: 1, Scored: 2, Interval: []string{"0.09", "0.91"}}),
		},
	}
	for name, h := range map[string]results.History{
		"history_case": of,
		"history_hostile": {Case: "a\x1b[2J\u202e::error::", Entries: []results.Entry{
			entry("20261129T200004Z-aaaaaa", "1", "p", "r", "fail\r", results.Counted{Pass: 1, Scored: 1}, "::error::x\x1b]0;y\x07"),
		}, Unread: []results.Unread{{Execution: "20261129T200004Z-aaaaaa", File: "x\x1b[31m.bundle.zip", Why: "::add-mask::"}}},
		"history": {
			LedgerHead: strings.Repeat("ab", 32), Problems: []string{`execution "20261129T200009Z-aaaaaa" is in the ledger, and its folder is gone`},
			Executions: []results.Executed{
				{Execution: "20261129T200004Z-aaaaaa", Name: "nightly", Pins: "p", Planned: 400, Ended: "x", Exit: new(3), Outcomes: map[verdict.Outcome]int{verdict.Fail: 2, verdict.Pass: 398}},
				{Execution: "20261129T200003Z-aaaaaa", Name: "nightly", Pins: "q", Planned: 400, Resumed: 2, Outcomes: map[verdict.Outcome]int{verdict.Pass: 1}},
				{Execution: "20261129T200002Z-aaaaaa", Name: "nightly", Pins: "q", Planned: 3, Ended: "x", Exit: new(4), Stopped: results.StoppedLimit},
				{Execution: "20261129T200001Z-aaaaaa", Unledgered: true},
			},
		},
	} {
		var b bytes.Buffer
		if err := History(&b, &h, Options{}); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
	}
}
