package results

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

// What was given and observed is the same bytes in a bundle that was migrated, and what is derived passes every check of this version.
func TestMigrate(t *testing.T) {
	t.Parallel()
	for name, golden := range goldens(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := readAll(t, golden)
			old, err := Open(golden)
			if err != nil {
				t.Fatal(err)
			}
			out := filepath.Join(t.TempDir(), "out")
			done, err := Migrate(golden, out, testTime)
			if err != nil {
				t.Fatal(err)
			}
			if old.Manifest.Evaluator.Ruleset == verdict.Ruleset() { // by which the same bytes follow
				if left, err := os.ReadDir(filepath.Dir(out)); err != nil || done.New != "" || len(left) > 0 {
					t.Errorf("%+v is written, %v", done, err)
				}
				return
			}
			if want := filepath.Join(out, string(old.Manifest.ExecID), caseName(old.Case.ID)+archiveSuffix); done.New != want {
				t.Errorf("it stands in %q, want %q", done.New, want)
			}
			now, err := Open(done.New)
			if err != nil {
				t.Fatal(err)
			}
			digest := matrix.DigestBytes(read(t, unpack(t, golden), manifestFile))
			if m := now.Manifest; m.DerivedFrom != digest || done.DerivedFrom != digest || m.ExecID != old.Manifest.ExecID || m.Status != old.Status || m.Journal != old.Manifest.Journal ||
				m.Tool != BuildTool() || m.Evaluator.Ruleset != verdict.Ruleset() || m.Created != testTime.UTC().Format("2006-01-02T15:04:05Z07:00") {
				t.Errorf("its manifest is %+v", m)
			}
			is, was := unpack(t, done.New), unpack(t, golden)
			if err := validate(t, is); err != nil {
				t.Error(err)
			}
			if want, got := filesIn(t, was), filesIn(t, is); !slices.Equal(want, got) {
				t.Errorf("it holds %q, and before %q", got, want)
			}
			for _, file := range filesIn(t, is) {
				if !slices.Contains([]string{manifestFile, sumsFile, featuresFile, evaluationFile}, file) && !bytes.Equal(read(t, is, file), read(t, was, file)) {
					t.Errorf("%s is another file", file)
				}
			}
			v := Verify(done.New, Policy{Partial: true})
			if v.State != StateIntact || !v.Derived || v.Migrated != digest || v.Manifest != done.Manifest {
				t.Errorf("it is %s, %+v\n%s", v.State, v, listed(v))
			}
			r, err := ReplayBundle(done.New)
			if err != nil || !r.Same {
				t.Errorf("other bytes follow, %v", err)
			}
			if code, said := verifyPython(t, done.New); code != 0 {
				t.Errorf("in Python: %d, %s", code, said)
			}
			if d, err := Compare(old, now, Comparing{}); err != nil || d.Migrated != "right" || d.Result != DiffSame {
				t.Errorf("it differs: %+v, %v", d, err)
			}
			if _, err := os.Stat(SignatureFile(done.New)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("it has the signatures of another verdict: %v", err)
			}
			if !bytes.Equal(readAll(t, golden), before) {
				t.Error("the old bundle was changed")
			}
			// What follows is there already, and nothing is written over.
			if again, err := Migrate(done.New, t.TempDir(), testTime); err != nil || again.New != "" {
				t.Errorf("migrated again: %+v, %v", again, err)
			}
			if _, err := Migrate(golden, out, testTime); !errors.Is(err, os.ErrExist) {
				t.Errorf("written over: %v", err)
			}
			if left, err := filepath.Glob(filepath.Join(out, ".*")); err != nil || len(left) > 0 {
				t.Errorf("it leaves %q, %v", left, err)
			}
		})
	}
}

// byOthers is a golden bundle whose verdict other rules made.
func byOthers(t *testing.T, name string, change func(dir string)) string {
	t.Helper()
	dir := current(t, name)
	other := matrix.DigestBytes([]byte("other rules"))
	edited(t, dir, evaluationFile, verdict.Ruleset(), other)
	edited(t, dir, evaluationFile, `"outcome":"pass"`, `"outcome":"fail"`)
	change(dir)
	reseal(t, dir, func(m *Manifest) { m.Evaluator.Ruleset = other })
	return dir
}

// A label that changes is shown by both the migration and a comparison, as one of the rules and not of the pipeline.
func TestMigrateChangesALabel(t *testing.T) {
	t.Parallel()
	path := byOthers(t, "pass", func(string) {})
	done, err := Migrate(path, t.TempDir(), testTime)
	if err != nil || done.Sealed.Verdict != "fail" || done.Now.Verdict != "pass" {
		t.Fatalf("%+v, %v", done, err)
	}
	old, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	now, err := Open(done.New)
	if err != nil {
		t.Fatal(err)
	}
	for migrated, sides := range map[string][2]*Bundle{"right": {old, now}, "left": {now, old}} {
		d, err := Compare(sides[0], sides[1], Comparing{})
		if err != nil || d.Result != DiffChanged || d.Migrated != migrated || !strings.Contains(d.Story, "the one on the "+migrated+" was migrated from the other") {
			t.Errorf("%s: %+v, %v", migrated, d, err)
		}
	}
	// Another bundle of the same case that was decided by other rules is not compared all the same.
	other, err := Open(goldens(t)["pass"])
	if err != nil {
		t.Fatal(err)
	}
	if d, err := Compare(other, now, Comparing{}); err != nil || d.Migrated != "" || d.Result != DiffNotComparable {
		t.Errorf("another bundle: %+v, %v", d, err)
	}
}

// Nothing is made of what is not intact, of a plan that this version would not carry out, or in a folder of what was run.
func TestMigrateRefuses(t *testing.T) {
	t.Parallel()
	ledgered := t.TempDir()
	write(t, ledgered, ledgerFile, nil)
	for name, tc := range map[string]struct {
		path, out, want string
	}{
		"a bundle that is not intact": {func() string {
			dir := unpack(t, goldens(t)["pass"])
			edited(t, dir, evaluationFile, `"outcome":"pass"`, `"outcome":"fail"`)
			return dir
		}(), "", "evaluation.json: it was changed"},
		"a bundle that cannot be read": {func() string {
			dir := unpack(t, goldens(t)["pass"])
			remove(t, dir, manifestFile)
			return dir
		}(), "", "this is not a bundle"},
		"a plan that was another one": {byOthers(t, "pass", func(dir string) {
			was := matrix.DigestBytes(read(t, dir, planFile))
			edited(t, dir, planFile, `"expect":"invariant"`, `"expect":"breaks"`)
			edited(t, dir, journalFile, was, matrix.DigestBytes(read(t, dir, planFile)))
			place(t, dir, journalFile, chained(t, records(t, dir)))
		}), "", "by the rules of this program it would not be intact: plan.json: made again"},
		"rules that ask for more than was made": {func() string {
			dir, other := current(t, "noisy"), matrix.DigestBytes([]byte("rules that ask for less"))
			dropTrials(t, dir, func(t *matrix.Trial) bool { return t.Rep > 2 })
			rederive(t, dir)
			edited(t, dir, evaluationFile, verdict.Ruleset(), other)
			reseal(t, dir, func(m *Manifest) { m.Evaluator.Ruleset = other })
			return dir
		}(), "", `what was observed asks for 3 repetitions of cell "A", and not all of them are there`},
		"a folder of what was run": {goldens(t)["pass"], ledgered, "has a ledger"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := tc.out
			if out == "" {
				out = t.TempDir()
			}
			done, err := Migrate(tc.path, out, testTime)
			if !errors.Is(err, ErrNotMigrated) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want %q, got %v, %+v", tc.want, err, done)
			}
			if left := filesIn(t, out); len(left) > 0 && out != ledgered || len(left) > 1 {
				t.Errorf("it leaves %q", left)
			}
		})
	}
}

// Whoever names a bundle that another was derived from, and leaves the rest as it is, gains nothing: the words of the plan alone are taken as
// they stand.
func TestVerifyHoldsAMigratedPlan(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		from, to string
		state    State
	}{
		"its words":   {"the order is reversed", "nothing", StateIntact},
		"its content": {`"expect":"invariant"`, `"expect":"breaks"`, StateBroken},
	} {
		dir := current(t, "pass")
		was := matrix.DigestBytes(read(t, dir, planFile))
		edited(t, dir, planFile, tc.from, tc.to)
		edited(t, dir, journalFile, was, matrix.DigestBytes(read(t, dir, planFile)))
		place(t, dir, journalFile, chained(t, records(t, dir)))
		reseal(t, dir, func(m *Manifest) { m.DerivedFrom = was })
		if v := Verify(dir, Policy{}); v.State != tc.state {
			t.Errorf("%s: it is %s\n%s", name, v.State, listed(v))
		}
	}
}

// Of a copy whose restricted texts were taken out the verdict is made anew of the features as they were sealed, and the same files are lacking.
// Features that this version cannot take are a reason to refuse it.
func TestMigrateRedacted(t *testing.T) {
	t.Parallel()
	redacted, err := Redact(byOthers(t, "restricted", func(string) {}), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	done, err := Migrate(redacted.Copy, t.TempDir(), testTime)
	if err != nil || done.Withheld != redacted.Withheld || done.Sealed.Verdict != "fail" || done.Now.Verdict != "pass" {
		t.Fatalf("%+v, %v", done, err)
	}
	v := Verify(done.New, Policy{})
	if v.State != StateIntact || !v.Derived || v.Withheld != redacted.Withheld || v.Withheld == 0 || v.Again >= v.Trials {
		t.Errorf("it is %s, %d withheld, %d of %d trials again\n%s", v.State, v.Withheld, v.Again, v.Trials, listed(v))
	}
	for name, change := range map[string]func(dir string){
		"another number of trials": func(dir string) {
			features := read(t, dir, featuresFile)
			at := bytes.Index(features, []byte(`"trials":[`)) + len(`"trials":[`)
			place(t, dir, featuresFile, append(append(bytes.Clone(features[:at]), "{},"...), features[at:]...))
		},
		"a newer schema": func(dir string) { edited(t, dir, featuresFile, "culprit.features/v1", "culprit.features/v2") },
	} {
		r, err := Redact(byOthers(t, "restricted", change), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Migrate(r.Copy, t.TempDir(), testTime); !errors.Is(err, ErrNotMigrated) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
