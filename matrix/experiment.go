package matrix

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Experiment is one experiment file in its resolved form: includes and profile merged, defaults applied, prompt files read
// in, secrets absent. It is what is hashed, stored in the bundle and printed by plan.
type Experiment struct {
	Version  string   `json:"culprit"`
	Name     string   `json:"name"`
	Backends Backends `json:"backends"`
	Pins     Pins     `json:"pins,omitzero"`
	Pipeline Pipeline `json:"pipeline"`
	Runs     Runs     `json:"runs"`
	Checks   Checks   `json:"checks"`
	Limits   Limits   `json:"limits"`
	Prices   Prices   `json:"prices,omitzero"`
	Judge    *Judge   `json:"judge,omitempty"`

	Sensitivity *Sensitivity `json:"sensitivity,omitempty"`
}

// Backends names who is talked to, one adapter each. A nil backend is not used.
type Backends struct {
	Store     *Backend `json:"store,omitempty"` // nil only beside Pipeline: then what a store would tell is not known
	Embedder  *Backend `json:"embedder,omitempty"`
	Generator *Backend `json:"generator"` // nil only where Pipeline answers everything
	Reranker  *Backend `json:"reranker,omitempty"`
	Judge     *Backend `json:"judge,omitempty"` // a generator of its own
	// Pipeline is the user's own service, which then is production: Pipeline below describes it, for what it does not do itself.
	Pipeline *Backend `json:"service,omitempty"`
}

// WithoutStore reports whether the user's own service is all that there is to ask: what only a store could tell is not known.
func (e *Experiment) WithoutStore() bool {
	return e.Backends.Store == nil && e.Backends.Pipeline != nil
}

// Backend is an adapter's name and its settings, a JSON object that the adapter's own schema has accepted.
// As JSON it is one flat object: {"adapter": "embedded", …settings}.
type Backend struct {
	Adapter  string
	Settings json.RawMessage
}

// MarshalJSON writes the settings with the adapter's name among them. A fraction becomes a string, as [Decimal] does it:
// this form is what is hashed and stored, and only texts and integers are the same everywhere.
func (b Backend) MarshalJSON() ([]byte, error) {
	flat := map[string]any{}
	if len(b.Settings) > 0 {
		if err := decodeNumbers(b.Settings, &flat); err != nil {
			return nil, fmt.Errorf("settings of adapter %q: %w", b.Adapter, err)
		}
	}
	flat["adapter"] = b.Adapter
	return json.Marshal(exactNumbers(flat))
}

// exactNumbers writes the numbers that [Canonical] cannot keep as strings.
func exactNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err != nil || n > maxSafeInteger || n < -maxSafeInteger {
			return v.String()
		}
	case []any:
		for i := range v {
			v[i] = exactNumbers(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = exactNumbers(v[key])
		}
	}
	return v
}

// UnmarshalJSON splits the adapter's name from its settings.
func (b *Backend) UnmarshalJSON(data []byte) error {
	if bare, ok := bytes.CutPrefix(data, []byte(`{"adapter":"`)); ok { // most have no settings
		if bare, ok = bytes.CutSuffix(bare, []byte(`"}`)); ok && standsForItself(bare) {
			b.Adapter, b.Settings = string(bare), json.RawMessage("{}")
			return nil
		}
	}
	flat := map[string]any{}
	if err := decodeNumbers(data, &flat); err != nil {
		return err
	}
	name, ok := flat["adapter"].(string)
	if !ok {
		return fmt.Errorf("backend without an adapter")
	}
	delete(flat, "adapter")
	settings, err := json.Marshal(flat)
	if err != nil {
		return err
	}
	b.Adapter, b.Settings = name, settings
	return nil
}

// Pins is what must not move. Each is compared with what is observed; a difference is a finding.
type Pins struct {
	Corpus    string       `json:"corpus,omitempty"`
	Index     IndexPin     `json:"index,omitzero"`
	Generator GeneratorPin `json:"generator,omitzero"`
	Judge     JudgePin     `json:"judge,omitzero"`
}

// IndexPin is how the index was built. Dimensions 0 and nil prefixes are not pinned.
type IndexPin struct {
	EmbedModel    string  `json:"embed_model,omitempty"`
	Dimensions    int     `json:"dimensions,omitempty"`
	Revision      string  `json:"revision,omitempty"`
	QueryPrefix   *string `json:"query_prefix,omitempty"`
	PassagePrefix *string `json:"passage_prefix,omitempty"`
}

// GeneratorPin is the model that must be reported by the generator.
type GeneratorPin struct {
	ModelReported string `json:"model_reported,omitempty"`
}

// JudgePin is the model that must be reported by the judge.
type JudgePin struct {
	ModelReported string `json:"model_reported,omitempty"`
}

// Pipeline is what production does between the query and the answer.
type Pipeline struct {
	Query    string   `json:"query,omitempty"`   // template of the text that is searched for; empty means the question as typed
	Rewrite  *Rewrite `json:"rewrite,omitempty"` // the generator writes what is searched for
	Search   Search   `json:"search"`
	Rerank   *Rerank  `json:"rerank,omitempty"`
	Assemble Assemble `json:"assemble"`
	Prompt   Prompt   `json:"prompt"`
	Generate Generate `json:"generate"`
	Refusal  []string `json:"refusal,omitempty"` // phrases that declare a refusal, compared after normalisation
	Faults   *Faults  `json:"faults,omitempty"`

	Answer *AnswerForm `json:"answer,omitempty"` // nil: plain text
}

// Search modes.
const (
	ModeKeyword = "keyword"
	ModeDense   = "dense"
	ModeHybrid  = "hybrid"
)

// Search is the first step: K items are passed on; the ranking is recorded to Depth.
type Search struct {
	Mode      string   `json:"mode"`
	K         int      `json:"k"`
	Depth     int      `json:"depth"`
	Filter    Filter   `json:"filter,omitempty"`
	Threshold *Decimal `json:"threshold,omitempty"` // items scored worse are not returned
	Exact     bool     `json:"exact,omitempty"`     // ask the store for an exact, not an approximate, search
}

// Rerank keeps the Top items after reranking; items scored below Threshold are dropped. Order is "score" (sorted by the
// reranker's scores) or "returned" (as the reranker returned them).
type Rerank struct {
	Top       int      `json:"top"`
	Order     string   `json:"order"`
	Threshold *Decimal `json:"threshold,omitempty"`
}

// What Assemble does with an item that does not fit the budget.
const (
	OverflowStop     = "stop"     // it and everything behind it are left out
	OverflowSkip     = "skip"     // it is left out, later ones may fit
	OverflowTruncate = "truncate" // it is cut to what is left, and is the last
)

// Assemble packs items into the context.
type Assemble struct {
	Budget    Budget `json:"budget,omitzero"` // zero: no budget
	Tokenizer string `json:"tokenizer,omitempty"`
	Overflow  string `json:"overflow"`
	Order     string `json:"order"`  // "rank" or "reverse"
	Dedupe    string `json:"dedupe"` // "none", "id" or "text"
}

// Budget is an amount of context: N words or N tokens. As text it is "50 words".
type Budget struct {
	N    int
	Unit string
}

// ParseBudget reads "50 words" or "1500 tokens".
func ParseBudget(s string) (Budget, error) {
	number, unit, ok := strings.Cut(strings.TrimSpace(s), " ")
	n, err := strconv.Atoi(number)
	unit = strings.TrimSpace(unit)
	if !ok || err != nil || n < 1 || (unit != "words" && unit != "tokens") {
		return Budget{}, fmt.Errorf("budget %q is not a positive number of words or tokens, such as %q", s, "1500 tokens")
	}
	return Budget{N: n, Unit: unit}, nil
}

func (b Budget) String() string {
	if b.N == 0 {
		return "none"
	}
	return fmt.Sprintf("%d %s", b.N, b.Unit)
}

// MarshalText writes the budget as ParseBudget reads it.
func (b Budget) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText reads a budget.
func (b *Budget) UnmarshalText(text []byte) (err error) {
	if string(text) == "none" {
		*b = Budget{}
		return nil
	}
	*b, err = ParseBudget(string(text))
	return err
}

// Prompt holds the texts of the prompt templates (see [ParseTemplate]). An empty system template sends no system message.
type Prompt struct {
	System string `json:"system,omitempty"`
	User   string `json:"user"`
}

// Generate pins a generation. It is the same in A, B and D.
type Generate struct {
	Temperature Decimal  `json:"temperature"`
	TopP        *Decimal `json:"top_p,omitempty"`
	Seed        int64    `json:"seed"` // repetition r is sent seed+r-1, the same in A, B and D
	MaxTokens   int      `json:"max_tokens"`
	Stop        []string `json:"stop,omitempty"`
}

// Faults are defects of a production pipeline that can be switched on in Culprit's own steps, for tests and demonstrations.
// The faults of a backend are settings of the embedded adapter.
type Faults struct {
	Drop         []string          `json:"drop,omitempty"`          // assemble loses these ids without a word
	Cut          int               `json:"cut,omitempty"`           // assemble cuts every item to this many characters
	Relabel      map[string]string `json:"relabel,omitempty"`       // assemble serves the body of one id under another: id → shown id
	EmptyContext bool              `json:"empty_context,omitempty"` // the prompt's context is filled with nothing
	Replace      map[string]string `json:"replace,omitempty"`       // replaced everywhere in the finished prompt
	Cache        []CachedAnswer    `json:"cache,omitempty"`         // answers served without asking the generator
}

// CachedAnswer is served when the question's words are at least Similarity (cosine, 0 to 1; 1 when absent) like Query's.
type CachedAnswer struct {
	Query      string   `json:"query"`
	Answer     string   `json:"answer"`
	Similarity *Decimal `json:"similarity,omitempty"`
}

// Runs says how often and with which perturbations the matrix is run.
type Runs struct {
	Repeats       Repeats  `json:"repeats"`         // generations of A, B and each D; a deterministic generator needs one
	MaxRepeats    int      `json:"max_repeats"`     // the most of them where Repeats is Auto
	Alpha         Decimal  `json:"alpha,omitempty"` // the most that a wrong attribution of one case may happen, 0 to 1
	Repairs       bool     `json:"repairs"`         // run the ladder, and the repair of what is found
	Perturbations []string `json:"perturbations"`   // variants of D, see Perturbations
	// Noise lists how many seeded items are put behind the gold, one cell of D each. Positions is in how many places the gold is put among
	// one seeded item less, one cell of D each; 0: none.
	Noise     []int `json:"noise,omitempty"`
	Positions int   `json:"positions,omitempty"`
}

// ErrorRate is Alpha, or 0.05 where none is set.
func (r Runs) ErrorRate() float64 {
	const usual = 0.05
	if r.Alpha == "" {
		return usual
	}
	return r.Alpha.Float()
}

// How the fingerprint of the index is taken before and after.
const (
	FingerprintCheap    = "cheap"    // what the store says of itself, and a fixed sample
	FingerprintComplete = "complete" // every item is read again after the last case
)

// Checks says how closely the store is looked at.
type Checks struct {
	Sample      int      `json:"sample"`               // stored items whose vectors are compared with fresh embeddings; 0: none
	Fingerprint string   `json:"fingerprint"`          // FingerprintCheap or FingerprintComplete
	MaxAge      Duration `json:"max_age,omitzero"`     // an item that was indexed longer ago is not fresh; 0: no limit
	SecondLook  Duration `json:"second_look,omitzero"` // how long behind the scan a search is made again where evidence is missing; 0: it is not
	Elsewhere   int      `json:"elsewhere"`            // the most items of other collections that are read for evidence that is missing
	Floor       *Floor   `json:"floor,omitempty"`      // of the gold's own score; nil: its rank in the full ranking is used
}

// Limits bound the work.
type Limits struct {
	Concurrency       int      `json:"concurrency"`
	RequestsPerMinute int      `json:"requests_per_minute,omitempty"` // per backend; 0: no limit
	Timeout           Duration `json:"timeout"`                       // of one call
	Retries           int      `json:"retries"`
	TokensPerMinute   int      `json:"tokens_per_minute,omitempty"` // per backend; 0: no limit
	Budget            Spending `json:"budget,omitzero"`             // of the whole execution
}

// Duration is a time span written as Go writes it: "60s".
type Duration time.Duration

// MarshalText writes the duration.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads a duration.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = Duration(v)
	return err
}

// Decimal is a finite decimal number kept as it was written, so that 0.7 hashes the same everywhere.
type Decimal string

// NewDecimal writes f in its shortest exact form.
func NewDecimal(f float64) Decimal { return Decimal(strconv.FormatFloat(f, 'g', -1, 64)) }

// Float returns the number; an empty Decimal is 0.
func (d Decimal) Float() float64 {
	f, _ := strconv.ParseFloat(string(d), 64) // checked when it was decoded
	return f
}

// UnmarshalJSON reads a JSON number or a string that holds one.
func (d *Decimal) UnmarshalJSON(data []byte) error {
	s := strings.Trim(string(data), `"`)
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != f || f > 1e300 || f < -1e300 {
		return fmt.Errorf("%s is not a decimal number", data)
	}
	*d = Decimal(s)
	return nil
}

// Filter restricts a search: every condition must hold.
type Filter []Condition

// Condition holds for an item whose field has one of the values AnyOf (none of them, where Not is set). With Typed they are
// numbers and booleans as JSON writes them, which a store may tell from the text of the same letters.
type Condition struct {
	Field string   `json:"field"`
	AnyOf []string `json:"any_of"`
	Not   bool     `json:"not,omitempty"`
	Typed bool     `json:"typed,omitempty"`
}

// Asks reports whether a value of the condition is one of the asker's: {{as.…}}.
func (c Condition) Asks() bool {
	return slices.ContainsFunc(c.AnyOf, func(v string) bool {
		_, ok := principalVariable(v)
		return ok
	})
}

// Resolve fills {{as.…}} in the values. A value that is exactly one variable takes all of the principal's values;
// an attribute that the principal lacks gives no value, and a condition with no value holds for nothing.
func (f Filter) Resolve(p Principal) Filter {
	out := make(Filter, 0, len(f))
	for _, c := range f {
		values := []string{}
		for _, v := range c.AnyOf {
			if name, ok := principalVariable(v); ok {
				values = append(values, p[name]...)
			} else {
				values = append(values, v)
			}
		}
		out = append(out, Condition{Field: c.Field, AnyOf: values, Not: c.Not, Typed: c.Typed})
	}
	return out
}

// Fields names the fields of the filter, sorted, each once.
func (f Filter) Fields() []string {
	set := map[string]bool{}
	for _, c := range f {
		set[c.Field] = true
	}
	return slices.Sorted(maps.Keys(set))
}

func principalVariable(v string) (string, bool) {
	inner, ok := strings.CutPrefix(strings.TrimSpace(v), "{{")
	if !ok {
		return "", false
	}
	inner, ok = strings.CutSuffix(inner, "}}")
	if !ok {
		return "", false
	}
	return strings.CutPrefix(strings.TrimSpace(inner), "as.")
}
