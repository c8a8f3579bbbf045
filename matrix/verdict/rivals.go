package verdict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
)

// rivals adds to what is missing which labels it would tell apart: those whose own observation was not made either, and the first
// behind them that would be given if they were ruled out.
func (x *facts) rivals(asked *Rule, g *goldState, f finding) finding {
	if x.e.WithoutStore() {
		return f // which lists them itself
	}
	rules := x.rules
	at := slices.IndexFunc(rules, func(r Rule) bool { return r.ID() == asked.ID() && r.Says == asked.Says })
	open, otherwise := []string{asked.ID()}, ""
	for i := at + 1; i < len(rules) && otherwise == ""; i++ {
		r := &rules[i]
		if r.gold == nil || slices.Contains(open, r.ID()) {
			continue
		}
		switch r.gold(x, g).answer {
		case matrix.Yes:
			otherwise = r.ID()
		case matrix.Unknown:
			open = append(open, r.ID())
		}
	}
	f.missing += ", to tell " + strings.Join(open, ", ")
	if otherwise != "" {
		f.missing += fmt.Sprintf(" from %s", otherwise)
	}
	return f
}
