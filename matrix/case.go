package matrix

import "slices"

// Case is one query with its evidence contract.
type Case struct {
	ID       string            `json:"id"`
	Query    string            `json:"query,omitempty"`
	Messages []Message         `json:"messages,omitempty"` // a conversation instead of a query; the last message is the question
	Tags     map[string]string `json:"tags,omitempty"`
	Risk     Risk              `json:"risk"`
	As       Principal         `json:"as,omitempty"`
	Evidence Evidence          `json:"evidence"`
	Claims   []Claim           `json:"claims,omitempty"`
	Expect   Expect            `json:"expect"`
}

// Message is one turn of a prompt or of a conversation. Role is "system", "user" or "assistant".
type Message struct {
	Role string `json:"role"`
	Text string `json:"text"`
}

// Question is what the asker asked last: the query, or the last message of the conversation.
func (c *Case) Question() string {
	if c.Query != "" || len(c.Messages) == 0 {
		return c.Query
	}
	return c.Messages[len(c.Messages)-1].Text
}

// HasGold reports whether the case declares evidence. A case without gold stays out of every recall denominator.
func (c *Case) HasGold() bool { return len(c.Evidence.Required) > 0 }

// Risk says what a failing verdict does to the exit code.
type Risk string

// The risks of a case.
const (
	RiskBlocking    Risk = "blocking"    // a failing verdict blocks: exit code 3
	RiskInvestigate Risk = "investigate" // a failing verdict is reported only
)

// Expect is what a right answer to the case looks like.
type Expect string

// The expectations of a case.
const (
	ExpectAnswer  Expect = "answer"
	ExpectAbstain Expect = "abstain"
	ExpectClarify Expect = "clarify"
)

// Principal is who asks: attribute → values, e.g. tenant → [acme], groups → [employees].
// It decides which evidence is authorised and fills {{as.…}} in filters and prompts.
type Principal map[string][]string

// Evidence is what a right answer must rest on, and what may mislead it.
type Evidence struct {
	Required    []Requirement `json:"required,omitempty"` // every one is needed
	Distractors []Distractor  `json:"distractors,omitempty"`
}

// Requirement is one required piece of evidence; any one of its alternatives satisfies it.
type Requirement struct {
	AnyOf []Gold `json:"any_of"`
}

// Gold names one piece of evidence. Source is compared with an item's source and with its id. Span is the text that
// must be found verbatim. Text, where given, is the gold context that run B uses; else the stored chunk that holds the span.
type Gold struct {
	Source   string `json:"source"`
	Revision string `json:"revision,omitempty"`
	Span     string `json:"span"`
	Text     string `json:"text,omitempty"`
}

// DistractorKind says how a distractor misleads.
type DistractorKind string

// The kinds of distractor.
const (
	Superseded DistractorKind = "superseded"
	Regional   DistractorKind = "regional"
	Incomplete DistractorKind = "incomplete"
	Irrelevant DistractorKind = "irrelevant"
)

// Distractor is an item that looks like evidence and is not. Text, where given, is used instead of the stored item's.
type Distractor struct {
	Source   string         `json:"source"`
	Revision string         `json:"revision,omitempty"`
	Kind     DistractorKind `json:"kind"`
	Text     string         `json:"text,omitempty"`
}

// Claim is one atomic fact that the answer must state (Any), must never state (Never), or a source it must cite (Cites).
// Any and Never hold literals or, between slashes, RE2 expressions.
type Claim struct {
	ID    string   `json:"id"`
	Says  string   `json:"says,omitempty"`
	Any   []string `json:"any,omitempty"`
	Never []string `json:"never,omitempty"`
	Cites []string `json:"cites,omitempty"`
}

// Authorised reports whether the principal may see an item: every attribute of the principal that the item also carries
// as metadata shares a value with it, and an access list that is not empty names one of the principal's values.
// An item that carries neither is open to everybody.
func (p Principal) Authorised(access []string, metadata map[string][]string) bool {
	for attribute, mine := range p {
		if theirs, ok := metadata[attribute]; ok && !intersects(mine, theirs) {
			return false
		}
	}
	if len(access) == 0 || len(p) == 0 {
		return true
	}
	for _, mine := range p {
		if intersects(mine, access) {
			return true
		}
	}
	return false
}

func intersects(a, b []string) bool {
	return slices.ContainsFunc(a, func(v string) bool { return slices.Contains(b, v) })
}
