package results

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/culprit-rag/culprit/matrix"
	"github.com/culprit-rag/culprit/matrix/verdict"
)

// ProbeSchema is the schema of [Probe].
const ProbeSchema = "culprit.probe/v1"

// Probe is what was seen of a store without asking any model for an answer: what `culprit probe --json` prints.
type Probe struct {
	Schema   string                `json:"schema"`
	Name     string                `json:"name"`
	At       string                `json:"at"`
	Exit     int                   `json:"exit"`
	Store    ProbedStore           `json:"store"`             // without an adapter where the experiment declares none
	Service  *ProbedService        `json:"service,omitempty"` // where it was asked, for want of a store
	Search   string                `json:"search"`            // mode
	K        int                   `json:"k"`
	Rewrites bool                  `json:"rewrites,omitempty"` // the generator wrote what is searched for
	Notes    []string              `json:"notes,omitempty"`    // what the store says that bears on all of this
	Scan     matrix.ScanFacts      `json:"scan"`
	ScanMS   int64                 `json:"scan_ms"`
	Fresh    *matrix.FreshFacts    `json:"fresh,omitempty"`
	Checks   []ProbedCheck         `json:"checks"`               // of the store and over all cases, in a fixed order
	Spans    Share                 `json:"spans"`                // required items whose evidence is stored, of all
	Recall   map[string]Mean       `json:"recall"`               // recall@k by span, id_recall@k by source
	Blocked  []string              `json:"blocked_by,omitempty"` // why it ends with 3, in words
	Held     []string              `json:"held_by,omitempty"`    // why it would end with 4
	Cases    []verdict.Examination `json:"cases"`
	Planned  int                   `json:"planned,omitempty"` // cases of the experiment
	Stopped  string                `json:"stopped,omitempty"` // why the probe ended before its last case: as in [Summary]
	Warnings []string              `json:"warnings,omitempty"`
	WallMS   int64                 `json:"wall_ms"`
	Totals   *Totals               `json:"totals,omitempty"` // what was asked for, and what of it may have to be paid for
}

// ProbedStore is the store as it describes itself.
type ProbedStore struct {
	Adapter    string `json:"adapter"`
	Engine     string `json:"engine,omitempty"`
	Version    string `json:"version,omitempty"`
	Address    string `json:"address,omitempty"`
	Asked      string `json:"asked,omitempty"` // the collection that the experiment names, where it is another name
	Collection string `json:"collection,omitempty"`
	Items      int    `json:"items"`
	Dimensions int    `json:"dimensions,omitempty"`
	Distance   string `json:"distance,omitempty"`
}

// ProbedService is the user's own service as it describes itself.
type ProbedService struct {
	Name      string `json:"name"`
	Version   string `json:"version,omitempty"`
	Context   bool   `json:"context"`           // it answers from a given context
	Through   string `json:"through,omitempty"` // how that gets in, where not by its own interface
	Retrieval bool   `json:"retrieval"`         // it stops before the answer
}

// ProbedCheck is a check over all cases: no where one says no, else unknown where one is unknown.
type ProbedCheck struct {
	Name     string        `json:"name"`
	Result   matrix.Answer `json:"result"`
	Evidence string        `json:"evidence,omitempty"` // of the first case that decided
	Cases    int           `json:"cases"`              // that have the check
	No       []string      `json:"no,omitempty"`       // ids of those that say no
	Unknown  []string      `json:"unknown,omitempty"`
}

// NewProbe begins a probe with what the experiment declares.
func NewProbe(e *matrix.Experiment, at time.Time) *Probe {
	p := &Probe{Schema: ProbeSchema, Name: e.Name, At: at.UTC().Format(time.RFC3339), Search: e.Pipeline.Search.Mode, K: e.Pipeline.Search.K, Rewrites: e.Pipeline.Rewrite != nil, Cases: []verdict.Examination{}}
	var named struct{ Address, Collection string }
	if b := e.Backends.Store; b != nil {
		p.Store.Adapter = b.Adapter
		if json.Unmarshal(b.Settings, &named) == nil { // not every adapter has them
			p.Store.Address, p.Store.Asked = named.Address, named.Collection
		}
	}
	return p
}

// Add takes one case in; required is how many items of evidence it needs.
func (p *Probe) Add(c verdict.Examination, required int) {
	p.Cases = append(p.Cases, c)
	p.Spans.Total += required
}

// checkOrder is that in which checks are shown; others follow.
func checkOrder() []string {
	return []string{
		"corpus_hit", "gold_id_resolves", "body_hash_match", "revision_match", "fresh", "embed_model_declared", "embed_model_match",
		"dimension_match", "embed_behaviour_match", "filter_control_empty", "index_stable", "gold_in_candidates",
	}
}

// Total makes everything that is over all cases.
func (p *Probe) Total() {
	if p.Store.Asked == p.Store.Collection {
		p.Store.Asked = ""
	}
	p.Checks, p.Recall, p.Spans.Used = nil, map[string]Mean{}, 0
	for i := range p.Cases {
		for _, check := range p.Cases[i].Checks {
			p.count(p.Cases[i].Case, check)
		}
		for _, g := range p.Cases[i].Retrieval.Gold {
			if g.Stored == matrix.Yes {
				p.Spans.Used++
			}
		}
	}
	order := checkOrder()
	place := func(name string) int {
		if i := slices.Index(order, name); i >= 0 {
			return i
		}
		return len(order)
	}
	slices.SortStableFunc(p.Checks, func(a, b ProbedCheck) int { return place(a.Name) - place(b.Name) })
	p.recall()
	p.Exit = p.exit()
}

func (p *Probe) count(id string, c verdict.Check) {
	i := slices.IndexFunc(p.Checks, func(have ProbedCheck) bool { return have.Name == c.Name })
	if i < 0 {
		i = len(p.Checks)
		p.Checks = append(p.Checks, ProbedCheck{Name: c.Name, Result: c.Result, Evidence: c.Evidence})
	}
	have := &p.Checks[i]
	have.Cases++
	switch c.Result {
	case matrix.No:
		if have.No = append(have.No, id); len(have.No) == 1 {
			have.Result, have.Evidence = c.Result, c.Evidence
		}
	case matrix.Unknown:
		if have.Unknown = append(have.Unknown, id); len(have.Unknown) == 1 && len(have.No) == 0 {
			have.Result, have.Evidence = c.Result, c.Evidence
		}
	}
}

func (p *Probe) recall() {
	sums := map[string]float64{}
	for i := range p.Cases {
		for _, m := range p.Cases[i].Retrieval.Metrics {
			n := parseNumber(m.Value)
			if n == nil || !strings.Contains(m.Name, "recall@") {
				continue
			}
			mean := p.Recall[m.Name]
			mean.Used++
			sums[m.Name] += float64(*n)
			p.Recall[m.Name] = mean
		}
	}
	for name, mean := range p.Recall {
		value := Number(sums[name] / float64(mean.Used))
		mean.Mean, mean.Total = &value, len(p.Cases)
		p.Recall[name] = mean
	}
}

// barring are the checks whose "no" blocks by itself: the store is not what the experiment takes it for.
func barring(check string) bool {
	return slices.Contains([]string{"corpus_hit", "fresh", "dimension_match", "embed_behaviour_match", "filter_control_empty"}, check)
}

// exit returns the code that a probe ends with, and notes why. Only blocking cases hold or block; a search that failed is told
// for every case.
func (p *Probe) exit() int {
	p.Blocked, p.Held = nil, nil
	blocked, held := newReasons(), newReasons()
	failed := false
	for i := range p.Cases {
		c := &p.Cases[i]
		failed = failed || c.Error != "" && len(c.Defects) == 0
		if c.Risk != matrix.RiskBlocking {
			continue
		}
		for _, d := range c.Defects {
			blocked.add(d.Name(), c.Case)
		}
		for _, check := range c.Checks {
			switch {
			case check.Result == matrix.No && barring(check.Name):
				blocked.add(check.Name, c.Case)
			case check.Result == matrix.No && check.Name == "index_stable", check.Result == matrix.Unknown && check.Name == "corpus_hit",
				check.Result == matrix.Unknown && check.Name == "fresh" && p.Fresh != nil && p.Fresh.MaxAge > 0:
				held.add(check.Name, c.Case)
			}
		}
		if len(c.Missing) > 0 {
			held.add("what was not seen", c.Case)
		}
	}
	p.Blocked, p.Held = blocked.say(len(p.Cases)), held.say(len(p.Cases))
	switch {
	case len(p.Blocked) > 0:
		return exitBlocked
	case failed:
		return exitEnvironment
	case len(p.Held) > 0:
		return exitHeld
	}
	return exitPassed
}

// reasons are the cases of each reason, in the order in which they came up.
type reasons struct {
	names []string
	cases map[string][]string
}

func newReasons() *reasons { return &reasons{cases: map[string][]string{}} }

func (r *reasons) add(name, id string) {
	if r.cases[name] == nil {
		r.names = append(r.names, name)
	}
	r.cases[name] = append(r.cases[name], id)
}

// say writes each reason with its cases, or with their number where it is of every case or of many.
func (r *reasons) say(all int) []string {
	const most = 3
	var out []string
	for _, name := range r.names {
		switch ids := r.cases[name]; {
		case len(ids) == all && all > 1:
			out = append(out, name+" (every case)")
		case len(ids) > most:
			out = append(out, fmt.Sprintf("%s (%d cases)", name, len(ids)))
		default:
			out = append(out, fmt.Sprintf("%s (%s)", name, strings.Join(ids, ", ")))
		}
	}
	return out
}

// Rate returns how many items a second the scan read, 0 where it was too short to tell.
func (p *Probe) Rate() int {
	if p.ScanMS < 1 {
		return 0
	}
	return int(int64(p.Scan.Scanned) * 1000 / p.ScanMS)
}

// Named writes a store's collection, with the alias that was asked for.
func (s *ProbedStore) Named() string {
	if s.Asked != "" {
		return fmt.Sprintf("%s (alias of %s)", s.Asked, s.Collection)
	}
	return s.Collection
}
