package adapters

import (
	"context"
	"encoding/json"
	"io"
	"time"
)

// VectorStore reads one collection of a vector store. It never writes.
type VectorStore interface {
	io.Closer // may be called twice; every other method then fails with ErrClosed

	// Describe returns what the store says of itself and of the collection, with an exact count.
	Describe(ctx context.Context) (StoreInfo, error)
	// Search returns the ranking, best first, ties ordered by (score, id) and ranks from 1. It holds at most req.Limit
	// items and none twice. An item that the mode cannot score is left out.
	Search(ctx context.Context, req SearchRequest) (SearchResponse, error)
	// Scan calls visit once for each stored item, in a fixed order of the store's own, on the caller's goroutine. An error
	// of visit stops the scan and is returned as it is. Counted is the store's own exact count, taken after the last page.
	Scan(ctx context.Context, req ScanRequest, visit func(Item) error) (ScanReport, error)
	// Fetch returns the items with these ids, in the order asked for; ids that do not exist are left out.
	Fetch(ctx context.Context, req FetchRequest) ([]Item, error)
	// Capabilities declares the optional abilities. It does no I/O.
	Capabilities() StoreCapabilities
}

// StoreCapabilities are the optional abilities of a store.
type StoreCapabilities struct {
	Modes       []string // of Search: "keyword", "dense", "hybrid"
	Exact       bool     // Search can be told to be exact
	Threshold   bool
	Filter      bool
	Vectors     bool // Scan and Fetch can return stored vectors
	Collections bool // Scan and Fetch can read the other collections that StoreInfo lists
	Only        bool // Search can be restricted to ids, to score one named item
	// FilterStatistics: keyword search can count how often words stand over what is admitted alone.
	FilterStatistics bool
	Local            bool // calls cost nothing and leave this process for nobody
}

// StoreInfo is what a store says of itself. Empty strings and nil are "not told".
type StoreInfo struct {
	Engine            string
	Version           string
	Collection        string // the physical name, after aliases
	Collections       []string
	Count             int
	Dimensions        int
	Distance          string // "cosine", "dot", "euclid", "manhattan"
	EmbedModel        string // declared for the collection
	QueryPrefix       *string
	PassagePrefix     *string
	DeclaredPerItem   map[string]int // embedding model → items, "" → items that declare none; nil where none does, or only a scan could tell
	Revision          string
	Fingerprint       string   // changes when the collection changes
	FingerprintMisses string   // what the fingerprint cannot see, in one sentence
	VectorType        string   // how a number of a vector is kept: "float32", "float16", "uint8"
	EmbedInput        string   // what the store's own vectorizer embeds, where that is not the text alone
	Notes             []string // what else bears on what is read here, a sentence each: an alias, indexing under way, another release
}

// Item is one stored item. ID is the store's own, as text.
type Item struct {
	ID         string
	Source     string
	Revision   string
	Text       string
	Access     []string            // who may see it; empty: everybody
	Metadata   map[string][]string // other fields, each a list of values; numbers and booleans as JSON writes them
	EmbedModel string              // declared by the item
	Collection string              // of a document that belongs to another collection than the one that is searched
	IndexedAt  time.Time
	UpdatedAt  time.Time // of the source
	Vector     []float32 // only when asked for; nil: the item has none
}

// SearchRequest asks for a ranking. Query is needed by keyword and hybrid, Vector by dense and hybrid.
type SearchRequest struct {
	Mode      string
	Query     string
	Vector    []float32
	Limit     int // from 1
	Filter    []Condition
	Threshold *float64 // worse scores are left out
	Exact     bool
	Only      []string // restrict to these ids
	IDsOnly   bool     // the hits need nothing but id, rank and score
	// FilterStatistics: how often a word stands is counted over the items that Filter and Only admit, not over the collection.
	FilterStatistics bool
}

// Condition holds for an item whose field has one of the values AnyOf (none of them, where Not is set).
// A condition without values holds for nothing; with Not it holds for everything. The fields are "id", "source",
// "revision", "access" and the names of metadata. A store that tells types apart compares strings with strings; with Typed
// the values are numbers and booleans as JSON writes them.
type Condition struct {
	Field string
	AnyOf []string
	Not   bool
	Typed bool
}

// SearchResponse is a ranking.
type SearchResponse struct {
	Hits          []Hit
	LowerIsBetter bool
	Exact         bool   // the ranking is known to be exact
	Received      string // the query as the store received it
	Cap           int    // the most that the store ever returns, where that is below the limit asked for; 0: the limit was kept
}

// Hit is one item of a ranking. Score is nil where the store gives none.
type Hit struct {
	Item
	Rank  int
	Score *float64
}

// ScanRequest asks for every item of a collection; "" is the collection that the store was opened on.
type ScanRequest struct {
	Collection string
	Vectors    bool
}

// ScanReport says how much was read. The scan proves absence only when Scanned == Counted, Unread is empty and no error was
// returned.
type ScanReport struct {
	Scanned int
	Counted int
	Unread  string // what could not be read without changing the store, and why: a tenant that is not active
	LeftOut string // what the settings leave out of the collection, such as other tenants; absence says nothing of that
}

// FetchRequest asks for items by id.
type FetchRequest struct {
	IDs     []string
	Vectors bool
}

// Purpose says what a text is embedded as.
type Purpose string

// The purposes of an embedding.
const (
	ForQuery   Purpose = "query"
	ForPassage Purpose = "passage"
)

// Embedder turns texts into vectors.
type Embedder interface {
	io.Closer
	// Describe returns what the embedder declares. It may make a call.
	Describe(ctx context.Context) (EmbedderInfo, error)
	// Embed returns one vector for each text, in order.
	Embed(ctx context.Context, req EmbedRequest) (EmbedResponse, error)
}

// EmbedderInfo is what an embedder declares. Dimensions 0 is not told.
type EmbedderInfo struct {
	Adapter       string
	Model         string
	Dimensions    int
	QueryPrefix   string
	PassagePrefix string
	Revision      string // differs where the same text may get another vector; empty: the fields above are all that is told
	Local         bool   // calls cost nothing and leave this process for nobody
}

// EmbedRequest asks for vectors. The prefix for the purpose is put before each text, or *Prefix where it is given.
// Model, where given, asks for another model than the configured one; an embedder that cannot is KindUnsupported.
type EmbedRequest struct {
	Texts   []string
	Purpose Purpose
	Prefix  *string
	Model   string
}

// EmbedResponse holds one vector for each text. Truncated names, by index, how many tokens of a text were read where the
// embedder did not read all of it.
type EmbedResponse struct {
	Vectors       [][]float32
	ModelReported string
	Truncated     map[int]int
	InputTokens   *int     // nil: not reported
	Notes         []string // as in GenerateResponse
	Quota         *Quota
}

// Message is one message of a prompt. Role is "system", "user" or "assistant".
type Message struct {
	Role string
	Text string
}

// Generator answers prompts.
type Generator interface {
	io.Closer
	// Describe returns what the generator declares. It may make a call.
	Describe(ctx context.Context) (GeneratorInfo, error)
	// Generate makes one generation. A block or a stop at the output limit is a response with that finish reason, not an error.
	Generate(ctx context.Context, req GenerateRequest) (GenerateResponse, error)
}

// GeneratorInfo is what a generator declares. Deterministic: equal requests give equal answers.
type GeneratorInfo struct {
	Adapter       string
	Model         string
	Deterministic bool
	Formats       bool // it can be held to GenerateRequest.Format
	Local         bool // calls cost nothing and leave this process for nobody
}

// GenerateRequest asks for one generation. Nil means that the setting is not sent.
type GenerateRequest struct {
	Messages    []Message
	Temperature *float64
	TopP        *float64
	Seed        *int64
	MaxTokens   int // 0: not sent
	Stop        []string
	Format      *Format // nil: free text; a generator that does not declare Formats is KindUnsupported
}

// Format is the form of an answer: a JSON object that meets Schema, a JSON Schema. Name is a word for it.
type Format struct {
	Name   string
	Schema json.RawMessage
}

// Finish reasons. A provider's own words are mapped to these; others are passed on as they are.
const (
	FinishStop          = "stop"
	FinishLength        = "length"
	FinishContentFilter = "content_filter"
)

// GenerateResponse is one generation. Pointers that are nil were not reported, which is not zero.
type GenerateResponse struct {
	Text              string
	FinishReason      string
	ModelReported     string
	SystemFingerprint string
	RequestID         string
	InputTokens       *int
	OutputTokens      *int
	CachedInputTokens *int
	ReasoningTokens   *int // of OutputTokens, those of the model's reasoning
	WireTime          time.Duration
	Refusal           string            // the provider's own refusal field, where it has one
	Notes             []string          // what was asked for and not sent, or not granted, a sentence each
	Metadata          map[string]string // what else the provider says of who answered: "service_tier", "provider"
	Quota             *Quota
}

// Quota is what an answer says is left of the provider's limits; nil is not told.
type Quota struct {
	Requests *Allowance
	Tokens   *Allowance
}

// Allowance is one limit of a provider: how much it grants a window, what is left, and when it is whole again.
type Allowance struct {
	Limit int // 0: not told
	Left  int
	Reset time.Duration // 0: not told
}

// Reranker orders documents by relevance to a query.
type Reranker interface {
	io.Closer
	// Describe returns what the reranker declares. It may make a call.
	Describe(ctx context.Context) (RerankerInfo, error)
	// Rerank returns one result for each document that the backend scored, in the backend's own order.
	Rerank(ctx context.Context, req RerankRequest) (RerankResponse, error)
}

// RerankerInfo is what a reranker declares.
type RerankerInfo struct {
	Adapter string
	Model   string
	Local   bool // calls cost nothing and leave this process for nobody
}

// RerankRequest asks for scores. Documents are texts.
type RerankRequest struct {
	Query     string
	Documents []string
}

// RerankResponse holds the results.
type RerankResponse struct {
	Results       []RerankResult
	ModelReported string   // empty: the backend does not say
	InputTokens   *int     // nil: not reported
	Notes         []string // as in GenerateResponse
	Quota         *Quota
}

// RerankResult is the score of one document, by its index in the request.
type RerankResult struct {
	Index     int
	Score     float64
	Truncated bool // the backend says that it did not read the whole document
}
