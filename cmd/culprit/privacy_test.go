package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
	"github.com/culprit-rag/culprit/results"
)

const (
	secretFee    = "The harbour fee of the northern pier is forty-one crowns for each mast."
	secretDraft  = "A draft of the harbour fee says thirty-nine crowns for each oar."
	internalNote = "The harbour office opens at nine."
)

// runPrivate runs a case of one store with restricted items, and returns the path of its bundle.
func runPrivate(t *testing.T, sensitivity string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "experiment.yaml"), fmt.Sprintf(`culprit: v1
name: private
backends:
  store:
    adapter: embedded
    documents: documents.jsonl
  generator: {adapter: embedded}
  judge: {adapter: embedded, model: judge-1}
judge: {claims: true, faithfulness: true, context_precision: true}
pipeline:
  search: {k: 2}
  prompt: {user: "{{#context}}[{{id}}] {{text}}\n{{/context}}Question: {{query}}"}
sensitivity: %s
cases:
  - id: fee
    query: What is the harbour fee of the northern pier?
    as: {groups: [finance]}
    evidence: {required: [{source: fee, span: forty-one crowns}], distractors: [{source: draft, kind: superseded}]}
    claims: [{id: fee, says: The fee is forty-one crowns., any: [forty-one crowns]}]
    risk: investigate
`, sensitivity))
	write(t, filepath.Join(dir, "documents.jsonl"), fmt.Sprintf(`{"id": "fee", "text": %q, "level": "restricted", "title": "northern forty-one"}
{"id": "draft", "text": %q, "access": ["finance"], "level": "internal"}
{"id": "office", "text": %q}
`, secretFee, secretDraft, internalNote))
	stdout, stderr, code := invoke(t.Context(), func(string) string { return "" }, "run", dir, "--results", filepath.Join(dir, "results"))
	bundles, err := filepath.Glob(filepath.Join(dir, "results", "*", "*.bundle.zip"))
	if err != nil || len(bundles) != 1 || code != exitOK {
		t.Fatalf("exit code %d, %d bundles, %v\n%s%s", code, len(bundles), err, stdout, stderr)
	}
	return bundles[0]
}

// redacted copies a bundle without its restricted files.
func redacted(t *testing.T, bundle string) string {
	t.Helper()
	out := t.TempDir()
	stdout, stderr, code := invoke(t.Context(), func(string) string { return "" }, "redact", bundle, "--out", out)
	copies, err := filepath.Glob(filepath.Join(out, "*", "*.bundle.zip"))
	if err != nil || len(copies) != 1 || code != exitOK || !strings.Contains(stdout, "withheld: ") {
		t.Fatalf("exit code %d, %d copies, %v\n%s%s", code, len(copies), err, stdout, stderr)
	}
	return copies[0]
}

// members reads the files of a bundle.
func members(t *testing.T, bundle string) map[string][]byte {
	t.Helper()
	z, err := zip.OpenReader(bundle)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	files := map[string][]byte{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if files[f.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func openBundle(t *testing.T, path string) *results.Bundle {
	t.Helper()
	b, err := results.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// guesses are all hashes that somebody who knows every restricted text could try: of the texts, and of the calls that were made of them.
func guesses(t *testing.T, b *results.Bundle) map[string]string {
	t.Helper()
	out := map[string]string{}
	add := func(what, digest string) {
		_, hexSum, _ := strings.Cut(digest, ":")
		out[hexSum], out[hexSum[:16]], out[matrix.TextID(what)] = what, what, what
	}
	for _, text := range []string{secretFee, secretDraft} {
		add(text, matrix.DigestBytes([]byte(text)))
	}
	plain := b.Observations.Clone()
	if err := plain.Texts(func(text *matrix.Text) error {
		if text.Restricted {
			add(text.Value, matrix.DigestBytes([]byte(text.Value)))
		}
		*text = matrix.NewText(text.Value)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	digest := func(v any) string {
		d, err := matrix.Digest(v)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for i := range plain.Trials {
		trial := &plain.Trials[i]
		if trial.Sensitivity != matrix.Restricted {
			continue
		}
		prompt := slices.Clone(trial.Prompt)
		for n := range prompt {
			prompt[n].Tokens = 0
		}
		cell, _ := b.Plan.Cell(trial.Cell)
		call := matrix.Call{
			Case: b.Plan.CaseDigest, Cell: trial.Cell, Step: "generate", Rep: trial.Rep, Provider: "embedded", Model: trial.ModelRequested, Params: cell.Settings,
			Input: digest(struct {
				Prompt []matrix.PromptMessage
				Seed   int64
			}{prompt, trial.Seed}),
		}
		key, err := call.Key()
		if err != nil {
			t.Fatal(err)
		}
		add("the input of "+string(trial.Cell), call.Input)
		add("the call of "+string(trial.Cell), key)
	}
	for i := range plain.Judgements {
		j := &plain.Judgements[i]
		add("the input of a judgement", digest(struct {
			Prompt      []matrix.PromptMessage
			Claim, Item string
			Position    int
		}{j.Prompt, j.Claim, j.Item, j.Position}))
	}
	return out
}

// TestAttackDictionary: attack 14. Whoever knows every text that may have been withheld finds no hash in a redacted bundle that says which it was.
func TestAttackDictionary(t *testing.T) {
	t.Parallel()
	full := runPrivate(t, `{field: level, access: restricted}`)
	whole, part := openBundle(t, full), redacted(t, full)
	less := openBundle(t, part)
	if less.Withheld == 0 || whole.Withheld != 0 || len(less.Observations.RestrictedCalls()) == 0 || len(less.Observations.Judgements) == 0 {
		t.Fatalf("%d files are withheld of the copy and %d of the bundle", less.Withheld, whole.Withheld)
	}
	tried := guesses(t, whole)
	for name, data := range members(t, part) {
		for guess, what := range tried {
			if bytes.Contains(data, []byte(guess)) || strings.Contains(name, guess) {
				t.Errorf("%s tells by %q that it holds %q", name, guess, what)
			}
		}
		for _, told := range []string{secretFee, secretDraft, "for each mast", "for each oar", "northern forty-one"} {
			if bytes.Contains(data, []byte(told)) {
				t.Errorf("%s holds %q", name, told)
			}
		}
	}
	// The attack itself works where nothing is restricted.
	open, found := runPrivate(t, `{default: internal, access: internal}`), false
	for name := range members(t, open) {
		_, hexSum, _ := strings.Cut(matrix.DigestBytes([]byte(secretFee)), ":")
		found = found || strings.Contains(name, hexSum)
	}
	if !found {
		t.Error("the hash of a text that is not restricted is nowhere: nothing was tested")
	}
}

// TestRedactedBundleProvesTheSame: seal, digests and verdict of a copy are those of the bundle, and can be made again from it.
func TestRedactedBundleProvesTheSame(t *testing.T) {
	t.Parallel()
	full := runPrivate(t, `{field: level, access: restricted}`)
	part := redacted(t, full)
	whole, less := members(t, full), members(t, part)
	for _, name := range []string{"manifest.json", "SHA256SUMS", "evaluation.json", "features.json", "journal.jsonl"} {
		if !bytes.Equal(whole[name], less[name]) {
			t.Errorf("%s differs", name)
		}
	}
	for name := range whole {
		if _, kept := less[name]; kept == strings.HasPrefix(name, "restricted/") {
			t.Errorf("%s: in the copy: %t", name, kept)
		}
	}
	b := openBundle(t, part)
	digest, err := b.Observations.Digest()
	if err != nil || digest != b.Manifest.Digests.Observation {
		t.Errorf("%v: the observations have the digest %s, and the manifest says %s", err, digest, b.Manifest.Digests.Observation)
	}
	again, err := verdict.Evaluate(&b.Experiment, &b.Case, &b.Plan, &b.Observations, &b.Features)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b.Evaluation, again); diff != "" {
		t.Errorf("the verdict made again from the copy (-sealed +again):\n%s", diff)
	}
	// Of the whole bundle, the features can be made again too.
	o := openBundle(t, full)
	features, err := verdict.Extract(&o.Experiment, &o.Case, &o.Observations)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(o.Features, features); diff != "" {
		t.Errorf("the features made again from the bundle (-sealed +again):\n%s", diff)
	}
	if _, err := results.ReadJournal(part); err != nil {
		t.Error(err)
	}
	for _, args := range [][]string{{"explain", "fee", "--full"}, {"report"}} {
		stdout, stderr, code := invoke(t.Context(), func(string) string { return "" }, append(args, "--results", filepath.Dir(filepath.Dir(part)))...)
		if code != exitOK || strings.Contains(stdout+stderr, "each mast") {
			t.Errorf("%s of the copy: exit code %d\n%s%s", args[0], code, stdout, stderr)
		}
	}
	sha256sum, err := exec.LookPath("sha256sum")
	if err != nil {
		t.Skip("no sha256sum here")
	}
	dir := t.TempDir()
	for name, data := range less {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, path, string(data))
	}
	for args, well := range map[string]bool{"-c --quiet --ignore-missing": true, "-c --quiet": false} {
		c := exec.CommandContext(t.Context(), sha256sum, append(strings.Fields(args), "SHA256SUMS")...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); (err == nil) != well {
			t.Errorf("sha256sum %s: %v\n%s", args, err, out)
		}
	}
	if _, err := results.Open(dir); err != nil {
		t.Errorf("unpacked: %v", err)
	}
}

// TestSaltChangesNothingThatIsDerived: two executions that saw the same have the same digests and the same derived files.
func TestSaltChangesNothingThatIsDerived(t *testing.T) {
	t.Parallel()
	one, two := runPrivate(t, `{default: restricted}`), runPrivate(t, `{default: restricted}`)
	first, second := members(t, one), members(t, two)
	for _, name := range []string{"evaluation.json", "features.json", "plan.json"} {
		if diff := cmp.Diff(string(first[name]), string(second[name])); diff != "" {
			t.Errorf("%s differs:\n%s", name, diff)
		}
	}
	a, b := openBundle(t, one), openBundle(t, two)
	if a.Manifest.Digests != b.Manifest.Digests {
		t.Errorf("the digests differ:\n%+v\n%+v", a.Manifest.Digests, b.Manifest.Digests)
	}
	shared := 0
	for name := range first {
		if _, both := second[name]; both && strings.HasPrefix(name, "restricted/") {
			shared++
		}
	}
	if shared > 0 || a.Observations.Trials[0].CallKey == b.Observations.Trials[0].CallKey {
		t.Errorf("%d restricted files have one name in both, and A has the call keys %s and %s", shared, a.Observations.Trials[0].CallKey, b.Observations.Trials[0].CallKey)
	}
}

// TestSealedCallsHoldTogether: a journal that was made anew names the calls and texts of the observations, by keys that follow from the calls.
func TestSealedCallsHoldTogether(t *testing.T) {
	t.Parallel()
	path := runPrivate(t, `{field: level}`)
	b := openBundle(t, path)
	j, err := results.ReadJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string]string{}
	for i := range b.Observations.Trials {
		answers[b.Observations.Trials[i].CallKey] = b.Observations.Trials[i].Answer.Ref
	}
	matched := 0
	for i := range j.Records {
		r := &j.Records[i]
		if r.Call != nil {
			key, err := r.Call.Key()
			if err != nil || key != r.CallKey {
				t.Errorf("record %d: %v: the call's key is %s, and it stands there as %s", i+1, err, key, r.CallKey)
			}
		}
		if ref, ok := answers[r.CallKey]; ok && r.Response != "" {
			if matched++; r.Response != ref {
				t.Errorf("record %d: the response is %s, and the answer %s", i+1, r.Response, ref)
			}
			if strings.HasPrefix(ref, matrix.RestrictedRef) && r.ResponseSize%256 != 0 {
				t.Errorf("record %d tells that %d bytes came", i+1, r.ResponseSize)
			}
		}
	}
	if matched == 0 {
		t.Error("no response in the journal is one of the observations")
	}
}

// TestAnswersMayBeReadable: a person may say that answers are not restricted; prompts are all the same.
func TestAnswersMayBeReadable(t *testing.T) {
	t.Parallel()
	b := openBundle(t, redacted(t, runPrivate(t, `{field: level, answers: internal}`)))
	for i := range b.Observations.Trials {
		if trial := &b.Observations.Trials[i]; trial.Sensitivity == matrix.Restricted && trial.Status == matrix.StatusOK {
			if trial.Answer.Value == "" || !trial.Prompt[0].Text.Withheld() {
				t.Errorf("%s: answer %q, prompt %q", trial.Cell, trial.Answer.Value, trial.Prompt[0].Text.Value)
			}
		}
	}
	if data, err := json.Marshal(b.Observations.Retrievals); err != nil || !bytes.Contains(data, []byte(`"sensitivity":"restricted"`)) {
		t.Errorf("%v: no hit is restricted", err)
	}
}

// TestAttackSecretInAnswer: attack 13. A model that repeats its key fails its case, and says so; the call that was made is in the journal
// and counted, and nothing of the answer is anywhere.
func TestAttackSecretInAnswer(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"generator", "refusing", "service"} { // refusing: in the provider's field of its own
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			g := startGossip(t, "/"+role+"/", "")
			backends, place := keyedDocuments+fmt.Sprintf("  generator: {adapter: openai, base_url: %s/%s/v1, model: m, api_key_env: GENERATOR}\n", g.URL, role), "GENERATOR"
			if role == "service" {
				backends, place = keyedDocuments+keyedAnswers+fmt.Sprintf("  service: {adapter: remote, url: %s/service/ask, api_key_env: SERVICE}\n", g.URL), "SERVICE"
			}
			s := newSecretive(t, backends, "", place)
			stdout, stderr, code := invoke(t.Context(), s.env, "run", s.dir, "--results", s.results)
			if code != exitEnvironment || !strings.Contains(stdout, matrix.KindSecret) {
				t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
			}
			unkept(t, "run", stdout+stderr, place)
			s.kept(t)
			g.told(t, place)
			bundles, err := filepath.Glob(filepath.Join(s.results, "*", "*.bundle.zip"))
			if err != nil || len(bundles) != 1 {
				t.Fatal(err, bundles)
			}
			b := openBundle(t, bundles[0])
			if b.Evaluation.Outcome != verdict.Environment || len(b.Evaluation.Defects) != 0 || !strings.HasPrefix(b.Evaluation.Missing[0], matrix.KindSecret) {
				t.Errorf("outcome %s, defects %v, missing %q", b.Evaluation.Outcome, b.Evaluation.Defects, b.Evaluation.Missing)
			}
			j, err := results.ReadJournal(bundles[0])
			if err != nil {
				t.Fatal(err)
			}
			made, asked := map[string]bool{}, 0
			for _, r := range j.Records {
				switch {
				case r.Type == results.RecordIntent && r.Call.Step == "generate":
					made[r.CallKey] = true
					asked++
				case r.Type == results.RecordFailure && r.Error.Kind == matrix.KindSecret && r.ResponseSize == 0:
					delete(made, r.CallKey)
				}
			}
			if asked == 0 || len(made) > 0 {
				t.Errorf("%d calls in the journal, of which %d do not say %s", asked, len(made), matrix.KindSecret)
			}
			for i := range b.Observations.Trials {
				if trial := &b.Observations.Trials[i]; role != "service" && trial.Status == matrix.StatusError && (trial.Usage.OutputTokens == nil || *trial.Usage.OutputTokens != 9) {
					t.Errorf("%s: the tokens that were paid for are not known", trial.Cell)
				}
			}
		})
	}
}

// TestAttackModes: attack 23. What a run leaves can be read and written by its owner alone, whatever the umask lets through.
func TestAttackModes(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("modes are another thing there")
	}
	dir := t.TempDir()
	out := filepath.Join(dir, "results")
	example, err := filepath.Abs("../../experiments/examples/travel-policy")
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), "sh", "-c", `umask 0; "$1" run "$2" --results "$3"; "$1" redact "$3"/*/*.bundle.zip --out "$4"`,
		"sh", inPath(t, "culprit"), example, out, filepath.Join(dir, "redacted"))
	c.Env = append(os.Environ(), "CULPRIT_CACHE="+filepath.Join(dir, "cache"))
	if said, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	files := 0
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if e.IsDir() {
			want = 0o700
		} else {
			files++
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has the mode %o, want %o", path, got, want)
		}
		return nil
	})
	if err != nil || files < 10 {
		t.Errorf("%v: %d files", err, files)
	}
}
