package results

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

// told is a bundle of which every pin is told.
func told(tb testing.TB) Bundle {
	tb.Helper()
	b := testBundle(tb, "a", 5)
	b.Evaluation.Cells[0].Pass = 3
	b.Evaluation.Cells[0].Wilson95 = []string{"0.2", "0.9"}
	b.Pins.Store = StorePin{Adapter: "qdrant", Version: "1", Collection: "kb", Count: "10", Fingerprint: "f", Revision: "r", EmbedModel: "small", Dimensions: 3, Distance: "cosine"}
	b.Pins.Embedder = &EmbedderPin{Adapter: "openai", Model: "small", Dimensions: 3, QueryPrefix: "q", PassagePrefix: "p"}
	b.Pins.Reranker = &RerankerPin{Adapter: "rerank", Model: "m"}
	b.Pins.Generator.ModelReported, b.Pins.Generator.SystemFingerprint = []string{"gpt-4.1"}, []string{"fp"}
	b.Pins.Prompt.System = "sha256:1"
	b.Pins.Tokenizer = &TokenizerPin{Name: "o200k_base"}
	b.Pins.Documents = "sha256:2"
	b.Pins.Extra = map[string]string{"ef": "128"}
	return b
}

// One pin at a time is changed, and exactly it is named.
func TestEquivalenceNamesThePinThatMoved(t *testing.T) {
	t.Parallel()
	whole := told(t)
	all, err := flattened("", whole.Pins)
	if err != nil {
		t.Fatal(err)
	}
	changed := 0
	for name, value := range all {
		if name == "schema" || name == "experiment" {
			continue
		}
		then, now := told(t), told(t)
		data, err := json.Marshal(now.Pins)
		if err != nil {
			t.Fatal(err)
		}
		at := name[strings.LastIndexAny(name, ".]")+1:]
		old, fresh := `"`+value+`"`, `"another"`
		switch {
		case strings.Contains(string(data), `"`+at+`":`+value+`,`) || strings.Contains(string(data), `"`+at+`":`+value+`}`):
			old, fresh = value, map[string]string{"3": "4", "true": "false", "false": "true", "1": "2", "0": "9"}[value]
		case strings.HasSuffix(name, "]"):
			at = strings.TrimSuffix(name[strings.LastIndex(name, ".")+1:], "[0]")
			old, fresh = "["+old, "["+fresh
		case at == "deterministic_observed":
			fresh = `"no"`
		case at == "temperature":
			old, fresh = `"`+value+`"`, `"0.1"`
		}
		section := strings.Split(name, ".")[0]
		from := max(0, strings.Index(string(data), `"`+section+`":`))
		text := string(data[:from]) + strings.Replace(string(data[from:]), `"`+at+`":`+old, `"`+at+`":`+fresh, 1)
		now.Pins = Pins{}
		if err := json.Unmarshal([]byte(text), &now.Pins); err != nil {
			t.Fatalf("%s: %v in %s", name, err, text)
		}
		q, err := NewEquivalence(&then, &now)
		if err != nil {
			t.Fatal(err)
		}
		var differ []string
		for _, p := range q.Pins {
			if p.State != PinSame {
				differ = append(differ, p.Name)
			}
		}
		if !slices.Equal(differ, []string{name}) {
			t.Errorf("%s was changed, and %q differ", name, differ)
		}
		want := NotReproduced
		if section == "toolchain" {
			want = Reproduced
		}
		if q.Verdict != want {
			t.Errorf("%s was changed: %s", name, q.Verdict)
		}
		changed++
	}
	if changed < 25 {
		t.Errorf("only %d pins were changed", changed)
	}
}

func TestEquivalence(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(then, now *Bundle)
		want   string
		says   string
		state  string // of the first step that is not identical
	}{
		"nothing": {func(_, _ *Bundle) {}, Reproduced, "", ""},
		"noise": {func(_, now *Bundle) {
			now.Evaluation.Cells[0].Pass = 2
			now.Observations.Trials[0].Answer = matrix.NewText("another answer")
		}, Reproduced, "", StepEquivalent},
		"more than noise": {func(then, now *Bundle) {
			then.Evaluation.Cells[0].Pass, then.Evaluation.Cells[0].Scored = 0, 20
			now.Evaluation.Cells[0].Pass, now.Evaluation.Cells[0].Scored = 20, 20
		}, NotReproduced, "generate of A: passes 0/20, now 20/20", StepDifferent},
		"another label": {func(_, now *Bundle) { now.Evaluation.Outcome, now.Evaluation.Defects = verdict.Pass, nil }, NotReproduced, "the label was retrieve/below-cutoff and is pass", ""},
		"equal scores in another order": {func(then, now *Bundle) {
			for _, b := range []*Bundle{then, now} {
				hits := slices.Clone(b.Observations.Retrievals[0].Candidates)
				hits[1].Score = hits[0].Score
				b.Observations.Retrievals[0].Candidates = hits
			}
			hits := now.Observations.Retrievals[0].Candidates
			hits[0], hits[1] = hits[1], hits[0]
		}, Reproduced, "", StepEquivalent},
		"another ranking": {func(_, now *Bundle) {
			now.Observations.Retrievals[0].Candidates = now.Observations.Retrievals[0].Candidates[1:]
		}, NotReproduced, "retrieve of C: 7 items moved", StepDifferent},
		"a search that is not made": {func(_, now *Bundle) { now.Observations.Retrievals = nil }, NotReproduced, "retrieve of C: it was not made on both sides", StepMissing},
		"another case":              {func(_, now *Bundle) { now.Manifest.CaseDigest = "x" }, NotComparable, "the case was changed", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			then, now := told(t), told(t)
			tc.change(&then, &now)
			q, err := NewEquivalence(&then, &now)
			if err != nil {
				t.Fatal(err)
			}
			state := ""
			for _, s := range q.Steps {
				if s.State != StepIdentical {
					state = s.State
					break
				}
			}
			if q.Verdict != tc.want || !strings.Contains(strings.Join(q.Because, "\n"), tc.says) || state != tc.state {
				t.Errorf("%s, %q, %q", q.Verdict, q.Because, state)
			}
		})
	}
	// What is not told is not the same.
	then, now := told(t), told(t)
	then.Pins.Generator.SystemFingerprint, now.Pins.Generator.SystemFingerprint = nil, nil
	now.Pins.Store.Fingerprint = ""
	q, err := NewEquivalence(&then, &now)
	if err != nil {
		t.Fatal(err)
	}
	var unverifiable []string
	for _, p := range q.Pins {
		if p.State == PinUnverifiable {
			unverifiable = append(unverifiable, p.Name)
		}
	}
	if !slices.Equal(unverifiable, []string{"generator.system_fingerprint[0]", "store.fingerprint"}) || q.Verdict != Reproduced {
		t.Errorf("%q, %s", unverifiable, q.Verdict)
	}
}
