package experiments

import (
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func labelsOf(t *testing.T, name, text string) ([]Label, Problems) {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	labels, err := Labels(name)
	var problems Problems
	if err != nil && !errors.As(err, &problems) {
		t.Fatal(err)
	}
	return labels, problems
}

// TestLabels reads the same labels in both forms.
func TestLabels(t *testing.T) {
	want := []Label{
		{Call: "sha256:1", Human: LabelPass, Second: LabelFail},
		{Case: "fee", Cell: "A", Rep: 2, Claim: "a, b", Human: LabelFail},
		{Call: "sha256:2"},
	}
	for name, text := range map[string]string{
		"labels.jsonl": "\ufeff" + `{"call":"sha256:1","human":"pass","second":" Fail ","answer":"Forty."}` + "\r\n\n" +
			`{"case":"fee","cell":"A","rep":2,"claim":"a, b","human":"fail","second":null}` + "\n" + `{"call":"sha256:2","human":""}`,
		"labels.CSV": "\ufeffcall,case,cell,rep,claim,human,second,answer\nsha256:1,,,,,pass, Fail ,Forty.\n" +
			",fee,A,2,\"a, b\",fail,,\"two\nlines\"\nsha256:2,,,,,,,\n",
	} {
		t.Run(name, func(t *testing.T) {
			got, problems := labelsOf(t, name, text)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Label{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestLabelsWithMistakes finds every mistake with its place, in one pass.
func TestLabelsWithMistakes(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"a.jsonl": {
			`{"call":"k","human":"yes"}
{"call":"k","humann":"pass"}
{"case":"fee","cell":"A","human":"pass"}
{"call":"k","rep":0,"human":"pass","claim":7}
{"call":"k","human":"pass","human":"fail"}
nonsense
{"call":"k","human":"pass"} {}
{"call":"k"
{"call":"k","second":"pass"}
`,
			[]string{
				`a.jsonl:1:13: human is "yes": write pass where the answer states the claim, and else fail`,
				`a.jsonl:2:13: unknown key "humann": did you mean "human"?`,
				`a.jsonl:3:1: this label names no judgement: give call, or case, cell, rep and claim`,
				`a.jsonl:4:13: rep is "0": it is a repetition, from 1`,
				`a.jsonl:4:36: "claim" must be text`,
				`a.jsonl:5:28: key "human" is given twice: keep one of the two`,
				`a.jsonl:6:1: a label is a JSON object, one a line, such as {"call": …, "human": "pass"}`,
				`a.jsonl:7:29: something follows the object: one line holds one label`,
				`a.jsonl:8:12: this object is not closed: one line holds one whole object`,
				`a.jsonl:9:1: second is given and human is not: the first person's verdict is human`,
			},
		},
		"b.csv": {
			"call,humann,human\nk,pass,perhaps\nk,pass\n\"k\"x,pass,pass\n,,pass\n",
			[]string{
				`b.csv:1:6: unknown key "humann": did you mean "human"?`,
				`b.csv:2:8: human is "perhaps": write pass where the answer states the claim, and else fail`,
				`b.csv:3:1: this record has 2 fields, and the header has 3`,
				`b.csv:4:3: this is not CSV: extraneous or missing " in quoted-field`,
				`b.csv:5:1: this label names no judgement: give call, or case, cell, rep and claim`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			labels, problems := labelsOf(t, name, test.text)
			var got []string
			for _, p := range problems {
				got = append(got, p.String())
			}
			if diff := cmp.Diff(test.want, got); diff != "" || labels != nil {
				t.Errorf("labels %v, -want +got:\n%s", labels, diff)
			}
		})
	}
	if _, err := Labels("no-such.jsonl"); err == nil || err.Error() != "no-such.jsonl: labels file does not exist" {
		t.Error(err)
	}
}
