package experiments

import (
	"slices"
	"strconv"
	"strings"
)

// Near returns the candidate that a mistyped name was most likely meant to be, or "" where none is near.
func Near(name string, candidates []string) string { return near(name, candidates) }

// near returns the candidate that name was most likely meant to be, or "": it may differ in one character, longer names in more. Ties go to the earlier candidate.
func near(name string, candidates []string) string {
	folded := fold(name)
	best, bestDistance := "", 2
	switch n := len([]rune(folded)); {
	case n > 8:
		bestDistance = 4
	case n > 4:
		bestDistance = 3
	}
	for _, c := range candidates {
		if c == name {
			continue
		}
		if d := distance(folded, fold(c)); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// fold takes away what people vary in keys: case, separators, and characters that cannot be seen.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == ' ' || invisible(r) {
			return -1
		}
		return r
	}, strings.ToLower(s))
}

// distance counts the insertions, deletions, substitutions and swaps of neighbours between a and b.
func distance(a, b string) int {
	s, t := []rune(a), []rune(b)
	if len(s) > 64 || len(t) > 64 { // no key is that long, and the table is quadratic
		return len(s) + len(t)
	}
	rows := make([][]int, len(s)+1)
	for i := range rows {
		rows[i] = make([]int, len(t)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(s); i++ {
		for j := 1; j <= len(t); j++ {
			substitute := rows[i-1][j-1]
			if s[i-1] != t[j-1] {
				substitute++
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, substitute)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(s)][len(t)]
}

// meant returns `: did you mean "x"?` for a near name, else the valid choices while they are few, else "".
func meant(name string, candidates []string) string {
	if c := near(name, candidates); c != "" {
		return ": did you mean " + strconv.Quote(c) + "?"
	}
	if len(candidates) == 0 || len(candidates) > 24 {
		return ""
	}
	return ": it can be " + choices(candidates)
}

// choices writes `"a", "b" or "c"`.
func choices(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = strconv.Quote(n)
	}
	if len(quoted) < 2 {
		return strings.Join(quoted, "")
	}
	last := len(quoted) - 1
	return strings.Join(slices.Clone(quoted[:last]), ", ") + " or " + quoted[last]
}
