package matrix

import (
	"fmt"
	"slices"
	"strings"
)

// Level is how sensitive a text is: public < internal < restricted. "" says that the experiment declares none.
type Level string

// The levels, the lowest first.
const (
	Public     Level = "public"
	Internal   Level = "internal"
	Restricted Level = "restricted"
)

var levels = []Level{"", Public, Internal, Restricted}

// ParseLevel reads "public", "internal" or "restricted".
func ParseLevel(s string) (Level, error) {
	if l := Level(s); l != "" && slices.Contains(levels, l) {
		return l, nil
	}
	return "", fmt.Errorf("sensitivity %q is none of public, internal and restricted", s)
}

// Max returns the highest of the levels. One that is not known counts as restricted.
func (l Level) Max(others ...Level) Level {
	for _, o := range others {
		if o.rank() > l.rank() {
			l = o
		}
	}
	if l.rank() == len(levels) {
		return Restricted
	}
	return l
}

func (l Level) rank() int {
	if at := slices.Index(levels, l); at >= 0 {
		return at
	}
	return len(levels)
}

// Sensitivity says how sensitive stored items are, and what is made of them. A nil Sensitivity declares nothing: every level is "".
type Sensitivity struct {
	Field   string `json:"field,omitempty"`  // metadata of an item that holds its level; another value there counts as restricted
	Default Level  `json:"default"`          // of an item that says nothing
	Access  Level  `json:"access,omitempty"` // the least of an item with an access list; "": the list says nothing
	// Answers is the level of answers and of what is read from them; "": that of what they were made from.
	Answers Level `json:"answers,omitempty"`
}

// Of returns the level of an item.
func (s *Sensitivity) Of(access []string, metadata map[string][]string) Level {
	if s == nil {
		return ""
	}
	level := s.Default
	if values := metadata[s.Field]; s.Field != "" && len(values) > 0 {
		level = Public
		for _, v := range values {
			level = level.Max(Level(strings.ToLower(strings.TrimSpace(v))))
		}
	}
	if len(access) > 0 {
		level = level.Max(s.Access)
	}
	return level
}

// Told returns the level of an item of which a service tells the access list at most: what stands in its field is not known.
func (s *Sensitivity) Told(access []string) Level {
	if s != nil && s.Field != "" {
		return Restricted
	}
	return s.Of(access, nil)
}

// Unseen is the level of texts of which it is not known what they were made from.
func (s *Sensitivity) Unseen() Level {
	if s == nil {
		return ""
	}
	return Restricted
}

// Prompt is the level of a prompt that was made of items, and the same of a request.
func (s *Sensitivity) Prompt(items []Packed) Level {
	if s == nil {
		return ""
	}
	level := Public
	for i := range items {
		level = level.Max(items[i].Sensitivity)
	}
	return level
}

// Answer is the level of what was answered to a prompt.
func (s *Sensitivity) Answer(prompt Level) Level {
	if s == nil || s.Answers == "" {
		return prompt
	}
	return s.Answers
}

// metadata leaves out what may tell of a restricted item's content: the fields that rights and filters are held against stay.
func (s *Sensitivity) metadata(level Level, metadata map[string][]string, rights []string) map[string][]string {
	if level != Restricted {
		return metadata
	}
	var out map[string][]string
	for _, field := range append([]string{s.Field}, rights...) {
		if values, ok := metadata[field]; ok {
			if out == nil {
				out = map[string][]string{}
			}
			out[field] = values
		}
	}
	return out
}

// Classify gives a hit its level. A restricted one keeps of its metadata only its level and the fields named by rights.
func (s *Sensitivity) Classify(h *Hit, rights []string) {
	h.Sensitivity = s.Of(h.Access, h.Metadata)
	h.Metadata = s.metadata(h.Sensitivity, h.Metadata, rights)
}

// Restrict returns the observations with the texts marked that are restricted: those of restricted items, and what was made of them.
// A text that is restricted anywhere is so everywhere, since equal texts share a name. Nothing of o changes, whose rankings may be
// those of other cases too.
func (o *Observations) Restrict() *Observations {
	marked := o.restricted()
	if len(marked) == 0 {
		return o
	}
	out := o.Clone()
	_ = out.Texts(func(t *Text) error { // which returns what is returned here
		t.Restricted = t.Restricted || marked[t.Ref]
		return nil
	})
	return out
}

// restricted lists the references of restricted texts.
func (o *Observations) restricted() map[string]bool {
	marked := map[string]bool{}
	mark := func(level Level, texts ...Text) {
		for _, t := range texts {
			if level == Restricted && t.Ref != "" && t.Ref != emptyRef {
				marked[t.Ref] = true
			}
		}
	}
	for i := range o.Store.Gold {
		g := &o.Store.Gold[i]
		mark(g.Sensitivity, g.Text)
		for j := range g.Items {
			mark(g.Items[j].Sensitivity, g.Items[j].Text)
		}
	}
	for i := range o.Retrievals {
		for _, hits := range o.Retrievals[i].rankings() {
			for j := range hits {
				mark(hits[j].Sensitivity, hits[j].Text)
			}
		}
	}
	for i := range o.Trials {
		t := &o.Trials[i]
		for j := range t.Packed {
			mark(t.Packed[j].Sensitivity, t.Packed[j].Text)
		}
		for j := range t.Prompt {
			mark(t.Sensitivity, t.Prompt[j].Text)
		}
		mark(t.AnswerSensitivity, t.Answer, t.Refusal)
	}
	for i := range o.Judgements {
		j := &o.Judgements[i]
		for n := range j.Prompt {
			mark(j.Sensitivity, j.Prompt[n].Text)
		}
		mark(j.Sensitivity, j.Response, j.Quote)
		mark(j.Sensitivity, j.Statements...)
		mark(j.Sensitivity, j.Questions...)
	}
	return marked
}

// Clone copies the observations as far as [Observations.Texts] and [Observations.ReplaceCalls] change them.
func (o *Observations) Clone() *Observations {
	out := *o
	out.Store.Gold = slices.Clone(o.Store.Gold)
	for i := range out.Store.Gold {
		out.Store.Gold[i].Items = slices.Clone(out.Store.Gold[i].Items)
	}
	if o.Rewriting != nil {
		rewriting := *o.Rewriting
		rewriting.Prompt = slices.Clone(rewriting.Prompt)
		out.Rewriting = &rewriting
	}
	out.Retrievals = slices.Clone(o.Retrievals)
	for i := range out.Retrievals {
		r := &out.Retrievals[i]
		r.Candidates, r.Reranked, r.Searches = slices.Clone(r.Candidates), slices.Clone(r.Reranked), slices.Clone(r.Searches)
		for j := range r.Searches {
			r.Searches[j].Candidates = slices.Clone(r.Searches[j].Candidates)
		}
	}
	out.Trials = slices.Clone(o.Trials)
	for i := range out.Trials {
		t := &out.Trials[i]
		t.Packed, t.Prompt = slices.Clone(t.Packed), slices.Clone(t.Prompt)
	}
	out.Judgements = slices.Clone(o.Judgements)
	for i := range out.Judgements {
		j := &out.Judgements[i]
		j.Prompt, j.Statements, j.Questions = slices.Clone(j.Prompt), slices.Clone(j.Statements), slices.Clone(j.Questions)
	}
	return &out
}

// RestrictedCalls lists the call keys that were made of restricted texts, each once, in the order of the observations.
func (o *Observations) RestrictedCalls() []string {
	var keys []string
	seen := map[string]bool{}
	add := func(level Level, key string) {
		if level == Restricted && key != "" && !seen[key] {
			seen[key] = true
			keys = append(keys, key)
		}
	}
	for i := range o.Trials {
		add(o.Trials[i].Sensitivity, o.Trials[i].CallKey)
	}
	for i := range o.Judgements {
		add(o.Judgements[i].Sensitivity, o.Judgements[i].CallKey)
	}
	return keys
}

// Sensitivity is the highest level of what was retrieved.
func (r *Retrieval) Sensitivity() (level Level) {
	for _, hits := range r.rankings() {
		for i := range hits {
			level = level.Max(hits[i].Sensitivity)
		}
	}
	return level
}

// Calls are the call keys that the trials and judgements have.
func (o *Observations) Calls() map[string]bool {
	keys := map[string]bool{}
	for i := range o.Trials {
		keys[o.Trials[i].CallKey] = true
	}
	for i := range o.Judgements {
		keys[o.Judgements[i].CallKey] = true
	}
	return keys
}

// ReplaceCalls gives calls other keys, wherever the observations name them.
func (o *Observations) ReplaceCalls(names map[string]string) {
	rename := func(key *string) {
		if name, ok := names[*key]; ok {
			*key = name
		}
	}
	for i := range o.Trials {
		rename(&o.Trials[i].CallKey)
		rename(&o.Trials[i].SameAs)
	}
	for i := range o.Judgements {
		rename(&o.Judgements[i].CallKey)
		rename(&o.Judgements[i].SameAs)
	}
}

// neutral returns the observations with ordinals in place of the names of restricted texts, and of calls that were made of them: those
// names are made anew whenever the same observations are sealed.
func (o *Observations) neutral() *Observations {
	calls := map[string]string{}
	for i, key := range o.RestrictedCalls() {
		calls[key] = fmt.Sprintf("%scall:%d", RestrictedRef, i+1)
	}
	out := o.Clone()
	texts := map[string]string{}
	_ = out.Texts(func(t *Text) error { // which returns what is returned here
		if t.Restricted {
			if texts[t.Ref] == "" {
				texts[t.Ref] = fmt.Sprintf("%s%d", RestrictedRef, len(texts)+1)
			}
			t.Ref = texts[t.Ref]
		}
		return nil
	})
	out.ReplaceCalls(calls)
	return out
}
