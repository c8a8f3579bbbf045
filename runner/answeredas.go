package runner

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

// answeredAs counts the generations that another model answered than was asked. It is safe for concurrent use.
type answeredAs struct {
	mu      sync.Mutex
	told    int               // generations whose model was asked by name and reported
	another map[[2]string]int // by what was asked and what was reported
}

// add looks at the answers of one case. The dated name of the alias that was asked is no other model, nor is what is pinned.
func (a *answeredAs) add(e *matrix.Experiment, o *matrix.Observations) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range o.Trials {
		t := &o.Trials[i]
		asked, reported := t.ModelRequested, t.ModelReported
		if asked == "" || reported == "" || t.Cached || t.SameAs != "" {
			continue
		}
		a.told++
		date, longer := strings.CutPrefix(reported, asked+"-")
		if asked == reported || reported == e.Pins.Generator.ModelReported || longer && verdict.Dated("-"+date) {
			continue
		}
		a.another[[2]string{asked, reported}]++
	}
}

// warnings say it once for each pair of names.
func (a *answeredAs) warnings() (out []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, pair := range slices.SortedFunc(maps.Keys(a.another), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		out = append(out, fmt.Sprintf("the model %q was asked, and %q answered in %d of %d generations: set backends.generator.model to what is meant, or pin what answers in pins.generator.model_reported",
			pair[0], pair[1], a.another[pair], a.told))
	}
	return out
}
