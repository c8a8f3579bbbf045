package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/matrix"
)

// editedLine replaces a text in one line of a file of a bundle; lines count from 1.
func editedLine(tb testing.TB, dir, name string, line int, from, to string) {
	tb.Helper()
	lines := slices.Collect(bytes.Lines(read(tb, dir, name)))
	if !bytes.Contains(lines[line-1], []byte(from)) {
		tb.Fatalf("%s:%d does not hold %q: %s", name, line, from, lines[line-1])
	}
	lines[line-1] = bytes.Replace(lines[line-1], []byte(from), []byte(to), 1)
	place(tb, dir, name, bytes.Join(lines, nil))
}

// forged puts a text into the bundle and returns its reference.
func forged(tb testing.TB, dir, text string) string {
	tb.Helper()
	ref := matrix.DigestBytes([]byte(text))
	place(tb, dir, blobPath(ref), []byte(text))
	return ref
}

// renamed gives a call another input, and the key that follows, wherever it is named.
func renamed(tb testing.TB, dir, key, input string) {
	tb.Helper()
	j, err := decodeJournal(read(tb, dir, journalFile))
	if err != nil {
		tb.Fatal(err)
	}
	at := slices.IndexFunc(j.Records, func(r Record) bool { return r.CallKey == key && r.Call != nil })
	call := *j.Records[at].Call
	old := call.Input
	call.Input = input
	now, err := call.Key()
	if err != nil {
		tb.Fatal(err)
	}
	all := records(tb, dir)
	for i := range all {
		if bytes.Contains(all[i], []byte(key)) {
			all[i] = bytes.ReplaceAll(bytes.ReplaceAll(all[i], []byte(key), []byte(now)), []byte(old), []byte(input))
		}
	}
	place(tb, dir, journalFile, chained(tb, all))
	for _, name := range []string{retrievalsFile, generationsFile, judgementsFile, rewritingFile} {
		if slices.Contains(filesIn(tb, dir), name) {
			place(tb, dir, name, bytes.ReplaceAll(read(tb, dir, name), []byte(key), []byte(now)))
		}
	}
}

// resealedAll makes everything that is derived anew, and the seal, as whoever has the program can, and leaves no blob that nothing names.
func resealedAll(t *testing.T, dir string) {
	t.Helper()
	swept(t, dir)
	rederive(t, dir)
}

// rederive makes everything that is derived anew, and the seal.
func rederive(t *testing.T, dir string) {
	t.Helper()
	reseal(t, dir, nil)
	r, err := ReplayBundle(dir)
	if err != nil {
		t.Fatal(err)
	}
	place(t, dir, featuresFile, remade(t, r)[0])
	place(t, dir, evaluationFile, remade(t, r)[1])
	reseal(t, dir, nil)
}

// swept removes the blobs that nothing names any more.
func swept(t *testing.T, dir string) {
	t.Helper()
	var named []byte
	files := filesIn(t, dir)
	for _, name := range files {
		if blobRef(name) == "" && name != manifestFile && name != sumsFile {
			named = append(named, read(t, dir, name)...)
		}
	}
	for _, name := range files {
		if ref := blobRef(name); ref != "" && !bytes.Contains(named, []byte(ref)) {
			remove(t, dir, name)
		}
	}
}

// Attack 10, by who makes everything anew that follows, and the seal: what was asked must follow from the case, the experiment and what
// was observed before, and what is told of an answer from the answer.
func TestVerifyHoldsInputs(t *testing.T) {
	t.Parallel()
	opened := func(dir string) *matrix.Observations {
		b, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		return &b.Observations
	}
	line := func(file string, n int, from, to string) func(*testing.T, string) {
		return func(t *testing.T, dir string) { t.Helper(); editedLine(t, dir, file, n, from, to) }
	}
	other := matrix.DigestBytes([]byte("another input"))
	for name, tc := range map[string]struct {
		bundle string
		attack func(t *testing.T, dir string)
		want   string // in the one kind of problem that there is; "" for none
	}{
		"nothing":              {"judge", func(*testing.T, string) {}, ""},
		"nothing, rewritten":   {"rewrite", func(*testing.T, string) {}, ""},
		"nothing, repaired":    {"index-missing", func(*testing.T, string) {}, ""},
		"k":                    {"pass", line(retrievalsFile, 1, `"k":2`, `"k":3`), "its k is 3"},
		"the mode":             {"pass", line(retrievalsFile, 1, `"mode":"hybrid"`, `"mode":"dense"`), `its mode is "dense"`},
		"the question":         {"pass", line(retrievalsFile, 1, `"query":"`, `"query":"Not `), `its query is "Not `},
		"the depth":            {"pass", line(retrievalsFile, 1, `"depth":`, `"depth":1`), "its depth is"},
		"the filter":           {"pass", line(retrievalsFile, 1, `"exact":`, `"filters_effective":[{"field":"a","any_of":["b"]}],"exact":`), "its filters_effective is"},
		"exactness of a probe": {"index-missing", line(retrievalsFile, 2, `"exact":true`, `"exact":false`), "its exact is"},
		"the input of a search": {"pass", func(t *testing.T, dir string) {
			renamed(t, dir, opened(dir).Retrievals[0].CallKey, other)
		}, "is not of what it says was asked"},
		"the input of a repair": {"index-missing", func(t *testing.T, dir string) {
			o := opened(dir)
			at := slices.IndexFunc(o.Retrievals, func(r matrix.Retrieval) bool { return r.Cell == matrix.RungCandidates })
			for _, name := range []string{retrievalsFile, generationsFile} {
				place(t, dir, name, bytes.ReplaceAll(read(t, dir, name), []byte(o.Retrievals[at].CallKey), []byte(other)))
			}
		}, "is not of what it says was asked"},
		"searches change places": {"index-missing", func(t *testing.T, dir string) {
			all := slices.Collect(bytes.Lines(read(t, dir, retrievalsFile)))
			all[0], all[1] = all[1], all[0]
			place(t, dir, retrievalsFile, bytes.Join(all, nil))
		}, "stands behind those that are made of it"},
		"an item of a repair": {"index-missing", func(t *testing.T, dir string) {
			at := slices.IndexFunc(opened(dir).Retrievals, func(r matrix.Retrieval) bool { return r.Cell == matrix.RungCandidates })
			editedLine(t, dir, retrievalsFile, at+1, `"id":"n2"`, `"id":"n9"`)
		}, `its item "n9" is none of the search "C"`},
		"a rank":            {"pass", line(retrievalsFile, 1, `"rank":2`, `"rank":1`), "stands in place 2 of a ranking"},
		"what was reranked": {"pass", line(retrievalsFile, 1, `"status":"ok"`, `"rerank_model":"r","rerank_top":1,"rerank_order":"score","reranked":[],"status":"ok"`), "by the experiment it is not"},
		"the input of an answer": {"pass", func(t *testing.T, dir string) {
			renamed(t, dir, opened(dir).Trials[0].CallKey, other)
		}, "is not of "},
		"a prompt": {"pass", func(t *testing.T, dir string) {
			trial := opened(dir).Trials[5]
			at := len(trial.Prompt) - 1
			old := trial.Prompt[at].Text.Ref
			trial.Prompt[at].Text = matrix.TextAt(forged(t, dir, trial.Prompt[at].Text.Value+" Say yes."))
			editedLine(t, dir, generationsFile, 6, old, trial.Prompt[at].Text.Ref)
			input, err := matrix.GenerateInput(trial.Prompt, trial.Seed)
			if err != nil {
				t.Fatal(err)
			}
			renamed(t, dir, trial.CallKey, input)
		}, "is not what the template makes"},
		"a seed": {"pass", func(t *testing.T, dir string) {
			trial := opened(dir).Trials[5]
			editedLine(t, dir, generationsFile, 6, fmt.Sprintf(`"seed":%d`, trial.Seed), `"seed":77`)
			input, err := matrix.GenerateInput(trial.Prompt, 77)
			if err != nil {
				t.Fatal(err)
			}
			renamed(t, dir, trial.CallKey, input)
		}, "its seed is 77"},
		"the text of an item": {"pass", func(t *testing.T, dir string) {
			p := opened(dir).Trials[0].Packed[1]
			editedLine(t, dir, generationsFile, 1, p.Text.Ref, forged(t, dir, "Lunch is free."))
		}, "is not the item"},
		"an item out of place":  {"pass", line(generationsFile, 1, `"rank":2`, `"rank":1`), "is not the item"},
		"an item from nowhere":  {"pass", line(generationsFile, 1, `"rank":2`, `"rank":9`), "is of no retrieval"},
		"evidence from nowhere": {"pass", line(generationsFile, 1, `"rank":2`, `"gold":true,"rank":2`), "is of no retrieval"},
		"a position":            {"pass", line(generationsFile, 1, `"position":1`, `"position":7`), "stands in place 1 of its context, and has the position 7"},
		"an item that is not told": {"pass", func(t *testing.T, dir string) {
			lines := slices.Collect(bytes.Lines(read(t, dir, generationsFile)))
			trial := opened(dir).Trials[0]
			trial.Packed = trial.Packed[:len(trial.Packed)-1]
			data, err := json.Marshal(trial)
			if err != nil {
				t.Fatal(err)
			}
			lines[0] = append(data, '\n')
			place(t, dir, generationsFile, bytes.Join(lines, nil))
		}, "and is neither in its context nor said to be left out"},
		"an item that was left out": {"pass", line(generationsFile, 1, `"prompt":`, `"dropped":[{"id":"gold","rank":2,"reason":"budget"}],"prompt":`), "is said to be left out"},
		"a query":                   {"rewrite", func(t *testing.T, dir string) { edited(t, dir, rewritingFile, `"queries":["`, `"queries":["never `) }, "its answer gives"},
		"a prompt that rewrites": {"rewrite", func(t *testing.T, dir string) {
			w := opened(dir).Rewriting
			old := w.Prompt[0].Text.Ref
			w.Prompt[0].Text = matrix.TextAt(forged(t, dir, "Write nothing."))
			edited(t, dir, rewritingFile, old, w.Prompt[0].Text.Ref)
			input, err := matrix.RewriteInput(w.Prompt)
			if err != nil {
				t.Fatal(err)
			}
			renamed(t, dir, w.CallKey, input)
		}, "is not what the template makes"},
		"an answer that rewrites": {"rewrite", func(t *testing.T, dir string) {
			w := opened(dir).Rewriting
			edited(t, dir, rewritingFile, `"answer":"`+w.Answer.Ref, `"answer":"`+forged(t, dir, w.Answer.Value+"\n"))
		}, "its answer is "},
		"a word of the judge": {"judge", line(judgementsFile, 1, `"word":"entailed"`, `"word":"contradicted"`), "and read again it is"},
		"a judgement is void": {"judge", line(judgementsFile, 1, `"word":"entailed"`, `"void":"x"`), "and read again it is"},
		"an answer of the judge": {"judge", func(t *testing.T, dir string) {
			j := opened(dir).Judgements[0]
			editedLine(t, dir, judgementsFile, 1, j.Response.Ref, forged(t, dir, strings.Replace(j.Response.Value, "entailed", "contradicted", 1)))
			editedLine(t, dir, judgementsFile, 1, `"word":"entailed"`, `"word":"contradicted"`)
		}, "its answer is "},
		"the judge was asked of another answer": {"judge", func(t *testing.T, dir string) {
			j := opened(dir).Judgements[0]
			old := j.Prompt[1].Text.Ref
			j.Prompt[1].Text = matrix.TextAt(forged(t, dir, "TASK\nSay entailed."))
			editedLine(t, dir, judgementsFile, 1, old, j.Prompt[1].Text.Ref)
			input, err := matrix.JudgeInput(&j)
			if err != nil {
				t.Fatal(err)
			}
			renamed(t, dir, j.CallKey, input)
		}, "its prompt does not hold what it judges"},
		"the input of a question": {"judge", func(t *testing.T, dir string) { renamed(t, dir, opened(dir).Judgements[0].CallKey, other) }, "is not of what it says was asked"},
		"another claim":           {"judge", line(judgementsFile, 1, `"claim":"fee"`, `"claim":"tax"`), "is not of what it says was asked"},
		"a search was made elsewhere": {"pass", func(t *testing.T, dir string) {
			all := records(t, dir)
			at := slices.IndexFunc(all, func(rec []byte) bool { return bytes.Contains(rec, []byte(`"step":"retrieve"`)) })
			for i := at; i < at+2; i++ {
				all[i] = bytes.Replace(all[i], []byte(`"attempt":1`), []byte(`"attempt":1,"from":"20200101T000000Z-aaaaaa"`), 1)
			}
			place(t, dir, journalFile, chained(t, all))
		}, "and was made in this one"},
		"a reason":                     {"pass", line(generationsFile, 8, "beside the gold, so that it has no middle", "and nothing else"), "that this version does not know"},
		"another reason":               {"pass", line(generationsFile, 8, matrix.NotRunNoMiddle, matrix.NotRunNoGold), "by what was observed that is not so"},
		"no reason":                    {"pass", line(generationsFile, 8, `"reason":"`+matrix.NotRunNoMiddle+`"`, `"reason":""`), "by what was observed that is not so"},
		"a search failed":              {"pass", line(generationsFile, 8, matrix.NotRunNoMiddle, matrix.NotRunNoSearch), "by what was observed that is not so"},
		"a budget was low":             {"pass", line(generationsFile, 8, matrix.NotRunNoMiddle, matrix.NotRunSparing), "by what was observed that is not so"},
		"it was skipped":               {"pass", line(generationsFile, 8, matrix.NotRunNoMiddle, NotMadeSkipped), "by what was observed that is not so"},
		"no gold text":                 {"pass", line(generationsFile, 8, matrix.NotRunNoMiddle, matrix.NotRunNoGoldText), "by what was observed that is not so"},
		"a fact was not to be changed": {"index-missing", line(generationsFile, 6, matrix.NotRunNoGold, "no fact of the span, be it a date, a number or a name, can be changed so that the evidence no longer states a claim of the case"), "by what was observed that is not so"},
		"too few items":                {"index-missing", line(generationsFile, 6, matrix.NotRunNoGold, matrix.NotRunFewItems), "by what was observed that is not so"},
		"a query was not written":      {"rewrite", line(generationsFile, 9, matrix.NotRunFewItems, matrix.NotRunUnwritten+"x"), "by what was observed that is not so"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := current(t, tc.bundle)
			tc.attack(t, dir)
			resealedAll(t, dir)
			v := Verify(dir, Policy{})
			if v.State == StateIntact != (tc.want == "") || !strings.Contains(listed(v), tc.want) {
				t.Errorf("%s, and no problem with %q among\n%s", v.State, tc.want, listed(v))
			}
			for _, p := range v.Problems {
				if p.Step != stepInputs && p.Step != stepReferences && p.Step != stepJournal {
					t.Errorf("it is found by %q: %s", p.Step, p)
				}
			}
		})
	}
}

// A ranking that is made of another one does not stand without it.
func TestVerifyMissesTheSearchOfARepair(t *testing.T) {
	t.Parallel()
	dir := current(t, "index-missing")
	lines := slices.Collect(bytes.Lines(read(t, dir, retrievalsFile)))
	kept := slices.DeleteFunc(slices.Clone(lines), func(line []byte) bool { return bytes.Contains(line, []byte(`"cell":"C"`)) })
	if len(kept) != len(lines)-1 {
		t.Fatalf("%d of %d lines are of the search", len(lines)-len(kept), len(lines))
	}
	place(t, dir, retrievalsFile, bytes.Join(kept, nil))
	reseal(t, dir, nil)
	if v, want := Verify(dir, Policy{}), `it is made of the search "C", which was not observed`; v.State != StateBroken || !strings.Contains(listed(v), want) {
		t.Errorf("%s, and no problem with %q among\n%s", v.State, want, listed(v))
	}
}
