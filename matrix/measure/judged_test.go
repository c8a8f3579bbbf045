package measure

import "testing"

// TestJudgedMetrics works the metrics out from recorded judgements.
func TestJudgedMetrics(t *testing.T) {
	t.Parallel()
	for _, v := range vectors(t, "testdata/judged.json") {
		t.Run(v.ID, func(t *testing.T) {
			t.Parallel()
			var in struct {
				Supported    []bool
				Useful       []bool
				Cosines      []string
				Noncommittal bool
			}
			var want string
			decode(t, v.In, &in)
			decode(t, v.Out, &want)
			var got Value
			switch v.Fn {
			case "faithfulness":
				got = Faithfulness(in.Supported)
			case "context_recall":
				got = ContextRecall(in.Supported)
			case "context_precision":
				got = ContextPrecision(in.Useful)
			case "answer_relevancy":
				got = AnswerRelevancy(in.Cosines, in.Noncommittal)
			default:
				t.Fatalf("no test for %s", v.Fn)
			}
			if got.String() != want {
				t.Errorf("want %s, got %s (%s)", want, got, v.Source)
			}
		})
	}
}
