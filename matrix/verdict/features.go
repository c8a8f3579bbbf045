package verdict

import "github.com/culprit-rag/culprit/matrix"

// FeaturesSchema is the schema of [Features].
const FeaturesSchema = "culprit.features/v1"

// Features is everything that was read from the texts of the observations. Labels are decided from it and from the
// observations' ids, ranks, scores and counts alone.
type Features struct {
	Schema     string              `json:"schema"`
	Fixture    []string            `json:"fixture,omitempty"` // what the checkers' self-test found wrong with the case
	Gold       []GoldFeatures      `json:"gold,omitempty"`    // as StoreFacts.Gold
	Retrievals []RetrievalFeatures `json:"retrievals"`        // as Observations.Retrievals
	Trials     []TrialFeatures     `json:"trials"`            // as Observations.Trials
}

// GoldFeatures compares the items stored under a gold source with the gold.
type GoldFeatures struct {
	Requirement int              `json:"requirement"`
	Alternative int              `json:"alternative"`
	Items       []StoredRelation `json:"items,omitempty"`
	Lacks       []string         `json:"lacks,omitempty"` // claims that the case's gold text states, and no item that is stored under a gold source
}

// StoredRelation says how an item stored under a gold source relates to the gold text.
type StoredRelation struct {
	ID       string `json:"id"`
	Relation string `json:"relation"` // "holds-span", "empty", "part" (a part of the gold text), "other"
	Revision string `json:"revision,omitempty"`
	Stale    bool   `json:"stale,omitempty"` // the contract names a revision and this is another
	Like     bool   `json:"like,omitempty"`  // shares half of its words with the gold text that the case gives
	Body     string `json:"body,omitempty"`  // of an item that holds the span, against the case's gold text: "same", "part" of it, or "other"
	// SpanEnd is how many words of the text it takes to read to the end of the span, 0 where the span is not there.
	SpanEnd int `json:"span_end,omitempty"`
}

// RetrievalFeatures finds the gold in one ranking. Places are ranks from 1, 0 for absent.
type RetrievalFeatures struct {
	Cell      matrix.CellID `json:"cell"`
	Gold      []Place       `json:"gold,omitempty"`      // one for each requirement
	Searches  [][]int       `json:"searches,omitempty"`  // where there were several, of each: the rank by span of each requirement, 0 for none
	Duplicate []int         `json:"duplicate,omitempty"` // ranks whose text repeats that of a better rank
	Outdated  []int         `json:"outdated,omitempty"`  // ranks of declared superseded items
	Forbidden []int         `json:"forbidden,omitempty"` // ranks of items that the asker may not see
	Filtered  []int         `json:"filtered,omitempty"`  // ranks of items that the declared filter does not admit
}

// Place is where one required item stands: by its span, and by its id or source.
type Place struct {
	BySpan   int    `json:"by_span"`
	BySource int    `json:"by_source"`
	ID       string `json:"id,omitempty"` // of the item at BySpan, else at BySource
	Reranked int    `json:"reranked"`     // by span, in the reranker's output
	// Shared are the words of the query that stand in the text of the gold although the search does not rank it; the whole
	// query, where it stands there as it is.
	Shared []string `json:"shared,omitempty"`
}

// ClaimState says what an answer does with a claim.
type ClaimState string

// The states of a claim.
const (
	ClaimMet      ClaimState = "met"
	ClaimMissing  ClaimState = "missing"
	ClaimViolated ClaimState = "violated" // states what it must never state
)

// ClaimResult is one claim in one answer: a line of its ledger.
type ClaimResult struct {
	ID      string     `json:"id"`
	State   ClaimState `json:"state"`
	Near    string     `json:"near,omitempty"`    // why a near miss is not a match: "negated", "other number"
	At      *Extent    `json:"at,omitempty"`      // where the answer states it, or what must never be stated, or the near miss
	Support []string   `json:"support,omitempty"` // ids of packed items that state it too, or, of a claim to cite alone, that are cited
}

// Extent is a part of an answer as it is judged ([Said].Text): the bytes [From,To). It holds no text, so that it may be kept where
// the answer is withheld.
type Extent struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// In returns the words of the extent, "" where the text is another than the one that it was found in.
func (e Extent) In(text string) string {
	if e.From < 0 || e.To < e.From || e.To > len(text) {
		return ""
	}
	return text[e.From:e.To]
}

// TrialFeatures is what the texts of one trial say.
type TrialFeatures struct {
	CallKey string        `json:"call_key,omitempty"` // "" of a restricted trial, whose key is another in each bundle
	Cell    matrix.CellID `json:"cell"`
	Rep     int           `json:"rep"`
	Claims  []ClaimResult `json:"claims,omitempty"`
	// Answer is a number of the answer among those of the case, from 1 in their order: equal for answers that differ only in case, white
	// space, marks at the ends, and how numbers are written. 0: it has no words.
	Answer     int      `json:"answer,omitempty"`
	Refused    bool     `json:"refused"`
	Declines   bool     `json:"declines,omitempty"` // reads like a refusal, in words that are not declared
	Empty      bool     `json:"empty,omitempty"`    // no answer text at all
	Meets      bool     `json:"meets"`              // what the case expects
	Citations  []string `json:"citations,omitempty"`
	Fabricated []string `json:"fabricated,omitempty"` // cited, and not in the context
	Copied     bool     `json:"copied,omitempty"`     // the answer, citations aside, stands verbatim in the prompt
	Grounded   bool     `json:"grounded,omitempty"`   // most of the answer's words stand in the prompt, and all of its figures
	// Unsupported are the sentences of the answer that its context does not support, by overlap of words, numbers and dates. It is a hint
	// for a reader, and no rule reads it.
	Unsupported []Extent    `json:"unsupported,omitempty"`
	Malformed   bool        `json:"malformed,omitempty"`  // not the JSON that was asked for
	Gold        []GoldPlace `json:"gold,omitempty"`       // one for each requirement
	Superseded  bool        `json:"superseded,omitempty"` // a declared superseded item is in the context
	Carried     int         `json:"carried"`              // packed items whose text stands verbatim in the prompt
	Worded      int         `json:"worded"`               // packed items most of whose words stand in the prompt
	Named       int         `json:"named"`                // packed items whose id or source stands in the prompt
	Altered     []string    `json:"altered,omitempty"`    // packed ids whose text is not what the retrieval returned for the id
	Forbidden   []string    `json:"forbidden,omitempty"`  // packed ids that the asker may not see
}

// GoldPlace is where one required item stands in the context and the prompt.
type GoldPlace struct {
	Packed   int    `json:"packed"` // position of the item that holds the span, 0 for none
	PackedID string `json:"packed_id,omitempty"`
	ByID     int    `json:"by_id"`             // position of the item with the gold's id or source, 0 for none
	Prompt   bool   `json:"prompt"`            // the span stands in the prompt
	Assumed  bool   `json:"assumed,omitempty"` // the prompt was not observed: it is packed, which is as far as anybody can see
	Role     string `json:"role,omitempty"`    // of the messages in which it stands, where it is one role alone
}
