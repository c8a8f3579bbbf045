package embedded

import (
	"fmt"
	"strings"
)

// nearest looks among ids for the one that a wrong name was most likely meant to be.
type nearest struct {
	wrong string
	found string
	miss  int // how far found is from wrong
}

// meant begins the search. A name may be off by one character, a longer one by more, and one of two characters by none.
func meant(wrong string) *nearest {
	return &nearest{wrong: wrong, miss: 1 + min((len([]rune(wrong))+2)/5, 3)}
}

// see takes an id and the source that it belongs to: a source in place of the id of one of its pieces is the nearest miss.
func (n *nearest) see(id, source string) {
	miss := n.miss
	switch {
	case miss == 0:
		return
	case strings.EqualFold(id, n.wrong), source == n.wrong, strings.HasSuffix(id, "/"+n.wrong):
		miss = 0
	case len(id) < len(n.wrong)+4*miss && len(n.wrong) < len(id)+4*miss: // a character has up to four bytes
		miss = distance([]rune(n.wrong), []rune(id), miss)
	}
	if miss < n.miss {
		n.found, n.miss = id, miss
	}
}

// String ends a message with the name that was found.
func (n *nearest) String() string {
	if n.found == "" {
		return ""
	}
	return fmt.Sprintf(": did you mean %q?", n.found)
}

// distance counts the insertions, deletions and substitutions between a and b, up to most.
func distance(a, b []rune, most int) int {
	if len(a)-len(b) >= most || len(b)-len(a) >= most {
		return most
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for _, r := range a {
		corner := row[0]
		row[0]++
		least := row[0]
		for j, s := range b {
			change := corner
			if r != s {
				change++
			}
			corner = row[j+1]
			row[j+1] = min(row[j]+1, corner+1, change)
			least = min(least, row[j+1])
		}
		if least >= most {
			return most // no later row can be lower
		}
	}
	return row[len(b)]
}
