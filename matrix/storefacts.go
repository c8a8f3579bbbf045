package matrix

import "slices"

// StoreFacts is what the store checks saw, for one case.
type StoreFacts struct {
	Adapter          string         `json:"adapter"` // "": the experiment declares no store
	Version          string         `json:"version,omitempty"`
	Collection       string         `json:"collection,omitempty"`
	Notes            []string       `json:"notes,omitempty"` // what the store says that bears on all of this
	Mode             string         `json:"mode"`
	Fingerprint      string         `json:"fingerprint,omitempty"`
	FingerprintAfter string         `json:"fingerprint_after,omitempty"`
	FingerprintBlind string         `json:"fingerprint_blind,omitempty"` // what it cannot see
	Content          string         `json:"content,omitempty"`           // digest of every item, where the complete fingerprint is asked for
	ContentAfter     string         `json:"content_after,omitempty"`
	Revision         string         `json:"revision,omitempty"`
	Items            int            `json:"items"` // that the store counts before the case, and after it
	ItemsAfter       int            `json:"items_after"`
	Unmapped         []string       `json:"unmapped,omitempty"` // meanings of fields, such as "access", whose mapped field no item has
	Scan             ScanFacts      `json:"scan"`
	Fresh            *FreshFacts    `json:"fresh,omitempty"`
	Gold             []GoldFacts    `json:"gold,omitempty"` // one for each alternative of each requirement, in order
	Embed            *EmbedFacts    `json:"embed,omitempty"`
	FilterControl    *FilterControl `json:"filter_control,omitempty"`
	RerankControl    *RerankControl `json:"rerank_control,omitempty"`
	Error            *CallError     `json:"error,omitempty"`
}

// ScanFacts says how much of the store the presence proof read. Absence may be said only when Complete.
type ScanFacts struct {
	Scanned  int    `json:"scanned"`
	Counted  int    `json:"counted"`
	Complete bool   `json:"complete"`
	Reason   string `json:"reason,omitempty"`   // why it is not complete
	LeftOut  string `json:"left_out,omitempty"` // what the settings of the store leave out of the collection
}

// Miscounted reports whether a scan that read to the end met another number of items than were counted behind it: they came or
// went meanwhile, unless the store counts otherwise than it lists.
func (s ScanFacts) Miscounted() bool { return s.Counted > 0 && s.Scanned != s.Counted }

// FreshFacts is what one scan saw of the age of all items. The counts are of items; Examples are ids of the first few
// outdated ones.
type FreshFacts struct {
	Items    int      `json:"items"`            // that the scan read
	Timed    int      `json:"timed"`            // that carry the times that the comparisons below need
	Updated  int      `json:"updated"`          // whose source was updated after they were indexed
	Old      int      `json:"old"`              // that were indexed longer ago than MaxAge
	MaxAge   Duration `json:"max_age,omitzero"` // checks.max_age; 0: not asked for
	Compared int      `json:"compared"`         // that were compared with the documents of the experiment; 0: it has none
	Differ   int      `json:"differ"`           // whose source has a document, and none with their text
	Gone     int      `json:"gone"`             // whose source has no document
	Unstored int      `json:"unstored"`         // documents whose text no item of their source has
	Examples []string `json:"examples,omitempty"`
}

// Reasons why a stored item is not as its source is now.
const (
	OutdatedSource = "source-updated"      // its source was updated after it was indexed
	OutdatedAge    = "older-than-max-age"  // it was indexed longer ago than checks.max_age
	OutdatedGone   = "source-gone"         // no document of the experiment has its source
	OutdatedText   = "differs-from-source" // no document of its source has its text
)

// Outdated returns how many items are not as their source is.
func (f *FreshFacts) Outdated() int { return f.Updated + f.Old + f.Differ + f.Gone }

// GoldFacts is what the scan saw of one piece of gold.
type GoldFacts struct {
	Requirement int        `json:"requirement"` // index into Evidence.Required
	Alternative int        `json:"alternative"` // index into AnyOf
	Exact       []string   `json:"exact,omitempty"`
	Folded      []string   `json:"folded,omitempty"`    // ids that hold the span only after NFKC, case and white space are folded
	FoldedBy    []string   `json:"folded_by,omitempty"` // of each, the one folding that is enough: nfc, case, white space, several
	Split       [][]string `json:"split,omitempty"`     // pairs of ids of one source that hold the span between them
	Unserved    []string   `json:"unserved,omitempty"`  // "field of id": it stands in a field that is not the text
	Items       []GoldItem `json:"items,omitempty"`     // items stored under the source: all that hold the span, and the first few of the others
	Stored      int        `json:"stored,omitempty"`    // how many items are stored under the source
	Elsewhere   []string   `json:"elsewhere,omitempty"`
	Later       string     `json:"later,omitempty"`  // id of an item of the source that holds the span when the store is scanned again behind checks.second_look
	Copies      []string   `json:"copies,omitempty"` // ids under other sources that hold the whole text that the case gives
	Text        Text       `json:"text,omitzero"`    // the gold text that B uses
	TextID      string     `json:"text_id,omitempty"`
	TextOrigin  string     `json:"text_origin,omitempty"` // "case", "store", "service" (an item of its trace) or "span"
	Sensitivity Level      `json:"sensitivity,omitempty"` // of Text
}

// GoldItem is one item stored under a gold source. Cosine is the stored vector against a fresh embedding of the stored text.
type GoldItem struct {
	ID       string   `json:"id"`
	Source   string   `json:"source,omitempty"`
	Revision string   `json:"revision,omitempty"`
	Text     Text     `json:"text"`
	Access   []string `json:"access,omitempty"`
	Allowed  bool     `json:"allowed"`         // the asker may see it
	Stale    bool     `json:"stale,omitempty"` // the contract names a revision and this is another
	// IndexedAt and UpdatedAt (of the source) are RFC 3339, "" where the store does not tell.
	IndexedAt string   `json:"indexed_at,omitempty"`
	UpdatedAt string   `json:"updated_at,omitempty"`
	Outdated  []string `json:"outdated,omitempty"` // why it is not as its source is now: Outdated… reasons
	// Metadata holds the fields that the asker's attributes and the filter are held against.
	Metadata    map[string][]string `json:"metadata,omitempty"`
	Sensitivity Level               `json:"sensitivity,omitempty"`
}

// EmbedFacts is what is known of who embedded the index and who embeds the queries.
type EmbedFacts struct {
	QueryModel       string         `json:"query_model"`
	QueryDimensions  int            `json:"query_dimensions,omitempty"`
	QueryPrefix      string         `json:"query_prefix,omitempty"`
	PassagePrefix    string         `json:"passage_prefix,omitempty"`
	IndexModel       string         `json:"index_model,omitempty"` // declared by the collection
	IndexDimensions  int            `json:"index_dimensions,omitempty"`
	IndexDistance    string         `json:"index_distance,omitempty"`
	IndexQueryPrefix *string        `json:"index_query_prefix,omitempty"`
	IndexPassage     *string        `json:"index_passage_prefix,omitempty"`
	DeclaredPerItem  map[string]int `json:"declared_per_item,omitempty"` // model → items, from per-item fields; "": items that declare none
	VectorType       string         `json:"vector_type,omitempty"`       // how the store keeps a number of a vector: "float32", "float16", "uint8"
	EmbedInput       string         `json:"embed_input,omitempty"`       // what the store's own vectorizer embeds, where that is not the text alone
	Sample           []EmbedSample  `json:"sample,omitempty"`            // seeded, and every item that holds gold
	Error            *CallError     `json:"error,omitempty"`
	// BehaviourObserved: stored vectors were compared with fresh ones. Reason says why not, where it is no error.
	BehaviourObserved bool   `json:"behaviour_observed"`
	Reason            string `json:"reason,omitempty"`
}

// EmbedSample compares one stored vector with fresh embeddings. Cosines are decimals, of the leading numbers that both vectors
// have.
type EmbedSample struct {
	ID        string  `json:"id"`
	Gold      bool    `json:"gold,omitempty"`
	Added     bool    `json:"added,omitempty"`   // not drawn: compared because it holds the case's gold
	Repeats   bool    `json:"repeats,omitempty"` // an item before it in the sample has the same text
	Blank     bool    `json:"blank,omitempty"`   // has no text that could be embedded, and is not compared
	Zero      bool    `json:"zero,omitempty"`
	Missing   bool    `json:"missing,omitempty"` // has no vector
	Norm      Decimal `json:"norm,omitempty"`
	Shortened int     `json:"shortened,omitempty"` // how many numbers were compared, where the two vectors differ in length
	// Passage is the cosine with the item's own text as the embedder embeds passages now.
	Passage *Decimal `json:"passage,omitempty"`
	// OwnNearest: of Among different texts, the item's own has the fresh vector that is nearest to the stored one. Nearest is
	// the id of a sampled item with the text that is nearer, and NearestCosine its cosine. Among 0: it was not looked at, as with
	// a vector that matches.
	Among         int      `json:"among,omitempty"`
	OwnNearest    bool     `json:"own_nearest,omitempty"`
	Nearest       string   `json:"nearest,omitempty"`
	NearestCosine *Decimal `json:"nearest_cosine,omitempty"`
	// Tried are other ways to embed the item's own text, in the order in which they were tried; the last may explain the vector.
	Tried []EmbedTried `json:"tried,omitempty"`
	// Searched: the store was asked which items carry the vector that this item's text should have.
	Searched  bool   `json:"searched,omitempty"`
	OtherText string `json:"other_text,omitempty"` // id of the item whose text this vector belongs to instead
	StoredAt  string `json:"stored_at,omitempty"`  // id of an item with another text that carries the vector of this item's text instead of its own
	Model     string `json:"model,omitempty"`      // declared by the item
	Truncated *int   `json:"truncated,omitempty"`  // the embedder read only this many tokens
}

// EmbedTried is one way to embed a text: behind another prefix, or its first words only.
type EmbedTried struct {
	Prefix string  `json:"prefix"`          // before the text; where Words is set, the prefix of passages
	Words  int     `json:"words,omitempty"` // 0: all
	Cosine Decimal `json:"cosine"`          // with the stored vector
}

// FilterControl is what came back for a filter value that cannot exist.
type FilterControl struct {
	Filter   Filter     `json:"filter"`
	Returned []string   `json:"returned"`
	Error    *CallError `json:"error,omitempty"`
}

// RerankControl is what the reranker made of the query itself against an unrelated text, and of the gold item on its own
// against the score that the same item got in the list.
type RerankControl struct {
	QueryScore Decimal  `json:"query_score,omitempty"`
	OtherScore Decimal  `json:"other_score,omitempty"`
	QueryFirst bool     `json:"query_first"`
	GoldID     string   `json:"gold_id,omitempty"` // a gold item that went into the rerank
	GoldAlone  *Decimal `json:"gold_alone,omitempty"`
	GoldInList *Decimal `json:"gold_in_list,omitempty"`
	// EndUnread: the gold item scores the same with the query appended to it, so its end is not read.
	EndUnread bool       `json:"end_unread,omitempty"`
	Error     *CallError `json:"error,omitempty"`
	Asked     []Asked    `json:"asked,omitempty"` // volatile
}

// GoldIDs lists the items that hold gold, each once.
func (s *StoreFacts) GoldIDs() (ids []string) {
	for i := range s.Gold {
		for _, id := range slices.Concat(s.Gold[i].Exact, s.Gold[i].Folded) {
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}
