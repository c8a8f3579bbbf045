package measure

import (
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"slices"
)

// Ranking is a ranked list with the judgement of each place.
type Ranking struct {
	found []int // by place: how many pieces of gold are first found there
	gains []int // by place
	ideal []int // the gains in the best order there could have been
	gold  int   // R, the pieces of gold that there are
}

// Judge judges a ranked list of items, best first. An item is relevant if its grade is 1 or more; one without a grade, or with a
// negative one, is not. An item that stands twice keeps its first place, and the others close up.
func Judge(ranked []string, grades map[string]int) Ranking {
	var r Ranking
	for _, grade := range grades {
		if grade > 0 {
			r.gold++
			r.ideal = append(r.ideal, grade)
		}
	}
	slices.SortFunc(r.ideal, descending)
	seen := make(map[string]bool, len(ranked))
	for _, id := range ranked {
		if seen[id] {
			continue
		}
		seen[id] = true
		gain := max(grades[id], 0)
		r.gains = append(r.gains, gain)
		r.found = append(r.found, min(gain, 1))
	}
	return r
}

// JudgeGroups judges a list of returned items by required evidence: ranks holds, for each requirement, the best rank (from 1) of an
// item that satisfies it, and 0 where none was returned. A requirement counts once, however many items satisfy it. One item that
// satisfies several is one relevant item with their gains together. Duplicates must have been closed up before.
func JudgeGroups(ranks []int, returned int) Ranking {
	for _, rank := range ranks {
		returned = max(returned, rank)
	}
	r := Ranking{gold: len(ranks), found: make([]int, returned), gains: make([]int, returned)}
	for _, rank := range ranks {
		if rank > 0 {
			r.found[rank-1]++
			r.gains[rank-1]++
		} else {
			r.ideal = append(r.ideal, 1)
		}
	}
	for _, gain := range r.gains {
		if gain > 0 {
			r.ideal = append(r.ideal, gain)
		}
	}
	slices.SortFunc(r.ideal, descending)
	return r
}

func descending(a, b int) int { return cmp.Compare(b, a) }

// top returns the number of places among the first k, all of them for k 0.
func (r Ranking) top(k int) int {
	if k == 0 {
		return len(r.found)
	}
	return min(k, len(r.found))
}

// undefined says why no metric at k has a value, if so. A ranking with gold in which nothing was found is 0, and not undefined.
func (r Ranking) undefined(k int, all bool) (Value, bool) {
	switch {
	case r.gold == 0:
		return none(NoGold), true
	case k < 0 || k == 0 && !all:
		return none(fmt.Sprintf("cutoff %d is no rank", k)), true
	}
	return Value{}, false
}

// pieces counts the gold within the first n places, items the places that hold any.
func (r Ranking) pieces(n int) (pieces, items int64) {
	for _, found := range r.found[:n] {
		pieces += int64(found)
		items += int64(min(found, 1))
	}
	return pieces, items
}

// Hit is 1 if any gold is among the first k, else 0. Elsewhere this is often called recall.
func (r Ranking) Hit(k int) Value {
	if v, ok := r.undefined(k, false); ok {
		return v
	}
	pieces, _ := r.pieces(r.top(k))
	return fraction(min(pieces, 1), 1)
}

// Recall is the share of the gold that is among the first k.
func (r Ranking) Recall(k int) Value {
	if v, ok := r.undefined(k, false); ok {
		return v
	}
	pieces, _ := r.pieces(r.top(k))
	return fraction(pieces, int64(r.gold))
}

// Complete is 1 if all gold is among the first k, else 0.
func (r Ranking) Complete(k int) Value {
	if v, ok := r.undefined(k, false); ok {
		return v
	}
	if pieces, _ := r.pieces(r.top(k)); pieces < int64(r.gold) {
		return fraction(0, 1)
	}
	return fraction(1, 1)
}

// Precision is the share of the first k places that hold gold; places that a shorter list lacks hold none.
func (r Ranking) Precision(k int) Value {
	if v, ok := r.undefined(k, false); ok {
		return v
	}
	_, items := r.pieces(r.top(k))
	return fraction(items, int64(k))
}

// PrecisionReturned is Precision over the places that were returned. It is 0 where nothing was.
func (r Ranking) PrecisionReturned(k int) Value {
	if v, ok := r.undefined(k, false); ok {
		return v
	}
	_, items := r.pieces(r.top(k))
	return fraction(items, int64(max(r.top(k), 1)))
}

// ReciprocalRank is 1/rank of the first gold, 0 where there is none. Its mean over cases is MRR.
func (r Ranking) ReciprocalRank() Value {
	if v, ok := r.undefined(0, true); ok {
		return v
	}
	for i, found := range r.found {
		if found > 0 {
			return fraction(1, int64(i)+1)
		}
	}
	return fraction(0, 1)
}

// AveragePrecision is the mean, over all gold, of the precision at the place where it is found among the first k (0: anywhere),
// with 0 for what is not found. It divides by all gold, also where k is less.
func (r Ranking) AveragePrecision(k int) Value {
	if v, ok := r.undefined(k, true); ok {
		return v
	}
	sum, items := new(big.Rat), int64(0)
	for i, found := range r.found[:r.top(k)] {
		if found > 0 {
			items++
			sum.Add(sum, big.NewRat(int64(found)*items, int64(i)+1))
		}
	}
	return Value{number: sum.Quo(sum, big.NewRat(int64(r.gold), 1)), exact: true}
}

// NDCG is the discounted gain of the first k places (0: all) over the best that they could have had. Gains are linear in the grade.
func (r Ranking) NDCG(k int) Value { return r.ndcg(k, func(grade int) int { return grade }) }

// mostGrade is the largest grade that ExponentialNDCG takes.
const mostGrade = 30

// ExponentialNDCG is [Ranking.NDCG] with gains of 2^grade - 1, as some tools have it: say which of the two a number is. It has no value
// where a grade is beyond 30. The two agree where no grade is beyond 1.
func (r Ranking) ExponentialNDCG(k int) Value {
	if len(r.ideal) > 0 && r.ideal[0] > mostGrade {
		return none(fmt.Sprintf("a grade of %d is beyond %d", r.ideal[0], mostGrade))
	}
	return r.ndcg(k, func(grade int) int { return 1<<grade - 1 })
}

func (r Ranking) ndcg(k int, gain func(grade int) int) Value {
	if v, ok := r.undefined(k, true); ok {
		return v
	}
	gains := func(grades []int) []int {
		out := make([]int, len(grades))
		for i, grade := range grades {
			out[i] = gain(grade)
		}
		return out
	}
	ideal := r.ideal
	if k > 0 {
		ideal = ideal[:min(k, len(ideal))]
	}
	return ratio(discounted(gains(r.gains[:r.top(k)])), discounted(gains(ideal)))
}

// TrecOrder orders scored items as trec_eval does, whatever their ranks say: by score, then by id, both descending. It is for exports
// that are compared with trec_eval; our own numbers keep the order that the system returned. Scores must not be NaN.
func TrecOrder(scores map[string]float64) []string {
	return slices.SortedFunc(maps.Keys(scores), func(a, b string) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(b, a))
	})
}
