package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"unicode"
)

// index holds the documents and what BM25 needs of them.
type index struct {
	items  []item
	words  []map[string]int // of each item
	length []int
	mean   float64
	holds  map[string]int // word → items that hold it
}

func readIndex(path string) (*index, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	x := &index{holds: map[string]int{}}
	total := 0
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var i item
		if err := json.Unmarshal(lines.Bytes(), &i); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if i.Source == "" {
			i.Source = i.ID
		}
		counts := map[string]int{}
		list := wordsOf(i.Text)
		for _, w := range list {
			if counts[w]++; counts[w] == 1 {
				x.holds[w]++
			}
		}
		x.items, x.words, x.length = append(x.items, i), append(x.words, counts), append(x.length, len(list))
		total += len(list)
	}
	x.mean = float64(total) / float64(max(len(x.items), 1))
	return x, nil
}

// search ranks the items that hold a word of the query, by BM25 with the usual constants.
func (x *index) search(query string) []item {
	const k1, b = 1.2, 0.75
	asked := slices.DeleteFunc(wordsOf(query), func(w string) bool { return stop[w] })
	slices.Sort(asked)
	asked = slices.Compact(asked)
	found := []item{}
	for i, counts := range x.words {
		score := 0.0
		for _, w := range asked {
			f := float64(counts[w])
			if f == 0 {
				continue
			}
			n := float64(x.holds[w])
			idf := max(math.Log((float64(len(x.items))-n+0.5)/(n+0.5)), 1e-6)
			score += idf * f * (k1 + 1) / (f + k1*(1-b+b*float64(x.length[i])/x.mean))
		}
		if score > 0 {
			hit := x.items[i]
			hit.Score = &score
			found = append(found, hit)
		}
	}
	slices.SortStableFunc(found, func(a, b item) int {
		switch {
		case *a.Score > *b.Score:
			return -1
		case *a.Score < *b.Score:
			return 1
		}
		return strings.Compare(a.ID, b.ID)
	})
	return found
}

// pack takes items as long as they fit the budget, and stops at the first that does not.
func pack(ranked []item) []item {
	packed, used := []item{}, 0
	for _, i := range ranked {
		n := len(strings.Fields(i.Text))
		if used+n > budget {
			break
		}
		used += n
		packed = append(packed, i)
	}
	return packed
}

func wordsOf(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

var stop = func() map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(`a about above after again all also am an and any are as at be because been before being below between both but by
	can could d did do does doing don down during each few for from further get gets had has have having he her here
	hers him his how i if in into is it its itself just ll m may me might more most must my no nor not now of off on
	once only or other our ours out over own per please re s shall she should so some such t tell than that the their
	theirs them then there these they this those through to too under until up us ve very was we were what when where
	which while who whom whose why will with within would you your yours`) {
		set[w] = true
	}
	return set
}()
