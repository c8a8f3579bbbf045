package experiments

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A reranker that waits for a profile is used; one that nothing uses is told of.
func TestRerankerThatAProfileUses(t *testing.T) {
	t.Parallel()
	const head = `
-- experiment.yaml --
culprit: v1
name: rerank
backends: {store: {adapter: plain}, generator: {adapter: plain}, reranker: {adapter: plain}}
cases: [{id: a, query: q, expect: abstain}]
`
	const warning = "this reranker is not used"
	for name, test := range map[string]struct {
		rest    string
		options Options
		warned  bool
	}{
		"nothing uses it":          {"", Options{}, true},
		"a profile does":           {"profiles: {better: {pipeline: {rerank: {top: 2}}}}\n", Options{}, false},
		"that profile is chosen":   {"profiles: {better: {pipeline: {rerank: {top: 2}}}}\n", Options{Profile: "better"}, false},
		"a profile takes it away":  {"pipeline: {rerank: {top: 2}}\nprofiles: {less: {pipeline: {rerank: null}}}\n", Options{Profile: "less"}, false},
		"--set uses it":            {"", Options{Set: []string{"pipeline.rerank.top=2"}}, false},
		"--set takes it away":      {"pipeline: {rerank: {top: 2}}\n", Options{Set: []string{"pipeline.rerank=null"}}, false},
		"a profile about the rest": {"profiles: {better: {pipeline: {search: {k: 2}}}}\n", Options{}, true},
		"a profile that is none":   {"profiles: {less: {pipeline: {rerank: null}}}\n", Options{}, true},
	} {
		got := problems(t, folderOf(t, head+test.rest), test.options)
		if strings.Contains(got, warning) != test.warned {
			t.Errorf("%s: warned should be %v:\n%s", name, test.warned, got)
		}
	}
}

// Without words for a refusal, no answer can meet a case that expects one.
func TestRefusalThatCannotBeKnown(t *testing.T) {
	t.Parallel()
	const head = `
-- experiment.yaml --
culprit: v1
name: refusal
backends: {store: {adapter: plain}, generator: {adapter: plain}}
pipeline: {refusal: %s}
cases:
  - {id: refuses, query: q, expect: abstain}
  - {id: asks-back, query: q, expect: clarify}
  - {id: answers, query: q, claims: [{id: x, any: [five]}]}
`
	want := "warning: experiment.yaml:4:21: refusal is an empty list, and case \"asks-back\" expects clarify: no answer can pass, so name the words by which a refusal is known\n" +
		"warning: experiment.yaml:4:21: refusal is an empty list, and case \"refuses\" expects abstain: no answer can pass, so name the words by which a refusal is known\n"
	for refusal, want := range map[string]string{"[]": want, "[no idea]": ""} {
		if diff := cmp.Diff(want, problems(t, folderOf(t, fmt.Sprintf(head, refusal)), Options{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", refusal, diff)
		}
	}
}

// A span that stands in several places says of none that it is the evidence.
func TestSpanThatStandsInManyPlaces(t *testing.T) {
	t.Parallel()
	got := problems(t, folderOf(t, `
-- experiment.yaml --
culprit: v1
name: spans
backends:
  generator: {adapter: plain}
  store:
    adapter: plain
    documents:
      - {id: leave#1, source: leave, text: The policy applies to 5 countries.}
      - {id: leave#2, source: leave, text: The policy  applies to all.}
      - {id: leave#3, source: leave, revision: "2024", text: Leave is 12 days.}
      - {id: leave#4, source: leave, revision: "2025", text: Leave is 14 days.}
      - {id: copy#1, source: copy, text: One text.}
      - {id: copy#2, source: copy, text: one  text}
      - {id: window#1, source: window, text: Every member may borrow one tool for}
      - {id: window#2, source: window, text: may borrow one tool for a week}
      - {id: a, text: 5 weeks and 12 days}
      - {id: b, text: 5 months and 12 days}
      - {id: c, text: 5 years and 12 days}
      - {id: d, text: 5 days and the policy applies}
cases:
  - id: some
    query: q
    evidence:
      required:
        - {source: leave, span: The policy applies}
        - {source: leave#1, span: The policy applies}
        - {source: leave, span: 12 days}
        - {source: leave, span: Leave is}
        - {source: leave, revision: "2024", span: Leave is}
        - {source: copy, span: One text}
        - {source: leave, span: "5"}
        - {source: window, span: borrow one tool}
        - any_of: [{source: leave, span: applies to}, {source: gone, span: x}]
    claims: [{id: x, any: [y]}]
`), Options{})
	want := `warning: experiment.yaml:25:33: case "some": the span "The policy applies" stands in 2 chunks of "leave" that differ, and each counts as the evidence: copy more words
warning: experiment.yaml:28:33: case "some": the span "Leave is" stands in 2 chunks of "leave" that differ, and each counts as the evidence: copy more words
warning: experiment.yaml:31:33: case "some": the span "5" stands in 4 chunks of other documents, too: copy more words
warning: experiment.yaml:33:42: case "some": the span "applies to" stands in 2 chunks of "leave" that differ, and each counts as the evidence: copy more words
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

// However many warnings there are, they hide no mistake and stop nothing.
func TestWarningsNeverBecomeMistakes(t *testing.T) {
	t.Parallel()
	one := "  - {id: c%d, query: q, claims: [{id: x, any: [the]}]}\n"
	text := "culprit: v1\nname: many\nbackends: {store: {adapter: plain}, generator: {adapter: plain}}\ncases:\n"
	for i := range 2 * maxProblems {
		text += fmt.Sprintf(one, i)
	}
	dir := t.TempDir()
	write(t, dir+"/experiment.yaml", text)
	if n := len(load(t, dir, Options{}).Warnings); n != maxProblems+1 {
		t.Errorf("%d warnings are shown", n)
	}
	write(t, dir+"/experiment.yaml", text+"  - {id: last, query: q, claims: [{id: x, any: [/(/]}]}\n")
	if got := problems(t, dir, Options{}); !strings.Contains(got, "is not an RE2 expression") {
		t.Errorf("the mistake is hidden:\n%s", got)
	}
}

// Every problem of a case carries its id, so that a caller who keeps some cases can leave out the rest.
func TestProblemsNameTheirCase(t *testing.T) {
	t.Parallel()
	dir := folderOf(t, `
-- experiment.yaml --
culprit: v1
name: about
backends: {store: {adapter: plain, documents: [{id: d, text: t}], chunk: {by: none}}, generator: {adapter: plain}, reranker: {adapter: plain}}
pipeline: {refusal: [], search: {filter: {tenant: "{{as.tenant}}"}}}
cases:
  - {id: filter, query: q, expect: clarify}
  - {id: evidence, query: q, as: {tenant: a}, evidence: {required: [{source: gone, span: s}]}, claims: [{id: x, any: [five]}]}
  - {id: wording, query: q, as: {tenant: a}, claims: [{id: x, any: [the]}]}
`)
	got := map[string]int{}
	for _, p := range load(t, dir, Options{}).Warnings {
		got[p.Case]++
	}
	if diff := cmp.Diff(map[string]int{"": 1, "filter": 2, "evidence": 1, "wording": 1}, got); diff != "" {
		t.Errorf("warnings by case (-want +got):\n%s", diff)
	}
	write(t, dir+"/experiment.yaml", strings.NewReplacer("clarify", "nothing", "[the]", "[/(/]").Replace(read(t, dir+"/experiment.yaml")))
	_, err := Load(dir, Options{Schemas: schemas(t)})
	errors, _ := err.(Problems).split() //nolint:errorlint // Load promises this very type
	for _, p := range errors {
		if want := map[int]string{6: "filter", 8: "wording"}[p.Line]; p.Case != want || want == "" {
			t.Errorf("%s: of case %q", p, p.Case)
		}
	}
	if len(errors) != 2 {
		t.Errorf("%d errors", len(errors))
	}
}

// What the adapters say of their settings stands at the setting, and inside its text; a variable that is not set is a warning.
func TestSettingsOfBackends(t *testing.T) {
	t.Parallel()
	dir := folderOf(t, `
-- experiment.yaml --
culprit: v1
name: settings
backends:
  store: {adapter: plain}
  service:
    adapter: mapped
    headers_env: {X-Key: SET, X-Other: UNSET}
    api_key_env: "EMPTY"
    map:
      request: "{a: ."
      response: |
        {answer: .a,
         packed: .b
    env: [SET, GONE]
    deeper: {key_env: GONE}
  generator: {adapter: plain}
  judge: {adapter: plain, model: other}
cases: [{id: a, query: q, claims: [{id: x, any: [five]}]}]
`)
	asked := map[string]string{}
	got := problems(t, dir, Options{
		Env: func(name string) (string, bool) {
			return map[string]string{"SET": "x", "EMPTY": " "}[name], name == "SET" || name == "EMPTY"
		},
		Check: func(role, adapter string, settings json.RawMessage, dir string) []SettingProblem {
			asked[role] += adapter
			if dir == "" || !json.Valid(settings) {
				t.Errorf("%s: %s in %q", role, settings, dir)
			}
			if adapter != "mapped" {
				return nil
			}
			return []SettingProblem{
				{Path: []string{"map", "request"}, Line: 1, Column: 6, Message: "request"},
				{Path: []string{"map", "response"}, Line: 2, Column: 12, Message: "response"},
				{Path: []string{"map"}, Message: "whole"},
				{Path: []string{"nowhere"}, Line: 1, Column: 9, Message: "nearest", Warning: true},
			}
		},
	})
	if diff := cmp.Diff(map[string]string{"store": "plain", "generator": "plain", "judge": "plain", "service": "mapped"}, asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	unset := func(at, key, name string) string {
		return "warning: experiment.yaml:" + at + ": " + key + " names the variable \"" + name + "\", which is not set or empty: before a run, export " + name + "=…\n"
	}
	want := "warning: experiment.yaml:6:5: nearest\n" + unset("7:40", "headers_env", "UNSET") + unset("8:18", "api_key_env", "EMPTY") +
		"experiment.yaml:10:7: whole\nexperiment.yaml:10:22: request\nexperiment.yaml:13:20: response\n" +
		unset("14:16", "env", "GONE") + unset("15:23", "key_env", "GONE")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}
