package verdict

import "strings"

// finder looks for many patterns in a text in one pass (Aho and Corasick, 1975). Its automaton knows the first bytes of each
// pattern only, so that it stays small; the rest is compared where they are found.
type finder struct {
	patterns []string
	class    [256]uint8 // of a byte; 0: stands in no pattern
	classes  int
	next     []int32   // state × class → state, complete
	ends     [][]int32 // patterns whose known part ends in a state
}

// knownPart is how many bytes of a pattern the automaton knows.
const knownPart = 16

// newFinder prepares the patterns. An empty one is never found.
func newFinder(patterns []string) *finder {
	f := &finder{patterns: patterns, classes: 1}
	for _, p := range patterns {
		for i := range min(len(p), knownPart) {
			if c := p[i]; f.class[c] == 0 && f.classes < 256 {
				f.class[c] = uint8(f.classes)
				f.classes++
			}
		}
	}
	f.grow()
	for n, p := range patterns {
		if p == "" {
			continue
		}
		state := int32(0)
		for i := range min(len(p), knownPart) {
			at := int(state)*f.classes + int(f.class[p[i]])
			if f.next[at] == 0 {
				f.next[at] = int32(len(f.ends))
				f.grow()
			}
			state = f.next[at]
		}
		f.ends[state] = append(f.ends[state], int32(n))
	}
	f.complete()
	return f
}

func (f *finder) grow() {
	f.next = append(f.next, make([]int32, f.classes)...)
	f.ends = append(f.ends, nil)
}

// complete fills in where a state goes on a byte that does not continue its pattern: where the longest suffix of what was
// read would go. States are visited by their depth.
func (f *finder) complete() {
	fail := make([]int32, len(f.ends))
	queue := make([]int32, 0, len(f.ends))
	for c := range f.classes {
		if s := f.next[c]; s != 0 {
			queue = append(queue, s)
		}
	}
	for len(queue) > 0 {
		state := queue[0]
		queue = queue[1:]
		f.ends[state] = append(f.ends[state], f.ends[fail[state]]...)
		for c := range f.classes {
			at := int(state)*f.classes + c
			otherwise := f.next[int(fail[state])*f.classes+c]
			if f.next[at] == 0 {
				f.next[at] = otherwise
				continue
			}
			fail[f.next[at]] = otherwise
			queue = append(queue, f.next[at])
		}
	}
}

// each calls found with the number of every pattern that stands in the text; one that stands there twice may be named twice.
func (f *finder) each(text string, found func(pattern int)) {
	state := int32(0)
	for i := range len(text) {
		state = f.next[int(state)*f.classes+int(f.class[text[i]])]
		for _, n := range f.ends[state] {
			p := f.patterns[n]
			if start := i + 1 - min(len(p), knownPart); strings.HasPrefix(text[start:], p) {
				found(int(n))
			}
		}
	}
}
