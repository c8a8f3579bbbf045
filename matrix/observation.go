package matrix

import (
	"fmt"
	"slices"
	"strings"
)

// Observations is everything that was recorded from outside for one case. Nothing here is recomputed; everything else is
// derived from it.
type Observations struct {
	Store      StoreFacts  `json:"store"`
	Rewriting  *Rewriting  `json:"rewriting,omitempty"`  // what the generator made of the query, before any search
	Retrievals []Retrieval `json:"retrievals"`           // in the order of the plan
	Trials     []Trial     `json:"trials"`               // in the order of the plan, then by repetition
	Judgements []Judgement `json:"judgements,omitempty"` // in the order of the trials, those about a context behind its cell's first
}

// Text is a recorded text. As JSON it is only the reference to the blob that holds it; Value is what the blob holds.
type Text struct {
	Ref        string // "sha256:<hex>", of a sealed restricted text "restricted:sha256:<hex>", "" for no text
	Value      string
	Restricted bool // set by [Observations.Restrict]
}

// NewText records s.
func NewText(s string) Text { return Text{Ref: DigestBytes([]byte(s)), Value: s} }

const byText = "text:"

// TextID is the id of an item of which a service tells the text alone: equal texts, equal ids.
func TextID(text string) string {
	const digits = 8 // of sha256, which is as much as a reader compares
	_, hex, _ := strings.Cut(DigestBytes([]byte(text)), ":")
	return byText + hex[:digits]
}

// Nameless reports whether an item has neither source nor an id of its own, so that it can be known by its text alone.
func Nameless(id, source string) bool { return source == "" && strings.HasPrefix(id, byText) }

// Withheld reports whether the text exists but is not at hand, as in a redacted bundle.
func (t Text) Withheld() bool { return t.Ref != "" && t.Value == "" && t.Ref != emptyRef }

var emptyRef = DigestBytes(nil)

// RestrictedRef begins the reference of a text whose blob is salted.
const RestrictedRef = "restricted:"

// Same names what the text holds, where it is at hand, the same in all bundles: the reference of a restricted text is another in each.
func (t Text) Same() string {
	if t.Restricted && !t.Withheld() {
		return DigestBytes([]byte(t.Value))
	}
	return t.Ref
}

// MarshalText writes the reference.
func (t Text) MarshalText() ([]byte, error) { return []byte(t.Ref), nil }

// UnmarshalText reads a reference; the value is filled in by [Observations.Texts].
func (t *Text) UnmarshalText(data []byte) error {
	*t = TextAt(string(data))
	return nil
}

// TextAt is the text of a reference, without its value.
func TextAt(ref string) Text {
	return Text{Ref: ref, Restricted: strings.HasPrefix(ref, RestrictedRef)}
}

// IsZero reports whether there is no text, for omitzero.
func (t Text) IsZero() bool { return t.Ref == "" }

// Status says how a call or trial ended.
type Status string

// The statuses. Only StatusOK is scored; the others leave the matrix first.
const (
	StatusOK        Status = "ok"
	StatusError     Status = "error"     // provider or store error, timeout, refused connection
	StatusFiltered  Status = "filtered"  // blocked by the provider
	StatusTruncated Status = "truncated" // stopped at the output limit
	StatusNotRun    Status = "not_run"   // its condition did not hold, or the run ended first; Reason says which
)

// KindTooLong is the kind of a [CallError] of a prompt that the model cannot read whole.
const KindTooLong = "too-long"

// CallError is a failed call as it may be shown: no secrets, no URLs with credentials.
type CallError struct {
	Kind    string `json:"kind"` // a kind of adapters.Error
	Message string `json:"message"`
}

// KindSecret is the kind of a [CallError] of an answer that repeats a secret: nothing of it was kept, and its case is not judged.
const KindSecret = "secret_in_output"

// Cause is the message without the adapter, the operation and the kind that stand before what happened.
func (e *CallError) Cause() string {
	before, cause, found := strings.Cut(e.Message, ": "+e.Kind+": ")
	if !found {
		return e.Message
	}
	const own = 2 // adapter and operation
	work := strings.Split(before, ": ")
	return strings.Join(append(work[:max(len(work)-own, 0)], cause), ": ")
}

// String is the kind with the cause.
func (e *CallError) String() string { return e.Kind + ": " + e.Cause() }

// Hit is one returned item at one boundary. Score is nil where the backend gave none.
type Hit struct {
	Rank     int                 `json:"rank"` // from 1
	ID       string              `json:"id"`
	Source   string              `json:"source,omitempty"`
	Revision string              `json:"revision,omitempty"`
	Score    *Decimal            `json:"score,omitempty"`
	Text     Text                `json:"text"`
	Access   []string            `json:"access,omitempty"`
	Metadata map[string][]string `json:"metadata,omitempty"`
	// Sensitivity is "" where the experiment declares none.
	Sensitivity Level `json:"sensitivity,omitempty"`
	// InputTruncated is set by a reranker that tells that it did not read the whole text.
	InputTruncated bool `json:"input_truncated,omitempty"`
}

// Retrieval is one retrieval: what was asked, what came back, and what reranking made of it.
type Retrieval struct {
	CallKey        string     `json:"call_key"`
	Cell           CellID     `json:"cell"`
	Query          string     `json:"query"`           // the question as typed
	QueryEffective string     `json:"query_effective"` // as the store received it
	By             string     `json:"by,omitempty"`    // ByService; else Culprit made it from the backends
	Mode           string     `json:"mode"`
	K              int        `json:"k"`
	Depth          int        `json:"depth"`
	Filter         Filter     `json:"filters_effective,omitempty"` // resolved for the asker
	Threshold      *Decimal   `json:"threshold,omitempty"`
	Exact          bool       `json:"exact"`
	EmbedModel     string     `json:"embed_model,omitempty"`
	QueryPrefix    string     `json:"query_prefix,omitempty"`
	LowerIsBetter  bool       `json:"lower_is_better,omitempty"`
	Searches       []Searched `json:"searches,omitempty"` // where there were several, each; Merge says how they became one ranking
	Merge          string     `json:"merge,omitempty"`
	Candidates     []Hit      `json:"candidates"`         // the ranking to Depth; the first K are passed on
	Deeper         bool       `json:"deeper,omitempty"`   // what ranks below K is of a second, longer search, whose scores may be others
	Cap            int        `json:"cap,omitempty"`      // the store returns no more than this; 0: it returns what is asked for
	Uncached       *Uncached  `json:"uncached,omitempty"` // of C/uncached
	Named          []NamedHit `json:"named,omitempty"`    // gold items that are not among the candidates, each looked up by itself
	RerankModel    string     `json:"rerank_model,omitempty"`
	RerankTop      int        `json:"rerank_top,omitempty"`
	RerankOrder    string     `json:"rerank_order,omitempty"`
	RerankFloor    *Decimal   `json:"rerank_floor,omitempty"` // reranked items scored below it are not passed on
	RerankNotes    []string   `json:"rerank_notes,omitempty"` // what the reranker says beside the scores, a sentence each
	Reranked       []Hit      `json:"reranked,omitempty"`     // as the reranker returned them; the first RerankTop are passed on
	Status         Status     `json:"status"`
	Reason         string     `json:"reason,omitempty"`
	Error          *CallError `json:"error,omitempty"`
	At             string     `json:"at,omitempty"`           // volatile
	LatencyMS      int64      `json:"latency_ms,omitempty"`   // volatile
	SameAs         string     `json:"same_as,omitempty"`      // volatile; an identical request was made once, under this call key, maybe of another case
	Asked          []Asked    `json:"asked,omitempty"`        // volatile; absent: one search
	FromJournal    bool       `json:"from_journal,omitempty"` // volatile; an earlier process made it, and its journal kept it
}

// NamedHit is one item's own place in the full ranking, however deep. Score is nil where the search cannot score the item at
// all. Rank is 0 where it has no score or the store does not count so far; it is then behind AtLeast items.
type NamedHit struct {
	ID      string   `json:"id"`
	Score   *Decimal `json:"score,omitempty"`
	Rank    int      `json:"rank,omitempty"`
	AtLeast int      `json:"at_least,omitempty"`
}

// Uncached says how far white space moves the query's vector, as cosines: that of the query with a space behind it with the
// query's own as production got it, and with that of the query with a space before it. Nil: one has no length.
type Uncached struct {
	Own   *Decimal `json:"own"`
	Space *Decimal `json:"space"`
}

// PassedOn returns the candidates that left the search: the first K.
func (r *Retrieval) PassedOn() []Hit { return r.Candidates[:min(r.K, len(r.Candidates))] }

// Kept returns what left the retrieval: the first RerankTop of the reranked that reach RerankFloor, or the candidates
// that were passed on where there is no reranker.
func (r *Retrieval) Kept() []Hit {
	if r.RerankModel == "" {
		return r.PassedOn()
	}
	kept := make([]Hit, 0, min(max(r.RerankTop, 0), len(r.Reranked)))
	for _, h := range r.Reranked {
		if len(kept) < r.RerankTop && (r.RerankFloor == nil || h.Score == nil || h.Score.Float() >= r.RerankFloor.Float()) {
			kept = append(kept, h)
		}
	}
	return kept
}

// Packed is one item of the final context.
type Packed struct {
	Position int      `json:"position"` // from 1
	ID       string   `json:"id"`
	Source   string   `json:"source,omitempty"`
	Revision string   `json:"revision,omitempty"`
	Rank     int      `json:"rank,omitempty"`  // among the items that the retrieval kept
	Score    *Decimal `json:"score,omitempty"` // there
	Text     Text     `json:"text"`
	Units    int      `json:"units"` // words or tokens it takes, in the unit of the budget
	Access   []string `json:"access,omitempty"`
	Cut      bool     `json:"cut,omitempty"`  // assemble says that it cut the text
	Gold     bool     `json:"gold,omitempty"` // put there by a substitution as gold

	Sensitivity Level `json:"sensitivity,omitempty"`
}

// Reasons why assemble left an item out.
const (
	DroppedBudget    = "budget"
	DroppedDuplicate = "duplicate"
)

// Dropped is one item that assemble left out and said why. An item that is neither packed nor dropped was lost.
type Dropped struct {
	ID     string `json:"id"`
	Rank   int    `json:"rank"`
	Reason string `json:"reason"`
	Units  int    `json:"units,omitempty"` // what the context would have needed with it
	Of     string `json:"of,omitempty"`    // the id that a duplicate repeats
}

// PromptMessage is one message exactly as the model received it.
type PromptMessage struct {
	Role   string `json:"role"`
	Text   Text   `json:"text"`
	Tokens int    `json:"tokens,omitempty"` // by local count
}

// Usage is what the provider reports; nil is not reported, which is not zero.
type Usage struct {
	InputTokens       *int `json:"input_tokens,omitempty"`
	OutputTokens      *int `json:"output_tokens,omitempty"`
	CachedInputTokens *int `json:"cached_input_tokens,omitempty"`
	ReasoningTokens   *int `json:"reasoning_tokens,omitempty"` // of OutputTokens
}

// Who made a retrieval or a trial, where it was not Culprit from the experiment's backends.
const (
	ByService = "service"     // the user's own service
	ByTap     = "service/tap" // the service, with another context put into its prompt on the way to its model
)

// What a service may not tell of a trial.
const (
	PackedUnobserved = "packed"
	PromptUnobserved = "prompt"
)

// Unseen reports whether a boundary of the trial was not observed.
func (t *Trial) Unseen(boundary string) bool { return slices.Contains(t.Unobserved, boundary) }

// Trial is one repetition of a cell that generates, with what was observed from assembly on.
type Trial struct {
	CallKey           string          `json:"call_key"`
	Cell              CellID          `json:"cell"`
	Rep               int             `json:"rep"`                  // from 1
	By                string          `json:"by,omitempty"`         // By…; "": Culprit, from the experiment's backends
	Unobserved        []string        `json:"unobserved,omitempty"` // boundaries that a service does not tell: …Unobserved
	Retrieval         string          `json:"retrieval,omitempty"`  // call key of the retrieval that its context came from
	Packed            []Packed        `json:"packed"`
	Dropped           []Dropped       `json:"dropped,omitempty"`
	Prompt            []PromptMessage `json:"prompt,omitempty"`
	PromptTokensLocal int             `json:"prompt_tokens_local,omitempty"`
	Answer            Text            `json:"answer,omitzero"`
	AnswerLossy       bool            `json:"answer_lossy,omitempty"` // was not valid UTF-8, or was cut at the size limit
	Refusal           Text            `json:"refusal,omitzero"`       // what the provider gives as a refusal, in a field of its own
	FinishReason      string          `json:"finish_reason,omitempty"`
	ModelRequested    string          `json:"model_requested,omitempty"`
	ModelReported     string          `json:"model_reported,omitempty"`
	SystemFingerprint string          `json:"system_fingerprint,omitempty"`
	Seed              int64           `json:"seed"`
	Usage             Usage           `json:"usage,omitzero"`
	// Notes are what was asked for and not sent, or not granted. Metadata is what else the provider says of who answered; what is
	// volatile in it is left out of the digest. Outside: it was asked of a model that does not run in this process.
	Notes      []string          `json:"notes,omitempty"`
	Metadata   map[string]string `json:"metadata,omitempty"`
	Outside    bool              `json:"outside,omitempty"`
	Cached     bool              `json:"cached,omitempty"`  // production served it without asking the generator
	SameAs     string            `json:"same_as,omitempty"` // an identical deterministic request was made once, under this call key
	Irrelevant string            `json:"irrelevant,omitempty"`
	Seeded     []string          `json:"seeded,omitempty"`  // of D/noise and D/position: the ids of the items that were drawn, in the order of the context
	Swapped    *Swap             `json:"swapped,omitempty"` // of D/swap-span: the fact that was changed
	// Sensitivity is that of the prompt and the request: the highest of the context's. AnswerSensitivity is that of what was answered.
	Sensitivity       Level      `json:"sensitivity,omitempty"`
	AnswerSensitivity Level      `json:"answer_sensitivity,omitempty"`
	Status            Status     `json:"status"`
	Reason            string     `json:"reason,omitempty"`
	Error             *CallError `json:"error,omitempty"`
	RequestID         string     `json:"request_id,omitempty"`   // volatile
	At                string     `json:"at,omitempty"`           // volatile
	LatencyMS         int64      `json:"latency_ms,omitempty"`   // volatile; wire time
	Attempts          int        `json:"attempts,omitempty"`     // volatile
	Untold            int        `json:"untold,omitempty"`       // volatile; tries that may have to be paid for, and whose tokens are not known
	Unpaid            int        `json:"unpaid,omitempty"`       // volatile; tries that nobody has to pay for: they never arrived, or were refused
	FromJournal       bool       `json:"from_journal,omitempty"` // volatile; as of a retrieval
}

// MaxAnswer is the most of an answer that is kept and judged, in bytes; the rest is cut and said so.
const MaxAnswer = 1 << 20

// ReadAnswer returns what is kept of what a generator answered, and whether that is anything else than what it answered.
func ReadAnswer(text string) (kept string, lossy bool) {
	kept = strings.ToValidUTF8(text[:min(len(text), MaxAnswer)], "\uFFFD")
	return kept, kept != text
}

// Clamp makes a text valid UTF-8 of at most so many bytes.
func Clamp(text string, most int) string {
	return strings.ToValidUTF8(text[:min(len(text), most)], "\uFFFD")
}

// Texts calls visit for every recorded text, in a fixed order, so that a writer can store the blobs and a reader fill them in.
func (o *Observations) Texts(visit func(*Text) error) error {
	for i := range o.Store.Gold {
		g := &o.Store.Gold[i]
		if err := visitText(&g.Text, visit); err != nil {
			return err
		}
		for j := range g.Items {
			if err := visitText(&g.Items[j].Text, visit); err != nil {
				return err
			}
		}
	}
	if o.Rewriting != nil {
		if err := o.Rewriting.texts(visit); err != nil {
			return err
		}
	}
	for i := range o.Retrievals {
		for _, hits := range o.Retrievals[i].rankings() {
			for j := range hits {
				if err := visitText(&hits[j].Text, visit); err != nil {
					return err
				}
			}
		}
	}
	for i := range o.Trials {
		t := &o.Trials[i]
		for j := range t.Packed {
			if err := visitText(&t.Packed[j].Text, visit); err != nil {
				return err
			}
		}
		for j := range t.Prompt {
			if err := visitText(&t.Prompt[j].Text, visit); err != nil {
				return err
			}
		}
		if err := visitText(&t.Answer, visit); err != nil {
			return err
		}
		if err := visitText(&t.Refusal, visit); err != nil {
			return err
		}
	}
	for i := range o.Judgements {
		if err := o.Judgements[i].texts(visit); err != nil {
			return err
		}
	}
	return nil
}

// rankings lists what the retrieval returned at each boundary.
func (r *Retrieval) rankings() [][]Hit {
	out := [][]Hit{r.Candidates, r.Reranked}
	for i := range r.Searches {
		out = append(out, r.Searches[i].Candidates)
	}
	return out
}

func visitText(t *Text, visit func(*Text) error) error {
	if t.Ref == "" {
		return nil
	}
	return visit(t)
}

// Digest identifies the observations: two executions that saw the same have the same digest, whatever times, request ids
// and attempt counts they had. A restricted text counts as which one it is, in the order of [Observations.Texts], and not by what it
// holds; so does a call that was made of one.
func (o *Observations) Digest() (string, error) {
	if len(o.restricted()) > 0 || len(o.RestrictedCalls()) > 0 {
		o = o.Restrict().neutral()
	}
	stable := Observations{Store: o.Store, Rewriting: o.Rewriting.stable(), Trials: slices.Grow([]Trial(nil), len(o.Trials))}
	if c := o.Store.RerankControl; c != nil {
		control := *c
		control.Asked = nil
		stable.Store.RerankControl = &control
	}
	for _, r := range o.Retrievals {
		r.At, r.LatencyMS, r.SameAs, r.Asked, r.FromJournal = "", 0, "", nil, false
		stable.Retrievals = append(stable.Retrievals, r)
	}
	first := map[string]string{}
	for _, t := range o.Trials {
		t.Metadata = t.stableMetadata(first)
		t.At, t.LatencyMS, t.RequestID, t.Attempts, t.Untold, t.Unpaid, t.FromJournal = "", 0, "", 0, 0, 0, false
		stable.Trials = append(stable.Trials, t)
	}
	for _, j := range o.Judgements {
		stable.Judgements = append(stable.Judgements, j.stable())
	}
	return Digest(stable)
}

// Call is what identifies one call: who is asked what, for which repetition. Credentials, timeouts, retries and
// concurrency are left out on purpose, since they do not change the answer.
type Call struct {
	Case     string `json:"case"` // digest of the case
	Cell     CellID `json:"cell"`
	Step     string `json:"step"` // "rewrite", "retrieve", "generate" or "judge"
	Rep      int    `json:"rep"`
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Params   string `json:"params"` // digest of the settings
	Input    string `json:"input_sha256"`
}

// Key returns the call key.
func (c Call) Key() (string, error) {
	key, err := Digest(struct {
		V    int
		Call Call
	}{1, c})
	if err != nil {
		return "", fmt.Errorf("call of cell %q: %w", c.Cell, err)
	}
	return key, nil
}
