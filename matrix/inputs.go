package matrix

import "slices"

// The inputs of calls are digests of what is asked, so that whoever has the observations can hold a call to them. A field that is added
// to one of them is left out where it says nothing: bundles that were sealed before must keep their keys.

// SearchInput is what a search asks a store.
type SearchInput struct {
	Store            *Backend
	Query, Mode      string // of several queries, one a line
	Filter           Filter
	Threshold        *Decimal
	Exact            bool
	Depth            int
	Model, QueryBase string // that the query is embedded with where it is another one, and the experiment's own
	Prefix           *string
	Only             []string       `json:",omitempty"` // these ids alone
	Merged           *MergedQueries `json:",omitempty"`
	Way              CellID         `json:",omitempty"` // of a search that asks for something else than its other fields say
}

// MergedQueries are what makes one ranking of several searches.
type MergedQueries struct {
	Queries []string
	How     string
	K       int
}

// Digest is the input of the call.
func (s SearchInput) Digest() (string, error) { return Digest(s) }

// SearchWay is the cell of a search that asks for something else than its settings say, "" for any other.
func SearchWay(cell CellID) CellID {
	switch cell {
	case ProbeUncached, ProbeStatistics, ProbeLater:
		return cell
	}
	return ""
}

// RepairInput is the input of the retrieval of a repair: what another one, by its call key, passes on where k is so large.
func RepairInput(from string, k int, passed []Hit) (string, error) {
	ids := make([]string, len(passed))
	for i := range passed {
		ids[i] = passed[i].ID
	}
	return Digest(struct {
		From  string
		K     int
		Items []string
	}{from, k, ids})
}

// RewriteInput is the input of a call that rewrites the query.
func RewriteInput(prompt []PromptMessage) (string, error) { return Digest(uncounted(prompt)) }

// GenerateInput is the input of a call that generates.
func GenerateInput(prompt []PromptMessage, seed int64) (string, error) {
	return Digest(struct {
		Prompt []PromptMessage
		Seed   int64
	}{uncounted(prompt), seed})
}

// uncounted is a prompt as it is asked: how it is counted here is no part of that.
func uncounted(prompt []PromptMessage) []PromptMessage {
	asked := slices.Clone(prompt)
	for i := range asked {
		asked[i].Tokens = 0
	}
	return asked
}

// ServiceInput is the input of a call of the user's own service: of everything but its id. A nil context is the service's own; a nil
// seed is that of a retrieval.
func ServiceInput(c *Case, filter Filter, k int, context []Packed, seed *int64) (string, error) {
	return Digest(struct {
		Query     string
		Messages  []Message
		Principal Principal
		Filter    Filter
		K         int
		Context   []Packed
		Seed      *int64
	}{c.Query, c.Messages, c.As, filter, k, context, seed})
}

// JudgeInput is the input of a question to the judge. Two claims of one wording are two questions.
func JudgeInput(j *Judgement) (string, error) {
	return Digest(struct {
		Prompt      []PromptMessage
		Claim, Item string
		Position    int
	}{j.Prompt, j.Claim, j.Item, j.Position})
}
