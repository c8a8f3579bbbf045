package embedded

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
)

// BM25 adds up what each word of a query gives an item, in the order of the query, and what a word gives depends on no other word. So a
// query for any of several words is answered from the scores of each, to the last bit as by one query for all. The scores of words
// that many items hold are kept: every case of an experiment may ask for them.
const (
	mostWords  = 32      // of a query that is answered so
	fewItems   = 32      // that are read as fast as they are found again
	mostItems  = 1 << 12 // of one word
	mostScores = 1 << 14 // that are kept, of all words
)

// wordScores keeps the scores of those words that were asked for last. It is safe for concurrent use.
type wordScores struct {
	mu    sync.Mutex
	kept  map[string][]scored // by phrase, in the order of n; nil: more than mostItems
	order []string            // of kept, the oldest first
	size  int
}

func (w *wordScores) get(phrase string) (list []scored, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	list, known = w.kept[phrase]
	return list, known
}

func (w *wordScores) keep(phrase string, list []scored) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, known := w.kept[phrase]; known {
		return
	}
	if w.kept == nil {
		w.kept = map[string][]scored{}
	}
	w.kept[phrase], w.order = list, append(w.order, phrase)
	for w.size += 1 + len(list); w.size > mostScores; w.order = w.order[1:] {
		w.size -= 1 + len(w.kept[w.order[0]])
		delete(w.kept, w.order[0])
	}
}

// scoresOf returns the items that hold a phrase, with its score in them; false: they are more than mostItems.
func (s *store) scoresOf(ctx context.Context, phrase string) ([]scored, bool, error) {
	if list, known := s.words.get(phrase); known {
		return list, list != nil, nil
	}
	list, err := readScored(ctx, s.db, s.keywordQuery()+` ORDER BY i.n LIMIT ?`, phrase, mostItems+1)
	if err != nil {
		return nil, false, err
	}
	if len(list) > mostItems {
		list = nil
	} else if len(list) < fewItems {
		return list, true, nil
	}
	s.words.keep(phrase, slices.Clip(list))
	return list, list != nil, nil
}

// byWords ranks the items that hold any of the phrases; false: too many do.
func (s *store) byWords(ctx context.Context, phrases []string, threshold *float64, limit int) (ranking []scored, ok bool, err error) {
	lists := make([][]scored, len(phrases))
	for i, phrase := range phrases {
		if lists[i], ok, err = s.scoresOf(ctx, phrase); err != nil || !ok {
			return nil, false, err
		}
	}
	for {
		var item scored
		for _, list := range lists {
			if len(list) > 0 && (item.id == "" || list[0].n < item.n) {
				item.n, item.id = list[0].n, list[0].id
			}
		}
		if item.id == "" {
			break
		}
		for i, list := range lists {
			if len(list) > 0 && list[0].n == item.n {
				item.score += list[0].score
				lists[i] = list[1:]
			}
		}
		if threshold != nil && item.score < *threshold {
			continue
		}
		if limit == everything {
			ranking = append(ranking, item)
			continue
		}
		if len(ranking) == limit {
			if byScore(ranking[limit-1], item) < 0 {
				continue
			}
			ranking = ranking[:limit-1]
		}
		at, _ := slices.BinarySearchFunc(ranking, item, byScore)
		ranking = slices.Insert(ranking, at, item)
	}
	if limit == everything {
		slices.SortFunc(ranking, byScore)
	}
	return ranking, true, nil
}

// byScore orders a ranking: the best first, and of equals the one whose id is first.
func byScore(a, b scored) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.id, b.id)) }

// keywordQuery finds the items that match an expression. CROSS JOIN keeps the order of the tables: the index is walked once, whatever
// the planner thinks of the filter.
func (s *store) keywordQuery() string {
	return fmt.Sprintf(`SELECT i.n, i.id, -bm25(%[1]s) AS score FROM %[1]s CROSS JOIN item i ON i.n = %[1]s.rowid WHERE %[1]s MATCH ?`, s.here.fts())
}
