package experiments

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadRuleset(t *testing.T) {
	t.Parallel()
	known := []string{"index/missing", "index/missing#2", "retrieve/below-cutoff", "seam/cause-not-shown"}
	for name, tc := range map[string]struct {
		text     string
		want     Ruleset
		problems string // a line each, behind the file's name
	}{
		"rules":           {text: "ruleset: v1\nrules:\n- seam/cause-not-shown\n- index/missing#2\n", want: Ruleset{Rules: []string{"seam/cause-not-shown", "index/missing#2"}}},
		"rules and alpha": {text: "ruleset: v1\nrules: [index/missing]\nalpha: 0.010\n", want: Ruleset{Rules: []string{"index/missing"}, Alpha: "0.01"}},
		"in JSON":         {text: "{\"ruleset\": \"v1\",\n \"rules\": [\"index/missing\"], \"alpha\": 0.2}", want: Ruleset{Rules: []string{"index/missing"}, Alpha: "0.2"}},
		"all that is wrong at once": {
			text: "ruleset: v2\nrule: []\nrules:\n- index/mising\n- index/missing\n- nothing\n- index/missing\n- {a: b}\nalpha: 1\n",
			problems: `1:10: ruleset must be v1, the version of this format
2:1: unknown key "rule": did you mean "rules"?
4:3: unknown rule "index/mising": did you mean "index/missing"?
6:3: unknown rule "nothing": culprit labels --ruleset lists them
7:3: rule "index/missing" is already listed at 5:3: keep one of the two
8:3: a rule must be text, such as index/missing
9:8: alpha must be a number above 0 and at most 0.2, such as 0.05`,
		},
		"a rule more than the label has": {text: "ruleset: v1\nrules: [index/missing#3]\n", problems: `2:9: unknown rule "index/missing#3": did you mean "index/missing#2"?`},
		"neither":                        {text: "alpha: \"0.05\"\n", problems: "1:1: rules is missing: list the rules that take part; culprit labels --ruleset prints all of them\n1:1: ruleset is missing: write ruleset: v1\n1:8: alpha must be a number above 0 and at most 0.2, such as 0.05"},
		"no rule":                        {text: "ruleset: v1\nrules: []\n", problems: "2:8: rules must be a list of one rule at the least"},
		"rules as text":                  {text: "ruleset: v1\nrules: index/missing\n", problems: "2:8: rules must be a list of one rule at the least"},
		"a list":                         {text: "- index/missing\n", problems: "1:1: a ruleset has the keys ruleset and rules, and alpha where it is another: culprit labels --ruleset prints one"},
		"rules twice":                    {text: "ruleset: v1\nrules: [index/missing]\nrules: [index/missing]\n", problems: `3:1: key "rules" is already given at 2:1: keep one of the two`},
		"an alias":                       {text: "ruleset: v1\nrules: [&a index/missing, *a]\n", problems: "2:9: anchor &a: anchors are not allowed, so write the value out where it is needed (include: shares parts between files)\n2:27: alias *a: aliases are not allowed, so write the value out"},
		"nothing":                        {text: "", problems: "1:1: the file is empty"},
		"no YAML":                        {text: "ruleset: v1: v2\n", problems: `1:12: a second ": " on one line: put the value in quotes, or check the indentation`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "rules.yaml")
			write(t, file, tc.text)
			got, err := ReadRuleset(file, known)
			var problems Problems
			if err != nil && !errors.As(err, &problems) {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.problems, strings.ReplaceAll(problems.Error(), file+":", "")); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if err == nil {
				if diff := cmp.Diff(tc.want, *got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
	if _, err := ReadRuleset(filepath.Join(t.TempDir(), "none.yaml"), known); err == nil || !strings.Contains(err.Error(), "none.yaml: ruleset does not exist") {
		t.Errorf("no file: %v", err)
	}
}
