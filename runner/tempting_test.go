package runner_test

import (
	"path/filepath"
	"testing"
)

// TestTemptingFiles holds the rules against whole experiments that look like another failure than they are.
func TestTemptingFiles(t *testing.T) {
	t.Parallel()
	expected := map[string]string{
		"one-of-two-sections-not-ingested":          "index/missing",
		"one-of-two-sections-emptied":               "index/ghost",
		"superseded-text-with-the-same-score":       "index/stale",
		"copies-with-the-same-score":                "retrieve/crowded-out",
		"fused-ranks-that-tie":                      "retrieve/below-cutoff",
		"cited-by-its-id":                           "retrieve/below-cutoff",
		"folded-span-before-the-input-limit":        "retrieve/below-cutoff",
		"cut-prompt-of-one-role":                    "prompt/truncated-by-server",
		"cut-behind-the-span":                       "assemble/span-truncated",
		"longer-vector-ahead":                       "embed/not-normalised",
		"all-vectors-of-one-length":                 "retrieve/below-cutoff",
		"opposite-is-no-copy":                       "retrieve/below-cutoff",
		"leak-that-misleads":                        "access/leak",
		"span-in-two-sections":                      "retrieve/vocabulary-miss",
		"alternative-that-the-asker-may-not-see":    "retrieve/below-cutoff",
		"empty-answer":                              "generate/empty-answer",
		"ends-in-one-letter-of-the-span":            "index/overwritten, abstain/refused-answerable",
		"invisible-body":                            "index/ghost",
		"missing-and-a-prompt-without-context":      "index/missing, prompt/not-serialised",
		"missing-and-a-replaced-fact":               "index/missing, prompt/escaped-away",
		"no-evidence-declared":                      "inconclusive",
		"no-shared-word-below-the-depth":            "retrieve/vocabulary-miss, abstain/refused-answerable",
		"old-revision-holds-the-span":               "index/stale",
		"old-revision-ranks-first":                  "retrieve/below-cutoff",
		"one-source-without-revisions":              "retrieve/below-cutoff",
		"other-section-has-another-revision":        "index/missing",
		"other-tokenizer-chinese":                   "generate/ignored-evidence",
		"other-tokenizer-json":                      "generate/ignored-evidence",
		"other-tokenizer-russian":                   "generate/ignored-evidence",
		"prefix-lost-on-another-item":               "retrieve/below-cutoff",
		"prefix-lost-on-another-item-and-a-filter":  "retrieve/filtered-out",
		"prompt-without-context-and-no-closed-book": "prompt/not-serialised",
		"refuses-in-other-words":                    "abstain/undeclared-refusal",
		"refuses-and-says-it-all-the-same":          "abstain/answered-unanswerable",
		"rows-of-a-table":                           "retrieve/below-cutoff",
		"same-words-in-another-collection":          "index/missing",
		"scores-that-differ-little":                 "index/stale",
		"stored-text-lacks-the-fact":                "index/partial",
		"two-repeats":                               "inconclusive", // too few to tell anything
	}
	files, err := filepath.Glob("testdata/tempting/*.yaml")
	if err != nil || len(files) != len(expected) {
		t.Fatalf("%d files, %d expectations, %v", len(files), len(expected), err)
	}
	for _, file := range files {
		name := filepath.Base(file[:len(file)-len(".yaml")])
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for id, b := range run(t, load(t, file, change{})) {
				consistent(t, b.Evaluation)
				if got := verdictOf(b.Evaluation); got != expected[name] {
					t.Errorf("case %s: got %s, want %s\n    %s", id, got, expected[name], explained(b.Evaluation))
				}
			}
		})
	}
}
