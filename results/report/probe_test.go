package report

import (
	"bytes"
	"testing"
	"time"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/results"
)

// probed is a probe of a staging index with something of everything, whose untrusted texts are all said.
func probed(said string) *results.Probe {
	e := &matrix.Experiment{
		Name:     "hr-staging",
		Backends: matrix.Backends{Store: &matrix.Backend{Adapter: "qdrant", Settings: []byte(`{"address":"localhost:6334","collection":"hr"}`)}},
		Pipeline: matrix.Pipeline{Search: matrix.Search{Mode: "dense", K: 5}},
	}
	p := results.NewProbe(e, time.Date(2026, 11, 30, 2, 0, 0, 0, time.UTC))
	p.Store.Engine, p.Store.Version, p.Store.Collection, p.Store.Items, p.Store.Dimensions, p.Store.Distance = "qdrant", "1.16.3", "hr_2026_11"+said, 18234, 512, "cosine"
	p.Notes = []string{"the collection is yellow: it is being optimised" + said}
	p.Scan, p.ScanMS = matrix.ScanFacts{Scanned: 18234, Counted: 18234, Complete: true}, 3100
	p.Fresh = &matrix.FreshFacts{Items: 18234, Timed: 18000, Updated: 12, Examples: []string{"a1" + said, "b2"}}
	rank := 3
	check := func(name string, result matrix.Answer, evidence string) verdict.Check {
		return verdict.Check{Name: name, Result: result, Evidence: evidence}
	}
	p.Add(verdict.Examination{
		Case: "leave-policy", Risk: matrix.RiskBlocking, Defects: []verdict.Defect{},
		Checks: []verdict.Check{
			check("corpus_hit", matrix.Yes, "hr-2026: 7"), check("fresh", matrix.Yes, ""), check("embed_behaviour_match", matrix.Yes, "64 of 64"),
			check("index_stable", matrix.Unknown, "no fingerprint"), check("gold_in_candidates", matrix.Yes, ""),
		},
		Retrieval: verdict.RetrievalResult{
			Gold:    []verdict.GoldRank{{Source: "hr-2026", Stored: matrix.Yes, Rank: &rank}},
			Metrics: []verdict.Metric{{Name: "recall@5", Value: "1.000000"}, {Name: "id_recall@5", Value: "1.000000"}},
		},
	}, 1)
	p.Add(verdict.Examination{
		Case: "expenses-cap-007" + said, Risk: matrix.RiskBlocking,
		Defects: []verdict.Defect{{Stage: verdict.StageIndex, Label: "partial", Evidence: []string{"gold hr-204: the span is split over hr-204#3 and hr-204#4" + said}}},
		Checks: []verdict.Check{
			check("corpus_hit", matrix.No, "hr-204: in none; split over hr-204#3 and hr-204#4"+said), check("fresh", matrix.No, "hr-204#3: its source was updated"+said),
			check("embed_behaviour_match", matrix.Yes, "64 of 64"), check("index_stable", matrix.Unknown, "no fingerprint"), check("gold_in_candidates", matrix.No, ""),
		},
		Retrieval: verdict.RetrievalResult{
			Gold:    []verdict.GoldRank{{Source: "hr-204", Stored: matrix.No}},
			Metrics: []verdict.Metric{{Name: "recall@5", Value: "0.000000"}, {Name: "id_recall@5", Value: "1.000000"}},
		},
	}, 1)
	p.Add(verdict.Examination{Case: "travel", Risk: matrix.RiskInvestigate, Defects: []verdict.Defect{}, Error: "timeout: no answer" + said}, 1)
	p.Total()
	return p
}

func TestProbeScreens(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		probe   *results.Probe
		options Options
	}{
		"probe":         {probe: probed("")},
		"probe-narrow":  {probe: probed(""), options: Options{Width: 60}},
		"probe-hostile": {probe: probed("\x1b[2J\u202e\n::error::boo\tx")},
		"probe-empty":   {probe: &results.Probe{Name: "nothing"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			if err := Probe(&b, tc.probe, tc.options); err != nil {
				t.Fatal(err)
			}
			if bytes.ContainsAny(b.Bytes(), "\x1b\u202e") {
				t.Error("what is said reaches the terminal as it is")
			}
			golden(t, name, b.Bytes())
		})
	}
}

func TestProbeExits(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		change func(*results.Probe)
		want   int
	}{
		{"a blocking defect", func(*results.Probe) {}, 3},
		{"none", func(p *results.Probe) { p.Cases = p.Cases[:1] }, 0},
		{"a defect that does not block", func(p *results.Probe) { p.Cases = p.Cases[:2]; p.Cases[1].Risk = matrix.RiskInvestigate }, 0},
		{"a failed search of any risk", func(p *results.Probe) { p.Cases = p.Cases[2:] }, 5},
		{"something unknown", func(p *results.Probe) { p.Cases = p.Cases[:1]; p.Cases[0].Checks[0].Result = matrix.Unknown }, 4},
		{"an index that moved", func(p *results.Probe) { p.Cases = p.Cases[:1]; p.Cases[0].Checks[3].Result = matrix.No }, 4},
		{"another embedder", func(p *results.Probe) { p.Cases = p.Cases[:1]; p.Cases[0].Checks[2].Result = matrix.No }, 3},
	} {
		p := probed("")
		test.change(p)
		if p.Total(); p.Exit != test.want {
			t.Errorf("%s: exit %d, want %d", test.name, p.Exit, test.want)
		}
	}
}
