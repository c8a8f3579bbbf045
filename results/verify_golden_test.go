package results

import (
	"os"
	"testing"
)

// goldenLabels are what each golden bundle must say for ever.
var goldenLabels = map[string]string{
	"aborted":       "environment",
	"index-missing": "index/missing",
	"judge":         "pass",
	"noisy":         "inconclusive",
	"partial":       "inconclusive",
	"pass":          "pass",
	"repeated":      "generate/unstable",
	"restricted":    "pass",
	"rewrite":       "pass",
}

// Bundles that earlier versions sealed stay intact and keep their labels. By the same rules they stay the same bytes. What fails here is
// never made again over the old file: either the change is a mistake, or it is one that a reader of old bundles must be told of, and then
// the digest of the rules has to change with it.
func TestGoldenBundles(t *testing.T) {
	t.Parallel()
	total := int64(0)
	for name, path := range goldens(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := checkBundle(t, path)
			for _, place := range []string{path, unpack(t, path)} {
				v := Verify(place, Policy{Partial: name == "partial" || name == "aborted"})
				for _, p := range v.Problems {
					if p.Step != stepEvaluator {
						t.Errorf("%s: %s", p.Step, p)
					}
				}
				r, err := ReplayBundle(place)
				if err != nil {
					t.Fatal(err)
				}
				if want := goldenLabels[name]; r.Now.Verdict != want || r.Sealed.Verdict != want || v.Verdict != want || r.Changed() {
					t.Errorf("sealed as %q, now %q, want %q; changes: %+v", r.Sealed.Verdict, r.Now.Verdict, want, r.Changes)
				}
				if sameEvaluator(&b.Manifest) && (!r.Same || !v.Derived || v.State != StateIntact) {
					t.Errorf("by the same rules: %s, %v differ: %+v", v.State, r.Differ, r.Changes)
				}
			}
		})
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if total += info.Size(); info.Size() >= 300_000 {
			t.Errorf("%s has %d bytes", path, info.Size())
		}
	}
	if total >= 1_000_000 {
		t.Errorf("the golden bundles have %d bytes together", total)
	}
}
