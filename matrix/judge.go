package matrix

import (
	"slices"
	"strings"
)

// Judge says what a second model is asked about the answers. Its word is recorded beside the deterministic result and changes
// no verdict, but for claims of which Calibration shows what it is worth. A nil Judge asks nothing.
type Judge struct {
	Claims           bool             `json:"claims"`                     // of each claim: does the answer entail it, contradict it, or not speak of it
	Faithfulness     bool             `json:"faithfulness"`               // are the answer's statements supported by its context
	AnswerRelevancy  *AnswerRelevancy `json:"answer_relevancy,omitempty"` // is the answer one to the question; nil: not asked
	ContextPrecision bool             `json:"context_precision"`          // do the useful items stand at the front of the context
	ContextRecall    bool             `json:"context_recall"`             // does the context hold what a right answer states
	Cells            []CellID         `json:"cells"`                      // whose answers are judged: "A", "B", "D" (every perturbation) or "D/closed-book"
	Temperature      Decimal          `json:"temperature"`
	Seed             int64            `json:"seed"`
	MaxTokens        int              `json:"max_tokens"` // of one judgement
	Calibration      *Calibration     `json:"calibration,omitempty"`
}

// AnswerRelevancy is how answer relevancy is measured: by so many questions that the judge finds the answer to be one to.
type AnswerRelevancy struct {
	Questions int `json:"questions"`
}

// Judges reports whether the answers of a cell are judged. A cell is named as a whole, by its variant, or by its letter.
func (j *Judge) Judges(cell CellID) bool {
	if j == nil || cell.Run() != Perturbation && cell.Variant() != "" {
		return false // a repair, a rung, or A once more
	}
	letter, _, _ := strings.Cut(string(cell), "/")
	variant, _, _ := strings.Cut(string(cell), ":")
	return slices.ContainsFunc(j.Cells, func(c CellID) bool { return c == cell || string(c) == letter || string(c) == variant })
}

// Asks reports whether anything is asked at all.
func (j *Judge) Asks() bool {
	return j != nil && (j.Claims || j.Faithfulness || j.AnswerRelevancy != nil || j.ContextPrecision || j.ContextRecall)
}

// Statement is what a judge is asked of the claim, as a sentence or as the wordings that would state it; "" where the claim has
// neither, such as one that only cites, or whose values are all expressions. Forbidden is set where the statement is what the
// answer must never say.
func (c *Claim) Statement() (text string, forbidden bool) {
	if len(c.Any) == 0 && len(c.Never) > 0 {
		return wordings(c.Never), true
	}
	if c.Says != "" {
		return c.Says, false
	}
	return wordings(c.Any), false
}

// wordings lists the literals among the values of a claim.
func wordings(values []string) string {
	var literals []string
	for _, v := range values {
		if len(v) >= 2 && strings.HasPrefix(v, "/") && strings.HasSuffix(v, "/") {
			continue
		}
		literals = append(literals, `"`+v+`"`)
	}
	return strings.Join(literals, " or ")
}

// Reference is what a right answer to the case states: the statement of every claim that must be met.
func (c *Case) Reference() []string {
	var out []string
	for i := range c.Claims {
		if text, forbidden := c.Claims[i].Statement(); text != "" && !forbidden {
			out = append(out, text)
		}
	}
	return out
}

// JudgementKind is what a judgement is about.
type JudgementKind string

// The kinds of judgement.
const (
	JudgeClaim            JudgementKind = "claim"
	JudgeStatements       JudgementKind = "statements"        // the answer as single statements, for faithfulness
	JudgeFaithfulness     JudgementKind = "faithfulness"      // which of them the context supports
	JudgeAnswerRelevancy  JudgementKind = "answer_relevancy"  // questions that the answer is one to
	JudgeContextPrecision JudgementKind = "context_precision" // is one item of the context useful
	JudgeContextRecall    JudgementKind = "context_recall"    // which claims of the case the context supports
)

// ClaimWord is a judge's word on a claim.
type ClaimWord string

// The words on a claim.
const (
	Entailed     ClaimWord = "entailed"
	Contradicted ClaimWord = "contradicted"
	Absent       ClaimWord = "absent"
)

// Judgement is one question that was put to the judge, and what was read from its answer. Void says why nothing was; the fields
// of the kind are then empty, but for what was quoted.
type Judgement struct {
	CallKey      string          `json:"call_key"`
	Cell         CellID          `json:"cell"`
	Rep          int             `json:"rep,omitempty"` // of the judged answer; 0: about the context, which the cell's trials share
	Kind         JudgementKind   `json:"kind"`
	Claim        string          `json:"claim,omitempty"`    // id, of kind claim
	Position     int             `json:"position,omitempty"` // in the context, of kind context_precision
	Item         string          `json:"item,omitempty"`     // id of the item there
	Version      string          `json:"prompt_version"`     // of the judge's prompts: "judge/v1"
	PromptDigest string          `json:"prompt_digest"`      // of all of them, with their schemas
	Prompt       []PromptMessage `json:"prompt,omitempty"`
	Structured   bool            `json:"structured,omitempty"` // the judge was held to the form; else the prompt alone asked for it
	Response     Text            `json:"response,omitzero"`

	Void         string    `json:"void,omitempty"`
	Word         ClaimWord `json:"word,omitempty"`
	Quote        Text      `json:"quote,omitzero"`         // from the answer, of kind claim
	Statements   []Text    `json:"statements,omitempty"`   // of kinds statements and faithfulness
	Supported    []bool    `json:"supported,omitempty"`    // one for each statement, or for each claim of Reference
	Useful       *bool     `json:"useful,omitempty"`       // of kind context_precision
	Questions    []Text    `json:"questions,omitempty"`    // of kind answer_relevancy
	Noncommittal bool      `json:"noncommittal,omitempty"` // the answer evades the question
	Cosines      []Decimal `json:"cosines,omitempty"`      // of each question with the case's own, by the experiment's embedder
	EmbedModel   string    `json:"embed_model,omitempty"`

	FinishReason      string     `json:"finish_reason,omitempty"`
	ModelRequested    string     `json:"model_requested,omitempty"`
	ModelReported     string     `json:"model_reported,omitempty"`
	SystemFingerprint string     `json:"system_fingerprint,omitempty"`
	Usage             Usage      `json:"usage,omitzero"`
	Notes             []string   `json:"notes,omitempty"`   // what was asked for and not sent, or not granted
	SameAs            string     `json:"same_as,omitempty"` // an identical request was made once, under this call key
	Sensitivity       Level      `json:"sensitivity,omitempty"`
	Status            Status     `json:"status"`
	Reason            string     `json:"reason,omitempty"`
	Error             *CallError `json:"error,omitempty"`
	RequestID         string     `json:"request_id,omitempty"`   // volatile
	At                string     `json:"at,omitempty"`           // volatile
	LatencyMS         int64      `json:"latency_ms,omitempty"`   // volatile; wire time
	Attempts          int        `json:"attempts,omitempty"`     // volatile
	Asked             []Asked    `json:"asked,omitempty"`        // volatile; absent: Attempts calls of the judge, with Usage
	FromJournal       bool       `json:"from_journal,omitempty"` // volatile; as of a retrieval
}

// texts calls visit for every text of the judgement.
func (j *Judgement) texts(visit func(*Text) error) error {
	all := []*Text{&j.Response, &j.Quote}
	for i := range j.Prompt {
		all = append(all, &j.Prompt[i].Text)
	}
	for _, list := range [][]Text{j.Statements, j.Questions} {
		for i := range list {
			all = append(all, &list[i])
		}
	}
	for _, t := range all {
		if err := visitText(t, visit); err != nil {
			return err
		}
	}
	return nil
}

// stable is the judgement without what is volatile.
func (j Judgement) stable() Judgement {
	j.At, j.LatencyMS, j.RequestID, j.Attempts, j.Asked, j.FromJournal = "", 0, "", 0, nil, false
	return j
}

// judgements is the most questions that the judge is asked of a case.
func (p *Plan) judgements(e *Experiment, c *Case) int {
	n := 0
	for i := range p.Cells {
		for _, of := range p.Cells[i].Judgements(e, c) {
			n += of
		}
	}
	return n
}

// Judgements is the most questions of each kind that the judge is asked of the cell.
func (cell *PlannedCell) Judgements(e *Experiment, c *Case) map[JudgementKind]int {
	j := e.Judge
	if !j.Judges(cell.Cell) {
		return nil
	}
	items := e.Pipeline.Search.K
	if r := e.Pipeline.Rerank; r != nil {
		items = r.Top
	}
	reference, context, n := len(c.Reference()), cell.mostItems(items, len(c.Evidence.Required)), map[JudgementKind]int{}
	for i := range c.Claims {
		if text, _ := c.Claims[i].Statement(); j.Claims && text != "" {
			n[JudgeClaim] += cell.Repeats
		}
	}
	if j.Faithfulness {
		n[JudgeStatements] = cell.Repeats
		if context > 0 {
			n[JudgeFaithfulness] = cell.Repeats
		}
	}
	if j.AnswerRelevancy != nil {
		n[JudgeAnswerRelevancy] = cell.Repeats
	}
	if j.ContextPrecision && reference > 0 {
		n[JudgeContextPrecision] = context
	}
	if j.ContextRecall && reference > 0 && context > 0 {
		n[JudgeContextRecall] = 1
	}
	return n
}

// mostItems returns the most items that the cell's context can hold, of what production and the gold have.
func (c *PlannedCell) mostItems(production, gold int) int {
	switch c.Cell.Variant() {
	case ClosedBook:
		return 0
	case DropSpan:
		return gold - 1
	case WithSuperseded, WithDistractor, WithIrrelevant:
		return gold + 1
	}
	if c.Cell == CellB || c.Base == CellB && c.Cell.Run() == Perturbation {
		return gold + c.Seeded
	}
	return production
}
