package matrix

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Rewrite lets the generator write what is searched for, in production's way: one query, or several.
type Rewrite struct {
	Prompt       string  `json:"prompt"`        // template, see [ParseRewriteTemplate]
	Several      bool    `json:"several"`       // each line of the answer is a query
	Most         int     `json:"most"`          // of several, so many at the most; the lines behind them are not searched for
	KeepOriginal bool    `json:"keep_original"` // the question as typed is searched for as well, first
	Merge        string  `json:"merge"`         // of several searches: MergeRoundRobin or MergeRRF
	Temperature  Decimal `json:"temperature"`
	Seed         int64   `json:"seed"`
	MaxTokens    int     `json:"max_tokens"`
}

// How the rankings of several searches become one.
const (
	MergeRoundRobin = "round-robin" // the first of each in turn, then the second of each; an item counts where it comes first
	MergeRRF        = "rrf"         // by the sum of 1/(60+rank) over the searches that return the item
)

// Many reports whether a retrieval may be more than one search.
func (r *Rewrite) Many() bool { return r != nil && (r.Several || r.KeepOriginal) }

// PlannedRewrite is the one rewriting of a case: what it gives is searched for in C and in all of its probes, and so is behind A. B and
// what starts from it do not depend on it.
type PlannedRewrite struct {
	Settings string `json:"settings"` // digest of the model and of how it is asked
	Searches int    `json:"searches"` // the most that each retrieval makes
}

func expandRewrite(e *Experiment) (*PlannedRewrite, error) {
	r := e.Pipeline.Rewrite
	if r == nil {
		return nil, nil
	}
	settings, err := Digest(struct {
		Generator *Backend
		Rewrite   *Rewrite
	}{e.Backends.Generator, r})
	if err != nil {
		return nil, fmt.Errorf("settings of experiment %q: %w", e.Name, err)
	}
	return &PlannedRewrite{Settings: settings, Searches: r.Searches()}, nil
}

// Searches returns the most searches that one retrieval makes; without a rewriting there is one.
func (r *Rewrite) Searches() int {
	if r == nil {
		return 1
	}
	n := 1
	if r.Several {
		n = r.Most
	}
	if r.KeepOriginal {
		n++
	}
	return n
}

// Queries reads what is searched for out of the answer of the generator, in order and each once; none where it gave none. Of one
// query all of the answer is it, of several each line, without a number or a sign before it.
func (r *Rewrite) Queries(answer string) []string {
	lines := []string{answer}
	if r.Several {
		lines = strings.FieldsFunc(answer, func(c rune) bool { return c == '\n' || c == '\r' })
	}
	var out []string
	for _, line := range lines {
		query := strings.Join(strings.Fields(line), " ")
		if r.Several {
			query = withoutNumber(query)
		}
		if query != "" && !slices.Contains(out, query) && (!r.Several || len(out) < r.Most) {
			out = append(out, query)
		}
	}
	return out
}

// Searched lists what is searched for after a rewriting: what it gave, behind the question as typed where that is kept.
func (r *Rewrite) Searched(c *Case, w *Rewriting) (out []string) {
	if r.KeepOriginal {
		out = append(out, c.Question())
	}
	for _, q := range w.Queries {
		if !slices.Contains(out, q) {
			out = append(out, q)
		}
	}
	return out
}

// withoutNumber cuts what a list begins a line with: "1.", "2)", "(3)", "-", "*", "•".
func withoutNumber(line string) string {
	rest := strings.TrimLeft(line, "(")
	digits := strings.TrimLeftFunc(rest, func(c rune) bool { return unicode.IsDigit(c) && c <= '9' })
	if tail := strings.TrimLeft(digits, ".):"); len(digits) < len(rest) && len(rest)-len(digits) <= 2 && len(tail) < len(digits) &&
		(tail == "" || strings.HasPrefix(tail, " ")) {
		return strings.TrimSpace(tail)
	}
	for _, sign := range []string{"- ", "* ", "• ", "– "} {
		if tail, ok := strings.CutPrefix(line, sign); ok {
			return strings.TrimSpace(tail)
		}
	}
	return line
}

// Rewriting is what the generator was asked to search for, and what it said. It is made once for a case and serves A and C.
type Rewriting struct {
	CallKey           string            `json:"call_key"`
	Prompt            []PromptMessage   `json:"prompt"`
	Answer            Text              `json:"answer,omitzero"`
	Queries           []string          `json:"queries"`           // that it gave; none: production searches for nothing, but for an original that is kept
	Refused           bool              `json:"refused,omitempty"` // the provider says that the answer is a refusal, and no query is read from it
	FinishReason      string            `json:"finish_reason,omitempty"`
	ModelRequested    string            `json:"model_requested,omitempty"`
	ModelReported     string            `json:"model_reported,omitempty"`
	SystemFingerprint string            `json:"system_fingerprint,omitempty"`
	Seed              int64             `json:"seed"`
	Usage             Usage             `json:"usage,omitzero"`
	Notes             []string          `json:"notes,omitempty"`    // what was asked for and not sent, or not granted
	Metadata          map[string]string `json:"metadata,omitempty"` // what else the provider says of who answered; its response id is volatile
	Status            Status            `json:"status"`
	Reason            string            `json:"reason,omitempty"`
	Error             *CallError        `json:"error,omitempty"`
	RequestID         string            `json:"request_id,omitempty"`   // volatile
	At                string            `json:"at,omitempty"`           // volatile
	LatencyMS         int64             `json:"latency_ms,omitempty"`   // volatile; wire time
	Attempts          int               `json:"attempts,omitempty"`     // volatile
	Asked             []Asked           `json:"asked,omitempty"`        // volatile; absent: Attempts calls of the generator, with Usage
	FromJournal       bool              `json:"from_journal,omitempty"` // volatile; as of a retrieval
}

func (r *Rewriting) texts(visit func(*Text) error) error {
	for i := range r.Prompt {
		if err := visitText(&r.Prompt[i].Text, visit); err != nil {
			return err
		}
	}
	return visitText(&r.Answer, visit)
}

// stable leaves out what differs from one execution to the next.
func (r *Rewriting) stable() *Rewriting {
	if r == nil {
		return nil
	}
	s := *r
	s.Metadata = (&Trial{Metadata: r.Metadata}).stableMetadata(map[string]string{})
	s.RequestID, s.At, s.LatencyMS, s.Attempts, s.Asked, s.FromJournal = "", "", 0, 0, nil, false
	return &s
}

// Searched is one search of a retrieval that makes several.
type Searched struct {
	Query         string `json:"query_effective"` // as the store received it; "": a service does not tell it
	Filter        Filter `json:"filters_effective,omitempty"`
	LowerIsBetter bool   `json:"lower_is_better,omitempty"`
	Candidates    []Hit  `json:"candidates"` // nil: a service does not tell them
	Deeper        bool   `json:"deeper,omitempty"`
	Cap           int    `json:"cap,omitempty"`
}

// How several searches of a service became one ranking: it says so itself, or that is not told.
const (
	MergedByService = "by the service"
	MergedAsTold    = "in the order in which they were told"
)

// SearchedNothing is the reason of a retrieval that had no query.
const SearchedNothing = "the rewriting gave no query: nothing was searched for"

// Queries returns what a retrieval searched for, none where it searched for nothing.
func (r *Retrieval) Queries() []string {
	switch {
	case len(r.Searches) > 0:
		out := make([]string, len(r.Searches))
		for i, s := range r.Searches {
			out[i] = s.Query
		}
		return out
	case r.QueryEffective == "":
		return nil
	}
	return []string{r.QueryEffective}
}

// rrf is the constant of reciprocal rank fusion, as its authors and most stores set it.
const rrf = 60

// MergeHits makes one ranking of several to depth, from what each passes on first: the first k of each are merged, and what ranks
// below them follows, merged in the same way. Scores of the searches cannot be compared and are gone; those of a fusion are set.
func MergeHits(how string, rankings [][]Hit, k, depth int) []Hit {
	var first, below [][]Hit
	for _, hits := range rankings {
		cut := min(k, len(hits))
		first, below = append(first, hits[:cut]), append(below, hits[cut:])
	}
	order := roundRobin
	if how == MergeRRF {
		order = fused
	}
	out := append(order(first), order(below)...)
	seen := map[string]bool{}
	out = slices.DeleteFunc(out, func(h Hit) bool {
		again := seen[h.ID]
		seen[h.ID] = true
		return again
	})
	out = out[:min(len(out), depth)]
	for i := range out {
		out[i].Rank = i + 1
	}
	return out
}

func roundRobin(rankings [][]Hit) []Hit {
	var out []Hit
	for at, more := 0, true; more; at++ {
		more = false
		for _, hits := range rankings {
			if at < len(hits) {
				h := hits[at]
				h.Score = nil
				out, more = append(out, h), true
			}
		}
	}
	return out
}

// fused orders by reciprocal rank fusion, equal sums by the rank in the first ranking that has the item.
func fused(rankings [][]Hit) []Hit {
	out, sums := []Hit{}, map[string]float64{}
	for _, h := range roundRobin(rankings) {
		if _, known := sums[h.ID]; !known {
			out = append(out, h)
		}
		sums[h.ID] += 1 / float64(rrf+h.Rank)
	}
	slices.SortStableFunc(out, func(a, b Hit) int {
		switch x, y := sums[a.ID], sums[b.ID]; {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	for i := range out {
		score := NewDecimal(sums[out[i].ID])
		out[i].Score = &score
	}
	return out
}
