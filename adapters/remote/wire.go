package remote

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/culprit-rag/culprit/adapters"
	"github.com/culprit-rag/culprit/adapters/modelapi"
)

// The request as it goes over the wire, or into the expression map.request. An absent key is a setting that is not asked for.
type (
	wireRequest struct {
		RequestID string              `json:"request_id"`
		Query     string              `json:"query"`
		Messages  []wireMessage       `json:"messages,omitempty"`
		Principal map[string][]string `json:"principal"`
		Filters   []wireCondition     `json:"filters"`
		K         int                 `json:"k"`
		Context   []wireContext       `json:"context"` // null: the service's own
		Answer    bool                `json:"answer"`
		Params    wireParams          `json:"params"`
	}
	wireMessage struct {
		Role string `json:"role"`
		Text string `json:"text"`
	}
	wireCondition struct {
		Field string   `json:"field"`
		AnyOf []string `json:"any_of"`
		Not   bool     `json:"not,omitempty"`
		Typed bool     `json:"typed,omitempty"`
	}
	wireContext struct {
		ID     string `json:"id"`
		Source string `json:"source"`
		Text   string `json:"text"`
	}
	wireParams struct {
		Temperature *float64 `json:"temperature,omitempty"`
		TopP        *float64 `json:"top_p,omitempty"`
		Seed        *int64   `json:"seed,omitempty"`
		MaxTokens   int      `json:"max_tokens,omitempty"`
		Stop        []string `json:"stop,omitempty"`
	}
)

func newRequest(req adapters.PipelineRequest) wireRequest {
	w := wireRequest{
		RequestID: req.RequestID, Query: req.Query, Principal: req.Principal, Filters: []wireCondition{}, K: req.K, Answer: req.Answer,
		Params: wireParams{req.Temperature, req.TopP, req.Seed, req.MaxTokens, req.Stop},
	}
	if w.Principal == nil {
		w.Principal = map[string][]string{}
	}
	for _, m := range req.Messages {
		w.Messages = append(w.Messages, wireMessage(m))
	}
	for _, c := range req.Filters {
		w.Filters = append(w.Filters, wireCondition(c))
	}
	if req.Context != nil {
		w.Context = []wireContext{}
		for _, c := range req.Context {
			w.Context = append(w.Context, wireContext(c))
		}
	}
	return w
}

// The trace as it comes. A pointer or list that is nil was not told.
type (
	wireTrace struct {
		RequestID      string        `json:"request_id"`
		QueryEffective string        `json:"query_effective"`
		EmbedModel     string        `json:"embed_model"`
		Candidates     *[]wireItem   `json:"candidates"`
		Reranked       *[]wireItem   `json:"reranked"`
		Packed         *[]wireItem   `json:"packed"`
		Retrievals     []wireSearch  `json:"retrievals"`
		Prompt         *[]wirePrompt `json:"prompt"`
		TokensReported *int          `json:"prompt_tokens_reported"`
		Truncated      *bool         `json:"context_truncated"`
		Answer         *string       `json:"answer"`
		FinishReason   string        `json:"finish_reason"`
		ModelReported  string        `json:"model_reported"`
		Fingerprint    string        `json:"system_fingerprint"`
		Usage          *struct {
			Input  *int `json:"input_tokens"`
			Output *int `json:"output_tokens"`
			Cached *int `json:"cached_input_tokens"`
		} `json:"usage"`
		Error json.RawMessage `json:"error"`
	}
	wireSearch struct {
		Query      string          `json:"query"`
		Effective  string          `json:"query_effective"`
		Filters    []wireCondition `json:"filters"`
		Candidates *[]wireItem     `json:"candidates"`
	}
	wireItem struct {
		ID       text     `json:"id"`
		Source   text     `json:"source"`
		Revision text     `json:"revision"`
		Score    *float64 `json:"score"`
		Text     *string  `json:"text"`
		Access   []text   `json:"access"`

		keys    []string // that it has, where it has neither id nor source
		unnamed bool     // its id is told, and empty
	}
	wirePrompt struct {
		Role    string  `json:"role"`
		Text    *string `json:"text"`
		Content *string `json:"content"`
	}
)

// text is a string, or a number that a service uses as one.
type text string

func (t *text) UnmarshalJSON(data []byte) error {
	var s string
	if err := json.Unmarshal(data, &s); err == nil {
		*t = text(s)
		return nil
	}
	var n json.Number
	if err := json.Unmarshal(data, &n); err != nil {
		return fmt.Errorf("%s is neither text nor a number", data)
	}
	*t = text(n)
	return nil
}

// UnmarshalJSON reads an item, or a text alone.
func (i *wireItem) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		return json.Unmarshal(data, &i.Text)
	}
	type plain wireItem
	all, err := exactly(data, (*plain)(i))
	i.unnamed = string(all["id"]) == `""`
	if err == nil && i.ID == "" && i.Source == "" {
		i.keys = slices.Sorted(maps.Keys(all))
	}
	return err
}

// UnmarshalJSON reads a search by its exact keys.
func (s *wireSearch) UnmarshalJSON(data []byte) error {
	type plain wireSearch
	_, err := exactly(data, (*plain)(s))
	return err
}

// UnmarshalJSON reads a message by its exact keys.
func (m *wirePrompt) UnmarshalJSON(data []byte) error {
	type plain wirePrompt
	_, err := exactly(data, (*plain)(m))
	return err
}

// exactly reads an object into a struct, and returns its keys. A key that differs from a known one by the case of its letters alone is
// another, which encoding/json would take for it.
func exactly(data []byte, into any) (map[string]json.RawMessage, error) {
	var all map[string]json.RawMessage
	if json.Unmarshal(data, &all) != nil {
		return nil, json.Unmarshal(data, into) // no object, which that says in its own words
	}
	known := keysOf(reflect.TypeOf(into).Elem())
	own := maps.Clone(all)
	maps.DeleteFunc(own, func(key string, _ json.RawMessage) bool { return !slices.Contains(known, key) })
	if len(own) < len(all) {
		var err error
		if data, err = json.Marshal(own); err != nil {
			return nil, err
		}
	}
	return all, json.Unmarshal(data, into)
}

func keysOf(t reflect.Type) []string {
	var keys []string
	for field := range t.Fields() {
		if key := field.Tag.Get("json"); key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

// decodeTrace reads a trace, after the mapping.
func decodeTrace(data []byte) (*wireTrace, error) {
	var w wireTrace
	if _, err := exactly(data, &w); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return nil, fmt.Errorf("%s cannot be %s %s", orElse(wrong.Field, "it"), article(wrong.Value), wrong.Value)
		}
		return nil, err
	}
	switch said := string(w.Error); said {
	case "", "null", "false", `""`, "{}", "[]": // said of each good answer
	default:
		complaint := modelapi.ReadComplaint(data)
		if complaint.Message == "" {
			complaint.Message = said
		}
		return nil, &toldError{complaint.Message}
	}
	return &w, w.nameless()
}

// nameless says which item could never be known again, or would be taken for another.
func (w *wireTrace) nameless() error {
	lists := map[string]*[]wireItem{"candidates": w.Candidates, "reranked": w.Reranked, "packed": w.Packed}
	for n, s := range w.Retrievals {
		lists[fmt.Sprintf("retrievals[%d].candidates", n)] = s.Candidates
	}
	for _, key := range slices.Sorted(maps.Keys(lists)) {
		if lists[key] == nil {
			continue
		}
		first := map[text]int{}
		for n, i := range *lists[key] {
			before, known := first[i.ID]
			switch {
			case i.unnamed:
				return fmt.Errorf("%s[%d] has an empty id: leave it out where an item has none", key, n)
			case known && i.differs(&(*lists[key])[before]):
				return fmt.Errorf("%s[%d] has the id %q of %s[%d], and another text: an id names one text, such as that of a chunk", key, n, i.ID, key, before)
			case i.ID != "" && !known:
				first[i.ID] = n
			case i.ID == "" && i.Source == "" && i.Text == nil:
				return fmt.Errorf("%s[%d] has none of id, source and text, of which one is needed: it has %s", key, n, orElse(quoted(i.keys), "no keys"))
			}
		}
	}
	return nil
}

// differs reports whether two items tell different texts.
func (i *wireItem) differs(other *wireItem) bool {
	return i.Text != nil && other.Text != nil && *i.Text != *other.Text
}

// strange lists the keys of an answer that are none of a trace, sorted, and what the first was most likely meant to be, "" where no key
// is near.
func strange(data []byte) (keys []string, meant string) {
	var all map[string]json.RawMessage
	_ = json.Unmarshal(data, &all) // it was read before
	known := keysOf(reflect.TypeFor[wireTrace]())
	for _, key := range known {
		delete(all, key)
	}
	if keys = slices.Sorted(maps.Keys(all)); len(keys) == 0 {
		return nil, ""
	}
	least := 3
	for _, k := range known {
		if d := distance(keys[0], k); d < least && d < len(k)/2 {
			least, meant = d, k
		}
	}
	return keys, meant
}

// distance counts the insertions, deletions and substitutions between two keys.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a[:min(len(a), 64)] { // no key of a trace is that long
		before := row[0]
		row[0]++
		for j := range b {
			substitute := before
			if a[i] != b[j] {
				substitute++
			}
			before = row[j+1]
			row[j+1] = min(substitute, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

func quoted(names []string) string {
	const most = 8
	out := make([]string, 0, most)
	for _, n := range names[:min(len(names), most)] {
		out = append(out, fmt.Sprintf("%q", n))
	}
	if len(names) > most {
		out = append(out, "…")
	}
	return strings.Join(out, ", ")
}

func orElse(s, instead string) string {
	if s == "" {
		return instead
	}
	return s
}

func article(noun string) string {
	if strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an"
	}
	return "a"
}

// toldError is an error that a service reports in an answer that is none otherwise.
type toldError struct{ says string }

func (e *toldError) Error() string { return "the service reports an error: " + e.says }

func (w *wireTrace) trace() adapters.Trace {
	shared := w.sharedSources()
	t := adapters.Trace{
		RequestID: w.RequestID, QueryEffective: w.QueryEffective, EmbedModel: w.EmbedModel, Candidates: items(w.Candidates, shared), Reranked: items(w.Reranked, shared), Packed: items(w.Packed, shared),
		ContextTruncated: w.Truncated, FinishReason: w.FinishReason, ModelReported: w.ModelReported, SystemFingerprint: w.Fingerprint, InputTokens: w.TokensReported,
	}
	for _, r := range w.Retrievals {
		s := adapters.TraceSearch{Query: r.Effective, Candidates: items(r.Candidates, shared)}
		if s.Query == "" {
			s.Query = r.Query
		}
		for _, c := range r.Filters {
			s.Filters = append(s.Filters, adapters.Condition(c))
		}
		t.Retrievals = append(t.Retrievals, s)
	}
	if t.Candidates == nil && len(t.Retrievals) > 0 {
		t.Candidates, t.Union = union(t.Retrievals), len(t.Retrievals) > 1
	}
	if slices.ContainsFunc(slices.Concat(t.Candidates, t.Reranked, t.Packed), func(i adapters.TraceItem) bool { return i.ID == "" }) {
		t.Notes = append(t.Notes, "the service tells of some items no id, and no source that is theirs alone: they are known by their text alone")
	}
	if t.Union {
		t.Notes = append(t.Notes, fmt.Sprintf("the candidates are the union of %d searches, in the order in which they were told", len(t.Retrievals)))
	}
	if w.Prompt != nil {
		t.Prompt = []adapters.Message{}
		for _, m := range *w.Prompt {
			said := m.Text
			if said == nil {
				said = m.Content
			}
			if said != nil {
				t.Prompt = append(t.Prompt, adapters.Message{Role: m.Role, Text: *said})
			}
		}
	}
	if w.Answer != nil {
		t.Answer = *w.Answer
	}
	if u := w.Usage; u != nil {
		t.OutputTokens, t.CachedInputTokens = u.Output, u.Cached
		if u.Input != nil {
			t.InputTokens = u.Input
		}
	}
	return t
}

// foreign reports whether a trace that tells of the retrieval packs what is not of it, by id, source and text.
func foreign(t *adapters.Trace) bool {
	found := map[string]bool{}
	keys := func(i adapters.TraceItem) []string {
		var out []string
		if i.ID != "" {
			out = append(out, "id "+i.ID)
		}
		if i.Source != "" {
			out = append(out, "source "+i.Source)
		}
		if i.Text != nil {
			out = append(out, "text "+*i.Text)
		}
		return out
	}
	for _, i := range slices.Concat(t.Candidates, t.Reranked) {
		for _, key := range keys(i) {
			found[key] = true
		}
	}
	return t.Candidates != nil && slices.ContainsFunc(t.Packed, func(i adapters.TraceItem) bool {
		return !slices.ContainsFunc(keys(i), func(key string) bool { return found[key] })
	})
}

// sharedSources are the sources that several texts bear, as that of a file whose chunks have no ids: there the text tells them apart.
func (w *wireTrace) sharedSources() map[text]bool {
	lists := []*[]wireItem{w.Candidates, w.Reranked, w.Packed}
	for _, s := range w.Retrievals {
		lists = append(lists, s.Candidates)
	}
	first, shared := map[text]*wireItem{}, map[text]bool{}
	for _, list := range lists {
		if list == nil {
			continue
		}
		for n := range *list {
			i := &(*list)[n]
			if i.ID != "" || i.Source == "" || i.Text == nil {
				continue
			}
			if other := first[i.Source]; other == nil {
				first[i.Source] = i
			} else if i.differs(other) {
				shared[i.Source] = true
			}
		}
	}
	return shared
}

func items(list *[]wireItem, shared map[text]bool) []adapters.TraceItem {
	if list == nil {
		return nil
	}
	out := []adapters.TraceItem{}
	for _, i := range *list {
		item := adapters.TraceItem{ID: string(i.ID), Source: string(i.Source), Revision: string(i.Revision), Score: i.Score, Text: i.Text}
		for _, a := range i.Access {
			item.Access = append(item.Access, string(a))
		}
		if item.ID == "" && (i.Text == nil || !shared[i.Source]) {
			item.ID = item.Source
		}
		out = append(out, item)
	}
	return out
}

// union lists what several searches found, each item once, where it was told first; nil where none tells what it found.
func union(searches []adapters.TraceSearch) []adapters.TraceItem {
	var out []adapters.TraceItem
	seen := map[string]bool{}
	for _, s := range searches {
		if s.Candidates != nil && out == nil {
			out = []adapters.TraceItem{}
		}
		for _, i := range s.Candidates {
			key := i.ID
			if key == "" {
				key = "text " + *i.Text
			}
			if !seen[key] {
				seen[key] = true
				out = append(out, i)
			}
		}
	}
	return out
}

// untold notes the lists that a mapping names and leaves null, as one does that reads a key which the answer does not have.
func untold(mapped []byte) []string {
	var lists map[string]json.RawMessage
	_ = json.Unmarshal(mapped, &lists) // it was read before
	var notes []string
	for _, key := range []string{"candidates", "reranked", "packed", "prompt"} {
		if string(lists[key]) == "null" {
			notes = append(notes, "backends.service.map.response gives null for "+key+", which is then not told: does the answer have what it reads?")
		}
	}
	return notes
}
