package experiments

import (
	"strings"
	"testing"
)

// Numbers are read as written wherever they stand, and those that nothing can hold are told with their place.
func TestNumbers(t *testing.T) {
	t.Parallel()
	const tooLarge = "pipeline.search.k is 99999999999999999999, which is more than any use of it can be: write a smaller number\n"
	for set, want := range map[string]string{
		"pipeline.search.k=1e1":                  "",
		"pipeline.search.k=10E+1":                "",
		"pipeline.generate.temperature=2e-1":     "",
		"pipeline.search.k=1e-1":                 "k is 1e-1: it must be a whole number\n",
		"pipeline.search.k=1e400":                "k is 1e400: it must be a whole number within the range of a float64\n",
		"pipeline.generate.temperature=1e400":    "temperature is 1e400: it must be a number within the range of a float64\n",
		"pipeline.search.threshold=1e-400":       "threshold is 1e-400: it must be a number within the range of a float64\n",
		"pipeline.search.threshold=0e-400":       "",
		"pipeline.search.k=99999999999999999999": tooLarge,
		"name=1e400":                             "", // a name may look like anything
	} {
		if want != "" {
			want = "--set " + set + ": " + want
		}
		if got := problems(t, folderOf(t, minimal), Options{Set: []string{set}}); got != want {
			t.Errorf("%s: want %q, got %q", set, want, got)
		}
	}
	password := Options{Set: []string{"backends.generator={adapter: embedded, model: extractive, base_url: 'http://u:hunter2@h/v1', url: 3}"}}
	if got := problems(t, folderOf(t, minimal), password); !strings.HasPrefix(got, "--set backends.generator: ") || strings.Contains(got, "hunter2") {
		t.Errorf("an override of a backend: %q", got)
	}
	dir := folderOf(t, strings.Replace(minimal, "cases:", "pipeline: {search: {k: 99999999999999999999}}\ncases:", 1))
	if got, want := problems(t, dir, Options{}), "experiment.yaml:4:24: "+tooLarge; got != want {
		t.Errorf("in the file: want %q, got %q", want, got)
	}
	if k := load(t, folderOf(t, minimal), Options{Set: []string{"pipeline.search.k=1e1"}}).Experiment.Pipeline.Search.K; k != 10 {
		t.Errorf("k is %d", k)
	}
}
