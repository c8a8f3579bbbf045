package results

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

// movedPins compares pins value by value; where the experiment is another, its settings in place of its digest.
func movedPins(left, right *Bundle) ([]Moved, error) {
	values := func(b *Bundle) (map[string]string, error) {
		pins, err := flattened("", b.Pins)
		if err != nil {
			return nil, err
		}
		delete(pins, "experiment")
		if left.Pins.Experiment != right.Pins.Experiment {
			settings, err := flattened("experiment", &b.Experiment)
			if err != nil {
				return nil, err
			}
			maps.DeleteFunc(settings, func(name, _ string) bool { // they change no result
				return strings.HasPrefix(name, "experiment.limits.") || strings.HasPrefix(name, "experiment.prices.")
			})
			maps.Copy(pins, settings)
		}
		return pins, nil
	}
	l, err := values(left)
	if err != nil {
		return nil, err
	}
	r, err := values(right)
	return movedValues(l, r), err
}

// flattened writes every value of v that is not empty under its path.
func flattened(at string, v any) (map[string]string, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.UseNumber()
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		return nil, err
	}
	out := map[string]string{}
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, below := range v {
				walk(strings.TrimPrefix(at+"."+name, "."), below)
			}
		case []any:
			for i, below := range v {
				walk(at+"["+strconv.Itoa(i)+"]", below)
			}
		case nil:
		default:
			if s := fmt.Sprint(v); s != "" {
				out[at] = s
			}
		}
	}
	walk(at, tree)
	return out, nil
}

// movedValues lists what differs, by name.
func movedValues(left, right map[string]string) (moved []Moved) {
	all := maps.Clone(left)
	maps.Copy(all, right)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if left[name] != right[name] {
			moved = append(moved, Moved{name, left[name], right[name]})
		}
	}
	return moved
}

func movedGold(left, right *verdict.Evaluation) []Moved {
	ways := func(e *verdict.Evaluation) map[string]string {
		out := map[string]string{}
		for i, g := range e.Retrieval.Gold {
			name := "gold " + g.Source
			if _, taken := out[name]; taken {
				name = fmt.Sprintf("%s#%d", name, i+1)
			}
			out[name] = way(&g)
		}
		return out
	}
	return movedValues(ways(left), ways(right))
}

// way says how far a required item came.
func way(g *verdict.GoldRank) string {
	if g.Rank == nil {
		return "not in the ranking"
	}
	says := fmt.Sprintf("rank %d", *g.Rank)
	if g.Rerank != nil {
		says += fmt.Sprintf(", reranked %d", *g.Rerank)
	}
	switch {
	case g.Prompt:
		return says + ", in the prompt"
	case g.Packed != nil:
		return says + ", packed"
	}
	return says + ", not in the prompt"
}

func movedChecks(left, right *verdict.Evaluation) []Moved {
	answers := func(e *verdict.Evaluation) map[string]string {
		out := map[string]string{}
		for _, c := range e.Checks {
			out[c.Name] = string(c.Result)
		}
		return out
	}
	return movedValues(answers(left), answers(right))
}

// rerankings compares the rankings of the cells that both have.
func rerankings(left, right *matrix.Observations) (all []Reranking) {
	for i := range left.Retrievals {
		l := &left.Retrievals[i]
		at := slices.IndexFunc(right.Retrievals, func(r matrix.Retrieval) bool { return r.Cell == l.Cell })
		if at < 0 || l.Status != matrix.StatusOK || right.Retrievals[at].Status != matrix.StatusOK {
			continue
		}
		r := &right.Retrievals[at]
		if items := movedItems(l.Candidates, r.Candidates); len(items) > 0 {
			all = append(all, Reranking{Cell: l.Cell, Left: len(l.Candidates), Right: len(r.Candidates), Items: items})
		}
	}
	return all
}

// span is the ranks that an item may have: all of those that share its score.
type span struct{ from, to int }

func (s span) String() string {
	if s.from == s.to {
		return strconv.Itoa(s.from)
	}
	return fmt.Sprintf("%d–%d", s.from, s.to)
}

func movedItems(left, right []matrix.Hit) (moved []Moved) {
	l, r := spans(left), spans(right)
	ids := maps.Clone(l)
	maps.Copy(ids, r)
	for id := range ids {
		before, was := l[id]
		after, is := r[id]
		switch {
		case !was:
			moved = append(moved, Moved{Name: id, Right: after.String()})
		case !is:
			moved = append(moved, Moved{Name: id, Left: before.String()})
		case before.to < after.from || after.to < before.from:
			moved = append(moved, Moved{Name: id, Left: before.String(), Right: after.String()})
		}
	}
	place := func(m Moved) int {
		if is, ok := r[m.Name]; ok {
			return is.from
		}
		return l[m.Name].from
	}
	slices.SortFunc(moved, func(a, b Moved) int { return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a.Name, b.Name)) })
	return moved
}

func spans(hits []matrix.Hit) map[string]span {
	out := make(map[string]span, len(hits))
	for from := 0; from < len(hits); {
		to := from + 1
		for to < len(hits) && hits[from].Score != nil && hits[to].Score != nil && *hits[to].Score == *hits[from].Score {
			to++
		}
		for _, h := range hits[from:to] {
			if _, twice := out[h.ID]; !twice {
				out[h.ID] = span{from + 1, to}
			}
		}
		from = to
	}
	return out
}
